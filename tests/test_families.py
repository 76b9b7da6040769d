"""One network for every parameter: grids of parameters, maps over them, and where a surrogate is least reliable."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

import sclax as scl
from sclax._places import embed_all

FAMILY = scl.zoo.convection(beta=(1.0, 30.0))
SQUARE = scl.zoo.helmholtz(a1=(1.0, 2.0), a2=(1.0, 2.0))


def solved(problem, model):
    """A solution without training."""
    history = scl.History.of(problem.constraints)
    multipliers = dict.fromkeys(problem.constraints, 0.0)
    return scl.Solution(problem, model, None, multipliers, history, scl.RESULTS.steps_done, 0)


def off_by(z):
    """The solution of the convection family with an error of (β/30)⁴ sin x."""
    return (jnp.sin(z[0] - z[2] * z[1]) + (z[2] / 30) ** 4 * jnp.sin(z[0]))[None]


# --- grids of parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", ["uniform", "sobol"])
def test_each_value_of_a_grid_has_as_many_points(draw):
    for term in SQUARE.discretised({"a1": [1.0, 1.5, 2.0], "a2": [1.0, 2.0]}).terms:
        z = np.asarray(embed_all(term.law.place, getattr(term.law.place, draw)(600, jax.random.key(0))))
        pairs, counts = np.unique(z[:, 2:], axis=0, return_counts=True)
        assert pairs.tolist() == [[a, b] for a in (1.0, 1.5, 2.0) for b in (1.0, 2.0)]
        assert set(counts) == {100}
        spread = z[:, :2].std(axis=0)
        assert np.all(spread > 0.2), "the other coordinates range freely"


def test_an_average_at_given_values_is_their_mean():
    """r = x² β on [0, 1] has the mean square β²/5."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        parameters={"beta": (0.0, 4.0)},
        objective=scl.average(lambda x, beta: x**2 * beta, points=scl.Sobol(3 * 2048), at={"beta": [1.0, 2.0, 4.0]}),
    ).completed()
    (term,) = problem.terms
    points = (term.chosen.init(term.law.place, jax.random.key(0)).points,)
    found = problem.evaluate(lambda z: z[:1], points).objective
    assert float(found) == pytest.approx((1 + 4 + 16) / 3 / 5, rel=1e-3)


def test_a_worst_case_over_parameters_becomes_its_mean_over_the_grid():
    """The paper's objective of a family, as its PINN baseline has it: the same points at each value."""
    row = scl.zoo.ROWS["pinn"](scl.zoo.entry("convection"), at={"beta": [1.0, 30.0]}, beta=(1.0, 30.0))
    initial = next(t for t in row.problem.terms if t.name == "initial")
    points = initial.chosen.init(initial.law.place, jax.random.key(0)).points
    assert points.ravel().tolist() == [1.0, 30.0]
    model = lambda z: (jnp.sin(z[0]) + z[2])[None]  # off by β at the start
    losses = initial.law.losses(initial.law.rows(model, {}, points))
    np.testing.assert_allclose(losses, [1.0, 900.0], rtol=1e-5)
    assert float(jnp.vdot(initial.weights(losses), losses)) == pytest.approx(450.5)


def test_normals_stay_in_space():
    place = SQUARE.discretised({"a1": [1.0], "a2": [2.0]}).terms[0].law.place
    w = place.uniform(50, jax.random.key(0))
    normals = jax.vmap(place.normal)(w)
    np.testing.assert_allclose(jnp.linalg.norm(normals[:, :2], axis=1), 1.0)
    np.testing.assert_allclose(normals[:, 2:], 0.0)


def test_the_grids_are_the_paper_s():
    grids = lambda name, **ranges: scl.zoo.paper_settings(name, **ranges).grids
    assert grids("convection", beta=(1.0, 30.0))[0] == (1.0, 10.0, 20.0, 30.0)
    assert grids("convection", beta=(1.0, 30.0))[-1] == tuple(float(v) for v in range(1, 31))
    assert grids("reaction_diffusion", nu=(0.0, 5.0), rho=(0.0, 5.0))[1] == (0.0, 1.67, 3.33, 5.0)
    assert grids("reaction_diffusion", nu=(1.0, 20.0), rho=(1.0, 20.0))[-1] == (1.0, 5.0, 10.0, 15.0, 20.0)
    assert grids("helmholtz", a1=(1.0, 3.0), a2=(1.0, 3.0))[-1] == (1.0, 1.4, 1.8, 2.2, 2.6, 3.0)


def test_a_pinn_on_a_grid_trains():
    at = {"beta": [1.0, 2.0]}
    problem = scl.zoo.convection(beta=(1.0, 2.0)).discretised(at, n=30)
    method = scl.Penalty(scl.GaussNewton(warm_up=0), weights={"objective": 100.0, "pde": 1.0})
    model = scl.nn.MLP(problem.domain, width=8, depth=2, key=jax.random.key(0))
    solution = scl.solve(problem, model, method, steps=20, progress=False)
    values = solution.history["values.pde"]
    assert values[-1] < 0.3 * values[0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FAMILY.discretised({"beta": [0.5, 2.0]}), ("at", "beta", "[1.0, 30.0]", "0.5")),
        (lambda: FAMILY.discretised({"betta": [2.0]}), ("at", "beta", "betta")),
        (lambda: FAMILY.discretised({}), ("at", "beta")),
        (lambda: FAMILY.discretised({"beta": [2.0]}, n=0), ("n", "0")),
        (lambda: scl.average(lambda u: u, points=[[0.1, 0.2]], at={"beta": [1.0]}), ("at", "points")),
        (lambda: solved(FAMILY, off_by).error_map(gamma=3), ("gamma", "beta")),
        (lambda: solved(FAMILY, off_by).error_map(beta=0), ("beta", "0")),
        (lambda: solved(FAMILY, off_by).residual_map("ode"), ("ode", "pde")),
        (lambda: solved(scl.zoo.convection(beta=2.0), lambda z: z[:1]).residual_map(), ("family",)),
    ],
)
def test_bad_grids_are_refused(make, said):
    with pytest.raises(ValueError) as caught:
        make()
    assert all(word in str(caught.value) for word in said), caught.value


# --- maps over the parameters ---------------------------------------------------------------------------------------


def test_gauss_newton_counts_the_rows_of_a_grid(recwarn):
    """450 points at 30 values are 450 rows, within memory: nothing is thinned. A condition on values and slopes has two
    rows a point, and so half as many points as one on values alone; beside two conditions an equation has more."""
    values = np.linspace(1.0, 30.0, 30)
    prepared = scl.GaussNewton().prepare(FAMILY.discretised({"beta": values}, n=15))
    count = lambda term: term.chosen.init(term.law.place, jr.key(0)).points.shape[0]
    assert [count(term) for term in prepared.terms] == [450, 450, 450]
    assert not recwarn
    square = scl.zoo.reaction_diffusion(nu=(1.0, 2.0), rho=(1.0, 2.0))
    assert [count(term) for term in scl.GaussNewton().prepare(square).terms] == [425, 212, 952]


def test_the_error_map_is_the_error_at_each_parameter():
    """‖(β/30)⁴ sin x‖ / ‖sin(x − βt)‖: both sines have the mean square 1/2 over a period of x."""
    errors = solved(FAMILY, off_by).error_map(progress=False, beta=[1.0, 15.0, 30.0])
    x = np.linspace(0, 2 * np.pi, 256, endpoint=False)[:, None]
    t = np.linspace(0, 1, 100)
    for beta, error in zip((1.0, 15.0, 30.0), errors.values, strict=True):
        truth = np.sin(x - beta * t)
        wrong = (beta / 30) ** 4 * np.broadcast_to(np.sin(x), truth.shape)
        assert error == pytest.approx(np.linalg.norm(wrong) / np.linalg.norm(truth), rel=1e-4, abs=1e-8)
    assert errors.coords["beta"].values.tolist() == [1.0, 15.0, 30.0]


def test_the_error_of_a_family_is_the_mean_over_a_hundred_parameters():
    """Over whole periods of x both sines have the same norm, so the error at β is (β/30)⁴."""
    betas = np.linspace(1.0, 30.0, 100)
    assert solved(FAMILY, off_by).error() == pytest.approx(np.mean((betas / 30) ** 4), rel=1e-4)


def test_maps_of_solvers_and_of_two_parameters():
    problem = scl.zoo.reaction_diffusion(nu=(0.0, 5.0), rho=(0.0, 5.0))
    truth = scl.reference.reaction_diffusion(2.0, 3.0)
    errors = solved(problem, lambda z: jnp.zeros(1)).error_map(progress=False, nu=[2.0], rho=[1.0, 3.0])
    np.testing.assert_allclose(errors, 1.0)
    assert errors.shape == (1, 2)
    near = solved(problem, lambda z: jnp.full(1, float(truth.mean())))
    wanted = float(np.linalg.norm(truth - float(truth.mean())) / np.linalg.norm(truth))
    assert float(near.error_map(progress=False, nu=[2.0], rho=[3.0])[0, 0]) == pytest.approx(wanted, rel=1e-4)


def test_the_error_against_an_array_is_at_its_own_parameters():
    """Of those that are asked for, the reference's nearest; one without the dimension has a single one."""
    x, t = np.linspace(0, 2 * np.pi, 32, endpoint=False), np.linspace(0, 1, 20)
    beta = np.asarray([1.0, 15.0, 30.0])
    u = np.sin(x[:, None] - beta[:, None, None] * t)
    array = xr.DataArray(u, {"beta": beta, "x": x, "t": t}, ("beta", "x", "t"), name="u")
    solution = solved(FAMILY, off_by)
    every = solution.error_map(array, progress=False)
    assert every.coords["beta"].values.tolist() == [1.0, 15.0, 30.0]
    one = solution.error_map(array, progress=False, beta=[14.0])
    assert one.coords["beta"].values.tolist() == [15.0]
    assert float(one[0]) == float(every[1])
    assert solution.error(array.sel(beta=15.0)) == pytest.approx(float(every[1]))


def test_the_residual_map_needs_no_reference():
    """u = sin(x − βt) + (β/30)⁴ sin x has the residual β (β/30)⁴ cos x."""
    found = solved(FAMILY.without_reference(), off_by).residual_map(progress=False, beta=[3.0, 30.0])
    sizes = np.asarray([3.0 * 0.1**4, 30.0])
    np.testing.assert_allclose(found["rms"], sizes / np.sqrt(2), rtol=0.02)
    np.testing.assert_allclose(found["largest"], sizes, rtol=1e-3)


def test_check_says_where_a_family_is_least_reliable():
    report = solved(FAMILY, off_by).check(points=20_000)
    finding = report["pde"]
    assert finding.least_reliable == {"beta": (pytest.approx(27.1), pytest.approx(30.0))}
    assert finding.excess > 10
    assert "least reliable for beta in [27.1, 30]" in str(report)
    assert not solved(scl.zoo.convection(beta=2.0), lambda z: z[:1]).check(points=100)["pde"].least_reliable


def test_a_pinn_on_a_grid_is_checked_between_its_values():
    """Exact at β = 1 and 30, wrong between: trained there, it would look perfect."""
    between = lambda z: (jnp.sin(z[0] - z[2] * z[1]) + (z[2] - 1) * (30 - z[2]) * jnp.sin(z[0]))[None]
    solution = solved(FAMILY.discretised({"beta": [1.0, 30.0]}), between)
    report = solution.check(points=10_000)
    assert report["pde"].largest_residual > 100
    assert 10 < report["pde"].where["beta"] < 28
    assert float(solution.residual_map(progress=False, beta=[15.0])["rms"][0]) > 100
    assert len(solution.plot_family(progress=False, beta=3).axes) == 2


def test_check_finds_the_worst_corner_of_two_parameters():
    corner = lambda z: (scl.zoo._helmholtz.exact(*z) + z[0] * (z[2] - 1) ** 4 * (2 - z[3]) ** 4)[None]
    where = solved(SQUARE, corner).check(points=20_000)["pde"].least_reliable
    assert where == {"a1": (pytest.approx(1.8), pytest.approx(2.0)), "a2": (pytest.approx(1.0), pytest.approx(1.2))}


MEMORY = """
from pathlib import Path
import jax.numpy as jnp
from tests.test_families import FAMILY, off_by, solved

# Not getrusage, whose peak a process inherits from the one that starts it.
peak = lambda: float(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
solution = solved(FAMILY, off_by)
solution.error_map(progress=False, beta=2)
before = peak()
solution.error_map(progress=False, beta=400)
bounded = peak() - before
held = jnp.ones((400, 25_600, 3)).block_until_ready()  # what all parameters at once would hold, at the least
print(bounded, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_the_number_of_parameters():
    """In a process of its own: a peak that earlier tests have set would hide any growth."""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", MEMORY], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    bounded, at_once = (float(word) for word in done.stdout.split())
    assert bounded < 60
    assert at_once > 100, "the measure would have seen them all at once"


# --- figures --------------------------------------------------------------------------------------------------------


def test_the_figure_of_a_family_shows_error_and_residual(tmp_path):
    """(β/30)⁴, and the root mean square β (β/30)⁴/√2 of β (β/30)⁴ cos x."""
    figure = solved(FAMILY, off_by).plot_family(tmp_path / "one.png", progress=False, beta=5)
    betas = np.linspace(1.0, 30.0, 5)
    (errors,), (residuals,) = (axis.lines for axis in figure.axes)
    np.testing.assert_allclose(errors.get_xydata(), np.stack([betas, (betas / 30) ** 4], axis=1), rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(residuals.get_ydata(), betas * (betas / 30) ** 4 / np.sqrt(2), rtol=0.02)
    solved(SQUARE, lambda z: z[:1]).plot_family(tmp_path / "two.png", progress=False, a1=3, a2=3)
    for name in ("one", "two"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_marginals_are_densities_over_the_uniform_one(tmp_path):
    solution = solved(FAMILY, off_by)
    assert solution.plot_marginals() is None  # nothing was sampled
    # A point in each of 8 × 8 cells of (x, t), and β as uniform; then all x in the lower half, and late times weigh
    # three times as much.
    i, j = np.divmod(np.arange(64), 8)
    shares = lambda i: (np.stack([i, j, (i + j) % 8], axis=-1) + 0.5) / 8
    stages = np.asarray(FAMILY.domain.lower) + np.asarray(FAMILY.domain.lengths) * np.stack([shares(i), shares(i // 2)])
    late = np.where(j < 4, 1.0, 3.0)
    history = dataclasses.replace(
        solution.history,
        snapshot_step=np.asarray([1, 2]),
        snapshot={"pde": stages},
        snapshot_weights={"pde": np.stack([np.ones(64), late])},
    )
    solution = dataclasses.replace(solution, history=history)
    figure = solution.plot_marginals(tmp_path / "marginals.png")
    beta = np.histogram((i // 2 + j) % 8, np.arange(9), weights=late / 16)[0]
    wanted = {"$x$": [2.0] * 4 + [0.0] * 4, "$t$": [0.5] * 4 + [1.5] * 4, "$\\beta$": beta}
    for axis in figure.axes:
        first, second = (stairs.get_data().values for stairs in axis.patches)
        np.testing.assert_allclose(first, 1.0, rtol=1e-6)
        np.testing.assert_allclose(second, wanted[axis.get_xlabel()], rtol=1e-6)
    assert (tmp_path / "marginals.png").stat().st_size > 5000
