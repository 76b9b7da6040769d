"""Places that were made apart from the domain are parts of it, and families of shapes are as families of boxes."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._places import locate

from .test_solution import held

SQUARE = scl.Box(x=(-1, 1), y=(-1, 1))
HOLE = scl.Disk(x=0.1, y=0, radius=0.3)
PLATE = SQUARE - HOLE
SLOT = scl.Box(x=(-0.2, 0.2), y=(-0.1, 0.1), name="slot")
SLOTTED = SQUARE - SLOT
RING = SQUARE - scl.Disk(x=0, y=0, radius="r", name="hole")
TIME = scl.Interval(t=(0, 2))


def drawn(place, n=400):
    w = place.uniform(n, jr.key(0))
    return np.asarray(jax.vmap(place.embed)(w)), w


@pytest.mark.parametrize(
    ("on", "domain", "measure", "holds"),
    [
        (HOLE.boundary, PLATE, 0.6 * np.pi, lambda x, y: np.isclose(np.hypot(x - 0.1, y), 0.3, atol=1e-5)),
        (HOLE.boundary.where(lambda x: x > 0.1), PLATE, 0.3 * np.pi, lambda x, y: x > 0.1),
        (HOLE, SQUARE, 0.09 * np.pi, lambda x, y: np.hypot(x - 0.1, y) < 0.3),
        (scl.Box(x=(0, 0.5), y=(0, 0.1)), SQUARE, 0.05, lambda x, y: (x > 0) & (x < 0.5) & (y > 0) & (y < 0.1)),
        (scl.Box(x=(0.5, 1)), PLATE, 1.0, lambda x, y: x > 0.5),
        (SLOT.boundary, SLOTTED, 1.2, lambda x, y: np.isclose(abs(x), 0.2) | np.isclose(abs(y), 0.1)),
        (SLOT.face(x=0.2), SLOTTED, 0.2, lambda x, y: np.isclose(x, 0.2) & (abs(y) <= 0.1)),
        (scl.Box(x=(0, 0.5), y=(-1, 1)).face(y=1), SQUARE, 0.5, lambda x, y: (x >= 0) & (x <= 0.5) & (y == 1)),
        (SQUARE.boundary, PLATE, 8.0, lambda x, y: np.isclose(np.maximum(abs(x), abs(y)), 1)),
        (PLATE, PLATE, 4 - 0.09 * np.pi, lambda x, y: np.hypot(x - 0.1, y) > 0.3),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "chart") else "",
)
@pytest.mark.parametrize("times", [False, True], ids=["", "at all times"])
def test_a_place_is_the_part_of_the_domain_that_it_is(on, domain, measure, holds, times):
    place = locate("Operator", on, domain * TIME if times else domain, "interior")
    assert place.measure == pytest.approx((2 if times else 1) * measure, rel=5e-3)
    z, w = drawn(place)
    assert np.all(holds(z[:, 0], z[:, 1]))
    assert not times or (z[:, 2].min() < 0.1 and z[:, 2].max() > 1.9)
    assert np.all(jax.vmap(place.contains)(w))


def test_the_wall_of_a_step_is_where_the_wide_part_ends():
    narrow, wide = scl.Box(x=(0, 1), y=(0.5, 1)), scl.Box(x=(1, 3), y=(0, 1))
    wall = locate("Dirichlet", wide.face(x=1), narrow | wide, "boundary")
    z, w = drawn(wall)
    assert wall.measure == pytest.approx(0.5, rel=5e-3)
    assert np.all((z[:, 0] == 1) & (z[:, 1] <= 0.5 + 1e-4))
    np.testing.assert_array_equal(jax.vmap(wall.normal)(w[:5]), np.tile([-1.0, 0.0], (5, 1)))


def test_what_is_no_part_of_the_domain_is_refused():
    with pytest.raises(ValueError, match="not made of"):
        locate("Dirichlet", scl.Disk(x=0, y=0, radius=0.7).boundary, PLATE, "boundary")
    with pytest.raises(ValueError, match="empty"):
        locate("Operator", scl.Disk(x=3, y=3, radius=0.5), SQUARE, "interior")
    with pytest.raises(ValueError, match=r"`x` in \[0.0, 4.0\], outside"):
        locate("Operator", scl.Box(x=(0, 4)), SQUARE, "interior")
    with pytest.raises(ValueError, match="coordinate `z`"):
        locate("Operator", scl.Box(z=(0, 1)), SQUARE, "interior")


def test_a_box_has_a_name_as_other_shapes_have():
    assert SLOTTED.boundary["slot"].measure == pytest.approx(1.2)
    assert scl.Box(name=(0, 1), x=(0, 1)).names == ("name", "x")  # which a coordinate may be called too


def test_polynomials_solve_different_laws_on_parts_of_the_domain():
    """u'' = 2 to the left, 0 to the right, u(0) = 0, u(1) = 1: two parabolas with one slope where they meet."""
    domain = scl.Box(x=(0, 1))
    ends = scl.average(scl.Dirichlet(lambda x: x))
    left, right = scl.Box(x=(0, 0.5)), scl.Box(x=(0.5, 1))
    problem = scl.Problem(
        domain,
        objective=ends,
        constraints={
            "left": scl.worst_case(scl.Operator(lambda u_xx: u_xx - 2, on=left)) <= 1e-14,
            "right": scl.worst_case(scl.Operator(lambda u_xx: u_xx, on=right)) <= 1e-14,
        },
        reference=lambda x: jnp.where(x < 0.5, x**2 + x / 4, 0.375 + 1.25 * (x - 0.5)),
    )
    solution = scl.solve(problem, progress=False)
    assert isinstance(solution.method, scl.Spectral)
    assert solution.error() < 1e-6


# --- families of shapes ---------------------------------------------------------------------------------------------


def ring(**constraints):
    equation = scl.worst_case(lambda lap_u: lap_u + 1) <= 1e-3
    return scl.Problem(RING, parameters={"r": (0.2, 0.5)}, constraints={"pde": equation, **constraints})


def test_the_boundary_of_a_hole_follows_its_radius():
    hole = scl.Disk(x=0, y=0, radius="r")
    problem = scl.Problem(
        SQUARE - hole,
        parameters={"r": (0.2, 0.5)},
        constraints={"hole": scl.average(scl.Dirichlet(0.0, on=hole.boundary)) <= 1e-3},
    )
    (term,) = problem.terms
    z, _ = drawn(term.law.place)
    np.testing.assert_allclose(np.hypot(z[:, 0], z[:, 1]), z[:, 2], atol=1e-5)


def test_a_named_radius_may_be_a_number():
    """Nothing but the shape asks for it, and the part of its boundary is that of the whole."""
    hole = scl.Disk(x=0, y=0, radius="r")
    wall = scl.average(scl.Dirichlet(0.0, on=hole.boundary)) <= 1e-3
    problem = scl.Problem(SQUARE - hole, parameters={"r": 0.4}, constraints={"wall": wall})
    assert problem.terms[0].law.place.measure == pytest.approx(0.8 * np.pi, rel=1e-3)


def test_crowded_points_stay_in_the_shape_of_their_parameter():
    z = np.asarray(scl.Sobol(1024, crowd=True).init(RING.join({"r": (0.1, 0.7)}), jr.key(0)).points)
    assert np.all(np.hypot(z[:, 0], z[:, 1]) >= z[:, 2] - 1e-6)
    counts = np.histogram(z[:, 2], 6, (0.1, 0.7))[0]
    assert counts[0] > 2 * counts[2]  # and still crowd towards the ends
    assert counts[-1] > 1.5 * counts[3]


@pytest.mark.parametrize("r", [0.2, 0.33, 0.5])
def test_an_integral_over_space_knows_the_hole_of_each_radius(r):
    solution = held(ring(), lambda z: jnp.sum(z[:2] ** 2)[None])
    area, moment = solution.integrate(lambda x: 1.0 + 0 * x, over=("x", "y"), r=[r]), solution.integrate("u", r=[r])
    assert float(area[0]) == pytest.approx(4 - np.pi * r**2, rel=1e-3)
    assert float(moment[0]) == pytest.approx(8 / 3 - np.pi * r**4 / 2, rel=1e-3)


def test_a_law_on_an_integral_of_a_family_of_shapes():
    mass = scl.average(scl.Integral(lambda u: u, over=("x", "y"), equals=lambda r: 4 - jnp.pi * r**2)) <= 1e-3
    report = held(ring(mass=mass), lambda z: jnp.ones(1)).check(points=1000)
    assert report["mass"].estimate < 1e-5


def test_a_family_of_shapes_is_looked_at_member_by_member():
    solution = held(ring(), lambda z: z[:1] ** 2 * z[2])  # Δu + 1 = 2 r + 1
    sizes = solution.residual_map(r=3)
    np.testing.assert_allclose(sizes["rms"], 2 * np.asarray(sizes.r) + 1, rtol=1e-5)


def test_what_a_family_of_shapes_cannot_is_told():
    equation = lambda lap_u: lap_u + 1
    with pytest.raises(ValueError, match="leave `over` out"):
        ring(worst=scl.worst_case(equation, over=("r",)) <= 1e-3)
    with pytest.raises(ValueError, match="names coordinates"):
        ring(flux=scl.average(scl.Integral(lambda u: u, over=RING.boundary)) <= 1e-3)


@pytest.mark.parametrize("d", [4, 10])
def test_a_ball_of_many_dimensions_is_filled_evenly(d):
    """E|x − c|² = R² d / (d + 2), alike along all coordinates, at all times; its box is nearly empty."""
    centre = 0.5 * np.arange(d)
    ball = scl.Ball(radius=2.0, **{f"x{i}": float(c) for i, c in enumerate(centre)}) * scl.Interval(t=(1, 3))
    for z, close in ((ball.uniform(100_000, jr.key(0)), 0.02), (ball.sobol(4096, jr.key(1)), 0.005)):
        squares, t = (np.asarray(z)[:, :d] - centre) ** 2, np.asarray(z)[:, d]
        assert squares.sum(axis=1).max() <= 4 + 1e-5
        np.testing.assert_allclose(squares.mean(axis=0), 4 / (d + 2), rtol=close)
        assert t.mean() == pytest.approx(2, rel=close)
        assert abs(np.corrcoef(t, squares.sum(axis=1))[0, 1]) < 3 / np.sqrt(len(z))
