"""Values of measures against quadrature, through the problem's own pass."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._places import embed_all

SQUARE = scl.Box(x=(0, 1), y=(0, 2))
MODEL = lambda z: jnp.stack([z[0] * z[1]])  # u = x y
EVEN = {"worst_case": scl.ImportanceWeights(4096, proposal=scl.Sobol()), "average": scl.Sobol(4096)}


def passed(problem, model=MODEL, **choices):
    """One pass of a problem whose open choices are Sobol points and importance weights."""
    problem = problem.completed(**{**EVEN, **choices})

    def everything(key):
        points = []
        for term in problem.terms:
            state = term.sampler.init(term.law.place, key)
            points.append(term.sampler.step(term.law.place, lambda w: w[:, 0], state, key)[0].points)
        return problem.evaluate(model, tuple(points)), tuple(points)

    evaluation, points = jax.jit(everything, compiler_options={"xla_backend_optimization_level": "0"})(jr.key(0))
    return problem, evaluation, points


def fine(f):
    """Losses f(x, y) on a midpoint grid of the square."""
    x, y = np.meshgrid((np.arange(500) + 0.5) / 500, (np.arange(1000) + 0.5) / 500)
    return f(x, y)


def psi(losses, alpha):
    """E_ψ_α[ℓ] with ψ_α ∝ [ℓ − α max ℓ]₊."""
    weights = np.maximum(losses - alpha * losses.max(), 0)
    return (weights * losses).sum() / weights.sum()


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8])
def test_worst_case_is_the_expectation_under_psi(alpha):
    """u_x = y: losses y⁴ on the square under ψ_α."""
    law = lambda u_x: u_x**2
    problem = scl.Problem(SQUARE, constraints={"pde": scl.worst_case(law, n=2**14, alpha=alpha) <= 0.5})
    _, found, _ = passed(problem)
    np.testing.assert_allclose(found.values["pde"], psi(fine(lambda x, y: y**4), alpha), rtol=0.01)


def test_average_is_the_integral_over_the_volume():
    """E[(xy − 1)²] = 4/9 − 1 + 1 on [0, 1] × [0, 2]; of a tuple, the sum of squares."""
    single = scl.average(lambda u: u - 1)
    both = scl.average(lambda u, x: (u - 1, 3 * x))
    _, found, _ = passed(scl.Problem(SQUARE, objective=single, constraints={"both": both <= 0.0}))
    np.testing.assert_allclose(found.objective, 4 / 9, rtol=2e-3)
    np.testing.assert_allclose(found.values["both"], 4 / 9 + 3, rtol=2e-3)


def test_sums_and_factors_are_linear():
    """2 a + 3 (a + b/2) + sum([a, b]), in the objective and in a constraint, equals numbers added by hand."""
    a, b = scl.average(lambda u: u), scl.worst_case(lambda u_x: u_x)
    total = 2 * a + 3 * (a + b * 0.5) + sum([a, b])
    problem = scl.Problem(
        SQUARE,
        objective=total,
        constraints={"a": a <= 1.0, "b": b <= 1.0, "total": total <= 2.0, "twice": 2 * b <= 1.0},
    )
    _, found, _ = passed(problem)
    values = {name: float(value) for name, value in found.values.items()}
    np.testing.assert_allclose(values["a"], 4 / 9, rtol=2e-3)
    np.testing.assert_allclose(values["b"], 12 / 5, rtol=2e-3)
    np.testing.assert_allclose(values["total"], 6 * values["a"] + 2.5 * values["b"], rtol=1e-3)
    np.testing.assert_allclose(values["twice"], 2 * values["b"], rtol=1e-5)
    np.testing.assert_allclose(found.objective, values["total"], rtol=1e-5)


def test_worst_case_on_faces_weighs_each_face_by_its_length():
    """u² = (xy)² on the rim of the square: zero on two sides, x² · 4 on the top, y² on the right."""
    problem = scl.Problem(SQUARE, constraints={"rim": scl.worst_case(scl.Dirichlet(0.0), n=2**14) <= 0.0})
    _, found, _ = passed(problem)
    exact = (1 * 16 / 5 + 2 * np.mean(np.linspace(0, 2, 100_001) ** 4)) / (4 / 3 + 8 / 3)
    np.testing.assert_allclose(found.values["rim"], exact, rtol=0.01)


def test_over_ranges_over_the_family_alone():
    """r = β u with u = x: mean over x of r² is β² mean x² on the grid; ψ over β ∈ [1, 3] of that."""
    over = scl.worst_case(lambda u, beta: beta * u, over=("beta",), n=2**12)
    problem = scl.Problem(scl.Box(x=(0, 1)), {"beta": (1.0, 3.0)}, constraints={"pde": over <= 0.0})
    problem, found, _ = passed(problem, lambda z: z[:1])
    assert problem.terms[0].law.place.names == ("beta",)
    beta, mean = np.linspace(1, 3, 10_001), np.mean(np.linspace(0, 1, 256) ** 2)
    np.testing.assert_allclose(found.values["pde"], mean * np.mean(beta**4) / np.mean(beta**2), rtol=2e-3)


def test_a_family_without_over_ranges_over_everything():
    """The mean of (β − 2)² over β ∈ [1, 3] is 1/3, whatever x."""
    problem = scl.Problem(scl.Box(x=(0, 1)), {"beta": (1.0, 3.0)}, objective=scl.average(lambda beta: beta - 2))
    _, found, (points,) = passed(problem, lambda z: z[:1])
    assert points.shape == (4096, 2)
    np.testing.assert_allclose(found.objective, 1 / 3, rtol=2e-3)


DATA = scl.Observations({"x": [0.5, 1.0, 0.0], "y": [1.0, 1.0, 2.0]}, [0.0, 3.0, 1.0])
LOSSES = np.array([0.25, 4.0, 1.0])  # of u = x y


@pytest.mark.parametrize("tolerance", [0.5, np.array([0.1, 0.2, 0.3])])
def test_each_has_one_value_and_tolerance_for_every_sample(tolerance):
    problem, found, _ = passed(scl.Problem(SQUARE, constraints={"data": scl.each(DATA) <= tolerance}))
    np.testing.assert_allclose(found.values["data"], LOSSES, rtol=1e-6)
    np.testing.assert_allclose(problem.tolerances["data"], np.broadcast_to(tolerance, 3), rtol=1e-6)
    np.testing.assert_allclose(problem.violations(found.values)["data"], LOSSES - tolerance, rtol=1e-5)


def test_each_can_be_relative():
    data = scl.Observations({"x": [[0.5, 1.0]], "y": [[1.0, 1.0]]}, [[3.0, 4.0]])
    _, found, _ = passed(scl.Problem(SQUARE, constraints={"data": scl.each(data, scl.RelativeL2()) <= 0.1}))
    np.testing.assert_allclose(found.values["data"], [np.hypot(2.5, 3.0) / 5], rtol=1e-6)


def test_given_points_are_weighed_exactly():
    """On finitely many points the average is the mean and the worst case Σℓ² / Σℓ, whatever `n` and sampler."""
    problem = scl.Problem(
        SQUARE,
        objective=scl.average(DATA, n=2),
        constraints={"worst": scl.worst_case(DATA, sampler=scl.MetropolisHastings()) <= 0.0},
    )
    _, found, _ = passed(problem)
    np.testing.assert_allclose(found.objective, LOSSES.mean(), rtol=1e-6)
    np.testing.assert_allclose(found.values["worst"], (LOSSES**2).sum() / LOSSES.sum(), rtol=1e-6)


Y = np.array([0.3, 1.0, 1.9])
ROWS = np.stack([np.ones(3), Y], axis=1)


@pytest.mark.parametrize(
    "points",
    [Y, Y[:, None], ROWS, {"y": Y}, {"x": np.ones(3), "y": Y}],
    ids=["1d", "chart", "rows", "dict", "full dict"],
)
def test_given_points_on_a_face_are_honoured(points):
    """Dirichlet on x = 1 at three given heights: the mean of (y − 1)² there, and nothing else."""
    measure = scl.average(scl.Dirichlet(1.0, on=SQUARE.face(x=1)), points=points)
    problem, found, (w,) = passed(scl.Problem(SQUARE, objective=measure))
    np.testing.assert_allclose(embed_all(problem.terms[0].law.place, w), ROWS, rtol=1e-6)
    np.testing.assert_allclose(found.objective, np.mean((Y - 1) ** 2), rtol=1e-5)


@pytest.mark.parametrize(
    "points", [ROWS, {"y": Y, "x": ROWS[:, 0]}, {"x": 1.0, "y": Y}], ids=["rows", "dict", "broadcast"]
)
def test_given_points_in_the_interior_are_honoured(points):
    _, found, _ = passed(scl.Problem(SQUARE, objective=scl.average(lambda u: u, points=points)))
    np.testing.assert_allclose(found.objective, np.mean(Y**2), rtol=1e-5)


def test_n_is_a_total_that_faces_share_by_measure():
    """90 grid points on the rim: 15 on each short side, 30 on each long one."""
    measure = scl.average(scl.Dirichlet(0.0), n=90, points=scl.Grid())
    problem, _, (w,) = passed(scl.Problem(SQUARE, objective=measure))
    place = problem.terms[0].law.place
    which = jax.vmap(lambda w: place._locate(w)[0])(w)
    np.testing.assert_array_equal(np.bincount(which), [30, 30, 15, 15])
    assert len(w) == 90


def test_feasibility_problems_have_objective_zero():
    problem, found, _ = passed(scl.Problem(SQUARE, constraints={"u": scl.average(lambda u: u) <= 0.1}))
    assert found.objective == 0
    np.testing.assert_allclose(problem.violations(found.values)["u"], 4 / 9 - 0.1, rtol=5e-3)


def test_weights_are_constants_for_differentiation():
    """d/dθ of the worst case of (θ x)² is Σ w ∂ℓ, w held: 2θ ∫x⁴/∫x², not the derivative of the ratio's weights."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)), constraints={"pde": scl.worst_case(lambda u, x: (u - x) + 0 * x, n=4096) <= 0.0}
    ).completed(**EVEN)
    points = (scl.Box(x=(0, 1)).sobol(4096),)
    value = lambda theta: problem.evaluate(lambda z: theta * z**2, points).values["pde"]
    x = (np.arange(100_000) + 0.5) / 1e5
    residual = 2 * x**2 - x
    exact = (residual**2 * 2 * residual * x**2).mean() / (residual**2).mean()
    np.testing.assert_allclose(jax.jit(jax.grad(value))(2.0), exact, rtol=0.01)


def test_terms_are_named_by_constraint_or_law_and_numbered():
    def heat(u_t, u_xx):
        return u_t - u_xx

    law = scl.average(scl.Initial(0.0))
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 1)),
        objective=law + 2 * law + scl.average(scl.Periodic("x")),
        constraints={
            "pde": scl.worst_case(heat) <= 1.0,
            "both": scl.average(heat) + scl.worst_case(scl.Dirichlet(0.0)) <= 1.0,
            "twice": scl.average(heat) + scl.worst_case(heat) <= 1.0,
        },
    )
    assert [term.name for term in problem.terms] == [
        *("initial_1", "initial_2", "periodic_x", "pde", "both.heat", "both.dirichlet", "twice.heat", "twice.heat'")
    ]
    assert problem.constraints == ("pde", "both", "twice")


def test_periodic_conditions_make_their_coordinate_wrap():
    domain = scl.Box(x=(0, 1), y=(0, 1))
    assert scl.Problem(domain, objective=scl.average(scl.Periodic("y"))).domain.periodic == ("y",)


@pytest.mark.parametrize(("sampler", "n", "expected"), [(None, 70, 70), (scl.Sobol(32), None, 32), (scl.R3(9), 40, 40)])
def test_n_overrides_the_sampler(sampler, n, expected):
    problem = scl.Problem(SQUARE, constraints={"pde": scl.worst_case(lambda u: u, n=n, sampler=sampler) <= 0.0})
    (term,) = problem.completed().terms
    assert jax.eval_shape(lambda: term.sampler.init(term.law.place, jr.key(0))).points.shape == (expected, 2)


def test_relative_losses_do_not_depend_on_a_constant_noise():
    """‖u − d‖ / ‖d‖ with u = 1.1 d is 0.1, whatever the deviation of the data."""
    x = np.linspace(0, 1, 6).reshape(2, 3)
    for noise in (None, 0.01):
        seen = scl.Observations({"x": x}, 1 + x, noise=noise)
        problem = scl.Problem(scl.Box(x=(0, 1)), constraints={"d": scl.each(seen, scl.RelativeL2()) <= 1.0}).completed()
        points = tuple(t.chosen.init(t.law.place, jax.random.key(0)).points for t in problem.terms)
        values = problem.evaluate(lambda z: 1.1 * (1 + z), points).values["d"]
        np.testing.assert_allclose(values, 0.1, rtol=1e-5)


def test_points_on_several_faces_are_in_the_coordinates_of_the_domain():
    rim = scl.Dirichlet(lambda x, y: x + y)
    problem = scl.Problem(
        scl.Box(x=(0, 1), y=(0, 1)), objective=scl.average(rim, points=[[0.0, 0.5], [1.0, 0.5]])
    ).completed()
    points = tuple(t.chosen.init(t.law.place, jax.random.key(0)).points for t in problem.terms)
    found = problem.evaluate(lambda z: jnp.zeros(1), points).objective
    np.testing.assert_allclose(found, (0.5**2 + 1.5**2) / 2, rtol=1e-6)
