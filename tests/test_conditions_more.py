"""Conditions by unknown, from tables, on parts of space at the start, on points with normals and at all times."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

import sclax as scl
from sclax._laws import Vocabulary, as_condition
from sclax._places import embed_all

LINE = scl.Box(x=(0, 2), t=(1, 3))
PLANE = scl.Box(x=(0, 1), y=(-1, 2), t=(0, 1))


def bound(condition, domain, unknowns=("u",), parameters=(), families=()):
    words = Vocabulary(domain.names, unknowns, tuple(parameters), tuple(families))
    return as_condition("test", condition).bind(words, domain)


def rows(law, model, n=24):
    """The points of a grid on the law's place by column, and the residual there."""
    w = law.place.grid(n)
    z, found = jax.jit(lambda w: (embed_all(law.place, w), law.rows(model, {}, w)))(w)
    return np.asarray(z).T, np.asarray(found)


def pair(z):
    """(u, v) = (x + 2t, x t²)."""
    return jnp.stack([z[0] + 2 * z[-1], z[0] * z[-1] ** 2])


# --- by unknown -----------------------------------------------------------------------------------------------------


def test_a_dict_by_unknown_is_one_law_with_a_component_each(x64):
    initial = bound(scl.Initial({"v": lambda x: x, "u": 1.0}), LINE, ("u", "v"))
    (x, _), found = rows(initial, pair)
    np.testing.assert_allclose(found, np.stack([x - x, x + 2 - 1], axis=1), atol=1e-14)
    slopes = bound(scl.Initial({"u": 2.0, "v": lambda x: 2 * x}, order=1), LINE, ("u", "v"))
    np.testing.assert_allclose(rows(slopes, pair)[1], 0.0, atol=1e-14)
    walls = bound(scl.Dirichlet({"u": lambda x, t: x, "v": 0.0}), LINE, ("u", "v"))
    (x, t), found = rows(walls, pair)
    np.testing.assert_allclose(found, np.stack([2 * t, x * t**2], axis=1), rtol=1e-14)
    (x, t), found = rows(bound(scl.Neumann({"u": 0.0, "v": 1.0}), LINE, ("u", "v")), pair)
    out = np.where(x == 0, -1.0, 1.0)
    np.testing.assert_allclose(found, np.stack([out, out * t**2 - 1], axis=1), rtol=1e-14)
    (x, t), found = rows(bound(scl.Robin(2.0, lambda t: t, {"v": 0.0, "u": 3.0}), LINE, ("u", "v")), pair)
    expected = [2 * x * t**2 + t * out * t**2, 2 * (x + 2 * t) + t * out - 3]
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-14)


def test_names_say_which_unknowns():
    name = lambda condition: bound(condition, LINE, ("u", "v")).name
    assert name(scl.Dirichlet({"u": 0.0, "v": 0.0})) == "dirichlet"
    assert name(scl.Dirichlet({"v": 0.0})) == "dirichlet_v"
    assert name(scl.Initial({"u": 0.0}, order=2)) == "initial_u_tt"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (scl.Dirichlet(0.0), r'say which one with `unknown="u"`, or give a dict, \{"u": ..., "v": ...\}'),
        (scl.Dirichlet({"w": 0.0}), "`unknown='w'` is not one of `u`, `v`"),
        (scl.Dirichlet({"u": 0.0}, unknown="v"), "the dict names its unknowns; leave out `unknown='v'`"),
        (scl.Initial({}), "the dict of values is empty"),
    ],
)
def test_dicts_that_make_no_sense_are_refused(condition, said):
    with pytest.raises(ValueError, match=said):
        bound(condition, LINE, ("u", "v"))


# --- tables ---------------------------------------------------------------------------------------------------------


def table(function, **axes):
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    return xr.DataArray(function(*mesh), coords=axes, dims=tuple(axes))


def test_a_table_is_linear_between_its_values(x64):
    """Exact for what is linear in each coordinate, whatever the order of its axes; second order for the rest."""
    axis = np.linspace(2, 0, 5)  # falling, and uneven in time
    data = table(lambda t, x: 1 + 2 * x - t * x, t=np.asarray([0.5, 1.2, 3.0]), x=axis)
    law = bound(scl.Dirichlet(data, on=LINE), LINE)
    found = rows(law, lambda z: jnp.stack([1 + 2 * z[0] - z[1] * z[0]]), 400)[1]
    np.testing.assert_allclose(found, 0.0, atol=1e-13)
    errors = []
    for n in (20, 40):
        smooth = table(np.sin, x=np.linspace(0, 2, n + 1))
        law = bound(scl.Initial(smooth), LINE)
        errors.append(np.abs(rows(law, lambda z: jnp.sin(z[:1]), 999)[1]).max())
    assert errors[0] < (2 / 20) ** 2 / 8 * 1.01
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


def test_a_dataset_has_a_variable_for_each_unknown(x64):
    x = np.linspace(0, 2, 9)
    data = xr.Dataset({"u": ("x", x + 2), "v": ("x", x)}, coords={"x": x})
    law = bound(scl.Initial(data), LINE, ("u", "v"))
    np.testing.assert_allclose(rows(law, pair)[1], 0.0, atol=1e-13)


def test_a_table_may_be_a_coefficient():
    x = np.linspace(0, 2, 3)
    law = bound(scl.Robin(table(lambda t: t, t=[1.0, 3.0]), 0.0, table(lambda x: x, x=x)), LINE)
    (x, t), found = rows(law, lambda z: jnp.ones(1))
    np.testing.assert_allclose(found[:, 0], t - x, atol=1e-6)


GRID = np.linspace(0, 2, 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (table(np.sin, x=np.linspace(0.5, 2, 3)), r"`x` in \[0.5, 2.0\], but it is asked for in \[0.0, 2.0\]"),
        (table(np.sin, y=GRID), "the dimension `y`, which is no coordinate of the problem.*`x`, `t`"),
        (table(lambda x: np.where(x > 1, np.nan, x), x=GRID), "table` holds 1 NaN"),
        (table(np.sin, x=[0.0, 1.0, 1.0, 2.0]), "the table has a value of `x` twice"),
        (xr.DataArray([1.0, 2.0], dims="x"), "at least two values of `x` with their coordinate, got 2 without one"),
        (table(np.sin, x=[0.0]), "at least two values of `x`"),
    ],
)
def test_tables_that_do_not_fit_are_refused(data, said):
    with pytest.raises(ValueError, match=said):
        bound(scl.Initial(data), LINE)


def test_a_table_need_cover_its_place_alone():
    part = table(np.sin, x=np.linspace(0.5, 1.5, 3))
    bound(scl.Initial(part, on={"x": [0.6, 1.4]}), LINE)
    bound(scl.Initial(part, on=scl.Box(x=(0.5, 1.5))), LINE)
    with pytest.raises(ValueError, match=r"asked for in \[0.25, 1.0\]"):
        bound(scl.Initial(part, on={"x": [0.25, 1.0]}), LINE)


# --- parts of space at the start ------------------------------------------------------------------------------------


def test_an_initial_condition_on_a_part_of_space(x64):
    model = lambda z: jnp.stack([z[0] + 10 * z[1] + 100 * z[2]])
    points = scl.Initial(0.0, on={"x": [0.1, 0.9], "y": [0.0, 1.0]})
    law = bound(points, PLANE)
    assert law.place.finite
    np.testing.assert_allclose(rows(law, model)[1][:, 0], [0.1, 10.9], rtol=1e-12)
    law = bound(scl.Initial(0.0, on=scl.Box(y=(0.5, 1.0))), PLANE)
    (x, y, t), _ = rows(law, model)
    assert (x.min(), x.max(), y.min(), y.max(), t.min(), t.max()) == (0, 1, 0.5, 1.0, 0, 0)
    (x, y, t), _ = rows(bound(scl.Initial(0.0, on=PLANE.face(x=1)), PLANE), model)
    assert (set(x), y.min(), y.max(), set(t)) == ({1.0}, -1, 2, {0.0})


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ({"x": [0.0], "y": [0.0], "t": [0.5]}, "leave out `t`, which is 0.0 there"),
        (PLANE.face(t=1), "`on` is a part of space, got a face at {'t': 1.0}"),
        (scl.Box(x=(0, 5)), r"`x` in \[0.0, 5.0\], outside \[0.0, 1.0\]"),
        (scl.Box(z=(0, 1)), "the coordinate `z`, which is none of space"),
        ({"x": [0.0]}, "the points lack coordinate `y`"),
    ],
)
def test_parts_of_space_that_make_no_sense_are_refused(on, said):
    with pytest.raises(ValueError, match=said):
        bound(scl.Initial(0.0, on=on), PLANE)


# --- given points ---------------------------------------------------------------------------------------------------

ANGLE = np.linspace(0, 2 * np.pi, 7)[:-1]
CIRCLE = {"x": 0.5 + 0.3 * np.cos(ANGLE), "y": 0.3 * np.sin(ANGLE), "nx": 2 * np.cos(ANGLE), "ny": 2 * np.sin(ANGLE)}


def quadratic(z):
    """u = t ((x − ½)² + y²), whose slope out of the circle is 2 r t."""
    return (z[2] * ((z[0] - 0.5) ** 2 + z[1] ** 2))[None]


def test_given_points_have_the_normals_that_come_with_them(x64):
    at_once = CIRCLE | {"t": np.full(6, 0.5)}
    for condition in (
        scl.Neumann(0.3, on=at_once),
        scl.Operator(lambda grad_u, normal: grad_u @ normal - 0.3, at_once),
    ):
        law = bound(condition, PLANE)
        assert law.place.finite
        np.testing.assert_allclose(rows(law, quadratic)[1], 0.0, atol=1e-7)


def test_points_of_space_alone_are_at_all_times(x64):
    law = bound(scl.Neumann(lambda t: 0.6 * t, on=CIRCLE), PLANE)
    chart = law.place.chart
    assert chart.names == ("index", "t")
    assert law.place.measure == 6
    z, found = rows(law, quadratic, 60)
    assert len({(round(x, 6), round(y, 6)) for x, y in z[:2].T}) == 6
    assert set(np.round(z[2], 6)) == set(np.round(np.linspace(0, 1, 10), 6))
    np.testing.assert_allclose(found, 0.0, atol=1e-7)
    w = law.place.uniform(4000, jr.key(0))
    z = np.asarray(embed_all(law.place, w))
    counts = np.unique(np.round(z[:, 0] + 7 * z[:, 1], 6), return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts - 4000 / 6).max() < 5 * np.sqrt(4000 / 6)
    assert np.std(z[:, 2]) == pytest.approx(12**-0.5, rel=0.05)


def test_points_of_space_alone_are_at_all_parameters_of_a_family():
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 2)),
        parameters={"c": (1.0, 3.0)},
        objective=scl.average(scl.Dirichlet(lambda c, t: c * t, on={"x": [0.5, 0.75]})),
        constraints={"pde": scl.worst_case(lambda u_t, c: u_t - c) <= 1e-6},
    )
    place = problem.terms[0].law.place
    assert place.chart.names == ("index", "t", "c")
    assert place.chart.parameters == ("c",)
    fixed = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 2)),
        parameters={"c": (1.0, 3.0)},
        objective=scl.average(scl.Dirichlet(lambda c: c, on={"x": [0.5, 0.75], "t": [0.0, 1.0]})),
        constraints={"pde": scl.worst_case(lambda u_t, c: u_t - c) <= 1e-6},
    )
    assert fixed.terms[0].law.place.chart.names == ("index", "c")


@pytest.mark.parametrize("measure", [scl.average, scl.worst_case])
def test_such_places_are_trained_on(measure):
    """u_xx = 0 at every time with u = t at x = 0.25 and u = 3t at x = 0.75:  u = 4 x t."""
    conditions = scl.Dirichlet(lambda x, t: 4 * x * t, on={"x": [0.25, 0.75]})
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 1)),
        constraints={"pde": scl.worst_case(lambda u_xx: u_xx) <= 1e-6, "inside": measure(conditions) <= 1e-6},
        reference=lambda x, t: 4 * x * t,
    )
    model = scl.nn.MLP(problem.domain, width=8, depth=1, key=jr.key(0))
    solution = scl.solve(problem, model, steps=60, progress=False)
    assert solution.error() < 0.02
    report = solution.check(points=2000)
    assert set(next(f for f in report.findings if f.name == "inside").where) == {"x", "t"}


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ({"x": [0.5], "y": [0.0], "nx": [1.0]}, "the points have `nx` but not `ny`"),
        ({"x": [0.5], "y": [0.0], "nx": [0.0], "ny": [0.0]}, "the normal of point 0 is zero"),
        ({"x": [0.5, 0.6], "y": [0.0, 0.1], "nx": [1.0, 0.0, 1.0], "ny": 1.0}, r"2 points, but normals.*\(3,\)"),
        ({"x": [0.5], "y": [0.0]}, "Given points have no normal: give its components too"),
        ({"x": [0.5], "nx": [1.0], "ny": [0.0]}, "the points lack coordinate `y`"),
        ([PLANE.face(x=0), {"x": [0.5]}], "Use one condition for each kind of place"),
    ],
)
def test_points_and_normals_that_do_not_fit_are_refused(on, said):
    with pytest.raises(ValueError, match=said):
        bound(scl.Neumann(0.0, on=on), PLANE)


def test_places_lose_coordinates_as_others_do():
    """A worst case over the parameters alone averages the rest, and a family may be discretised."""
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 2)),
        parameters={"c": (1.0, 3.0)},
        objective=scl.average(scl.Initial(0.0, on=scl.Box(x=(0.5, 1.0)))),
        constraints={
            "inside": scl.worst_case(scl.Dirichlet(lambda c: c, on={"x": [0.5, 0.75]}), over=("c",)) <= 1e-6,
            "points": scl.worst_case(scl.Dirichlet(0.0, on={"x": [0.5], "t": [1.0]}), over=("c",)) <= 1e-6,
        },
    )
    inside = next(t.law for t in problem.terms if t.name == "inside")
    model = lambda z: (z[0] + z[1] + z[2])[None]
    found = inside.losses(inside.rows(model, {}, jnp.asarray([[2.0]])))
    t = np.linspace(0, 2, 128)
    expected = np.mean([(x + t) ** 2 for x in (0.5, 0.75)])
    assert float(found[0]) == pytest.approx(expected, rel=1e-4)
    held = problem.discretised({"c": [1.0, 2.0]}).terms[0].law.place
    z = np.asarray(embed_all(held, held.grid(40)))
    assert (z[:, 0].min(), z[:, 0].max(), set(z[:, 1]), set(z[:, 2])) == (0.5, 1.0, {0.0}, {1.0, 2.0})
