"""Shapes: what is inside, what bounds it, draws that are uniform, measures and normals that are right."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._places import embed_all


def square(half=1.0):
    return scl.Box(x=(-half, half), y=(-half, half))


def holed():
    return square() - scl.Disk(x=0.2, y=0.0, radius=0.3, name="hole")


def ell():
    return scl.Polygon({"x": [0, 2, 2, 1, 1, 0], "y": [0, 0, 1, 1, 2, 2]})


def ring():
    import shapely

    return scl.Polygon(shapely.Polygon([(0, 0), (3, 0), (3, 2), (0, 2)], [[(1, 0.5), (2, 0.5), (2, 1.5)]]))


def part():
    import trimesh

    return scl.Mesh(trimesh.creation.icosphere(subdivisions=3, radius=1.0))


SHAPES = {
    "disk": lambda: scl.Disk(x=0.5, y=-0.5, radius=2.0),
    "ball": lambda: scl.Ball(x=0.0, y=1.0, z=0.0, radius=0.5),
    "ellipse": lambda: scl.Ellipse(x=0, y=0, radii=(2, 1)),
    "holed": holed,
    "ell": ell,
    "ring": ring,
    "implicit": lambda: scl.Implicit(lambda x, y: x**4 + y**4 - 1, x=(-1.1, 1.1), y=(-1.1, 1.1)),
    "union": lambda: scl.Disk(x=0, y=0, radius=1) | scl.Disk(x=1, y=0, radius=1),
    "lens": lambda: scl.Disk(x=0, y=0, radius=1) & scl.Disk(x=1, y=0, radius=1),
    "shell": lambda: scl.Ball(x=0, y=0, z=0, radius=1) - scl.Ball(x=0, y=0, z=0, radius=0.5),
    "mesh": part,
}
QUARTIC = math.gamma(1.25) ** 2 / math.gamma(1.5) * 4  # the area inside x⁴ + y⁴ = 1
LENS = 2 * math.pi / 3 - math.sqrt(3) / 2
MEASURES = {  # volume, size of the boundary, and how exact they must be
    "disk": (4 * math.pi, 4 * math.pi, 1e-12),
    "ball": (math.pi / 6, math.pi, 1e-12),
    "ellipse": (2 * math.pi, 9.688448220547676, 1e-12),
    "holed": (4 - 0.09 * math.pi, 8 + 0.6 * math.pi, 1e-12),
    "ell": (3.0, 8.0, 1e-12),
    "ring": (5.5, 10 + 2 + math.sqrt(2), 1e-12),
    "implicit": (QUARTIC, 7.017697, 1e-4),
    "union": (2 * math.pi - LENS, 8 * math.pi / 3, 2e-3),
    "lens": (LENS, 4 * math.pi / 3, 2e-3),
    "shell": (4 / 3 * math.pi * 0.875, 5 * math.pi, 1e-12),
    "mesh": (4 / 3 * math.pi, 4 * math.pi, 2e-2),  # of a ball with 1280 faces
}


@pytest.mark.parametrize("name", SHAPES)
def test_measures_are_those_of_formulas(name):
    domain, (volume, surface, exact) = SHAPES[name](), MEASURES[name]
    assert domain.measure == pytest.approx(volume, rel=exact)
    assert domain.boundary.measure == pytest.approx(surface, rel=exact)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("draw", ["uniform", "sobol"])
def test_draws_of_the_interior_are_inside_even_and_as_many_as_asked(name, draw):
    """Chi-square on cells of the box, whose volumes in the shape are counted on a fine grid."""
    domain, n = SHAPES[name](), 100_000
    points = np.asarray(jax.jit(lambda key: getattr(domain, draw)(n, key))(jr.key(1)))
    assert points.shape == (n, domain.dimension)
    assert np.all(jax.vmap(domain.contains)(jnp.asarray(points)))
    cells = 6 if domain.dimension == 2 else 4
    fine = np.asarray(domain.bounding.sobol(2**18))
    fine = fine[np.asarray(jax.vmap(domain.contains)(jnp.asarray(fine)))]
    edges = [np.linspace(low, high, cells + 1) for low, high in zip(domain.lower, domain.upper, strict=True)]
    found, expected = (np.histogramdd(p, edges)[0].ravel() for p in (points, fine))
    expected *= n / len(fine)
    kept = expected > 20
    # The expectation is counted too, by 2¹⁸ points, nearly as many as are drawn: its own noise is small, by Sobol.
    chi = np.sum((found - expected)[kept] ** 2 / expected[kept]) / kept.sum()
    assert chi < (2.0 if draw == "uniform" else 0.7)


@pytest.mark.parametrize("name", SHAPES)
def test_draws_of_the_boundary_lie_on_it_evenly_with_outward_normals(name):
    domain = SHAPES[name]()
    boundary, n = domain.boundary, 20_000
    w = jax.jit(lambda key: boundary.uniform(n, key))(jr.key(2))
    points, normals = embed_all(boundary, w), jax.vmap(boundary.normal)(w)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-5)
    step = 0.02 if name == "mesh" else 2e-3  # the level of a mesh is interpolated
    inside = jax.vmap(domain.contains)
    good = np.asarray(inside(points - step * normals)) & ~np.asarray(inside(points + step * normals))
    assert np.mean(good) > 0.985  # all but those next to a corner
    # The divergence theorem with the field x: its flux through the boundary is d times the volume.
    flux = np.mean(np.sum(np.asarray(points) * np.asarray(normals), axis=1)) * boundary.measure
    spread = float(np.std(np.sum(np.asarray(points) * np.asarray(normals), axis=1))) / math.sqrt(n) * boundary.measure
    assert flux == pytest.approx(domain.dimension * domain.measure, abs=4 * spread + 3e-3 * domain.measure)


def around(points, x, y, radii=(1.0, 1.0)):
    """The turn of points round a centre, as the angle of an ellipse's parametrisation, from 0 to 1."""
    return np.arctan2((points[:, 1] - y) / radii[1], (points[:, 0] - x) / radii[0]) / (2 * np.pi) % 1


def on_circles(points):
    """Of a disk with a hole: 40 cells on the one circle and 12 on the other."""
    hole = np.hypot(points[:, 0] - 0.2, points[:, 1]) < 0.3 + 1e-4
    cell = np.where(hole, 40 + around(points, 0.2, 0) // (1 / 12), around(points, 0, 0) // (1 / 40))
    return cell, np.concatenate([np.full(40, 1 / 40), np.full(12, 0.3 / 12)])


def on_the_ell(points):
    """Eight pieces of each edge."""
    corners = np.asarray([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], float)
    way = np.roll(corners, -1, axis=0) - corners
    along = np.einsum("nei,ei->ne", points[:, None] - corners, way) / np.sum(way**2, axis=1)
    off = np.linalg.norm(points[:, None] - corners - np.clip(along, 0, 1)[..., None] * way, axis=-1)
    edge = np.argmin(off, axis=1)
    piece = np.clip(along[np.arange(len(points)), edge] * 8, 0, 7).astype(int)
    return edge * 8 + piece, np.repeat(np.linalg.norm(way, axis=1), 8)


def on_the_ellipse(points):
    """48 cells of the angle, their lengths by a fine sum."""
    middles = (np.arange(48 * 100) + 0.5) * 2 * np.pi / 4800
    speed = np.hypot(2 * np.sin(middles), np.cos(middles))
    return around(points, 0, 0, (2.0, 1.0)) // (1 / 48), speed.reshape(48, 100).sum(axis=1)


def on_the_sphere(points):
    """By Archimedes zones of the same height have the same area."""
    turn, height = around(points, 0, 1), (points[:, 2] / 0.5 + 1) / 2
    return turn // 0.1 * 8 + np.clip(height * 8, 0, 7) // 1, np.ones(80)


def brick():
    import trimesh

    return scl.Mesh(trimesh.creation.box((2.0, 1.0, 0.5)))


def on_the_brick(points):
    """Four by four cells of each face."""
    sides = np.asarray([2.0, 1.0, 0.5])
    unit = points / sides + 0.5
    axis = np.argmax(np.abs(unit - 0.5), axis=1)
    others = np.stack([np.delete(np.arange(3), a) for a in range(3)])[axis]
    one, two = (np.clip(np.take_along_axis(unit, others[:, k : k + 1], 1)[:, 0] * 4, 0, 3) // 1 for k in (0, 1))
    upper = unit[np.arange(len(points)), axis] > 0.5
    return ((axis * 2 + upper) * 4 + one) * 4 + two, np.repeat(np.prod(sides) / sides, 32)


def annulus():
    return scl.Disk(x=0, y=0, radius=1) - scl.Disk(x=0.2, y=0, radius=0.3)


@pytest.mark.parametrize(
    ("domain", "cells"),
    [
        (annulus, on_circles),
        (ell, on_the_ell),
        (SHAPES["ellipse"], on_the_ellipse),
        (SHAPES["ball"], on_the_sphere),
        (brick, on_the_brick),
    ],
)
def test_draws_of_the_boundary_are_uniform_by_length_or_area(domain, cells):
    """Chi-square on cells of which the sizes are known."""
    boundary, n = domain().boundary, 100_000
    points = np.asarray(embed_all(boundary, jax.jit(lambda key: boundary.uniform(n, key))(jr.key(3))), float)
    cell, sizes = cells(points)
    found, expected = np.bincount(cell.astype(int), minlength=len(sizes)), n * sizes / sizes.sum()
    assert len(found) == len(sizes)
    degrees = len(sizes) - 1
    assert np.sum((found - expected) ** 2 / expected) < degrees + 5 * math.sqrt(2 * degrees)


@pytest.mark.parametrize(("domain", "away"), [("implicit", 0.0), ("lens", 0.0), ("brick", 0.1)])
def test_normals_are_the_way_in_which_the_distance_falls(domain, away):
    """By differences over the boundary; next to the edges of a mesh the distance is that to a rounded one."""
    domain = brick() if domain == "brick" else SHAPES[domain]()
    boundary, step = domain.boundary, 1e-3
    w = boundary.sobol(500)
    points, normals = embed_all(boundary, w), np.asarray(jax.vmap(boundary.normal)(w))
    distance = jax.vmap(domain.distance)
    slopes = np.stack(
        [(distance(points + s) - distance(points - s)) / (2 * step) for s in step * np.eye(domain.dimension)], axis=1
    )
    outward = -slopes / np.linalg.norm(slopes, axis=1, keepdims=True)
    if away:  # from the two nearest faces
        sides = np.abs(np.abs(np.asarray(points)) - np.asarray([1.0, 0.5, 0.25]))
        outward, normals = (v[np.sort(sides, axis=1)[:, 1] > away] for v in (outward, normals))
        assert len(normals) > 100
    assert np.mean(np.linalg.norm(outward - normals, axis=1) < 1e-2) > 0.98


@pytest.mark.parametrize("name", ["disk", "ball", "ellipse", "holed", "ell", "ring", "union", "shell"])
def test_normals_are_gradients_of_the_level(name):
    domain = SHAPES[name]()
    w = domain.boundary.sobol(500)
    points, normals = embed_all(domain.boundary, w), jax.vmap(domain.boundary.normal)(w)
    off = 1e-3  # a little inside, where the nearest surface is the one that the point is on
    slopes = jax.vmap(jax.grad(lambda x: domain.shape.level(x, {})))(points - off * normals)
    close = np.linalg.norm(np.asarray(slopes - normals), axis=1) < 1e-2
    assert np.mean(close) > 0.98


@pytest.mark.parametrize("name", ["disk", "ellipse", "holed", "ell", "ring", "union", "lens", "shell"])
def test_the_smooth_distance_vanishes_on_the_boundary_like_the_distance_and_is_positive_inside(name):
    domain = SHAPES[name]()
    points = domain.uniform(500, jr.key(0))
    assert np.all(np.asarray(jax.vmap(domain.distance)(points)) > 0)
    w = domain.boundary.sobol(500)
    edge, normals = embed_all(domain.boundary, w), jax.vmap(domain.boundary.normal)(w)
    assert np.max(np.abs(jax.vmap(domain.distance)(edge))) < 1e-5
    slope = (jax.vmap(domain.distance)(edge - 1e-3 * normals)) / 1e-3
    assert np.quantile(slope, 0.05) > 0.2
    assert np.quantile(slope, 0.95) < 1.2


def test_values_on_the_boundary_of_a_shape_hold_by_construction():
    domain = holed()
    network = scl.nn.MLP(domain, width=8, depth=2, key=jr.key(0))
    model = scl.nn.HardConstraint(network, lambda u, distance, x, y: x * y + distance * u, domain)
    edge = embed_all(domain.boundary, domain.boundary.sobol(300))
    np.testing.assert_allclose(jax.vmap(model)(edge)[:, 0], edge[:, 0] * edge[:, 1], atol=1e-4)
    inside = domain.uniform(100, jr.key(1))
    assert np.max(np.abs(jax.vmap(model)(inside)[:, 0] - inside[:, 0] * inside[:, 1])) > 1e-2


def test_the_smooth_distance_to_a_mesh_is_two_times_differentiable():
    import trimesh

    cube = scl.Mesh(trimesh.creation.box((2, 2, 2)))
    points = np.asarray(cube.uniform(200, jr.key(0)))
    everywhere = np.concatenate([points, 1.5 * points, np.eye(3), np.zeros((1, 3))])  # outside and on the surface too
    near_face = 0.8 + 0.15 * points[:, :1], 0.3 * points[:, 1:]  # 0.3 and more from where two faces are as near
    with jax.enable_x64(True):
        slope, bend = (jax.vmap(f(cube.distance)) for f in (jax.grad, jax.hessian))
        everywhere = jnp.asarray(everywhere, float)
        assert np.all(np.isfinite(slope(everywhere)))
        assert np.all(np.isfinite(jax.vmap(jax.grad(lambda x: cube.shape.level(x, {})))(everywhere)))
        step = 1e-5 * jnp.eye(3)
        differences = jnp.stack([(slope(everywhere + s) - slope(everywhere - s)) / 2e-5 for s in step], axis=-1)
        assert np.max(np.abs(bend(everywhere)[:200])) > 1  # where it bends from one face to the next
        np.testing.assert_allclose(bend(everywhere)[:-4], differences[:-4], atol=1e-3)
        z = jnp.concatenate(near_face, axis=1)
        np.testing.assert_allclose(jax.vmap(cube.distance)(z), 1 - z[:, 0], atol=1e-5)
        np.testing.assert_allclose(slope(z), jnp.broadcast_to(jnp.asarray([-1.0, 0.0, 0.0]), z.shape), atol=1e-3)


def test_the_smooth_distance_to_a_mesh_has_the_curvature_of_its_surface():
    """Of a ball: the Laplacian of 1 − r is −2/r; a triangle has none, and their edges all of it: on average."""
    ball = part()
    points = ball.uniform(40_000, jr.key(0))
    radius = np.linalg.norm(points, axis=1)
    points, radius = points[(radius > 0.4) & (radius < 0.9)], radius[(radius > 0.4) & (radius < 0.9)]
    found = jax.jit(jax.vmap(lambda z: jnp.trace(jax.hessian(ball.distance)(z))))(points)
    assert np.mean(found) == pytest.approx(-np.mean(2 / radius), rel=0.05)


def test_corners_that_point_into_a_domain_are_found_and_known_to_networks():
    """Of an L one, with an angle of 3π/2; r^(2/3) cos(2φ/3) vanishes on both edges there, and is harmonic."""
    for domain in (
        scl.Polygon({"x": [-1, 1, 1, 0, 0, -1], "y": [-1, -1, 0, 0, 1, 1]}),
        square() - scl.Box(x=(0, 1), y=(0, 1)),
    ):
        domain = domain.explored()
        ((x, y, angle, middle),) = domain.corners
        assert (x, y) == (0, 0)
        assert angle == pytest.approx(1.5 * math.pi)
        assert middle == pytest.approx(-0.75 * math.pi)
    assert len((square() - scl.Box(x=(-0.2, 0.2), y=(-0.2, 0.2))).explored().corners) == 4
    assert not holed().explored().corners
    assert not square().explored().corners
    problem = scl.Problem(domain, constraints={"pde": scl.worst_case(lambda lap_u: lap_u + 1) <= 1e-3})
    assert problem.domain.corners == domain.corners
    features = scl.nn.Corners(domain)
    assert features.size == 4
    singular = lambda z: features(z)[2]
    edges = jnp.asarray([[0.0, 0.3], [0.0, 0.9], [0.4, 0.0], [0.8, 0.0]])
    np.testing.assert_allclose(jax.vmap(singular)(edges), 0.0, atol=1e-6)
    assert singular(jnp.asarray([-0.5, -0.5])) == pytest.approx(0.5 ** (1 / 3), rel=1e-5)
    with jax.enable_x64(True):
        points = jnp.asarray([[-0.3, 0.2], [0.4, -0.7], [-0.1, -0.2]], "float64")
        laplacians = jax.vmap(lambda z: jnp.trace(jax.hessian(singular)(z)))(points)
        np.testing.assert_allclose(laplacians, 0.0, atol=1e-10)
    assert np.all(np.isfinite(features(jnp.zeros(2))))
    assert np.all(np.isfinite(jax.jacfwd(features)(jnp.zeros(2))))
    assert scl.nn.MLP(domain, key=jr.key(0)).embedding.size == 4
    with pytest.raises(ValueError, match="leave the embedding out"):
        scl.nn.Corners(square())


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_enclosed_has_negative_levels(name):
    shape = SHAPES[name]().shape
    lower, upper = map(np.asarray, shape.bounds({}))
    points = jnp.asarray(np.random.default_rng(0).uniform(lower - 0.1, upper + 0.1, (2000, len(lower))))
    enclosed, levels = (jax.vmap(lambda x, f=f: f(x, {}))(points) for f in (shape.encloses, shape.level))
    np.testing.assert_array_equal(enclosed, levels <= 0)
    assert 0 < np.mean(enclosed) < 1


def holes_of_all_kinds():
    cube = scl.Box(x=(-1, 1), y=(-1, 1), z=(-1, 1))
    dented = lambda middle: square() - scl.Disk(x=middle, y=0.0, radius=0.3)
    return (
        (holed(), [(0.2, 0.0, 0.3)]),
        (scl.Disk(x=0.0, y=0.0, radius=1.0) - scl.Disk(x=0.0, y=0.0, radius=0.2), [(0.0, 0.0, 0.2)]),
        (dented(-0.5) - scl.Disk(x=0.5, y=0.0, radius=0.1), [(-0.5, 0.0, 0.3), (0.5, 0.0, 0.1)]),
        (cube - scl.Ball(x=0.1, y=0.0, z=0.0, radius=0.3), [(0.1, 0.0, 0.0, 0.3)]),
        (ring(), [(2 - 0.25 * math.sqrt(2), 0.5 + 0.25 * math.sqrt(2), 0.4505)]),  # of a triangle's edges
        (dented(1.0), []),
        (square() - scl.Box(x=(0, 1), y=(0, 1)), []),
        (scl.Disk(x=0.0, y=0.0, radius=1.0) & scl.Disk(x=1.5, y=0.0, radius=1.0), []),
        (ell(), []),
        (part(), []),
    )


@pytest.mark.parametrize(("domain", "expected"), holes_of_all_kinds())
def test_holes_are_found_and_notches_are_none(domain, expected):
    found = [(*hole.middle, hole.radius) for hole in domain.explored().holes]
    assert len(found) == len(expected)
    for hole, true in zip(found, expected, strict=True):
        np.testing.assert_allclose(hole, true, atol=1e-3)


def test_holes_are_known_to_networks():
    """log ρ in the plane and 1/ρ in space are harmonic; −1 and 1 are their extremes on the domain."""
    ball = scl.Ball(x=0.1, y=0.0, z=0.0, radius=0.3, name="hole")
    cube = scl.Box(x=(-1, 1), y=(-1, 1), z=(-1, 1)) - ball
    for domain, corner, near, far in (
        (holed().explored(), (-1.0, 1.0), -1.0, 1.0),
        (cube.explored(), (-1.0, 1.0, 1.0), 1.0, 2 * 0.3 / math.hypot(1.1, 1, 1) - 1),
    ):
        features = scl.nn.MLP(domain, key=jr.key(0)).embedding
        assert isinstance(features, scl.nn.Holes)
        assert features.size == len(domain.names) + 1
        one = lambda z, features=features: features(z)[-1]
        edge = domain.boundary["hole"]
        np.testing.assert_allclose(jax.vmap(one)(embed_all(edge, edge.sobol(64))), near, atol=2e-3)
        assert one(jnp.asarray(corner)) == pytest.approx(far, abs=1e-3)
        with jax.enable_x64(True):
            points = jnp.asarray(domain.uniform(5, jr.key(0)), "float64")
            laplacians = jax.vmap(lambda z, one=one: jnp.trace(jax.hessian(one)(z)))(points)
            np.testing.assert_allclose(laplacians, 0.0, atol=1e-9)
    both = scl.nn.MLP((square() - scl.Box(x=(-0.2, 0.2), y=(-0.2, 0.2))).explored(), key=jr.key(0)).embedding
    assert isinstance(both.inner, scl.nn.Corners)
    assert both.size == both.inner.size + 1
    with pytest.raises(ValueError, match="leave it out"):
        scl.nn.Holes(square())


@pytest.mark.parametrize("domain", [domain for domain, _ in holes_of_all_kinds()])
def test_a_network_is_built_in_compiled_code_on_every_kind_of_shape(domain):
    """Where a shape's arrays are no numbers yet."""
    problem = scl.Problem(domain, constraints={"pde": scl.worst_case(lambda lap_u: lap_u + 1) <= 1e-3})
    build = lambda domain: scl.nn.MLP(domain, width=3, depth=1, key=jr.key(0))
    assert eqx.tree_equal(eqx.filter_jit(build)(problem.domain), build(problem.domain), typematch=True, rtol=1e-5)


def test_a_sphere_of_any_dimension_is_drawn_evenly():
    """On the unit sphere of d dimensions E x_i² = 1/d and E x_i⁴ = 3/(d (d + 2))."""
    for d in (2, 3, 4, 6):
        ball = scl.Ball(**{f"x{i}": 0.0 for i in range(d)}, radius=1.0)
        points = np.asarray(embed_all(ball.boundary, ball.boundary.uniform(40_000, jr.key(d))))
        np.testing.assert_allclose(np.mean(points**2, axis=0), 1 / d, rtol=0.03)
        np.testing.assert_allclose(np.mean(points**4, axis=0), 3 / (d * (d + 2)), rtol=0.06)


def test_surfaces_that_coincide_count_once_and_inner_ones_not_at_all():
    adjacent = scl.Box(x=(0, 1), y=(0, 1)) | scl.Box(x=(1, 2), y=(0, 1))
    overlapping = scl.Box(x=(0, 1), y=(0, 1)) | scl.Box(x=(0.5, 2), y=(0, 1))
    corner = scl.Box(x=(0, 1), y=(0, 1)) - scl.Box(x=(0.5, 1), y=(0.5, 1))
    assert adjacent.boundary.measure == pytest.approx(6.0, rel=2e-3)
    assert overlapping.boundary.measure == pytest.approx(6.0, rel=2e-3)
    assert corner.boundary.measure == pytest.approx(4.0, rel=2e-3)


def test_parts_of_boundaries():
    domain = holed() * scl.Interval(t=(0.0, 2.0))
    hole = domain.boundary["hole"]
    assert hole.measure == pytest.approx(2 * 0.6 * math.pi)
    points = np.asarray(embed_all(hole, hole.sobol(200)))
    np.testing.assert_allclose(np.hypot(points[:, 0] - 0.2, points[:, 1]), 0.3, rtol=1e-6)
    assert points[:, 2].min() < 0.1
    assert points[:, 2].max() > 1.9
    normals = np.asarray(jax.vmap(hole.normal)(hole.sobol(200)))
    np.testing.assert_allclose(normals[:, :2], -(points[:, :2] - [0.2, 0.0]) / 0.3, atol=1e-6)  # into the hole
    assert np.all(normals[:, 2] == 0)
    right = domain.boundary.where(lambda x: x > 0.2)
    points = np.asarray(embed_all(right, right.uniform(500, jr.key(0))))
    assert points.shape == (500, 3)
    assert points[:, 0].min() > 0.2
    assert right.measure == pytest.approx(2 * (2 + 2 * 0.8 + 0.3 * math.pi), rel=1e-2)
    side, middle = domain.face(x=-1), domain.face(x=0.2)
    assert side.measure == pytest.approx(4.0)
    assert middle.measure == pytest.approx(2 * 1.4, rel=1e-2)  # an inner line, through the hole
    assert np.asarray(jax.vmap(side.normal)(side.sobol(3))).tolist() == [[-1.0, 0.0, 0.0]] * 3
    upper = square().face(x=1).where(lambda y: y > 0.5)
    assert upper.measure == pytest.approx(0.5, rel=1e-2)


def test_a_family_ranges_over_shapes():
    """A hole whose radius is a parameter: points keep out of it at each radius, and the boundary follows."""
    domain = (square() - scl.Disk(x=0.0, y="c", radius="r", name="hole")).join({"r": (0.1, 0.5), "c": (-0.2, 0.2)})
    assert domain.names == ("x", "y", "r", "c")
    away = lambda p: np.hypot(p[:, 0], p[:, 1] - p[:, 3]) / p[:, 2]
    assert away(np.asarray(domain.sobol(1000))).min() >= 1
    hole = domain.boundary["hole"]
    points = np.asarray(embed_all(hole, hole.sobol(500)))
    np.testing.assert_allclose(away(points), 1.0, rtol=1e-5)
    assert points[:, 2].min() < 0.12
    assert points[:, 2].max() > 0.48
    fixed = (square() - scl.Disk(x=0.0, y=0.0, radius="r")).fixing({"r": 0.5})
    assert fixed.measure == pytest.approx(4 - math.pi / 4)


def test_parts_of_a_shape_that_depends_on_parameters_are_named_before_these_are_known():
    open_domain = square() - scl.Ellipse(x=0.0, y=0.0, radii=("a", 0.2), name="body")
    walls, body = [open_domain.face(x=-1), open_domain.face(x=1)], open_domain.boundary["body"]
    upper = open_domain.boundary.where(lambda y: y > 0.99)
    with pytest.raises(ValueError, match="depends on `a`"):
        body.uniform(3, jr.key(0))
    problem = scl.Problem(
        open_domain,
        parameters={"a": (0.3, 0.5)},
        objective=scl.average(scl.Dirichlet(1.0, on=walls))
        + scl.average(scl.Dirichlet(0.0, on=body))
        + scl.average(scl.Dirichlet(2.0, on=upper)),
        constraints={"pde": scl.worst_case(lambda lap_u: lap_u) <= 1e-3},
    )
    z = [np.asarray(jax.vmap(t.law.place.embed)(t.law.place.uniform(200, jr.key(1)))) for t in problem.terms]
    np.testing.assert_allclose(np.abs(z[0][:, 0]), 1.0)
    np.testing.assert_allclose((z[1][:, 0] / z[1][:, 2]) ** 2 + (z[1][:, 1] / 0.2) ** 2, 1.0, atol=1e-5)
    assert (z[2][:, 1] > 0.99).all()
