"""Solutions as functions of JAX, quantities by name, scattered references and integrals."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import sclax as scl

from .test_solution import held

BOX = scl.Box(x=(0, 1), y=(0, 2), t=(0, 1))


def posed(domain=BOX, unknowns=("u", "v"), **more):
    constraint = scl.worst_case(lambda u: u) <= 1e-6
    return scl.Problem(domain, unknowns=unknowns, constraints={"law": constraint}, **more)


def pair(z):
    """(u, v) = (x² y + t, sin x)."""
    return jnp.stack([z[0] ** 2 * z[1] + z[2], jnp.sin(z[0])])


@pytest.fixture
def solution():
    return held(posed(quantities={"q": lambda u_x, c: c * u_x}, parameters={"c": 3.0}), pair)


@pytest.fixture
def wave():
    """u = sin(x − 2t) of one unknown, by a network with weights in double precision."""
    domain = scl.Box(x=(0, 6), t=(0, 1))
    return held(posed(domain, ("u",)), lambda z: jnp.sin(z[0] - 2 * z[1])[None])


def test_a_solution_is_a_function_of_jax(wave):
    u = lambda x, t: wave(x=x, t=t)
    assert float(jax.grad(u)(1.0, 0.25)) == pytest.approx(np.cos(0.5), rel=1e-6)
    assert float(jax.grad(jax.grad(u, 1), 0)(1.0, 0.25)) == pytest.approx(2 * np.sin(0.5), rel=1e-5)
    x = jnp.linspace(0, 6, 7)
    for found in (jax.jit(u)(x, 0.25), jax.vmap(u, (0, None))(x, 0.25), jax.jit(jax.vmap(u))(x, jnp.full(7, 0.25))):
        np.testing.assert_allclose(found, wave(x=x, t=0.25), atol=1e-6)
    assert jax.jit(lambda x, t: wave(x=x[:, None], t=t))(x, jnp.zeros(3)).shape == (7, 3)
    slope = jax.jit(lambda x: wave("u_x", x=x, t=0.25))(x)
    np.testing.assert_allclose(slope, np.cos(np.asarray(x) - 0.5), atol=1e-6)


def test_trained_in_double_precision_and_traced_in_the_precision_of_the_moment():
    """Gauss-Newton gives weights in double precision; code around it may be in single precision."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        objective=scl.average(scl.Dirichlet(lambda x: x)),
        constraints={"ode": scl.worst_case(lambda u_xx: u_xx) <= 1e-6},
    )
    solution = scl.solve(problem, scl.nn.MLP(problem.domain, width=4, depth=1, key=jr.key(0)), steps=20, progress=False)
    found = jax.jit(lambda x: solution(x=x))(jnp.linspace(0, 1, 5))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, solution(x=np.linspace(0, 1, 5)), atol=1e-6)
    with jax.enable_x64(True):
        assert jax.jit(lambda x: solution(x=x))(jnp.linspace(0, 1, 5)).dtype == jnp.float64


def test_several_unknowns_are_a_dict_inside_of_transformations_too(solution):
    found = jax.jit(lambda x: solution(x=x, y=1.0, t=0.5))(jnp.asarray([0.5, 1.0]))
    np.testing.assert_allclose(found["u"], [0.75, 1.5], rtol=1e-6)
    np.testing.assert_allclose(found["v"], np.sin([0.5, 1.0]), rtol=1e-6)


def test_any_quantity_by_name(solution):
    at = {"x": np.asarray([0.5, 1.0]), "y": 2.0, "t": 0.0}
    expected = {
        "u_x": [2.0, 4.0],
        "u_xy": [1.0, 2.0],
        "lap_u": [4.0, 4.0],
        "lap_v": -np.sin([0.5, 1.0]),
        "q": [6.0, 12.0],
        "q_y": [3.0, 6.0],
        "v": np.sin([0.5, 1.0]),
        "y": [2.0, 2.0],
        "c": [3.0, 3.0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(solution(name, **at), values, rtol=1e-5)
    np.testing.assert_allclose(solution("grad_u", **at), [[2.0, 0.25], [4.0, 1.0]], rtol=1e-6)
    assert solution("grad_u", x=0.5, y=1.0, t=0.0).shape == (2,)
    assert solution("lap_u", x=0.5, y=1.0, t=0.0).shape == ()
    assert jax.jit(lambda x: solution("lap_u", x=x, y=1.0, t=0.0))(0.5).shape == ()
    with pytest.raises(ValueError, match="solution: argument `u_z` is not known"):
        solution("u_z", **at)
    with pytest.raises(ValueError, match="`normal` is the outward normal"):
        solution("normal", **at)
    with pytest.raises(TypeError, match="name the coordinates"):
        solution(0.5, **at)


def test_grids_of_quantities(solution):
    grid = solution.grid("u_x", "q", x=3, y=0.5, t=0.0)
    np.testing.assert_allclose(grid["u_x"].squeeze(), [0, 0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(grid["q"], 3 * grid["u_x"])
    with pytest.raises(ValueError, match="`grad_u` is a vector"):
        solution.grid("grad_u", x=3, y=2, t=2)


# --- scattered references -------------------------------------------------------------------------------------------

X, Y, T = np.random.default_rng(0).uniform(0, 1, (3, 50))
KNOWN = {"x": X, "y": Y, "t": T, "u": X**2 * Y + T, "v": np.sin(X) + 0.1}


def test_errors_against_scattered_values(solution):
    expected = 0.1 * np.sqrt(50) / np.sqrt(np.sum(KNOWN["u"] ** 2 + KNOWN["v"] ** 2))
    assert solution.error(KNOWN) == pytest.approx(expected, rel=1e-5)
    assert solution.error(pd.DataFrame(KNOWN)) == pytest.approx(expected, rel=1e-5)
    assert solution.error({name: KNOWN[name] for name in "xytu"}) < 1e-6  # of the unknowns that are given
    own = held(posed(reference=KNOWN), pair)
    assert own.error() == pytest.approx(expected, rel=1e-5)
    assert own.error_map().dims == ()


def test_a_scattered_reference_of_a_family():
    problem = posed(scl.Box(x=(0, 1)), ("u",), parameters={"c": (1.0, 2.0)}, reference={"x": X, "c": 1 + Y, "u": X})
    solution = held(problem, lambda z: 1.1 * z[:1])
    assert solution.error() == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"x": X, "y": Y, "u": X}, "Problem: `reference`: the points lack coordinate `t`"),
        ({"x": X, "y": Y, "t": T, "w": X}, "`w`, and none of them is an unknown|`w`.*none of them is an unknown"),
        ({"x": X, "y": Y, "t": T, "u": X[:3]}, "50 points but 3 values of `u`"),
        ({"x": X + 5, "y": Y, "t": T, "u": X}, r"outside \[0.0, 1.0\]"),
        ({"x": X, "y": Y, "t": T, "u": X * np.nan}, "50 NaN"),
        (3.0, "must be a function, an xarray Dataset, or points with values"),
    ],
)
def test_references_are_checked_at_construction(reference, said):
    with pytest.raises(ValueError, match=said):
        posed(reference=reference)


def test_the_error_in_many_dimensions_is_on_even_points():
    cube = scl.Box(**{f"x{i}": (0, 1) for i in range(6)})
    names = ", ".join(cube.names)
    reference = eval(f"lambda {names}: {names.replace(', ', ' + ')}")
    solution = held(posed(cube, ("u",), reference=reference), lambda z: 1.01 * jnp.sum(z)[None])
    assert solution.error() == pytest.approx(0.01, rel=1e-4)


# --- integrals ------------------------------------------------------------------------------------------------------


def test_integrals_over_coordinates_and_places(solution):
    """∫∫ u dx dy = 2/3 + 2t;  ∫ u dx = y/3 + t;  through the boundary ∫ ∂u/∂n = ∫∫ Δu = ∫∫ 2y = 4."""
    mass = solution.integrate("u", t=[0.0, 0.5])
    np.testing.assert_allclose(mass, [2 / 3, 5 / 3], rtol=1e-5)
    assert mass.dims == ("t",)
    assert solution.integrate("u").shape == (100,)
    line = solution.integrate("u", over=("x",), y=3, t=0.5)
    np.testing.assert_allclose(line.squeeze(), [0.5, 0.5 + 1 / 3, 0.5 + 2 / 3], rtol=1e-5)
    flux = solution.integrate(lambda grad_u, normal: grad_u @ normal, over=BOX.boundary, t=0.0)
    assert float(flux[0]) == pytest.approx(4.0, rel=1e-5)
    assert solution.integrate("q", over=("x", "y", "t")) == pytest.approx(3 * 2.0, rel=1e-5)


def test_integrals_of_the_only_unknown(wave):
    assert float(wave.integrate(t=0.0)[0]) == pytest.approx(1 - np.cos(6), rel=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": "x"}, "name a quantity, one of `u`, `v`, `q`"),
        ({"quantity": "u", "over": "z"}, "`over` names `z`"),
        ({"quantity": "u", "over": "x", "x": 3}, "the integral is over `x`; `y`, `t` remain"),
        ({"quantity": "w", "over": "x"}, "argument `w` is not known"),
        ({"quantity": "u", "z": 3}, "integrate: unknown coordinate `z`"),
    ],
)
def test_integrals_that_make_no_sense_are_refused(solution, given, said):
    with pytest.raises(ValueError, match=said):
        solution.integrate(**given)
