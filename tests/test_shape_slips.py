"""Random compositions of shapes against shapely, and what is said of shapes that cannot be."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sclax as scl

number = st.floats(-1.0, 1.0).map(lambda v: round(v, 2))
length = st.floats(0.2, 1.0).map(lambda v: round(v, 2))


def disk(x, y, radius):
    return scl.Disk(x=x, y=y, radius=radius), shapely.Point(x, y).buffer(radius, quad_segs=200)


def triangle(x, y, a):
    ours = scl.Polygon({"x": [x, x + a, x], "y": [y, y, y + 2 * a]})
    return ours, shapely.Polygon([(x, y), (x + a, y), (x, y + 2 * a)])


disks = st.tuples(number, number, length).map(lambda p: disk(*p))
boxes = st.tuples(number, number, length, length).map(
    lambda p: (
        scl.Box(x=(p[0], p[0] + p[2]), y=(p[1], p[1] + p[3])),
        shapely.box(p[0], p[1], p[0] + p[2], p[1] + p[3]),
    )
)


def framed(x, y, a):
    """A square with a square hole that lies off its middle."""
    rim, hole = shapely.box(x, y, x + 2 * a, y + 2 * a), shapely.box(x + a / 4, y + a / 2, x + a, y + 1.5 * a)
    return scl.Polygon(rim.difference(hole)), rim.difference(hole)


frames = st.tuples(number, number, length).map(lambda p: framed(*p))
triangles = st.tuples(number, number, length).map(lambda p: triangle(*p))
SIGNS = {
    "|": (lambda a, b: a | b, lambda a, b: a.union(b)),
    "&": (lambda a, b: a & b, lambda a, b: a.intersection(b)),
    "-": (lambda a, b: a - b, lambda a, b: a.difference(b)),
}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(disks, boxes, triangles), min_size=2, max_size=4), st.lists(st.sampled_from("|&-"), min_size=3)
)
@example([disk(0, 0, 1), triangle(0, 0, 1), disk(0, 0, 1)], ["|", "-", "|"])  # an arc bounds, and so does its double
@example([triangle(0, 0, 0.75), disk(0, 0, 0.38)], ["-", "|", "|"])  # an edge along a diagonal of all points
def test_what_is_inside_is_what_shapely_says(shapes, signs):
    ours, theirs = shapes[0]
    for (shape, other), sign in zip(shapes[1:], signs, strict=False):
        theirs = SIGNS[sign][1](theirs, other)
        if theirs.area < 1e-2:  # hardly anything is left
            return
        ours = SIGNS[sign][0](ours, shape)
    assert_same(ours, theirs)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.tuples(*[st.one_of(disks, boxes, triangles, frames)] * 3), st.sampled_from("|&-"), st.sampled_from("|&-"))
@example((framed(0, 0, 1), disk(0, 0, 0.5), disk(1, 1, 0.5)), "-", "|")
@example((disk(0, 0, 1), framed(-0.5, -0.5, 0.5), triangle(0, 0, 0.5)), "-", "-")
def test_within_brackets_too(shapes, outer, inner):
    (a, theirs_a), (b, theirs_b), (c, theirs_c) = shapes
    theirs = SIGNS[inner][1](theirs_b, theirs_c)
    whole = SIGNS[outer][1](theirs_a, theirs)
    if min(theirs.area, whole.area) < 1e-2:
        return
    assert_same(SIGNS[outer][0](a, SIGNS[inner][0](b, c)), whole)


def assert_same(ours, theirs):
    """The same points inside, area and length."""
    points = np.random.default_rng(0).uniform(-2.1, 3.1, (400, 2))
    away = shapely.distance(theirs.boundary, shapely.points(points)) > 1e-3
    inside = shapely.contains_xy(theirs, points[:, 0], points[:, 1])
    found = np.asarray(jax.vmap(ours.contains)(jnp.asarray(points)))
    assert np.array_equal(found[away], inside[away])
    assert ours.measure == pytest.approx(theirs.area, rel=5e-3, abs=2e-3)
    assert ours.boundary.measure == pytest.approx(theirs.length, rel=2e-2)


def square():
    return scl.Box(x=(-1, 1), y=(-1, 1))


def open_mesh():
    import trimesh

    box = trimesh.creation.box((1, 1, 1))
    return trimesh.Trimesh(box.vertices, box.faces[:-1])


@pytest.mark.parametrize(
    ("outline", "area", "length"),
    [
        (shapely.Polygon([(0, 0), (2, 0), (2, 2), (0, 2)], [[(1, 0), (1.5, 1), (0.5, 1)]]), 3.5, 9 + math.sqrt(5)),
        (shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(1, 1, 2, 2)]), 2.0, 8.0),
        ({"x": [0, 1, 1, 2, 2, 1, 1, 0], "y": [0, 0, 1, 1, 2, 2, 1, 1]}, 2.0, 8.0),
        ({"x": [0, 4, 4, 0, 0, 1, 0], "y": [0, 0, 4, 4, 3, 0, 1]}, 15.0, 14 + math.sqrt(10) + math.sqrt(2)),
    ],
)
def test_outlines_may_touch_themselves(outline, area, length):
    domain = scl.Polygon(outline)
    assert domain.measure == pytest.approx(area)
    assert domain.boundary.measure == pytest.approx(length, rel=1e-2)


def measured(table):
    domain = square() - scl.Disk(x=0, y=0, radius=0.5)
    return scl.Problem(domain, objective=scl.average(scl.Observations(table)))


def test_points_of_a_coarse_outline_may_lie_a_little_beyond_it():
    turns = np.linspace(0, 2 * np.pi, 40)
    on = {"x": 0.4999 * np.cos(turns), "y": 0.4999 * np.sin(turns)}  # just in the hole
    assert measured({**on, "u": 0 * turns}).unknowns == ("u",)


SQUARE = [(0, 0), (2, 0), (2, 2), (0, 2)]
SLIPS = [
    (lambda: scl.Polygon({"x": [0, 1, 1, 0], "y": [0, 1, 0, 1]}), ("crosses itself", "edge 0", "in order")),
    (lambda: scl.Polygon({"x": [-1, 0, 1, 1, 0, -1], "y": [-1, 0, 2, -2, 0, 1]}), ("crosses itself", "[0.0, 0.0]")),
    (lambda: scl.Polygon({"x": [0, 2, 1, 1.5, -1], "y": [0, 0, 0, 1, -1]}), ("crosses itself", "edge 0")),
    (lambda: scl.Polygon({"x": [0, 2, 2, 0, -1, -1, 0], "y": [0, 0, 2, 2, 0.5, 1, 1]}), ("crosses itself",)),
    (lambda: scl.Polygon({"x": [0, 2, 2, 1, 1, 1, 0], "y": [0, 0, 2, 2, 1, 2, 2]}), ("along itself", "[1.0, 2.0]")),
    (lambda: scl.Polygon(shapely.Polygon(SQUARE, [[(1, 1), (3, 1), (1, 1.5)]])), ("not valid", "[2 1", "make_valid")),
    (lambda: scl.Polygon(shapely.Polygon(SQUARE, [[(3, 1), (4, 1), (4, 2)]])), ("not valid", "outside shell")),
    (lambda: scl.Polygon(shapely.MultiPolygon([shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)])), ("not valid",)),
    (lambda: scl.Polygon({"x": [0, 1, 2], "y": [0, 0, 0]}), ("no area",)),
    (lambda: scl.Polygon({"x": [0, 1], "y": [0, 0]}), ("three corners",)),
    (lambda: scl.Polygon("a hexagon"), ("dict of corners", "a hexagon")),
    (lambda: scl.Disk(x=0, y=0, radius=1) & scl.Disk(x=3, y=0, radius=1), ("empty", "where its parts lie")),
    (lambda: scl.Disk(x=0, y=0, radius=1) - scl.Disk(x=0, y=0, radius=2), ("empty",)),
    (lambda: scl.Mesh(open_mesh()), ("not closed", "fill_holes")),
    (lambda: scl.Mesh("no/such/part.stl"), ("no file", "no/such/part.stl")),
    (lambda: scl.Implicit(lambda x, y: x**2 + y**2 + 1, x=(-1, 1), y=(-1, 1)), ("positive everywhere", "negative")),
    (lambda: scl.Implicit(lambda x, y: x**2 + y**2 - 9, x=(-1, 1), y=(-1, 1)), ("negative everywhere",)),
    (lambda: scl.Implicit(lambda x, y: x**2 + y**2 - 1.5, x=(-1, 1), y=(-1, 1)), ("reaches the end", "widen")),
    (lambda: scl.Implicit(lambda x, z: x + z, x=(-1, 1), y=(-1, 1)), ("`z`", "`x`, `y`")),
    (lambda: (square() - scl.Disk(x=0, y=0, radius=0.5)).boundary["hole"], ("'hole'", "no shape has a name")),
    (
        lambda: (square() - scl.Disk(x=0, y=0, radius=0.5, name="hole")).boundary["hol"],
        ("'hol'", "`hole`", "Did you mean"),
    ),
    (lambda: (square() - scl.Disk(x=5, y=0, radius=1, name="far")).boundary["far"], ("'far'", "bounds the domain")),
    (lambda: square().boundary["left"], ("'left'", "domain.face(x=0)")),
    (lambda: square().boundary.where(lambda x: x > 2), ("fulfils the condition",)),
    (lambda: square().boundary.where(lambda z: z > 0), ("`z`", "`x`, `y`")),
    (lambda: square().boundary.where(lambda x, y: x > 0 and y > 0), ("where: ", "`and`", "(one) & (other)")),
    (lambda: square().boundary.where(lambda x: np.sign(x) > 0), ("where: ", "numpy", "jax.numpy")),
    (lambda: square().boundary.where(lambda x: math.sin(x) > 0), ("where: ", "math.sin")),
    (
        lambda: scl.Implicit(lambda x, y: np.maximum(x, y) - 1, x=(-2, 2), y=(-2, 2)),
        ("Implicit: ", "numpy", "jax.numpy"),
    ),
    (lambda: scl.Implicit(lambda x, y: x if x > y else y, x=(-2, 2), y=(-2, 2)), ("Implicit: ", "jnp.where")),
    (lambda: scl.Disk(x=0, y=0, radius=1).face(x=1), ("no part of the domain", "'x': 1.0")),
    (lambda: square().face(x=3), ("must lie in its interval", "3.0")),
    (lambda: scl.Disk(x=0, y=0, radius=-1), ("`radius`", "positive", "-1")),
    (lambda: scl.Disk(x=0, radius=1), ("two coordinates", "`x`")),
    (lambda: scl.Ellipse(x=0, y=0, radii=2), ("two radii", "radii=2")),
    (lambda: scl.Ball(t=0, x=0, radius=1), ("in space", "Interval(t=(0, 1))")),
    (lambda: scl.Interval(x=(0, 1), t=(0, 1)), ("one coordinate",)),
    (lambda: square() - scl.Ball(x=0, y=0, z=0, radius=1), ("same coordinates", "`z`")),
    (lambda: square() - scl.Disk(y=0, x=0, radius=0.5), ("one order", "`y`, `x`")),
    (lambda: scl.Disk(x=0, y=0, radius=1) * scl.Interval(z=(0, 1)), ("another coordinate of space", "`z`")),
    (lambda: scl.Disk(x=0, y=0, radius=1) * scl.Interval(x=(0, 1)), ("`x`", "rename")),
    (
        lambda: scl.Problem(
            scl.Disk(x=0, y=0, radius="r"), constraints={"pde": scl.worst_case(lambda u_x: u_x) <= 1e-3}
        ),
        ("depends on `r`", "parameters="),
    ),
    (
        lambda: scl.Problem(
            scl.Disk(x=0, y=0, radius=1),
            objective=scl.average(scl.Neumann(0.0, on=scl.Disk(x=0, y=0, radius=1).face(x=0.0))),
        ),
        ("inside the domain", "no outward normal"),
    ),
    (
        lambda: measured({"x": [0.9, 0.1, 0.0], "y": [0.9, 0.2, 0.0], "u": [0.0, 0.0, 0.0]}),
        ("index 1", "x = 0.1, y = 0.2", "outside the domain's shape", "2 of the 3"),
    ),
]


@pytest.mark.parametrize(("slip", "said"), SLIPS, ids=[str(i) for i in range(len(SLIPS))])
def test_what_cannot_be_a_shape_is_said_with_its_remedy(slip, said):
    with pytest.raises(ValueError) as caught:
        slip()
    for words in said:
        assert words in str(caught.value)
