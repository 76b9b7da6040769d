"""Conditions vanish on exact solutions and have the right value on wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sclax as scl
from sclax._laws import Vocabulary, as_condition, sliced
from sclax._places import Box, embed_all

LINE = scl.Box(x=(0, 2), t=(0, 1))
PLANE = scl.Box(x=(0, 1), y=(-1, 2))


def compiled(function):
    """Compiles in half the time: these programs run once."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": "0"})


def bound(condition, domain, unknowns=("u",), parameters=()):
    return as_condition("test", condition).bind(Vocabulary(domain.names, unknowns, tuple(parameters)), domain)


def rows(law, model, parameters=None, n=24):
    """Residual rows at grid points of the law's place, and the points themselves by row."""
    parameters = {name: jnp.asarray(value) for name, value in (parameters or {}).items()}
    w = law.place.grid(n)
    z, found = compiled(lambda w: (embed_all(law.place, w), law.rows(model, parameters, w)))(w)
    return np.asarray(z), np.asarray(found)


def one(function):
    """A model of one unknown."""
    return lambda z: jnp.stack([function(*z)])


# Each entry: condition, domain, exact solution, wrong solution, residual of the wrong one at rows z.
HEAT = lambda x, t: jnp.exp(-t) * jnp.sin(x)
CASES = {
    "initial": (scl.Initial(lambda x: jnp.sin(x)), LINE, HEAT, lambda x, t: x + t, lambda z: z[:, 0] - np.sin(z[:, 0])),
    "initial slope": (
        scl.Initial(lambda x: -jnp.sin(x), order=1),
        LINE,
        HEAT,
        lambda x, t: x**2 * t + 3,
        lambda z: z[:, 0] ** 2 + np.sin(z[:, 0]),
    ),
    "initial acts at the lower end": (
        scl.Initial(2.0),
        scl.Box(x=(0, 1), t=(3, 5)),
        lambda x, t: 2 + x * (t - 3),
        lambda x, t: t,
        lambda z: 0 * z[:, 0] + 1,
    ),
    "dirichlet number": (
        scl.Dirichlet(1.0),
        PLANE,
        lambda x, y: 1 + x * (1 - x) * (y + 1) * (2 - y),
        lambda x, y: x + 10 * y,
        lambda z: z[:, 0] + 10 * z[:, 1] - 1,
    ),
    "dirichlet function on a face": (
        scl.Dirichlet(lambda y: y**2, on=PLANE.face(x=1)),
        PLANE,
        lambda x, y: x**3 * y**2,
        lambda x, y: x - y,
        lambda z: 1 - z[:, 1] - z[:, 1] ** 2,
    ),
    "dirichlet on a list of faces": (
        scl.Dirichlet(lambda x, y: x * y, on=[PLANE.face(x=1), PLANE.face(y=2)]),
        PLANE,
        lambda x, y: x * y + (1 - x) * (2 - y),
        lambda x, y: x,
        lambda z: z[:, 0] - z[:, 0] * z[:, 1],
    ),
    "dirichlet at given points": (
        scl.Dirichlet(lambda x: x, on={"y": [0.0, 1.0, 0.5], "x": [0.1, 0.2, 0.3]}),
        PLANE,
        lambda x, y: x + y * (y - 1) * (y - 0.5),
        lambda x, y: x + y,
        lambda z: np.array([0.0, 1.0, 0.5]),
    ),
    "neumann": (
        scl.Neumann(lambda x, y: 2 * x * (x - 0.5) + 0 * y, on=[PLANE.face(x=0), PLANE.face(x=1)]),
        PLANE,
        lambda x, y: x**2 / 2 + y,
        lambda x, y: 3 * x + 7 * y,
        lambda z: np.where(z[:, 0] == 0, -3.0, 3.0 - 1.0),
    ),
    "neumann everywhere": (
        scl.Neumann(0.0),
        PLANE,
        lambda x, y: jnp.cos(jnp.pi * x) + jnp.cos(jnp.pi * (y + 1)),
        lambda x, y: 3 * x + 7 * y,
        lambda z: np.repeat([-3.0, 3.0, -7.0, 7.0], [9, 9, 3, 3]),  # 24 points by length of side
    ),
    "robin": (
        scl.Robin(2.0, lambda t: 1 + t, lambda t: 5 + t, on=LINE.face(x=2)),
        LINE,
        lambda x, t: x + (x - 2) ** 2 * t,
        lambda x, t: x * t,
        lambda z: 4 * z[:, 1] + (1 + z[:, 1]) * z[:, 1] - 5 - z[:, 1],
    ),
    "robin at the lower end": (
        scl.Robin(1.0, 2.0, 0.0, on=LINE.face(x=0)),
        LINE,
        lambda x, t: (2 + x) * t,
        lambda x, t: 1 + 3 * x,
        lambda z: 1 - 6 + 0 * z[:, 0],
    ),
    "periodic": (
        scl.Periodic("x"),
        LINE,
        lambda x, t: jnp.sin(jnp.pi * x) + t,
        lambda x, t: x * t,
        lambda z: -2 * z[:, 1],
    ),
    "periodic with slope": (
        scl.Periodic("x", order=1),
        LINE,
        lambda x, t: jnp.sin(jnp.pi * x) + t,
        lambda x, t: x**2 * t,
        lambda z: np.stack([-4 * z[:, 1], -4 * z[:, 1]], axis=1),
    ),
    "periodic in value and flux": (
        scl.Periodic("x", of=lambda u, u_x, t: (u, t * u_x)),
        LINE,
        lambda x, t: jnp.sin(jnp.pi * x) + t,
        lambda x, t: x**2 * t,
        lambda z: np.stack([-4 * z[:, 1], -4 * z[:, 1] ** 2], axis=1),
    ),
    "operator": (
        scl.Operator(lambda u, u_x, t: u_x + u**2 - t, on=LINE.face(x=2)),
        LINE,
        lambda x, t: (x - 2) * t,
        lambda x, t: x + 0 * t,
        lambda z: 5 - z[:, 1],
    ),
    "operator on the boundary by default": (
        scl.Operator(lambda u, x: u - x),
        LINE,
        lambda x, t: x + x * (2 - x) * t,
        lambda x, t: x + t,
        lambda z: z[:, 1],
    ),
    "equation": (
        lambda u_t, u_xx: u_t - u_xx,
        LINE,
        HEAT,
        lambda x, t: x**3 * t,
        lambda z: z[:, 0] ** 3 - 6 * z[:, 0] * z[:, 1],
    ),
    "invariance": (
        scl.Invariance(x=lambda x: 2 - x),
        LINE,
        lambda x, t: (x - 1) ** 2 * t,
        lambda x, t: x,
        lambda z: 2 * z[:, 0] - 2,
    ),
    "invariance whose image leaves the domain": (
        scl.Invariance(x=lambda x: x + 1, t=lambda t, x: t - 0 * x),
        LINE,
        lambda x, t: jnp.sin(2 * jnp.pi * x) * t,
        lambda x, t: x**2,
        lambda z: np.where(z[:, 0] + 1 <= 2, z[:, 0] ** 2 - (z[:, 0] + 1) ** 2, 0.0),
    ),
    "inequality": (
        scl.Inequality(lambda u, x: u - x),
        LINE,
        lambda x, t: x - t,
        lambda x, t: 1.0 + 0 * t,
        lambda z: np.maximum(1 - z[:, 0], 0),
    ),
    "inequality on a face": (
        scl.Inequality(lambda u: -u, on=LINE.face(x=2)),
        LINE,
        lambda x, t: t,
        lambda x, t: t - 0.5,
        lambda z: np.maximum(0.5 - z[:, 1], 0),
    ),
    "observations": (
        scl.Observations({"t": [0.5, 1.0, 0.0], "x": [0.0, 1.0, 2.0]}, [1.0, 3.0, 4.0], noise=[1.0, 0.5, 0.1]),
        LINE,
        lambda x, t: 2 * x + 2 * t - jnp.where(t == 1, 1.0, 0.0),
        lambda x, t: x,
        lambda z: np.array([-1.0, -4.0, -20.0]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_zero_on_the_exact_solution_and_right_on_a_wrong_one(x64, case):
    condition, domain, solution, wrong, expected = CASES[case]
    law = bound(condition, domain)
    _, found = rows(law, one(solution))
    np.testing.assert_allclose(found, 0.0, atol=1e-12)
    z, found = rows(law, one(wrong))
    expected = expected(z).reshape(len(z), -1)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, atol=1e-5 if "everywhere" in case or "list" in case else 1e-12)


PAIR = ("u", "v")
SYSTEM = {
    "initial": (scl.Initial(1.0, unknown="v"), lambda z: z[:, 0] * 5 - 1),
    "dirichlet": (scl.Dirichlet(1.0, on=LINE.face(x=2), unknown="v"), lambda z: 10 + z[:, 1] - 1),
    "neumann": (scl.Neumann(0.0, on=LINE.face(x=0), unknown="v"), lambda z: 0 * z[:, 0] - 5),
    "robin": (scl.Robin(1.0, 1.0, 0.0, on=LINE.face(x=0), unknown="u"), lambda z: 0 * z[:, 0]),
    "periodic in all": (scl.Periodic("x"), lambda z: np.stack([-4 * z[:, 1], 0 * z[:, 0] - 10], axis=1)),
    "periodic in one": (scl.Periodic("x", unknown="v"), lambda z: 0 * z[:, 0] - 10),
    "equations": (
        lambda u_x, v_t, u, v: (u_x - v_t, u + v),
        lambda z: np.stack([2 * z[:, 0] * z[:, 1] - 1, z[:, 0] ** 2 * z[:, 1] + 5 * z[:, 0] + z[:, 1]], axis=1),
    ),
    "value by the other unknown": (
        scl.Dirichlet(lambda u: u, on=LINE.face(x=2), unknown="v"),
        lambda z: 10 - 3 * z[:, 1],
    ),
    "invariance": (
        scl.Invariance(x=lambda x: 2 - x),
        lambda z: np.stack([(z[:, 0] ** 2 - (2 - z[:, 0]) ** 2) * z[:, 1], 10 * z[:, 0] - 10], axis=1),
    ),
}


@pytest.mark.parametrize("case", SYSTEM)
def test_systems_pick_the_unknown_they_are_told(x64, case):
    """(u, v) = (x² t, 5x + t)."""
    condition, expected = SYSTEM[case]
    z, found = rows(bound(condition, LINE, PAIR), lambda z: jnp.stack([z[0] ** 2 * z[1], 5 * z[0] + z[1]]))
    np.testing.assert_allclose(found, expected(z).reshape(len(z), -1), atol=1e-12)


@pytest.mark.parametrize(
    "condition",
    [scl.Initial, scl.Dirichlet, scl.Neumann, lambda v, **k: scl.Robin(1.0, 1.0, v, **k)],
    ids=["Initial", "Dirichlet", "Neumann", "Robin"],
)
def test_conditions_on_systems_need_an_unknown_that_exists(condition):
    with pytest.raises(ValueError, match=r"has the unknowns `u`, `vel`; say which one with `unknown=\"u\"`"):
        bound(condition(0.0), LINE, ("u", "vel"))
    with pytest.raises(ValueError, match=r"`unknown='vell'` is not one of `u`, `vel`. Did you mean `vel`"):
        bound(condition(0.0, unknown="vell"), LINE, ("u", "vel"))


def test_what_is_periodic_is_said_once():
    with pytest.raises(ValueError, match=r"Periodic: give `of`, or `order` and `unknown`"):
        scl.Periodic("x", order=1, of=lambda u: u)
    with pytest.raises(ValueError, match=r"Periodic: `of` must be a function by argument name, got 'u'"):
        scl.Periodic("x", of="u")
    with pytest.raises(ValueError, match=r"nothing in it is free to agree; name an unknown, `u`"):
        bound(scl.Periodic("x", of=lambda x: x), LINE)


def test_what_is_periodic_has_the_same_face_at_both_ends(x64):
    """Of an L half of one face has no opposite, whichever way it lies; a hole between the faces is none of their."""
    for x in ([0, 2, 2, 1, 1, 0], [2, 0, 0, 1, 1, 2]):
        ell = scl.Polygon({"x": x, "y": [0, 0, 1, 1, 2, 2]}) * scl.Interval(t=(0, 1))
        with pytest.raises(ValueError, match=r"Periodic: 50% of the face at x = . has no opposite at x = .*y = 1\.\d"):
            bound(scl.Periodic("x"), ell)
        assert bound(scl.Periodic("t"), ell).name == "periodic_t"
    notched = PLANE - scl.Box(x=(0.5, 1), y=(0, 0.5))
    with pytest.raises(ValueError, match=r"17% of the face at x = 0 has no opposite"):
        bound(scl.Periodic("x"), notched)
    for domain in (PLANE - scl.Disk(x=0.5, y=0, radius=0.3), notched - scl.Box(x=(0, 0.2), y=(0, 0.5))):
        z, found = rows(bound(scl.Periodic("x"), domain), one(lambda x, y: x * y))
        np.testing.assert_allclose(found[:, 0], -z[:, 1], atol=1e-12)


def test_fixed_parameters_reach_conditions(x64):
    law = bound(scl.Initial(lambda x, beta: jnp.sin(beta * x)), LINE, parameters=("beta",))
    for beta, wrong in ((3.0, 0.0), (2.0, 1.0)):
        z, found = rows(law, one(lambda x, t: jnp.sin(3 * x)), {"beta": beta})
        np.testing.assert_allclose(found[:, 0], wrong * (np.sin(3 * z[:, 0]) - np.sin(beta * z[:, 0])), atol=1e-13)


def test_losses_are_sums_of_squares_or_the_norm(x64):
    rows = jnp.asarray([[3.0, -4.0], [0.0, 0.0]])
    function = lambda u: (u, u)
    for power, expected in ((2, [25.0, 0.0]), (1, [5.0, 0.0])):
        law = bound(scl.Inequality(function, power=power), LINE)
        np.testing.assert_allclose(law.losses(rows), expected)
        slope = jax.grad(lambda r, law=law: jnp.sum(law.losses(r)))(rows)
        np.testing.assert_allclose(slope, [[6.0, -8.0], [0, 0]] if power == 2 else [[0.6, -0.8], [0, 0]], atol=1e-15)


# --- observations -------------------------------------------------------------------------------------------------

DATA = {"x": np.array([0.1, 0.4, 1.5]), "t": np.array([0.2, 0.9, 0.5])}
U, V = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.0, 9.0])
TABLE = pd.DataFrame({**DATA, "u": U})


@pytest.mark.parametrize(
    ("observations", "unknowns", "expected"),
    [
        (scl.Observations(DATA, U), ("u",), (U,)),
        (scl.Observations({**DATA, "temperature": U}, "temperature"), ("u",), (U,)),
        (scl.Observations({**DATA, "u": U}), ("u",), (U,)),
        (scl.Observations(TABLE), ("u",), (U,)),
        (scl.Observations(TABLE[["t", "u", "x"]], "u"), ("u",), (U,)),
        (scl.Observations(DATA, {"v": V, "u": U}), PAIR, (V, U)),
        (scl.Observations(DATA, {"v": V}), PAIR, (V,)),
        (scl.Observations({**DATA, "u": U, "v": V}), PAIR, (U, V)),
    ],
    ids=["dict", "column", "own column", "frame", "frame column", "two unknowns", "one of two", "two columns"],
)
def test_observations_read_every_kind_of_table(x64, observations, unknowns, expected):
    """Residual u(points) − values, the columns in the order given."""
    model = {1: one(lambda x, t: x + 10 * t), 2: lambda z: jnp.stack([z[0] + 10 * z[1], z[0] * z[1]])}[len(unknowns)]
    truth = {"u": DATA["x"] + 10 * DATA["t"], "v": DATA["x"] * DATA["t"]}
    z, found = rows(bound(observations, LINE, unknowns), model)
    np.testing.assert_array_equal(z, np.stack([DATA["x"], DATA["t"]], axis=1))
    by_data = {id(U): "u", id(V): "v"}
    difference = np.stack([truth[by_data[id(data)]] - data for data in expected], axis=1)
    np.testing.assert_allclose(found, difference, rtol=1e-12)


@pytest.mark.parametrize("kind", ["dataset", "array"])
def test_observations_read_xarray_grids(x64, kind):
    """Every combination of the coordinates is one point, whatever the order of the dimensions."""
    t, x = np.array([0.0, 0.5, 1.0]), np.array([0.25, 1.75])
    array = xr.DataArray(x[:, None] + 10 * t, coords={"x": x, "t": t}, dims=("x", "t"), name="u").T
    law = bound(scl.Observations(array if kind == "array" else array.to_dataset()), LINE)
    z, found = rows(law, one(lambda x, t: x + 10 * t))
    assert {tuple(row) for row in z} == {(a, b) for a in x for b in t}
    np.testing.assert_allclose(found, 0.0, atol=1e-13)
    z, found = rows(law, one(lambda x, t: x * t))
    np.testing.assert_allclose(found[:, 0], z[:, 0] * z[:, 1] - z[:, 0] - 10 * z[:, 1], atol=1e-13)


@pytest.mark.parametrize("noise", [None, 0.5, np.array([[1.0, 2.0, 4.0], [0.5, 0.5, 0.5]])])
def test_grouped_observations_average_within_a_sample(x64, noise):
    """Two experiments of three points: ℓ_j = mean ((u − data)/noise)²; relative: ‖u − data‖ / ‖data‖, in noise."""
    points = {"x": np.array([[0.0, 1.0, 2.0], [0.5, 1.0, 1.5]]), "t": np.array([[0.1], [0.9]])}
    data = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 2.0]])
    observations = scl.Observations(points, data, noise=noise)
    difference = (points["x"] * points["t"] - data) / (1.0 if noise is None else noise)
    law = bound(observations, LINE)
    _, found = rows(law, one(lambda x, t: x * t))
    np.testing.assert_allclose(law.losses(found), np.mean(difference**2, axis=1), rtol=1e-12)
    relative = observations.bind_each(Vocabulary(LINE.names, ("u",), ()), LINE, scl.RelativeL2())
    _, found = rows(relative, one(lambda x, t: x * t))
    ratio = np.linalg.norm(difference, axis=1) / np.linalg.norm(data / (1.0 if noise is None else noise), axis=1)
    np.testing.assert_allclose(relative.losses(found), ratio, rtol=1e-12)


# --- over= --------------------------------------------------------------------------------------------------------

FAMILY = Box(x=(0, 1), y=(0, 2), t=(0, 1)).join({"beta": (1.0, 3.0)})
BUMP = lambda x, y, t, beta: beta * x**2 + y * t + beta**2 * y


@pytest.mark.parametrize(
    ("condition", "residual"),
    [
        (lambda u_x, beta, t: u_x + beta * t, lambda x, y, t, b: 2 * b * x + b * t),
        (scl.Initial(0.0), lambda x, y, t, b: b * x**2 + b**2 * y),
        (scl.Dirichlet(lambda beta: beta, on=FAMILY.face(x=1)), lambda x, y, t, b: b + y * t + b**2 * y - b),
        (scl.Neumann(0.0, on=FAMILY.face(y=0)), lambda x, y, t, b: -(t + b**2)),
        (scl.Dirichlet(0.0), lambda x, y, t, b: b * x**2 + y * t + b**2 * y),
        (scl.Periodic("x"), lambda x, y, t, b: -b),
    ],
    ids=["Box", "initial Face", "Face", "Face with normal", "Faces", "Periodic"],
)
@pytest.mark.parametrize("over", [("beta",), ("beta", "t")])
def test_over_averages_the_other_coordinates_on_a_grid(x64, condition, residual, over):
    """The loss at β (and t) is the mean of the squared residual over the grid of the rest, by hand."""
    law = bound(condition, FAMILY)
    if "t" in over and law.name == "initial":
        with pytest.raises(ValueError, match=r"`over` cannot range over `beta`, `t`, which initial fixes"):
            sliced(law, FAMILY, over, 64)
        return
    slice_law = sliced(law, FAMILY, over, 64)
    assert slice_law.place.names == over
    outer = np.array([[1.5, 0.3], [2.9, 0.8]])[:, : len(over)]
    found = compiled(lambda w: slice_law.losses(slice_law.rows(one(BUMP), {}, w)))(jnp.asarray(outer))

    rest = [name for name in FAMILY.names if name not in over]
    inner = FAMILY.select(rest) if isinstance(law.place, Box) else law.place.within(FAMILY.select(rest))
    grid = dict(zip(rest, np.asarray(embed_all(inner, inner.grid(64))).T, strict=True))
    assert slice_law.inner == len(inner.grid(64))
    for row, value in zip(outer, found, strict=True):
        at = {**grid, **dict(zip(over, row, strict=True))}
        squares = residual(at["x"], at["y"], at["t"], at["beta"]) ** 2
        np.testing.assert_allclose(value, np.mean(np.broadcast_to(squares, grid["y"].shape)), rtol=1e-12)
