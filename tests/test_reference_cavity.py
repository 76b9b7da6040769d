"""The lid-driven cavity: its own error, published values, and the equations themselves."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.interpolate import CubicSpline
from scipy.sparse.linalg import splu

from sclax import reference
from sclax.reference._corners import at_a_jump, at_a_kink

from .convergence import relative

CASES = {"parabola": (100.0, True), "jump": (100.0, False), "fast": (400.0, False)}


@functools.cache
def flow_of(name, degree=48):
    reynolds, parabolic = CASES[name]
    return reference.lid_driven_cavity(reynolds, 64, parabolic, degree)


def away(flow, distance=0.1):
    """Where a point is at least so far from both ends of the lid."""
    x, y = flow.x.values[:, None], flow.y.values
    return np.minimum(np.hypot(x, 1 - y), np.hypot(1 - x, 1 - y)) >= distance


def velocity(flow):
    return np.stack([flow.u.values, flow.v.values])


# Of 32² coefficients: in u and v, in these away from the lid's ends, and in p there at most. The default is better.
ERRORS = {"parabola": (3e-7, 2e-7, 4e-6), "jump": (3e-5, 2e-5, 1e-3), "fast": (4e-4, 3e-4, 3e-3)}


@pytest.mark.parametrize("name", CASES)
def test_two_resolutions_agree(name):
    coarse, fine = flow_of(name, 32), flow_of(name)
    everywhere, far, pressure = ERRORS[name]
    inside = away(fine)
    assert relative(velocity(coarse), velocity(fine)) < everywhere
    assert relative(velocity(coarse) * inside, velocity(fine) * inside) < far
    assert np.abs((coarse.p - fine.p).values[inside]).max() < pressure


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), [("parabola", 1e-8), ("jump", 4e-6), ("fast", 3e-5)])
def test_the_default_has_the_error_that_it_states(name, error):
    assert relative(velocity(flow_of(name)), velocity(flow_of(name, 56))) < error


def extrema(flow):
    fine = np.linspace(0, 1, 4001)
    u = CubicSpline(flow.y, flow.u.sel(x=0.5))(fine)
    v = CubicSpline(flow.x, flow.v.sel(y=0.5))(fine)
    return np.array([u.min(), v.max(), v.min()])


def test_published_values():
    flow = flow_of("jump")
    ghia_u = CubicSpline(flow.y, flow.u.sel(x=0.5))([0.0547, 0.1719, 0.4531, 0.5, 0.7344, 0.9531])
    np.testing.assert_allclose(ghia_u, [-0.03717, -0.10150, -0.21090, -0.20581, 0.00332, 0.68717], atol=0.01)
    ghia_v = CubicSpline(flow.x, flow.v.sel(y=0.5))([0.2344, 0.5, 0.8047])
    np.testing.assert_allclose(ghia_v, [0.17527, 0.05454, -0.24533], atol=0.01)
    # Spectral values, which Ghia's differ from by up to 3 %.
    np.testing.assert_allclose(extrema(flow), [-0.2140424, 0.1795728, -0.2538030], atol=1e-6)


def central(f, axis, n):
    near, far = (np.roll(f, -i, axis) - np.roll(f, i, axis) for i in (1, 2))
    return (8 * near - far) * n / 12


@pytest.mark.parametrize(("name", "size"), [("parabola", 1e-4), ("jump", 1e-4), ("fast", 1e-3)])
def test_momentum_and_mass_are_conserved(name, size):
    """By fourth-order differences of u, v and p in the core: none of the solver's own derivatives."""
    flow = flow_of(name)
    n = flow.points
    d = lambda f, axis: central(f, axis, n)
    u, v, p = (flow[name].values for name in "uvp")
    rates = [u * d(w, 0) + v * d(w, 1) - (d(d(w, 0), 0) + d(d(w, 1), 1)) / flow.reynolds for w in (u, v)]
    core = slice(n // 4, -n // 4)
    for residual in (rates[0] + d(p, 0), rates[1] + d(p, 1), d(u, 0) + d(v, 1)):
        assert np.abs(residual[core, core]).max() < size


# An independent scheme: stream function and vorticity by finite differences of second order.


def _operators(n):
    """∂x, ∂y, Δ from all (n + 1)² nodes to the inner ones, and the embedding of those; index (x, y)."""
    h, inner = 1 / n, n - 1
    keep = sp.eye_array(inner, n + 1, k=1)
    first = (sp.eye_array(inner, n + 1, k=2) - sp.eye_array(inner, n + 1)) / (2 * h)
    second = (sp.eye_array(inner, n + 1, k=2) - 2 * keep + sp.eye_array(inner, n + 1)) / h**2
    dx, dy = sp.kron(first, keep, "csr"), sp.kron(keep, first, "csr")
    laplacian = (sp.kron(second, keep) + sp.kron(keep, second)).tocsr()
    return dx, dy, laplacian, sp.kron(keep.T, keep.T, "csr")


def _wall_vorticity(n, speed):
    """Thom's formula ω = −2 (ψ₁ + h U)/h² on the walls, as a matrix on the inner ψ and the lid's part."""
    h, node = 1 / n, np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    unknown = np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
    walls = np.concatenate([node[0, 1:-1], node[-1, 1:-1], node[1:-1, 0], node[1:-1, -1]])
    beside = np.concatenate([unknown[0], unknown[-1], unknown[:, 0], unknown[:, -1]])
    matrix = sp.csr_matrix((np.full(walls.size, -2 / h**2), (walls, beside)), ((n + 1) ** 2, (n - 1) ** 2))
    lid = np.zeros((n + 1) ** 2)
    lid[node[1:-1, -1]] = -2 / h * speed(np.linspace(0.0, 1.0, n + 1)[1:-1])
    return matrix, lid


def by_differences(reynolds, n, speed):
    """The inner ψ of  ψ_y ω_x − ψ_x ω_y = Δω/Re  with ω = −Δψ put in."""
    psi = np.zeros((n - 1) ** 2)
    dx, dy, laplacian, embed = _operators(n)
    walls, lid = _wall_vorticity(n, speed)
    vorticity = (walls - embed @ laplacian @ embed).tocsr()
    psi_x, psi_y = (dx @ embed).tocsr(), (dy @ embed).tocsr()
    w_x, w_y, w_diffused = (op @ vorticity for op in (dx, dy, laplacian))
    for _ in range(20):
        w = vorticity @ psi + lid
        u, v, gx, gy = psi_y @ psi, -(psi_x @ psi), dx @ w, dy @ w
        residual = u * gx + v * gy - laplacian @ w / reynolds
        jacobian = (
            sp.diags_array(gx) @ psi_y - sp.diags_array(gy) @ psi_x
            + sp.diags_array(u) @ w_x + sp.diags_array(v) @ w_y - w_diffused / reynolds
        )  # fmt: skip
        change = splu(jacobian.tocsc()).solve(residual)
        psi = psi - change
        if np.abs(change).max() < 1e-12:
            break
    return psi.reshape(n - 1, n - 1)


@pytest.mark.parametrize(
    ("name", "speed", "error"), [("parabola", lambda x: 4 * x * (1 - x), 1e-4), ("jump", np.ones_like, 3e-4)]
)
def test_finite_differences_approach_it_at_their_order(name, speed, error):
    ours = flow_of(name).psi.values[2:-1:2, 2:-1:2]  # on 32 intervals
    found = {n: by_differences(100.0, n, speed)[n // 32 - 1 :: n // 32, n // 32 - 1 :: n // 32] for n in (32, 64)}
    errors = [np.abs(psi - ours).max() for psi in found.values()]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)
    assert np.abs((4 * found[64] - found[32]) / 3 - ours).max() < error


@pytest.mark.parametrize("term", [*at_a_jump(100.0), *at_a_kink(4.0)])
def test_terms_of_the_corners_rest_on_the_wall_and_are_zero_on_the_lid(term):
    r, zero = np.linspace(0.1, 1, 10), np.zeros(10)
    for found in (term(r, zero), term(zero, r), term.along_lid()(zero, r), term.along_wall()(zero, r)):
        np.testing.assert_allclose(found, 0.0, atol=1e-10)


def test_terms_of_the_corners_have_the_speed_of_the_lid():
    r, zero = np.linspace(0.1, 1, 10), np.zeros(10)
    (creeping, inertial), (kink,) = at_a_jump(100.0), at_a_kink(4.0)
    np.testing.assert_allclose(creeping.along_wall()(r, zero), -1.0, atol=1e-12)
    np.testing.assert_allclose(inertial.along_wall()(r, zero), 0.0, atol=1e-10)
    np.testing.assert_allclose(kink.along_wall()(r, zero), -4 * r, atol=1e-12)


def bilaplacian(term, x, y):
    twice = term.along_lid().along_lid(), term.along_wall().along_wall()
    return (
        twice[0].along_lid().along_lid()(x, y) + twice[1].along_wall().along_wall()(x, y)
        + 2 * twice[0].along_wall().along_wall()(x, y)
    )  # fmt: skip


def test_terms_of_the_corners_solve_their_equations():
    x, y = np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.9, 0.7])
    (creeping, inertial), (kink,) = at_a_jump(100.0), at_a_kink(4.0)
    for term in (creeping, kink):
        np.testing.assert_allclose(bilaplacian(term, x, y), 0.0, atol=1e-7)
    lid, wall = creeping.along_lid(), creeping.along_wall()
    third_x = lid.along_lid().along_lid()(x, y) + lid.along_wall().along_wall()(x, y)
    third_y = wall.along_lid().along_lid()(x, y) + wall.along_wall().along_wall()(x, y)
    carried = 100.0 * (wall(x, y) * third_x - lid(x, y) * third_y)
    np.testing.assert_allclose(bilaplacian(inertial, x, y), carried, rtol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_pressure_is_zero_in_the_middle_of_the_floor_and_unknown_only_at_the_lids_ends(name):
    p = flow_of(name, 32).p
    assert np.argwhere(~np.isfinite(p.values)).tolist() == [[0, 64], [64, 64]]
    assert p.sel(x=0.5, y=0.0) == pytest.approx(0.0, abs=1e-12)


def test_under_the_parabolic_lid_pressure_grows_like_a_logarithm_towards_its_ends():
    """So that no number can stand for it there, and an error that counted one would depend on the grid."""
    p = reference.lid_driven_cavity(100.0, 256, True).p.sel(y=1.0)
    near = p.values[[1, 2, 4, 8]]
    steps = np.diff(near)
    assert np.all(steps > 0.03)
    np.testing.assert_allclose(steps[1:] / steps[:-1], 1.0, atol=0.3)


def test_an_odd_number_of_intervals_is_refused():
    with pytest.raises(ValueError, match="`points` must be even, got 65"):
        reference.lid_driven_cavity(points=65)
