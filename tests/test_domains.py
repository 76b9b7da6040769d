"""Places: points where they should be, spread by measure, with normals that point outwards."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import qmc

import sclax as scl
from sclax._places import Box, Pinned, PointSet, columns, embed_all, locate
from sclax._places.sobol import sobol

BOX = scl.Box(x=(-1, 1), y=(0, 4), t=(2, 3))
RIM = scl.Box(x=(0, 1), y=(0, 3))


def test_box_measures_its_sides():
    np.testing.assert_array_equal(BOX.lengths, [2, 4, 1])
    assert (BOX.names, BOX.measure, BOX.dimension, BOX.space) == (("x", "y", "t"), 8.0, 3, ("x", "y"))


@pytest.mark.parametrize(
    ("point", "inside"),
    [
        ([0, 1, 2.5], True),
        ([-1, 0, 2], True),
        ([1, 4, 3], True),
        ([1.001, 1, 2.5], False),
        ([0, -1e-6, 2.5], False),
        ([0, 1, 3.5], False),
        ([0, 1, np.nan], False),
    ],
)
def test_boxes_contain_their_edges_and_nothing_beyond(point, inside):
    assert bool(BOX.contains(jnp.asarray(point, float))) == inside


@pytest.mark.parametrize("draw", [lambda b, n: b.uniform(n, jr.key(0)), lambda b, n: b.sobol(n, jr.key(0))])
def test_random_points_fill_the_box_evenly(draw):
    points = np.asarray(draw(BOX, 4096))
    assert points.shape == (4096, 3)
    assert bool(jnp.all(jax.vmap(BOX.contains)(jnp.asarray(points))))
    np.testing.assert_allclose(points.mean(0), [0, 2, 2.5], atol=5 * 4 / np.sqrt(12 * 4096))
    np.testing.assert_allclose(points.var(0), BOX.lengths**2 / 12, rtol=0.06)


@pytest.mark.parametrize("key", [None, 7], ids=["bare", "shifted"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_sobol_points_integrate_far_better_than_random_ones(key, dimension):
    """E Π 2·zᵢ = 1 on the unit cube: error at least ten times below that expected of random points."""
    cube = scl.Box(**dict.fromkeys("xyz"[:dimension], (0, 1)))
    points = np.asarray(cube.sobol(4096, None if key is None else jr.key(key)))
    random_error = np.sqrt(((4 / 3) ** dimension - 1) / 4096)
    assert abs(np.mean(np.prod(2 * points, axis=1)) - 1) < random_error / 10
    counts, _ = np.histogramdd(points, bins=[8] * dimension, range=[(0, 1)] * dimension)
    assert counts.min() == counts.max()  # balanced in every dyadic cell


def test_sobol_shifts_differ_and_repeat_with_their_key():
    a, b, again = (np.asarray(RIM.sobol(100, jr.key(k))) for k in (0, 1, 0))
    np.testing.assert_array_equal(a, again)
    assert not np.any(a == b)
    assert len(np.unique(a, axis=0)) == 100


@pytest.mark.parametrize(("n", "per_axis"), [(1000, 10), (999, 9), (27, 3), (1, 1), ((2, 3, 4), None)])
def test_grids_have_at_most_n_points_and_reach_the_ends(n, per_axis):
    grid = np.asarray(BOX.grid(n))
    counts = [per_axis] * 3 if per_axis else n
    assert [len(np.unique(column)) for column in grid.T] == list(counts)
    assert len(grid) == np.prod(counts) == len(np.unique(grid, axis=0))
    if per_axis == 1:
        np.testing.assert_allclose(grid, [[0, 2, 2.5]])
        return
    np.testing.assert_array_equal(grid.min(0), BOX.lower)
    np.testing.assert_array_equal(grid.max(0), BOX.upper)
    steps = np.diff(np.unique(grid[:, 1]))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-5)


# --- faces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixed", "normal"),
    [({"x": -1}, [-1, 0, 0]), ({"x": 1}, [1, 0, 0]), ({"y": 0}, [0, -1, 0]), ({"y": 4}, [0, 1, 0])],
)
def test_faces_fix_a_coordinate_and_point_outwards(fixed, normal):
    face = BOX.face(**fixed)
    ((name, value),) = fixed.items()
    i = BOX.names.index(name)
    w = face.uniform(50, jr.key(0))
    z = np.asarray(embed_all(face, w))
    np.testing.assert_array_equal(z[:, i], value)
    np.testing.assert_array_equal(np.delete(z, i, axis=1), w)
    np.testing.assert_array_equal(face.normal(w[0]), normal)
    assert face.chart.names == tuple(n for n in BOX.names if n != name)
    assert face.measure == BOX.measure / BOX.lengths[i]


def test_an_edge_fixes_two_coordinates():
    edge = BOX.face(x=1, t=2)
    np.testing.assert_array_equal(edge.embed(jnp.asarray([3.0])), [1, 3, 2])
    assert edge.measure == 4


def test_a_face_at_a_rounded_end_is_exact():
    box = scl.Box(x=(0, 2 * np.pi))
    assert box.face(x=np.float32(2 * np.pi)).fixed == (("x", 2 * np.pi),)


@pytest.mark.parametrize("draw", ["uniform", "sobol"])
def test_the_boundary_is_uniform_by_length(draw):
    """The rim of 1 × 3: each point's normal is that of its side, sides get 3/8, 3/8, 1/8, 1/8, each evenly."""
    rim = RIM.boundary
    assert rim.measure == 8
    w = getattr(rim, draw)(4096, jr.key(0))
    z, normals = (np.asarray(a) for a in jax.vmap(lambda w: (rim.embed(w), rim.normal(w)))(w))
    sides = {(-1, 0): (0, 0.0), (1, 0): (0, 1.0), (0, -1): (1, 0.0), (0, 1): (1, 3.0)}
    for (normal, (axis, value)), share in zip(sides.items(), (3 / 8, 3 / 8, 1 / 8, 1 / 8), strict=True):
        here = np.all(normals == normal, axis=1)
        np.testing.assert_array_equal(here, z[:, axis] == value)
        assert abs(here.mean() - share) < 5 * np.sqrt(share * (1 - share) / 4096)
        along, length = z[here, 1 - axis], RIM.lengths[1 - axis]
        assert abs(along.mean() - length / 2) < 5 * length / np.sqrt(12 * here.sum())
        np.testing.assert_allclose(along.var(), length**2 / 12, rtol=0.2)


def test_the_boundary_of_an_interval_is_two_points():
    ends = scl.Box(x=(2, 5)).boundary
    w = ends.uniform(400, jr.key(0))
    z, normals = jax.vmap(lambda w: (ends.embed(w), ends.normal(w)))(w)
    assert set(np.ravel(z).tolist()) == {2.0, 5.0}
    np.testing.assert_array_equal(normals, np.where(z == 2, -1, 1))
    assert abs(np.mean(z == 2) - 0.5) < 5 * 0.5 / 20
    np.testing.assert_array_equal(embed_all(ends, ends.grid(10)), [[2.0], [5.0]])


def test_the_boundary_leaves_out_time_and_parameters():
    family = BOX.join({"beta": (1.0, 3.0)})
    assert [piece.fixed for piece in family.boundary.pieces] == [
        (("x", -1.0),),
        (("x", 1.0),),
        (("y", 0.0),),
        (("y", 4.0),),
    ]
    assert all({"t", "beta"} <= set(piece.chart.names) for piece in family.boundary.pieces)
    assert family.boundary.measure == 2 * (4 + 2) * 1 * 2
    np.testing.assert_array_equal(family.face(x=1).normal(jnp.zeros(3)), [1, 0, 0, 0])


@pytest.mark.parametrize("height", [3.0, 1000.0])
@pytest.mark.parametrize("n", [4, 80, 8008])
def test_grids_on_the_boundary_stay_on_their_faces(height, n):
    """Every face gets its share, ends included, also where a face is a thousandth of the rim (in float32)."""
    box = scl.Box(x=(0, 1), y=(0, height))
    rim = box.boundary
    z = np.asarray(embed_all(rim, rim.grid(n)))
    ends = np.cumsum([0, height, height, 1, 1]) / (2 * height + 2)
    shares = np.maximum(1, np.diff(np.round(n * ends)))
    assert shares.sum() <= n + 2  # a total, but for faces too small to have a point of their own
    on = [z[:, i] == end for i in range(2) for end in (box.lower[i], box.upper[i])]
    pieces = np.split(np.arange(len(z)), np.cumsum(shares.astype(int))[:-1])
    assert len(z) == shares.sum()
    for here, rows in zip(on, pieces, strict=True):
        assert here[rows].all()


def test_a_union_contains_its_chart_alone():
    rim = RIM.boundary
    assert [bool(rim.contains(jnp.asarray([w]))) for w in (-0.01, 0.0, 1.0, 1.01)] == [False, True, True, False]


# --- families, slices and points ----------------------------------------------------------------------------------


def test_join_appends_parameters_and_wrapping_keeps_them():
    family = RIM.join({"beta": (1, 3), "nu": (0.1, 0.2)}).wrapping(["y", "x"])
    assert family.names == ("x", "y", "beta", "nu")
    assert (family.parameters, family.periodic, family.space) == (("beta", "nu"), ("x", "y"), ("x", "y"))
    assert family.measure == pytest.approx(3 * 2 * 0.1)
    part = family.select(["nu", "x"])
    assert (part.names, part.parameters, part.periodic, part.lower) == (("nu", "x"), ("nu",), ("x",), (0.1, 0.0))
    assert RIM.join({}) is RIM


def test_faces_join_the_family_they_are_used_in():
    family = RIM.join({"beta": (1, 3)})
    for place in (RIM.face(x=0), [RIM.face(x=0), RIM.face(y=3)], RIM.boundary):
        located = locate("test", place, family, "boundary")
        z = np.asarray(embed_all(located, located.uniform(2000, jr.key(0))))
        assert z.shape == (2000, 3)
        assert abs(z[:, 2].mean() - 2) < 5 * 2 / np.sqrt(12 * 2000)


def test_pinned_places_hold_the_outer_coordinates():
    family = BOX.join({"beta": (1.0, 3.0)})
    inner = family.select(["x", "y"]).face(y=4)
    pinned = Pinned(inner, jnp.asarray([2.5, 1.5]), family.names, ("beta", "t"))
    np.testing.assert_array_equal(pinned.embed(jnp.asarray([0.5])), [0.5, 4.0, 1.5, 2.5])
    np.testing.assert_array_equal(pinned.normal(jnp.asarray([0.5])), [0, 1, 0, 0])


def test_point_sets_visit_each_point_alike():
    points = jnp.asarray([[0.1, 0.2], [0.5, 0.6], [0.9, 1.0]])
    place = PointSet(points)
    np.testing.assert_array_equal(embed_all(place, place.grid(1)), points)
    np.testing.assert_array_equal(embed_all(place, place.sobol(1)), points)
    counts = np.bincount(np.asarray(place.uniform(3000, jr.key(0)))[:, 0].astype(int))
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(3000 * 2 / 9))
    inside = [bool(place.contains(jnp.asarray([w]))) for w in (-0.1, 0.0, 2.9, 3.0)]
    assert inside == [False, True, True, False]


def test_columns_order_broadcast_and_name_what_is_wrong():
    np.testing.assert_array_equal(columns("test", {"y": [1, 2], "x": 0.5}, RIM), [[0.5, 1], [0.5, 2]])
    assert columns("test", {"x": 0.1, "y": 0.2}, RIM).shape == (1, 2)
    assert columns("test", {"x": np.zeros((4, 5)), "y": np.ones((4, 1))}, RIM).shape == (4, 5, 2)


def test_select_of_nothing_is_a_single_point():
    nothing = Box(x=(0, 1)).select(())
    assert nothing.measure == 1
    assert nothing.grid(7).shape == (1, 0)
    assert nothing.sobol(3).shape == (3, 0)


def test_a_face_far_from_the_origin_is_the_one_asked_for():
    box = scl.Box(x=(1e6, 1e6 + 0.5))
    assert box.face(x=1e6 + 0.5).fixed == (("x", 1e6 + 0.5),)
    assert box.face(x=1e6 + 0.2).fixed == (("x", 1e6 + 0.2),)  # an inner one, and no end
    assert [piece.fixed[0][1] for piece in box.boundary.pieces] == [1e6, 1e6 + 0.5]


@pytest.mark.parametrize("dimension", range(1, 12))
def test_our_sobol_sequence_is_scipys(dimension):
    """Bit for bit, in every dimension of the table and beyond it."""
    for power in (0, 1, 9, 13):
        expected = qmc.Sobol(dimension, scramble=False).random_base2(power)
        np.testing.assert_array_equal(sobol(dimension, power), expected)
