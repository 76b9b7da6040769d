"""Derived quantities, differentiated as unknowns are, and unknowns of fewer coordinates."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

import sclax as scl
from sclax._laws import Coordinate, Derivative, Parameter
from sclax._laws.fields import evaluate

PLANE = scl.Box(x=(0, 1), y=(0, 2))
FLUXES = {
    "qy": lambda a, u_y: a * u_y,  # before what it is made of: the order is free
    "qx": lambda a, u_x: a * u_x,
    "a": lambda x, y, c: 1 + c * x * y**2,
}


def posed(residual, quantities, domain=PLANE, **more):
    return scl.Problem(domain, constraints={"pde": scl.worst_case(residual) <= 1e-6}, quantities=quantities, **more)


def law(problem, name="pde"):
    return next(t.law for t in problem.terms if t.name == name)


def wave(z):
    return jnp.stack([jnp.sin(z[0]) * jnp.exp(0.3 * z[1]) + z[0] ** 3])


def test_the_divergence_of_a_flux_is_the_product_rule(x64):
    """div(a ∇u) = ∇a · ∇u + a Δu  with  a = 1 + c x y²."""
    problem = posed(lambda qx_x, qy_y: qx_x + qy_y, FLUXES, parameters={"c": 2.0})
    by_hand = posed(
        lambda u_x, u_y, u_xx, u_yy, x, y, c: c * y**2 * u_x + 2 * c * x * y * u_y + (1 + c * x * y**2) * (u_xx + u_yy),
        {},
        parameters={"c": 2.0},
    )
    w = PLANE.uniform(20, jr.key(0))
    found, expected = (law(p).rows(wave, p.parameters, w) for p in (problem, by_hand))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_a_quantity_comes_down_to_is_on_record():
    problem = posed(lambda qx_x: qx_x, FLUXES, parameters={"c": 2.0})
    asked = set(law(problem).residual.asked)
    assert asked == {Derivative(0, (0,)), Derivative(0, (0, 0)), Coordinate(0), Coordinate(1), Parameter("c")}
    assert law(problem).order == 2


def test_gradients_laplacians_and_mixed_derivatives_of_quantities(x64):
    """q = u² with u = x² y:  ∇q = (4x³y², 2x⁴y),  Δq = 12x²y² + 2x⁴,  q_xxy = 24 x² y."""
    problem = posed(lambda q: q, {"q": lambda u: u**2})
    words = problem.vocabulary
    asked = [words.resolve(name, "test") for name in ("grad_q", "lap_q", "q_xxy", "q", "u")]
    x, y = 0.7, 1.3
    z = jnp.asarray([x, y])
    gradient, laplacian, third, q, u = evaluate(lambda z: (z[0] ** 2 * z[1])[None], words, {}, z, asked)
    np.testing.assert_allclose(gradient, [4 * x**3 * y**2, 2 * x**4 * y], rtol=1e-12)
    assert float(laplacian) == pytest.approx(12 * x**2 * y**2 + 2 * x**4)
    assert float(third) == pytest.approx(24 * x**2 * y)
    assert float(q) == pytest.approx(float(u) ** 2)


def test_conditions_and_observations_of_quantities(x64):
    data = scl.Observations({"x": [0.2, 0.5], "y": [0.1, 1.0]}, {"qx": [1.0, 2.0]})
    problem = scl.Problem(
        PLANE,
        parameters={"c": 2.0},
        quantities=FLUXES,
        objective=scl.average(scl.Dirichlet({"qx": 0.5}, on=PLANE.face(x=1)))
        + scl.average(scl.Neumann(lambda x: x, on=PLANE.face(y=2), unknown="qy"))
        + scl.average(data),
    )
    rows = {t.name: np.asarray(t.law.rows(wave, problem.parameters, t.law.place.grid(5))) for t in problem.terms}
    assert set(rows) == {"dirichlet_qx", "neumann_qy", "observations"}
    a = lambda x, y: 1 + 2 * x * y**2
    u_x = lambda x, y: np.cos(x) * np.exp(0.3 * y) + 3 * x**2
    y = np.linspace(0, 2, 5)
    np.testing.assert_allclose(rows["dirichlet_qx"][:, 0], a(1, y) * u_x(1, y) - 0.5, rtol=1e-12)
    x = np.linspace(0, 1, 5)
    # ∂/∂y of a u_y, where u_yy = 0.3 u_y
    u_y = 0.3 * np.sin(x) * np.exp(0.6)
    np.testing.assert_allclose(rows["neumann_qy"][:, 0], (8 * x + a(x, 2) * 0.3) * u_y - x, rtol=1e-12)
    x, y = np.asarray([0.2, 0.5]), np.asarray([0.1, 1.0])
    np.testing.assert_allclose(rows["observations"][:, 0], a(x, y) * u_x(x, y) - [1, 2], rtol=1e-12)
    assert next(t.law.order for t in problem.terms if t.name == "neumann_qy") == 2


def test_a_table_is_a_quantity(x64):
    grid = np.linspace(0, 1, 5)
    table = xr.DataArray(3 * grid + 1, coords={"x": grid}, dims="x")
    problem = posed(lambda u, k: u - k, {"k": table})
    w = PLANE.uniform(9, jr.key(0))
    expected = jax.vmap(wave)(w)[:, 0] - (3 * w[:, 0] + 1)
    np.testing.assert_allclose(law(problem).rows(wave, {}, w)[:, 0], expected, atol=1e-14)


def test_polynomials_solve_an_equation_in_divergence_form():
    """(a u')' = f with a = 1 + x and u = sin 2x."""
    truth = lambda x: jnp.sin(2 * x)
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        quantities={"q": lambda x, u_x: (1 + x) * u_x},
        objective=scl.average(scl.Dirichlet(truth)),
        constraints={
            "pde": scl.worst_case(lambda q_x, x: q_x - 2 * jnp.cos(2 * x) + 4 * (1 + x) * jnp.sin(2 * x)) <= 1e-12
        },
        reference=truth,
    )
    assert scl.solve(problem, method=scl.Spectral(), progress=False).error() < 1e-9


@pytest.mark.parametrize(
    ("quantities", "said"),
    [
        ({"a": lambda b: b, "b": lambda a_x: a_x}, "in a circle, a → b → a"),
        ({"a": lambda a: a}, "in a circle, a → a"),
        ({"a": 3.0}, r"`quantities\['a'\]` must be a function.*A number is a parameter"),
        ({"a": lambda u: (u, u)}, "must return one number, got 2 values; make it several quantities"),
        ({"a": lambda grad_u: grad_u}, r"must return one number, got shape \(2,\)"),
        ({"a": lambda w: w}, r"quantities\['a'\]: argument `w` is not known.*the quantities `a`"),
        ({"a": lambda normal: normal[0]}, "`normal` is the outward normal of a boundary and is not known here"),
        ({"x": lambda u: u}, "`x` stands for two things.*quantities `x`"),
        ({"u_x": lambda u: u}, "`u_x` reads as a derivative of an unknown. Rename the quantity"),
        (
            {"a": xr.DataArray([0.0, 1.0], {"x": [0.0, 0.5]}, "x")},
            r"`x` in \[0.0, 0.5\], but it is asked.*\[0.0, 1.0\]",
        ),
    ],
)
def test_quantities_that_make_no_sense_are_refused(quantities, said):
    with pytest.raises(ValueError, match=said):
        posed(lambda u: u, quantities)


def test_networks_learn_with_quantities():
    """Gauss-Newton on (a u')' = 0, u(0) = 0, u(1) = 1 with a = 1 + x:  u = log(1 + x) / log 2."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        quantities={"q": lambda x, u_x: (1 + x) * u_x},
        objective=scl.average(scl.Dirichlet(lambda x: x)),
        constraints={"pde": scl.worst_case(lambda q_x: q_x, n=32) <= 1e-8},
        reference=lambda x: jnp.log(1 + x) / jnp.log(2.0),
    )
    model = scl.nn.MLP(problem.domain, width=8, depth=1, key=jr.key(0))
    assert scl.solve(problem, model, steps=60, progress=False).error() < 1e-3


# --- unknowns of fewer coordinates ----------------------------------------------------------------------------------

LINE = scl.Box(x=(0, 1), t=(0, 4))


def both(z):
    """Outputs that depend on everything: u = x + t², a = x² + t."""
    return jnp.stack([z[0] + z[1] ** 2, z[0] ** 2 + z[1]])


def partial(residual, **more):
    return posed(residual, {}, LINE, unknowns={"u": ("x", "t"), "a": ("x",)}, **more)


def test_an_unknown_is_the_same_along_coordinates_that_it_does_not_have(x64):
    """a is looked at in the middle of time, t = 2, whatever the model."""
    problem = partial(lambda u, u_t, a, a_x, lap_a: (u, u_t, a, a_x, lap_a))
    w = LINE.uniform(6, jr.key(0))
    x, t = np.asarray(w).T
    expected = [x + t**2, 2 * t, x**2 + 2, 2 * x, 2 + 0 * x]
    np.testing.assert_allclose(law(problem).rows(both, {}, w), np.stack(expected, axis=1), rtol=1e-12)


def test_a_model_is_trained_and_read_through_the_same_eyes():
    """u_t = a(x), u(x, 0) = 0, u = x t seen: a = x is found, and is the same at all times."""
    seen = {"x": np.tile(np.linspace(0, 1, 6), 2), "t": np.repeat([2.0, 4.0], 6)}
    problem = partial(
        lambda u_t, a: u_t - a,
        objective=scl.average(scl.Initial(0.0, unknown="u"))
        + scl.average(scl.Observations(seen, {"u": seen["x"] * seen["t"]})),
    )
    model = scl.nn.MLP(LINE, 2, width=8, depth=1, key=jr.key(0))
    solution = scl.solve(problem, model, steps=60, progress=False)
    found = solution(x=np.linspace(0, 1, 5)[:, None], t=np.linspace(0, 4, 3))
    np.testing.assert_allclose(found["a"], np.broadcast_to(np.linspace(0, 1, 5)[:, None], (5, 3)), atol=0.05)
    np.testing.assert_array_equal(found["a"], np.repeat(np.asarray(found["a"])[:, :1], 3, axis=1))


def test_polynomials_leave_such_problems_to_networks():
    with pytest.raises(ValueError, match="fewer coordinates is looked at elsewhere"):
        scl.solve(partial(lambda u_t, a: u_t - a), method=scl.Spectral(), progress=False)


def test_slips_with_fewer_coordinates():
    with pytest.raises(ValueError, match=r"`a_t` is zero, since `a` does not depend on `t`"):
        partial(lambda a_t: a_t)
    with pytest.raises(ValueError, match=r"`unknowns\['u'\]` names `z`, which is no coordinate.*`x`, `t`"):
        posed(lambda u: u, {}, LINE, unknowns={"u": ("z",)})
