"""The host loop: one trace, exact counts, resuming bit for bit, and endings that lose nothing."""

import dataclasses
import json
import os
import struct
import time
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl
from sclax._run import progress
from sclax._run.door import default_method

from . import small

METHOD = scl.PrimalDual(optax.adam(1e-2), optax.adam(1e-2))
traces = []


def transport(u_t, u_x, beta):
    if u_t.dtype == np.float32:  # that of METHOD; what a function computes is looked at in double precision
        traces.append(1)
    return u_t + beta * u_x


def sine(x):
    return jnp.sin(x)


def convection(beta=3.0, sampler=None, tolerance=1e-3):
    return scl.Problem(
        domain=scl.Box(x=(0, 2 * np.pi), t=(0, 1)),
        parameters={"beta": beta},
        objective=scl.average(scl.Initial(sine), n=16) + scl.average(scl.Periodic("x"), n=8),
        constraints={"pde": scl.worst_case(transport, n=20, sampler=sampler) <= tolerance},
    )


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)


def run(problem=None, **kwargs):
    return scl.solve(problem or convection(), tiny, METHOD, **{"progress": False, "steps": 200, **kwargs})


def leaves(solution):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(solution.model) if hasattr(leaf, "shape")]


def identical(a, b):
    same = [np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True)]
    same += [np.array_equal(a.multipliers[k], b.multipliers[k]) for k in a.multipliers]
    same += [np.array_equal(a.history[k], b.history[k]) for k in a.history if k != "seconds"]
    return all(same)


SAMPLERS = [
    scl.MetropolisHastings(4, 10, 20),
    scl.PersistentChains(20),
    scl.Langevin(20),
    scl.ImportanceWeights(20),
    scl.R3(20),
    scl.RAD(20, pool=50, every=30),
    scl.Sobol(20),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)
def test_interrupted_and_uninterrupted_runs_agree_bit_for_bit(sampler, tmp_path):
    problem = convection(sampler=sampler)
    whole = run(problem, steps=300)
    run(problem, steps=100, checkpoint=tmp_path / "state")
    resumed = run(problem, steps=300, checkpoint=tmp_path / "state")
    assert resumed.steps == 300
    assert identical(whole, resumed)


def test_several_seeds_resume_bit_for_bit(tmp_path):
    whole = run(steps=200, seeds=2)
    run(steps=100, seeds=2, checkpoint=tmp_path / "state")
    resumed = run(steps=200, seeds=2, checkpoint=tmp_path / "state")
    assert all(identical(a, b) for a, b in zip(whole, resumed, strict=True))


def test_a_disk_that_is_full_costs_the_checkpoint_and_nothing_else(tmp_path, monkeypatch):
    def save(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zipfile.ZipFile.writestr", save)
    with pytest.warns(UserWarning, match=r"no checkpoint was written at step \d+ \(.*No space left on device\)"):
        found = run(checkpoint=tmp_path / "state")
    monkeypatch.undo()
    assert identical(found, run())
    assert not list((tmp_path / "state" / "states").iterdir())


def test_a_finished_run_is_read_back_not_trained_again(tmp_path):
    first = run(checkpoint=tmp_path / "state")
    before = len(traces)
    second = run(checkpoint=tmp_path / "state")
    assert len(traces) == before
    assert identical(first, second)


def test_chunks_do_not_change_the_result():
    """137 steps in one chunk of 100 and one of 37 are the first 137 of any run."""
    a = run(steps=137)
    assert a.steps == 137
    assert list(a.history["step"]) == [100, 137]


def test_runs_of_one_shape_share_their_compiled_code():
    run(convection(beta=3.0))
    before = len(traces)
    run(convection(beta=4.0, tolerance=1e-2), seed=5)
    assert len(traces) == before > 0


def with_speed(speed):
    """A problem whose law is a new function each time."""

    def law(u_t, u_x):
        if u_t.dtype == np.float32:
            traces.append(1)
        return u_t + speed * u_x

    return scl.Problem(scl.Box(x=(0, 1), t=(0, 1)), objective=scl.average(law, n=8))


def test_a_law_that_is_written_again_shares_compiled_code():
    run(with_speed(2.0), steps=1)
    before = len(traces)
    run(with_speed(2.0), steps=1)
    assert len(traces) == before
    run(with_speed(3.0), steps=1)
    assert len(traces) > before


def test_a_law_whose_global_has_changed_is_solved_as_it_is_now(monkeypatch):
    """The same problem, not stated again: JAX alone would go on with the code that it compiled before."""
    problem = scl.Problem(scl.Box(x=(0, 1)), objective=scl.average(level, n=8))
    monkeypatch.setattr(f"{__name__}.LEVEL", 2.0)
    before, after = run(problem, steps=1), None
    monkeypatch.setattr(f"{__name__}.LEVEL", 3.0)
    after = run(problem, steps=1)
    u = float(scl.solve(problem, tiny, METHOD, steps=1, progress=False)(x=0.5))
    assert before.objective == pytest.approx((u - 2.0) ** 2, rel=0.2)
    assert after.objective == pytest.approx((u - 3.0) ** 2, rel=0.2)


LEVEL = 1.0


def level(u):
    return u - LEVEL


def test_same_seed_same_result_other_seed_other_result():
    assert identical(run(seed=3), run(seed=3))
    assert not np.array_equal(leaves(run(seed=3))[0], leaves(run(seed=4))[0])


def test_seeds_by_vmap_are_the_runs_of_their_seeds():
    many = run(seeds=3, seed=5, steps=50)
    assert sorted(s.seed for s in many) == [5, 6, 7]
    for solution in many:
        alone = run(seed=solution.seed, steps=50)
        for a, b in zip(leaves(solution), leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_seeds_come_feasible_first_then_by_objective():
    many = run(convection(tolerance=0.05), seeds=4, steps=300)
    key = [(not s.feasible, s.objective) for s in many]
    assert key == sorted(key)


def counted(sampler, steps=3, **kwargs):
    """The number of points at which a residual was really evaluated, counted one by one."""
    evaluated = []

    def law(u_x, x):
        jax.debug.callback(lambda _: evaluated.append(1), x)
        return u_x - 1

    problem = scl.Problem(
        domain=scl.Box(x=(0, 1), t=(0, 1)),
        objective=scl.average(scl.Initial(0.0), n=5),
        constraints={"law": scl.worst_case(law, sampler=sampler) <= 0},
    )
    method = scl.PrimalDual(optax.sgd(1e-3), scl.DualAscent(1e-3), **kwargs)
    solution = scl.solve(problem, tiny, method, steps=steps, progress=False)
    jax.effects_barrier()
    return len(evaluated), solution.operator_evaluations


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)
def test_operator_evaluations_are_counted_exactly(sampler):
    real, reported = counted(sampler)
    assert real == reported > 0


def test_operator_evaluations_of_several_primal_steps():
    real, reported = counted(scl.PersistentChains(20), primal_steps=4)
    assert real == reported == 3 * 4 * 40


def test_ctrl_c_keeps_what_was_learned(monkeypatch, tmp_path):
    calls = []

    def interrupt(*_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.Reporter, "show", interrupt)
    stopped = run(steps=1000, checkpoint=tmp_path / "state")
    assert stopped.result == scl.RESULTS.interrupted
    assert stopped.steps == 200
    monkeypatch.undo()
    resumed = run(steps=300, checkpoint=tmp_path / "state")
    assert identical(resumed, run(steps=300))


def test_nan_rolls_back_to_the_last_good_step(capsys):
    """The rate is small until step 150 and then blows the weights up."""
    rate = optax.piecewise_constant_schedule(1e-3, {150: 1e38})
    method = scl.PrimalDual(optax.sgd(rate), scl.DualAscent(1e-3))
    solution = scl.solve(convection(), tiny, method, steps=400)
    assert solution.result == scl.RESULTS.nonfinite
    assert 150 <= solution.steps <= 152
    assert all(np.isfinite(leaf).all() for leaf in leaves(solution))
    said = capsys.readouterr().err
    assert f"in step {solution.steps + 1}, rolled back" in said


def test_nan_from_the_start_returns_the_first_state():
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(lambda u: jnp.log(-1.0 - u**2)),
        constraints={"law": scl.average(lambda u: u) <= 1},
    )
    solution = scl.solve(problem, small.value(0.5), METHOD, steps=200, progress=False)
    assert solution.result == scl.RESULTS.nonfinite
    assert solution.steps == 0
    assert solution(x=0.1) == 0.5
    assert not solution.feasible
    assert "nonfinite" in repr(solution)


def test_one_bad_seed_does_not_spoil_the_others():
    def delicate(u, x):
        return jnp.log(u + 1.0)  # NaN for networks that start below −1

    problem = scl.Problem(domain=small.unit(), objective=scl.average(delicate))

    def build(domain, outputs, key):
        return small.Value(jnp.where(jax.random.uniform(key) < 0.5, -3.0, 1.0))

    many = scl.solve(problem, build, METHOD, seeds=6, steps=300, progress=False)
    results = [s.result.name for s in many]
    assert {"nonfinite", "steps_done"} == set(results)
    assert results == sorted(results, reverse=True)  # good ones first
    assert many[0](x=0.5) == pytest.approx(0.0, abs=1e-2)


def test_without_a_budget_it_ends_feasible_and_flat():
    method = scl.PrimalDual(optax.sgd(0.05), scl.DualAscent(0.05))
    solution = scl.solve(small.bounded(9.0), small.value(), method, progress=False)
    assert solution.result == scl.RESULTS.converged
    assert solution.feasible
    assert solution(x=0.0) == pytest.approx(2.0, abs=1e-3)


def test_seconds_end_a_run():
    solution = run(steps=None, seconds=0.5)
    assert solution.result is scl.RESULTS.time_up
    before = solution.history.seconds
    assert before[-1] + (before[-1] - before[-2]) > 0.5  # one more chunk as long as the last would have been too much
    assert len(before) == 1 or before[-2] < 0.5


def test_seconds_are_those_of_training_and_not_of_compilation():
    """A law that takes long to trace, and no time to run."""

    def law(u):
        time.sleep(1.0)
        return u - 1

    problem = scl.Problem(small.unit(), objective=scl.average(law, n=4))
    began = time.monotonic()
    solution = scl.solve(problem, small.value(), METHOD, steps=200, progress=False)
    assert time.monotonic() - began > 1.0
    assert solution.seconds < 0.5 * (time.monotonic() - began)


def test_a_budget_too_short_for_anything_still_gives_numbers():
    """One chunk is always made, and its objective and verdicts are finite and do not contradict each other."""
    solution = scl.solve(convection(tolerance=1e-4), tiny, seconds=1e-6, progress=False)
    assert solution.steps == 10
    assert np.isfinite(solution.objective)
    assert not solution.converged
    verdict = solution.check(points=1000)["pde"].verdict
    assert "VIOLATED" in verdict
    assert "nothing" not in verdict
    assert "ended before it had converged" in str(solution.check(points=1000))


def test_a_tolerance_that_a_short_run_meets_has_no_price_yet():
    """Ten steps hold a loose tolerance, with a multiplier that had no time to come to rest."""
    solution = scl.solve(convection(tolerance=10.0), tiny, steps=10, progress=False)
    pressed = dataclasses.replace(solution, multipliers={"pde": 0.4})
    finding = pressed.check(points=1000)["pde"]
    assert "had not settled" in finding.verdict
    assert finding.price is None


def test_history_has_a_row_for_each_chunk():
    history = run(steps=400).history
    assert list(history["step"]) == [100, 200, 300, 400]
    for name in ("seconds", "evaluations", "objective", "values.pde", "multipliers.pde", "acceptance.pde"):
        assert history[name].shape == (4,)
    assert np.all(np.diff(history["evaluations"]) > 0)
    assert history["snapshot.pde"].shape == (3, 20, 2)
    assert history["snapshot_weights.pde"].shape == (3, 20)
    assert list(history["snapshot_step"]) == [100, 200, 400]


def test_progress_is_plain_lines_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress.Reporter.__init__, "__defaults__", (0.0,))  # a line for every chunk
    run(steps=200, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    _, first, second = shown.err.splitlines()
    for word in ("objective", "worst violation", "λ[pde]"):
        assert word in first
    assert "steps/s" in first
    assert "left" in second


def test_the_default_is_one_rule_and_its_print_shows_what_was_chosen():
    """The dimension decides the number of points, and nothing else differs."""
    one, two = default_method(small.bounded(), 1000), default_method(convection(), 1000)
    assert (one.primal, one.dual) == (two.primal, two.dual)
    assert two.worst_case == one.worst_case.sized(2 * one.worst_case.n)
    for word in ("GaussNewton(", "MirrorAscent(", "Drawn(600", "Sobol(260"):
        assert word in repr(two)


def test_a_network_too_large_for_gauss_newton_gets_soap():
    method = default_method(convection(), 2_000_000)
    assert not method.primal.double
    assert method is default_method(small.bounded(), 3_000_000)  # or it would compile anew


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        ({"steps": 0}, ("steps", "0", "at least 1")),
        ({"steps": 1.5}, ("steps", "1.5", "whole number")),
        ({"seconds": -1}, ("seconds", "-1", "positive")),
        ({"seeds": 0}, ("seeds", "0")),
        ({"seed": -1}, ("seed", "-1")),
        ({"method": "paper"}, ("method", "'paper'", "PrimalDual")),
        ({"model": 3}, ("model", "3", "domain, outputs, key")),
        ({"model": lambda z: z}, ("model", "no weights", "domain, outputs, key")),
        ({"model": lambda domain, outputs, key: jnp.sin}, ("model", "without weights")),
        ({"model": small.Hats(jnp.zeros(3)), "wrong": True}, ("model", "(2,)")),
    ],
)
def test_bad_arguments_are_refused(arguments, fragments):
    problem = convection()
    if arguments.pop("wrong", False):
        problem = scl.Problem(domain=small.unit(), unknowns=("u", "v"), objective=scl.average(lambda u, v: u - v))
    with pytest.raises(ValueError, match=".") as caught:
        scl.solve(problem, **{"model": tiny, "method": METHOD, "steps": 1, "progress": False, **arguments})
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_solve_wants_a_problem():
    with pytest.raises(ValueError, match="`problem` must be a Problem, got 3"):
        scl.solve(3)


# --- checkpoints that must not be used ----------------------------------------------------------------------------


def contents(path):
    return {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def refused(path, fragments, problem=None, **kwargs):
    before = contents(path) if path.is_dir() else path.read_bytes()
    with pytest.raises(ValueError, match="checkpoint") as caught:
        run(problem, checkpoint=path, **kwargs)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert before == (contents(path) if path.is_dir() else path.read_bytes())


def test_a_foreign_directory_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("ten years of work")
    refused(tmp_path, ("not a checkpoint of sclax", "Nothing was written", "new directory"))


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", ("is a file",))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"problem": convection(beta=9.0)}, "parameters"),
        ({"problem": convection(tolerance=0.5)}, "tolerances"),
        ({"problem": convection(sampler=scl.R3(20))}, "laws"),
        ({"seed": 1}, "seed"),
        ({"seeds": 2}, "seeds"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(other, what, tmp_path):
    run(steps=100, checkpoint=tmp_path / "state")
    refused(tmp_path / "state", ("another run", f"its {what} is", "Nothing was written"), **other)


def test_a_checkpoint_of_another_method_is_refused(tmp_path):
    run(steps=100, checkpoint=tmp_path / "state")
    other = scl.PrimalDual(optax.adam(1e-2), scl.DualAscent(1e-2))
    with pytest.raises(ValueError, match="its method is"):
        scl.solve(convection(), tiny, other, steps=100, checkpoint=tmp_path / "state", progress=False)


def test_a_checkpoint_of_another_equation_is_refused(tmp_path):
    build = lambda factor: scl.Problem(domain=small.unit(), objective=scl.average(factor))
    scl.solve(build(lambda u: u - 1), tiny, METHOD, steps=100, checkpoint=tmp_path / "s", progress=False)
    with pytest.raises(ValueError, match="its equations is"):
        scl.solve(build(lambda u: u - 2), tiny, METHOD, steps=100, checkpoint=tmp_path / "s", progress=False)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"speed": 5.0}, "equations"),
        ({"rate": 1e-1}, "method"),
        ({"activation": jnp.sin}, "model"),
    ],
)
def test_what_functions_close_over_makes_another_run(change, what, tmp_path):
    """A speed inside a lambda, a learning rate inside an optimiser, an activation inside a network."""

    def go(speed=1.0, rate=1e-2, activation=jnp.tanh):
        problem = scl.Problem(
            domain=scl.Box(x=(0, 1), t=(0, 1)),
            constraints={"pde": scl.worst_case(lambda u_t, u_x: u_t + speed * u_x, n=20) <= 1e-3},
        )
        build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, 4, 1, activation, key=key)
        method = scl.PrimalDual(optax.adam(rate), scl.DualAscent(1e-2))
        return scl.solve(problem, build, method, steps=100, checkpoint=tmp_path / "s", progress=False)

    go()
    go()  # new functions of the same content are the same run
    with pytest.raises(ValueError, match=f"its {what} is"):
        go(**change)


def test_a_problem_built_in_single_precision_is_solved_in_double():
    problem = convection()
    with jax.enable_x64(True):
        solution = scl.solve(problem, tiny, METHOD, steps=50, progress=False)
        assert solution.model.layers[0].weight.dtype == jnp.float64
        assert np.isfinite(solution.check(points=100)["pde"].estimate)


def test_a_network_of_the_wrong_size_is_refused_by_name():
    family = convection(beta=(1.0, 2.0))
    with pytest.raises(ValueError, match=r"`x`, `t`, `beta`.*problem\.domain"):
        scl.solve(family, tiny(scl.Box(x=(0, 1), t=(0, 1)), 1, jax.random.key(0)), METHOD, steps=1, progress=False)


def test_a_damaged_state_is_not_used_and_the_one_before_is(tmp_path):
    path = tmp_path / "state"
    run(steps=100, checkpoint=path)
    run(steps=200, checkpoint=path)
    newest = max((path / "states").iterdir())
    damaged = bytearray(newest.read_bytes())
    with zipfile.ZipFile(newest) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.compress_size)
    name, extra = struct.unpack_from("<HH", damaged, largest.header_offset + 26)
    damaged[largest.header_offset + 30 + name + extra + largest.compress_size // 2] ^= 1  # one bit of the state
    newest.write_bytes(damaged)
    with pytest.warns(UserWarning, match=f"{newest.name} of the checkpoint is damaged"):
        resumed = run(steps=300, checkpoint=path)
    assert identical(resumed, run(steps=300))


def test_what_a_killed_process_left_half_written_goes(tmp_path):
    run(steps=100, checkpoint=tmp_path / "state")
    left = tmp_path / "state" / "states" / ".000000000200.state.0123456789abcdef"
    left.write_bytes(b"half of it")
    assert identical(run(steps=300, checkpoint=tmp_path / "state"), run(steps=300))
    assert not left.exists()


def test_a_checkpoint_with_nothing_readable_is_refused(tmp_path):
    path = tmp_path / "state"
    run(steps=100, checkpoint=path)
    for file in (path / "states").rglob("*"):
        if file.is_file():
            file.write_bytes(b"\0" * 10)
    with pytest.warns(UserWarning, match="damaged"):
        refused(path, ("damaged", "remove the directory"))
    (path / "sclax.json").write_text(json.dumps({})[:-1])
    refused(path, ("damaged", "sclax.json"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match="cannot be written"):
        run(checkpoint=tmp_path / "state")


def test_a_directory_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match=r"checkpoint=.*cannot be written"):
        run(checkpoint=tmp_path / "file" / "state")
