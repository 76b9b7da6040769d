"""Laws on integrals: against integrals by hand, over coordinates, faces and boundaries."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._places import embed_all

BOX = scl.Box(x=(0, 2), y=(-1, 1), t=(0, 3))


def model(z):
    """u = x² y² + t x."""
    x, y, t = z
    return jnp.stack([x**2 * y**2 + t * x])


def posed(integral, domain=BOX, **more):
    return scl.Problem(domain, constraints={"law": scl.average(integral) <= 1e-6}, **more)


def rows(integral, w, domain=BOX, model=model, **more):
    problem = posed(integral, domain, **more)
    law = problem.terms[0].law
    assert law.place.chart.names == tuple(n for n in problem.domain.names if n in law.place.chart.names)
    return law.place.chart.names, np.asarray(law.rows(model, problem.parameters, jnp.asarray(w)))[:, 0]


def test_over_one_coordinate_the_others_remain(x64):
    """∫₀² u dx = 8 y²/3 + 2 t."""
    w = np.asarray([[0.5, 1.0], [-0.3, 2.0]])
    names, found = rows(scl.Integral(lambda u: u, over=("x",), equals=lambda t: 2 * t), w)
    assert names == ("y", "t")
    np.testing.assert_allclose(found, 8 * w[:, 0] ** 2 / 3, rtol=1e-12)


def test_over_several_coordinates_and_over_all(x64):
    """∫∫ u = 16/9 + 4 t;  over time too  16/3 + 18."""
    names, found = rows(scl.Integral(lambda u: u, over=("x", "y")), [[1.5]])
    assert names == ("t",)
    assert found[0] == pytest.approx(16 / 9 + 6)
    names, found = rows(scl.Integral(lambda u: u, over=("x", "y", "t"), equals=1.0), np.zeros((1, 0)))
    assert names == ()
    assert found[0] == pytest.approx(16 / 3 + 18 - 1)


def test_derivatives_coordinates_and_systems(x64):
    problem = posed(scl.Integral(lambda u_x, x, y: (u_x, x * y**2), over="x", equals=1.0))
    law = problem.terms[0].law
    found = np.asarray(law.rows(model, {}, jnp.asarray([[0.5, 2.0]])))[0]
    np.testing.assert_allclose(found, [4 * 0.25 + 2 * 2 - 1, 2 * 0.25 - 1], rtol=1e-12)
    assert law.order == 1
    assert law.inner == 32


def test_over_a_face_and_over_the_boundary_with_normals(x64):
    """Through x = 2: ∫ u_x dy = ∫ 4 y² + t dy = 8/3 + 2t. Out of all sides: ∫∫ Δu = ∫∫ 2y² + 2x² = 8/3 + 32/3."""
    flux = lambda grad_u, normal: grad_u @ normal
    names, found = rows(scl.Integral(flux, over=BOX.face(x=2)), [[1.5]])
    assert names == ("t",)
    assert found[0] == pytest.approx(8 / 3 + 3)
    _, found = rows(scl.Integral(flux, over=BOX.boundary, equals=40 / 3), [[0.7]])
    assert found[0] == pytest.approx(0.0, abs=1e-12)


def test_families_have_a_law_for_each_parameter(x64):
    """∫₀¹ c x dx = c/2."""
    line = scl.Box(x=(0, 1))
    names, found = rows(
        scl.Integral(lambda u: u, over="x", equals=lambda c: c / 2),
        [[1.5], [3.0]],
        line,
        lambda z: jnp.stack([z[0] * z[1]]),
        parameters={"c": (1.0, 4.0)},
    )
    assert names == ("c",)
    np.testing.assert_allclose(found, 0.0, atol=1e-13)


def test_many_dimensions_are_summed_on_even_points(x64):
    cube = scl.Box(**{f"x{i}": (0, 1) for i in range(5)})
    smooth = lambda z: jnp.prod(1 + z / 4)[None]
    _, found = rows(scl.Integral(lambda u: u, over=cube.names, equals=1.125**5), np.zeros((1, 0)), cube, smooth)
    assert abs(found[0]) < 1e-3


def test_curved_places_and_parts_of_them():
    """Of u = x² + y² on the unit disk: ∫∫ u = π/2, and ∮ ∂u/∂n = 4π; the start on a smaller disk."""
    domain = scl.Disk(x=0, y=0, radius=1) * scl.Interval(t=(0, 1))
    inner = scl.Disk(x=0.2, y=0, radius=0.3)
    problem = scl.Problem(
        domain,
        objective=scl.average(scl.Initial(0.0, on=inner)),
        constraints={
            "mass": scl.average(scl.Integral(lambda u: u, over=("x", "y"), equals=np.pi / 2)) <= 1e-3,
            "flux": scl.average(scl.Integral(lambda grad_u, normal: grad_u @ normal, over=domain.boundary)) <= 1e-3,
        },
    )
    start, mass, flux = (t.law for t in problem.terms)
    bowl = lambda z: (z[0] ** 2 + z[1] ** 2)[None]
    assert abs(float(mass.rows(bowl, {}, jnp.zeros((1, 1)))[0, 0])) < 3e-4
    assert float(flux.rows(bowl, {}, jnp.zeros((1, 1)))[0, 0]) == pytest.approx(4 * np.pi, rel=1e-3)
    z = np.asarray(embed_all(start.place, start.place.uniform(500, jr.key(0))))
    assert np.all(np.hypot(z[:, 0] - 0.2, z[:, 1]) < 0.3 + 1e-6)
    assert set(z[:, 2]) == {0.0}
    with pytest.raises(ValueError, match="along one coordinate of space depends on the others"):
        posed(scl.Integral(lambda u: u, over="x"), domain)


def test_polynomials_keep_a_mass_that_changes_in_time():
    """u_t = u_xx with u_x = 0 at both ends and u(x, 0) = 1 + cos πx, stated with its mass, which stays 1."""
    truth = lambda x, t: 1 + jnp.exp(-(jnp.pi**2) * t) * jnp.cos(jnp.pi * x)
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 0.1)),
        objective=scl.average(scl.Neumann(0.0))
        + scl.average(scl.Initial(lambda x: truth(x, 0.0)))
        + scl.average(scl.Integral(lambda u: u, over="x", equals=1.0)),
        constraints={"pde": scl.worst_case(lambda u_t, lap_u: u_t - lap_u) <= 1e-10},
        reference=truth,
    )
    solution = scl.solve(problem, method=scl.Spectral(), progress=False)
    assert solution.error() < 1e-8
    assert abs(float(solution.residual("integral", t=0.05))) < 1e-8
    with pytest.raises(ValueError, match="`integral` is taken over `x`; leave `x` out"):
        solution.residual("integral", t=0.05, x=0.5)
    np.testing.assert_allclose(solution.integrate("u", over="x", t=[0.0, 0.1]), 1.0, rtol=1e-8)


def neumann():
    """u'' = −π² cos πx with u' = 0 at both ends, which leaves a constant free, and mean zero: u = cos πx."""
    truth = lambda x: jnp.cos(jnp.pi * x)
    return scl.Problem(
        scl.Box(x=(0, 1)),
        objective=scl.average(scl.Neumann(0.0)) + scl.average(scl.Integral(lambda u: u, over="x")),
        constraints={"pde": scl.worst_case(lambda u_xx, x: u_xx + jnp.pi**2 * truth(x)) <= 1e-10},
        reference=truth,
    )


def test_a_mean_makes_a_solution_unique():
    assert scl.solve(neumann(), method=scl.Spectral(), progress=False).error() < 1e-8
    model = scl.nn.MLP(neumann().domain, width=8, depth=2, key=jr.key(0))
    solution = scl.solve(neumann(), model, steps=80, progress=False)
    assert solution.error() < 1e-3
    assert "integral" in str(solution.check(points=1000))


@pytest.mark.parametrize(
    ("integral", "said"),
    [
        (scl.Integral(lambda u: u, over=("z",)), "`over` names `z`, which is no coordinate.*`x`, `y`, `t`"),
        (scl.Integral(lambda u: u, over=None), "`over` must name coordinates"),
        (scl.Integral(lambda u: u, over=BOX.face(t=0)), "`over` must name coordinates.*place in space"),
        (scl.Integral(lambda u: u, over={"x": [0.0], "y": [0.0]}), "given points, on which there is no integral"),
        (scl.Integral(lambda u: u, over="x", equals=lambda x: x), "asks for `x`, over which.*`y`, `t` remain"),
        (scl.Integral(lambda u: u, over="x", equals=lambda u: u), "argument `u` is not known"),
        (scl.Integral(lambda normal: normal[0], over="x"), "outward normal, and there is none"),
    ],
)
def test_integrals_that_make_no_sense_are_refused(integral, said):
    with pytest.raises(ValueError, match=said):
        posed(integral)
