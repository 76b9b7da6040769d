"""Solution operators: batches, one multiplier for each sample, equations on grids, and what a user does with them."""

import re
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

import sclax as scl
from sclax._places import PointSet
from sclax._problem import grids as operators
from sclax._problem import samples
from sclax._result import report

X, T = np.arange(8) / 8, np.linspace(0.0, 1.0, 5)
RELATIVE = scl.Data(scl.RelativeL2())


def decays(samples=12, seed=0, factor=1.0):
    """a(x) ↦ factor · a(x) e^(−t)."""
    a = np.random.default_rng(seed).normal(size=(samples, len(X)))
    u = factor * a[:, None, :] * np.exp(-T)[:, None]
    return xr.Dataset({"input": (("sample", "x"), a), "solution": (("sample", "t", "x"), u)}, {"t": T, "x": X})


class Scaled(eqx.Module):
    """a(x) ↦ factor · a(x) e^(−t): exact for factor 1."""

    factor: jnp.ndarray

    def __call__(self, values):
        n, own = values.shape[0], len(T)
        t = own / (own - 1) * jnp.arange(n) / n  # as networks see a grid: n points of one period, `own` spacings long
        return self.factor * values * jnp.exp(-t)[:, None, None]


def posed(dataset=None, tolerance=1e-3, **more):
    more = {"batch": 4, "periodic": ("x",), **more}
    return scl.OperatorProblem(
        decays() if dataset is None else dataset, constraints={"data": scl.each(RELATIVE) <= tolerance}, **more
    )


METHOD = scl.PrimalDual(primal=optax.adam(0.02), dual=scl.DualAscent(0.1))


def trained(problem=None, model=None, method=METHOD, steps=60, **more):
    problem = posed(validation=2, test=2) if problem is None else problem
    model = Scaled(jnp.asarray(0.5)) if model is None else model
    return scl.solve(problem, model, method, steps=steps, progress=False, **more)


# --- batches --------------------------------------------------------------------------------------------------------


def epochs(samples, n, count, seed=0):
    place, sampler = PointSet(jnp.zeros((samples, 1))), scl.Batches(n)
    state = sampler.init(place, jax.random.key(seed))
    found = []
    for k in range(count):
        state, _ = sampler.step(place, None, state, jax.random.key(100 * seed + k))
        found.append(np.asarray(state.points[:, 0], int))
    return found


def test_each_sample_is_in_one_batch_of_an_epoch():
    batches = epochs(12, 4, 6)
    assert sorted(np.concatenate(batches[:3])) == sorted(np.concatenate(batches[3:])) == list(range(12))
    assert np.concatenate(batches[:3]).tolist() != np.concatenate(batches[3:]).tolist()


def test_shuffling_is_the_seed_s():
    same = [a.tolist() for a in epochs(12, 4, 6)]
    assert [a.tolist() for a in epochs(12, 4, 6)] == same
    assert [a.tolist() for a in epochs(12, 4, 6, seed=1)] != same


def test_what_does_not_fill_a_batch_waits():
    batches = epochs(11, 4, 4)
    assert len(set(np.concatenate(batches[:2]))) == 8
    assert len(set(np.concatenate(batches))) > 8


# --- multipliers ----------------------------------------------------------------------------------------------------

DUALS = {
    "ascent": scl.DualAscent(0.1),
    "nupi": scl.NuPI(0.1),
    "augmented": scl.AugmentedLagrangian(0.5),
    "adam": optax.adam(0.1),
    "momentum": optax.sgd(0.1, momentum=0.9),
}


@pytest.mark.parametrize("name", DUALS)
def test_a_sample_outside_the_batch_keeps_its_multiplier(name):
    """Three steps, so that momentum would carry samples on; whoever is out stays where it was, to the bit."""
    method = scl.PrimalDual(primal=optax.sgd(0.01), dual=DUALS[name])
    problem = method.prepare(posed()).bare()
    state = method.init(problem, Scaled(jnp.asarray(0.5)), jax.random.key(0))
    step = eqx.filter_jit(method.step)
    for k in range(6):
        before = state
        state, info = step(problem, state, jax.random.key(k))
        batch = np.asarray(state.samplers[0].points[:, 0], int)
        out = np.setdiff1d(np.arange(12), batch)
        old, new = (np.asarray(s.multipliers["data"]) for s in (before, state))
        np.testing.assert_array_equal(new[out], old[out])
        assert np.all(new[batch] > old[batch])
        np.testing.assert_array_equal(np.flatnonzero(info.seen["data"]), np.sort(batch))
        for a, b in zip(jax.tree.leaves(before.dual), jax.tree.leaves(state.dual), strict=True):
            if np.shape(a) == (12,):
                np.testing.assert_array_equal(np.asarray(a)[out], np.asarray(b)[out])


def test_the_step_descends_the_lagrangian_of_the_batch():
    """Σ over the batch of λ_j ‖(θ − 1) a_j e^(−t)‖ / ‖a_j e^(−t)‖ has the slope −Σ λ_j for θ < 1."""
    method = scl.PrimalDual(primal=optax.sgd(1.0), dual=scl.DualAscent(1e-9))
    problem = method.prepare(posed()).bare()
    state = method.init(problem, Scaled(jnp.asarray(0.5)), jax.random.key(0))
    prices = jnp.linspace(0.001, 0.012, 12)
    after, _ = method.step(problem, state._replace(multipliers={"data": prices}), jax.random.key(1))
    batch = np.asarray(after.samplers[0].points[:, 0], int)
    assert float(after.model.factor) == pytest.approx(0.5 + float(prices[batch].sum()), rel=1e-4)


def test_the_hardest_sample_has_the_largest_multiplier():
    """One sample follows another law; no factor satisfies both, and its multiplier says so."""
    data = decays(13)
    data["solution"][3] *= -1.0
    solution = trained(posed(data.isel(sample=slice(0, 12)), tolerance=0.05), steps=90)
    assert np.argmax(solution.sample_multipliers) == 3
    hardest = solution.hardest(2)
    assert int(hardest.sample[0]) == 3
    np.testing.assert_allclose(hardest["input"][0], data["input"][3], rtol=1e-6)
    assert float(hardest["multiplier"][0]) == pytest.approx(solution.sample_multipliers.max())
    assert float(hardest["error"][0]) > float(hardest["error"][1])


def test_values_of_an_epoch_are_those_of_every_sample():
    solution = trained(posed(batch=4), steps=6)
    values = solution.history["values.data"]
    assert values.shape == (2, 12)  # a record for each epoch of three steps
    assert np.all(np.isfinite(values))
    partial = trained(posed(batch=5), steps=2)  # two batches of five: two samples wait
    assert np.isnan(partial.history["values.data"]).sum() == 2
    assert np.isfinite(partial.violations["data"])


# --- losses and equations -------------------------------------------------------------------------------------------


def rows_of(problem, model, samples):
    (term,) = problem.terms
    w = jnp.asarray(samples, float)[:, None]
    rows = term.law.rows(model, problem.parameters, w)
    return term, rows, term.law.losses(rows)


def test_losses_are_relative_or_mean_square():
    data, model = decays(), Scaled(jnp.asarray(0.25))
    truth = data["solution"].values
    _, _, relative = rows_of(posed(), model, [0, 7])
    np.testing.assert_allclose(relative, 0.75, rtol=1e-5)
    square = scl.OperatorProblem(data, constraints={"data": scl.each(scl.Data()) <= 1e-3}, batch=4)
    _, _, losses = rows_of(square, model, [0, 7])
    np.testing.assert_allclose(losses, np.mean((0.75 * truth[[0, 7]]) ** 2, axis=(1, 2)), rtol=1e-5)


def test_the_loss_of_each_decides():
    given = scl.each(RELATIVE, scl.MeanSquare()) <= 1e-3
    problem = scl.OperatorProblem(decays(), constraints={"data": given}, batch=4)
    assert problem.terms[0].law.power == 2


def test_the_average_loss_is_a_choice_of_measure():
    problem = scl.OperatorProblem(decays(), objective=scl.average(RELATIVE), batch=4, validation=2, test=2)
    solution = trained(problem, steps=100)
    assert solution.error() < 0.05
    assert not solution.multipliers
    assert solution.plot_multipliers() is None


class Given(eqx.Module):
    """A known function of the grid, whatever the input; one weight, which multiplies it."""

    factor: jnp.ndarray
    function: object = eqx.field(static=True)

    def __call__(self, values):
        t = jnp.linspace(0.0, 1.0, values.shape[0])[:, None]
        x = (jnp.arange(values.shape[1]) / values.shape[1])[None]
        return self.factor * self.function(x, t)[..., None]


def on_grid(equation, function, points, frames, **parameters):
    coords = {"t": np.linspace(0, 1, frames), "x": np.arange(points) / points}
    zeros = {
        "input": (("sample", "x"), np.zeros((3, points))),
        "solution": (("sample", "t", "x"), np.zeros((3, frames, points))),
    }
    problem = scl.OperatorProblem(
        xr.Dataset(zeros, coords),
        constraints={"pde": scl.average(equation) <= 1e-3},
        parameters=parameters,
        periodic=("x",),
        batch=3,
    )
    return np.asarray(rows_of(problem, Given(jnp.asarray(1.0), function), [0])[1])


def test_an_equation_on_the_output_is_spectral_in_periodic_directions(x64):
    """uₜ = ν uₓₓ of e^(−ν 4π² t) sin 2πx, on so many frames that differences in time do not count."""
    nu = 0.01
    exact = lambda x, t: jnp.exp(-nu * 4 * np.pi**2 * t) * jnp.sin(2 * np.pi * x)
    for points in (8, 9):
        rows = on_grid(lambda u_t, u_xx, nu: u_t - nu * u_xx, exact, points, 41, nu=nu)
        assert np.abs(rows).max() < 1e-7
    wrong = on_grid(lambda u_t, u_xx, nu: u_t + nu * u_xx, exact, 8, 41, nu=nu)
    assert np.abs(wrong).max() > 1e-2


def test_words_over_space_mean_the_same_on_grids(x64):
    exact = lambda x, t: jnp.exp(t) * jnp.sin(2 * np.pi * x)
    spelt = on_grid(lambda u_t, u_x, u_xx: u_t + u_x**2 + u_xx, exact, 8, 9)
    words = on_grid(lambda u_t, grad_u, lap_u: u_t + grad_u[0] ** 2 + lap_u, exact, 8, 9)
    np.testing.assert_allclose(words, spelt, rtol=1e-12)


def test_differences_converge_at_order_four(x64):
    wave = lambda x, t: jnp.sin(3 * t) + 0 * x
    errors = [np.abs(on_grid(lambda u_tt, u: u_tt + 9 * u, wave, 4, n)).max() * np.sqrt(4 * n) for n in (21, 41)]
    assert errors[0] / errors[1] > 12


@pytest.mark.parametrize("order", [1, 2, 3])
def test_difference_matrices_are_exact_on_polynomials(order):
    axis = np.sort(np.random.default_rng(0).uniform(0, 2, 9))
    matrix = operators.difference_matrix(axis, order)
    for degree in range(order + 4):
        polynomial = np.polynomial.Polynomial.basis(degree)
        np.testing.assert_allclose(matrix @ polynomial(axis), polynomial.deriv(order)(axis), atol=1e-8)


def test_an_equation_sees_the_coordinates(x64):
    rows = on_grid(lambda u, x, t: u - x * t, lambda x, t: x * t, 8, 5)
    np.testing.assert_allclose(rows, 0.0, atol=1e-12)


def test_equations_and_data_train_together():
    problem = scl.OperatorProblem(
        decays(),
        constraints={"data": scl.each(RELATIVE) <= 1e-2, "pde": scl.worst_case(lambda u, u_t: u_t + u) <= 1e-4},
        batch=4,
        validation=2,
        test=2,
    )
    solution = trained(problem, steps=120)
    assert solution.error() < 0.05
    assert solution.operator_evaluations == 120 * 4 * 40  # residuals at the points of the grid
    assert {"data", "pde"} == set(solution.check().sup_residual)


# --- training -------------------------------------------------------------------------------------------------------


def test_training_finds_the_operator():
    """With a wrong factor every sample, whatever its size, is off by |factor − 1|, of training and of test alike."""
    solution = trained(posed(validation=2, test=2, tolerance=0.05), steps=200)
    off = abs(float(solution.model.factor) - 1)
    assert off < 2e-3
    for split in ("train", "validation", "test"):
        np.testing.assert_allclose(solution.errors(split), off, atol=1e-6)
    assert solution.error() == pytest.approx(off, abs=1e-6)
    # What training knows of a sample is as old as its last batch, within an epoch of two steps.
    assert solution.violations["data"] == pytest.approx(off - 0.05, abs=5e-3)
    assert solution.feasible


def test_the_state_of_lowest_validation_error_is_the_result():
    """A rate at which the factor bounces: the result is the best epoch, and the last state is told beside it."""
    method = scl.PrimalDual(primal=optax.sgd(2.0), dual=scl.DualAscent(0.5))
    solution = trained(method=method, steps=31)
    history = solution.history
    best = int(np.argmin(history["merit"]))
    assert history["kept"][-1] == history["step"][best]
    assert solution.errors("validation").mean() == pytest.approx(history["merit"][best], rel=1e-5)
    assert history["merit"][-1] > history["merit"][best]
    assert solution.last_error > solution.error()


def test_runs_resume_bit_for_bit(tmp_path):
    whole = trained(steps=20)
    trained(steps=7, checkpoint=tmp_path / "run")
    resumed = trained(steps=20, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(resumed.sample_multipliers, whole.sample_multipliers)
    assert float(resumed.model.factor) == float(whole.model.factor)


def test_seeds_at_once_are_the_seeds_one_by_one():
    together = trained(seeds=2, steps=12)
    for solution in together:
        alone = trained(seed=solution.seed, steps=12)
        np.testing.assert_allclose(solution.sample_multipliers, alone.sample_multipliers, rtol=1e-5)


def test_the_default_network_and_method_learn():
    solution = scl.solve(posed(decays(40), validation=8, test=8), steps=40, progress=False)
    assert isinstance(solution.model, scl.nn.FNO)
    assert solution.history["merit"][-1] < 0.8 * solution.history["merit"][0]


# --- what a user does with it ---------------------------------------------------------------------------------------


def test_a_new_function_on_any_grid():
    solution = trained(steps=30)
    factor = float(solution.model.factor)
    a = np.sin(2 * np.pi * np.arange(17) / 17)
    found = solution(a, t=9)
    assert found.shape == (9, 17)
    np.testing.assert_allclose(found, factor * np.exp(-np.linspace(0, 1, 9))[:, None] * a, rtol=1e-4, atol=1e-6)
    assert solution(np.stack([a, a])).shape == (2, 5, 17)
    for times in (2, 3, 7, 12):
        expected = factor * np.exp(-np.linspace(0, 1, times))[:, None] * a
        np.testing.assert_allclose(solution(a, t=times), expected, rtol=1e-4, atol=1e-6)


def test_a_finer_grid_of_times_is_at_the_same_times():
    """The Fourier operator too: every second of the finer frames is one of the data set's, up to its resolution."""
    model = scl.nn.FNO(1, 1, (2, 2), 1, 4, 4, 2, key=jax.random.key(0))
    solution = trained(posed(validation=2, test=2), model, steps=2)
    a = np.sin(2 * np.pi * np.arange(16) / 16)
    np.testing.assert_allclose(solution(a, t=9)[::2], solution(a), atol=0.02 * np.abs(solution(a)).max())


def test_times_that_are_not_even_cannot_be_refined():
    data = decays().assign_coords(t=T**2)
    solution = trained(posed(data, validation=2, test=2), steps=2)
    assert solution(X, t=len(T)).shape == (len(T), len(X))
    with pytest.raises(ValueError, match=r"the data set's own 5 where it is not even"):
        solution(X, t=9)


def test_inputs_that_are_numbers(tmp_path):
    a = np.linspace(0.1, 0.9, 8)
    dims = {"input": ("sample", a), "solution": (("sample", "t"), a[:, None] * np.exp(-T))}
    problem = posed(xr.Dataset(dims, {"t": T}), periodic=(), test=2, batch=2)
    solution = scl.solve(problem, scl.nn.FNO(1, 1, (2,), 1, 4, 4, 1, key=jax.random.key(0)), METHOD, steps=3)
    assert solution(0.5).shape == (5,)
    solution.plot(tmp_path / "solution.png")
    solution.plot_multipliers(tmp_path / "multipliers.png")


BURGERS = lambda u, u_t, u_x: u_t + u * u_x
ENDS = decays().pad(x=(0, 1), mode="wrap").assign_coords(x=np.append(X, 2 * X[-1] - X[-2]))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: posed(test=decays().assign_coords(x=X + 100)), "`test` is on the grid t: 5 in"),
        (lambda: posed(test=decays().rename(x="t", t="x").transpose("sample", "x", "t")), "`test` is on the grid x: 5"),
        (
            lambda: posed(decays() * xr.DataArray(1.0 * (np.arange(12) != 11), dims="sample"), test=2),
            "sample 1 of `test` is zero everywhere",
        ),
        (lambda: posed(decays().assign_coords(x=X**2)), "`x`, whose points are not even"),
        (lambda: posed(ENDS), "whose last point repeats the first"),
        (lambda: posed(periodic="y"), "`periodic` names `y`"),
        (
            lambda: scl.OperatorProblem(decays().drop_vars("t"), objective=scl.average(BURGERS), batch=2),
            "needs the coordinates of `t`",
        ),
        (
            lambda: scl.OperatorProblem(decays(), objective=scl.worst_case(RELATIVE, over=("t",)), batch=2),
            "`over` has no meaning on samples",
        ),
        (
            lambda: scl.OperatorProblem(decays().isel(t=[0, 1]), objective=scl.average(lambda u_tt: u_tt), batch=2),
            "a derivative of order 2 needs more than 2 points",
        ),
        (lambda: trained(steps=2).error(reference=np.sin), "it takes no `reference`"),
    ],
)
def test_more_bad_input(build, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        build()


def test_two_frames_have_a_default_network():
    problem = posed(decays().isel(t=[0, 1]))
    assert scl.solve(problem, steps=1, progress=False)(X).shape == (2, len(X))


def test_a_price_needs_an_objective():
    """Without one a multiplier ranks; with one, a sample in a third of the steps has a third of it as its price."""
    binding = {"constraints": {"data": scl.each(RELATIVE) <= 0.6}}
    model = Scaled(jnp.asarray(0.5))
    multipliers = {"data": np.full(12, 0.3)}
    for objective, said in ((None, "how hard it was to meet"), (scl.average(RELATIVE), "Its price is 0.1:")):
        problem = scl.OperatorProblem(decays(), objective=objective, batch=4, **binding)
        assert said in str(report.check(problem, model, multipliers, settled=("data",)))
        assert "Its price" not in str(report.check(problem, model, multipliers))


def test_other_validation_samples_are_another_run(tmp_path):
    trained(posed(validation=decays(2, seed=4)), steps=3, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="belongs to another run: its validation"):
        trained(posed(validation=decays(2, seed=5)), steps=6, checkpoint=tmp_path)


def test_check_reports_the_worst_sample_and_unseen_ones():
    solution = trained(steps=30)
    found = solution.check()
    worst = int(found["data"].where["sample"])
    assert solution.errors("train")[worst] == pytest.approx(found["data"].estimate, rel=1e-4)
    assert found.points == 8
    assert "on the 8 training samples" in str(found)
    assert "2 test samples" in str(found)


def test_save_and_load(tmp_path):
    problem = posed(decays(16), validation=4, test=4)
    model = scl.nn.FNO(1, 1, (2, 2), 1, 4, 4, 2, key=jax.random.key(0))
    solution = trained(problem, model, steps=4)
    solution.save(tmp_path / "operator.scl")
    loaded = scl.load(tmp_path / "operator.scl", problem=problem)
    assert isinstance(loaded, scl.OperatorSolution)
    np.testing.assert_allclose(loaded(X), solution(X), rtol=1e-6)
    np.testing.assert_array_equal(loaded.sample_multipliers, solution.sample_multipliers)
    assert loaded.last_error == solution.last_error


def test_figures(tmp_path):
    solution = trained(steps=12)
    solution.plot(tmp_path / "solution.png")
    solution.plot_history(tmp_path / "history.png")
    figure = solution.plot_multipliers(tmp_path / "multipliers.png")
    assert len(figure.axes) == 6
    assert all((tmp_path / f"{n}.png").stat().st_size > 5000 for n in ("solution", "history", "multipliers"))


def test_baselines_without_a_network():
    data = decays(6)
    train, other = (posed(data, batch=2).train, posed(data.isel(sample=[4, 1]), batch=2).train)
    np.testing.assert_allclose(samples.nearest_neighbour(train, other), 0.0, atol=1e-6)
    assert samples.interpolation(train, other) is None
    levels = np.asarray([0.1, 0.3, 0.2])
    constant = xr.Dataset(
        {
            "input": (("sample", "x"), np.repeat(levels[:, None], 8, 1)),
            "solution": (("sample", "t", "x"), levels[:, None, None] * np.ones((3, 5, 8))),
        },
        {"t": T, "x": X},
    )
    three = posed(constant, batch=2).train
    middle = posed(
        constant.assign(input=constant["input"] * 0 + 0.25, solution=constant["solution"] * 0 + 0.25), batch=2
    )
    np.testing.assert_allclose(samples.interpolation(three, middle.train), 0.0, atol=1e-6)


# --- bad data -------------------------------------------------------------------------------------------------------


def changed(name, **index):
    data = decays()
    data[name][index] = np.nan
    return data


BAD = {
    "NaN in a solution": (lambda: posed(changed("solution", sample=5, t=0, x=0)), ("solution", "sample 5")),
    "NaN in an input": (lambda: posed(changed("input", sample=2, x=0)), ("input", "sample 2")),
    "no Dataset": (lambda: posed(np.zeros(3)), ("dataset", "ndarray")),
    "no variable": (lambda: posed(decays().rename(input="a")), ("`input`", "solution")),
    "no samples": (lambda: posed(decays().isel(sample=slice(0, 0))), ("no samples",)),
    "batch too large": (lambda: posed(batch=50), ("batch", "50", "12")),
    "nothing to train on": (lambda: posed(test=12), ("test", "12")),
    "unequal grids": (lambda: posed(test=decays().isel(x=slice(0, 4))), ("test", "4", "8")),
    "empty split": (lambda: trained(posed(), steps=1).errors("test"), ("test",)),
    "unknown split": (lambda: trained(posed(), steps=1).errors("tests"), ("split", "tests")),
    "a zero sample": (lambda: posed(decays() * 0), ("sample 0", "MeanSquare")),
    "unknown periodic": (lambda: posed(periodic=("y",)), ("periodic", "y")),
    "each as objective": (
        lambda: scl.OperatorProblem(decays(), objective=1 * scl.each(RELATIVE), batch=4),
        ("each", "average"),
    ),
    "a condition": (
        lambda: scl.OperatorProblem(decays(), constraints={"ic": scl.average(scl.Initial(0.0)) <= 1.0}, batch=4),
        ("Data()", "Initial"),
    ),
    "data without a data set": (
        lambda: scl.Problem(scl.Box(x=(0, 1)), constraints={"data": scl.each(scl.Data()) <= 1.0}),
        ("OperatorProblem",),
    ),
    "second order": (
        lambda: trained(method=scl.PrimalDual(scl.GaussNewton(), scl.DualAscent(0.1))),
        ("GaussNewton", "optax.adam"),
    ),
    "a model of other size": (
        lambda: trained(model=scl.nn.FNO(2, 1, 2, 1, 4, 4, 2, key=jax.random.key(0))),
        ("inputs",),
    ),
    "values of another shape": (lambda: trained(steps=1)(np.zeros((2, 3, 4))), ("values", "(2, 3, 4)")),
    "points of a known coordinate": (lambda: trained(steps=1)(X, x=5), ("x", "t")),
    "no such sample": (lambda: trained(steps=1).plot(sample=9), ("sample", "9")),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_refused(name):
    make, said = BAD[name]
    with pytest.raises(ValueError) as caught:
        make()
    assert all(word in str(caught.value) for word in said), caught.value


# --- the zoo --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scl.zoo.OPERATORS)
def test_tiny_experiments_run(name):
    entry = scl.zoo.entry(name)
    for method in ("scl", "average"):
        row = scl.zoo.ROWS[method](entry, scale="tiny")
        solution = scl.solve(row.problem, row.model, row.method, steps=2, progress=False)
        assert np.isfinite(solution.error())
        assert (solution.sample_multipliers is None) == (method == "average")


def test_physics_joins_the_data():
    problem = scl.zoo.burgers_operator("tiny", physics=1e-2)
    assert problem.constraints == ("data", "pde")


def test_the_paper_s_scale_is_the_paper_s():
    training = scl.zoo.OPERATORS["burgers_operator"].training(scale="paper")
    assert training.steps == 500 * 40
    assert training.model.settings == scl.zoo.paper_settings("burgers")


MEMORY = """
from pathlib import Path
import numpy as np, optax, xarray as xr
import sclax as scl

peak = lambda: float(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
build = lambda domain, outputs, key: scl.nn.FNO(1, outputs, 4, 1, 4, 4, 2, key=key)

def train(samples):
    start = np.random.default_rng(0).random((samples, 64), np.float32)
    solution = np.repeat(start[:, None], 64, axis=1)
    data = xr.Dataset({"input": (("sample", "x"), start), "solution": (("sample", "t", "x"), solution)})
    fit = scl.each(scl.Data(scl.RelativeL2())) <= 1e-3
    problem = scl.OperatorProblem(data, constraints={"data": fit}, validation=10, test=10, batch=4)
    scl.solve(problem, build, scl.PrimalDual(optax.adam(1e-3), scl.DualAscent(1e-2)), steps=20, progress=False)
    return solution.nbytes / 2**20

train(100)
before = peak()
print(train(8000), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_is_three_times_the_training_set_at_most():
    """The data set of the user included, and 30 MB for compiled code and activations; in a process of its own."""
    done = subprocess.run([sys.executable, "-c", MEMORY], stdout=subprocess.PIPE, text=True, check=True)
    size, grown = (float(word) for word in done.stdout.split())
    assert size > 100
    assert grown < 3 * size + 30
