"""What is seen of a run between chunks, and what is done about it, in real runs; test_decide.py has the rules alone."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl
from sclax._methods import march
from sclax._methods.method import Merit
from sclax._run.best import first_watch
from sclax._run.rules import LOOKS
from sclax._run.spare_draw import LONG, SHORTEST, TIE

from . import small

METHOD = scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=8), scl.DualAscent(0.3, clip=1.0, cap=2.0))


def kink():
    """|u'| = 1 with u(0) = u(1) = 0: no smooth function has slope ±1 everywhere, a tent comes close on average."""
    return scl.Problem(
        small.unit(),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"slope": scl.worst_case(lambda u_x: jnp.sqrt(u_x**2 + 1e-12) - 1) <= 1e-8},
    )


ENOUGH = 10 * (LOOKS + 10) * (1 + 2 * LONG)  # until the law is an average, does not resist, and longer


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)


@pytest.fixture(scope="module")
def kinked():
    return scl.solve(kink(), tiny, METHOD, steps=ENOUGH, progress=False)


def test_a_law_that_cannot_hold_everywhere_becomes_an_average(kinked, capsys):
    """Recognised without a reference, reported with its place, and the average is then small."""
    assert set(kinked.tempered) == {"slope"}
    assert kinked.tempered["slope"].step >= 10 * LOOKS
    assert 0.2 < kinked.tempered["slope"].where["x"] < 0.8  # at the kink, not at an end
    x = np.linspace(0, 1, 201)
    slope = np.abs(np.gradient(np.asarray(kinked(x=x)), x))
    assert np.median(np.abs(slope - 1)) < 0.2
    assert "slope" in kinked.unpriced
    report = kinked.check(points=2000)
    assert "average" in report["slope"].verdict
    assert not report.holds


def test_what_was_tempered_is_saved(kinked, tmp_path):
    kinked.save(tmp_path / "kink.scl")
    again = scl.load(tmp_path / "kink.scl", problem=kink())
    assert again.tempered == kinked.tempered
    assert set(again.unpriced) == set(kinked.unpriced)
    assert again.model.layers[0].weight.dtype == jnp.float64
    assert float(again(x=0.3)) == float(kinked(x=0.3))


def test_tempering_survives_a_resume(kinked, tmp_path):
    scl.solve(kink(), tiny, METHOD, steps=ENOUGH - 100, progress=False, checkpoint=tmp_path / "run")
    resumed = scl.solve(kink(), tiny, METHOD, steps=ENOUGH, progress=False, checkpoint=tmp_path / "run")
    assert resumed.tempered == kinked.tempered
    assert float(resumed(x=0.3)) == float(kinked(x=0.3))


def test_the_best_state_on_the_spare_draw_is_the_result():
    """No state has a clearly lower merit than the one that is kept, whose record has the solution's numbers."""
    problem = scl.zoo.convection(beta=2.0)
    solution = scl.solve(problem, tiny, METHOD, steps=200, progress=False)
    history = solution.history
    row = int(np.argmax(history["step"] == history["kept"][-1]))
    assert history["merit"][row] <= TIE * np.min(history["merit"])
    assert solution.objective == pytest.approx(float(history["objective"][row]))


def test_without_an_objective_a_feasible_state_is_not_the_last_word():
    """Both tolerances hold early; training goes on, and what it gains is kept."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        constraints={
            "ode": scl.average(lambda u, u_x: u_x + u) <= 0.1,
            "start": scl.average(scl.Dirichlet(1.0, on={"x": np.zeros(1)})) <= 0.1,
        },
    )
    history = scl.solve(problem, tiny, METHOD, steps=150, progress=False).history
    row = int(np.argmax(history["step"] == history["kept"][-1]))
    assert history["merit"][row] <= TIE * np.min(history["merit"])
    held = np.flatnonzero((history["values.ode"] <= 0.1) & (history["values.start"] <= 0.1))
    assert history["kept"][-1] > history["step"][held[0]]


def test_an_open_budget_survives_tempering():
    """Nothing is said about how long: the run ends by itself, and does not claim that the law holds."""
    solution = scl.solve(kink(), tiny, METHOD, progress=False)
    assert solution.tempered
    assert not solution.feasible
    assert solution.result is scl.RESULTS.settled


def test_a_feasible_state_is_kept_rather_than_one_of_lower_objective():
    """A tolerance that binds: early states have a lower objective and violate it, the result does not."""
    problem = scl.Problem(
        small.unit(),
        objective=scl.average(lambda u: u - 2, points=scl.Sobol(16)),
        constraints={"size": scl.worst_case(lambda u, x: u * (0.5 + x)) <= 0.25},
    )
    method = scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=64), scl.DualAscent(3.0))
    solution = scl.solve(problem, small.value(1.9), method, steps=600, progress=False)
    assert solution.check(points=20_000)["size"].estimate <= 0.25 * 1.02
    # E_ψ[(½ + x)²] = 1.396, so that u = √(0.25 / 1.396).
    assert solution(x=0.5) == pytest.approx(0.423, abs=0.01)


def test_first_order_methods_return_their_last_state():
    method = scl.PrimalDual(optax.sgd(0.05), scl.DualAscent(0.05))
    solution = scl.solve(small.bounded(), small.value(), method, steps=200, progress=False)
    assert "merit" not in solution.history
    assert not solution.tempered


def test_a_stalled_run_starts_again_from_other_weights(capsys):
    """A network that is born dead in half of all seeds: there (u − 1)² stays at 1, and another one is tried."""

    def build(domain, outputs, key):
        alive = jax.random.uniform(key) < 0.5
        return Gated(jnp.asarray(0.1), jnp.where(alive, 1.0, 0.0))

    dead = next(
        seed for seed in range(20) if not bool(jax.random.uniform(jax.random.split(jax.random.key(seed), 3)[0]) < 0.5)
    )
    problem = scl.Problem(small.unit(), objective=scl.average(lambda u: u - 1))
    solution = scl.solve(problem, build, METHOD, seed=dead, seconds=20.0, progress=True)
    assert "starting again" in capsys.readouterr().err
    assert solution(x=0.5) == pytest.approx(1.0, abs=1e-3)


class Gated(small.Value):
    """u = value times a gate that has no gradient."""

    gate: jnp.ndarray

    def __call__(self, z):
        return (self.value * jax.lax.stop_gradient(self.gate))[None]


# --- along time -----------------------------------------------------------------------------------------------------


def evolving(*conditions):
    return scl.Problem(
        scl.Box(x=(0, 1), t=(1, 3)),
        objective=sum((scl.average(c) for c in conditions), start=0) or None,
        constraints={"pde": scl.worst_case(lambda u_t, u_x: u_t + u_x) <= 1e-6},
    )


def end(time):
    return scl.Dirichlet(0.0, on=scl.Box(x=(0, 1), t=(1, 3)).face(t=time))


@pytest.mark.parametrize(
    ("conditions", "direction"),
    [
        ((scl.Initial(0.0),), 1),
        ((scl.Initial(0.0), scl.Periodic("x")), 1),
        ((end(3),), -1),
        ((scl.Initial(0.0), end(3)), 0),
        ((), 1),  # the network may have the initial condition by itself
    ],
)
def test_time_goes_on_from_where_the_conditions_are(conditions, direction):
    assert evolving(*conditions).direction == direction


def test_no_time_has_no_direction():
    assert kink().direction == 0


@pytest.mark.parametrize(("direction", "start"), [(1, 1.0), (-1, 3.0)])
def test_marching_brings_points_to_the_end_where_it_begins(direction, start):
    """Only time changes, by the share that is reached, and faces without time stay."""
    problem = METHOD.prepare(evolving(scl.Initial(0.0), scl.Periodic("x")))
    marching = scl.Stage(direction=direction).pose(problem)
    state = METHOD.init(problem, tiny(problem.domain, 1, jax.random.key(0)), jax.random.key(1))
    points = tuple(s.points for s in state.samplers)
    for term, before in zip(problem.terms, points, strict=True):
        np.testing.assert_array_equal(before, march.placed(problem, state.reach, term, before))
        after = march.placed(marching, state.reach, term, before)
        for i, name in enumerate(term.law.place.chart.names):
            expected = start + march.BEGIN * (before[:, i] - start) if name == "t" else before[:, i]
            np.testing.assert_allclose(after[:, i], expected, rtol=1e-6)
    assert float(state.reach.of(marching)) == pytest.approx(march.BEGIN)
    assert float(state.reach.of(problem)) == 1


def test_training_goes_on_in_time_as_fast_as_the_loss_falls():
    reach = march.begin().after(jnp.asarray(1.0))
    assert float(reach.share) == pytest.approx(march.BEGIN + march.LEAST_PACE)
    calm = reach.after(jnp.asarray(0.009))
    assert float(calm.share - reach.share) == pytest.approx(march.PACE, rel=1e-4)
    for _ in range(400):
        calm = calm.after(jnp.asarray(0.001))
    assert float(calm.share) == 1


def test_a_slow_run_starts_again_along_time_and_resumes(monkeypatch, capsys, tmp_path):
    """Until all times are reached no other sign counts; a run that was cut gives the same weights to the bit."""
    monkeypatch.setattr("sclax._run.rules.slow", lambda merits: len(merits) == 2)
    problem = scl.zoo.convection(beta=2.0)
    whole = scl.solve(problem, tiny, METHOD, steps=100, progress=True)
    assert "along time" in capsys.readouterr().err
    scl.solve(problem, tiny, METHOD, steps=50, progress=False, checkpoint=tmp_path / "run")
    resumed = scl.solve(problem, tiny, METHOD, steps=100, progress=False, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(whole.history["merit"], resumed.history["merit"])
    reach = whole.history["reach"]
    assert np.all(reach[:2] == 1)
    assert reach[2] < 0.2
    assert np.all(np.diff(reach[2:]) > 0)


def noisy():
    """A constant fitted to sin 40x on eight fresh points: it jumps about with each draw."""
    return scl.Problem(scl.Box(x=(0.0, np.pi)), objective=scl.average(lambda u, x: u - jnp.sin(40 * x)))


def test_steps_shrink_at_the_end_of_a_run_and_no_checkpoint_holds_it(tmp_path):
    """From 85 % on, down to SHORTEST; a run that goes on does so from before, and gives the same weights to the bit."""
    problem, model = noisy(), small.value(0.5)
    whole = scl.solve(problem, model, METHOD, steps=200, progress=False)
    np.testing.assert_allclose(whole.history.share[:17], 1.0)
    np.testing.assert_allclose(whole.history.share[17:], SHORTEST ** (np.arange(1, 4) / 3), rtol=1e-12)
    scl.solve(problem, model, METHOD, steps=150, progress=False, checkpoint=tmp_path / "run")
    resumed = scl.solve(problem, model, METHOD, steps=200, progress=False, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(whole.history["merit"], resumed.history["merit"])
    assert float(whole(x=1.0)) == float(resumed(x=1.0))


def test_a_run_that_falls_fast_keeps_its_steps():
    """Convection with 17 records: its merit fell to less than a tenth in the last ten of them."""
    method = scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=40), METHOD.dual)  # enough points that no noise is left
    build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=16, depth=3, key=key)
    solution = scl.solve(scl.zoo.convection(beta=5.0), build, method, steps=200, progress=False)
    assert solution.history["merit"][16] < 0.1 * solution.history["merit"][6]
    assert np.all(solution.history.share == 1)


def test_noise_averages_out_at_the_end_of_a_run():
    """Full steps jump about with each draw; short last steps do not."""
    solution = scl.solve(noisy(), small.value(0.5), METHOD, steps=1000, progress=False)
    merits = solution.history["merit"]  # 1/2 + u², but for the spare draw
    excess = merits - merits.min()
    assert solution.history["kept"][-1] == 1000
    assert excess[-3:].mean() < 0.1 * excess[20:80].mean()


@pytest.mark.slow
def test_an_embedding_does_not_stall():
    """Fast waves and a network that is periodic by itself: without marching the error stays at 0.7."""
    build = lambda domain, outputs, key: scl.nn.MLP(
        domain, outputs, embedding=scl.nn.PeriodicEmbedding(domain, "x"), key=key
    )
    solution = scl.solve(scl.zoo.convection(beta=50.0), build, steps=1200, progress=False)
    assert solution.error() < 0.02
    assert not solution.tempered


def test_the_best_state_before_a_step_is_forgotten_for_later_ones():
    """Of many weak solutions merit does not tell the right one, and one with many kinks may have the lowest."""
    merit = lambda value: Merit(jnp.asarray(value), jnp.zeros(1), jnp.zeros(1), jnp.asarray(False))
    looked = lambda watch, value, step: watch.taking({"of": jnp.asarray(step)}, merit(value), step, 1.0, True)
    watch = looked(first_watch({"of": jnp.asarray(0)}, merit(1.0)), 0.1, 10)
    for since, kept in ((5, 10), (50, 60)):
        later = looked(watch.since(since), 0.5, 60)
        assert (int(later.kept), int(later.best["of"])) == (kept, kept)
    assert int(looked(looked(watch.since(50), 0.5, 60), 0.7, 70).kept) == 60
