"""Reference solutions: order of convergence, agreement with independent schemes, and exact identities."""

import functools
import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.linalg import eigh_tridiagonal

from sclax import reference

TENTHS = np.linspace(0.0, 1.0, 11)


def hump(x):
    return 0.5 * np.sin(2 * np.pi * x) + 0.2 * np.cos(4 * np.pi * x)


def orders(values):
    """log₂ of the ratios of successive differences, largest over the grid."""
    changes = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in itertools.pairwise(values)]
    return np.log2(np.array(changes[:-1]) / changes[1:])


def relative(a, b):
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)) / np.linalg.norm(np.asarray(b)))


def integrating_factor(u0, symbol, nonlinear, dt, steps, every):
    """Classical RK4 for v = exp(−Lt) û: shares no coefficients with ETDRK4 or the splittings."""
    v, half = np.fft.rfft(u0), np.exp(symbol * dt / 2)
    full, frames = half**2, [u0]
    for i in range(1, steps + 1):
        a = dt * nonlinear(v)
        b = dt * nonlinear(half * (v + a / 2))
        c = dt * nonlinear(half * v + b / 2)
        d = dt * nonlinear(full * v + half * c)
        v = full * v + (full * a + 2 * half * (b + c) + d) / 6
        if i % every == 0:
            frames.append(np.fft.irfft(v, u0.size))
    return np.stack(frames)


# Reaction-diffusion


@pytest.mark.parametrize(("nu", "rho", "gap"), [(3, 3, 7.38e-3), (3, 5, 6.56e-3)])
def test_papers_reaction_diffusion_is_off_by_its_known_error(nu, rho, gap):
    ours, theirs = reference.reaction_diffusion(nu, rho), reference.reaction_diffusion_paper(nu, rho)
    assert ours.shape == theirs.shape == (256, 100)
    assert relative(ours, theirs) == pytest.approx(gap, abs=1e-5)


@pytest.mark.parametrize(("nu", "rho"), [(3, 3), (3, 5), (1, 10)])
def test_reaction_diffusion_against_runge_kutta(nu, rho):
    x = 2 * np.pi * np.arange(1024) / 1024
    k = np.arange(513)
    logistic = lambda v: rho * np.fft.rfft((u := np.fft.irfft(v, 1024)) * (1 - u))
    start = np.exp(-(((x - np.pi) / (np.pi / 4)) ** 2) / 2)
    other = integrating_factor(start, -nu * k**2, logistic, 1e-3, 1000, 100)
    ours = reference.reaction_diffusion(nu, rho, t=TENTHS)
    assert np.abs(ours.values.T - other[:, ::4]).max() < 1e-7


def test_reaction_diffusion_order():
    runs = [reference.reaction_diffusion(20, 20, x=64, t=TENTHS, substeps=n) for n in (40, 80, 160)]
    np.testing.assert_allclose(orders(runs), 4, atol=0.2)


def test_reaction_alone_is_exact():
    u = reference.reaction_diffusion(0, 5)
    start = u.isel(t=0)
    exact = start * np.exp(5 * u.t) / (1 - start + start * np.exp(5 * u.t))
    np.testing.assert_allclose(u, exact.transpose("x", "t"), atol=1e-10)


# Helmholtz


@pytest.mark.parametrize("order", [1, 2, 3])
def test_finite_elements_converge_to_the_manufactured_solution(order):
    errors = [reference.helmholtz_fem(1, 4, cells, order).error for cells in (16, 32)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.2)


def test_finite_elements_with_boundary_values_that_do_not_vanish():
    u = reference.helmholtz_fem(1.3, 2.7, 32, order=3)
    exact = reference.helmholtz(1.3, 2.7).solution(u.x.values[:, None], u.y.values)
    np.testing.assert_allclose(u, exact, atol=1e-5)


@pytest.mark.parametrize("modes", [(1, 1), (1, 3), (4, 3)])
def test_resonant_wavenumbers_are_refused(modes):
    k = np.pi * np.hypot(*modes)
    with pytest.raises(ValueError, match="resonant"):
        reference.helmholtz(1, 1, k=k)
    reference.helmholtz(1, 1, k=k + 0.01)


# Closed forms


def second(f, i):
    return jax.grad(jax.grad(f, i), i)


RESIDUALS = {
    "convection": lambda x, y: (u := reference.convection(7.0)) and jax.grad(u, 1)(x, y) + 7 * jax.grad(u)(x, y),
    "wave": lambda x, y: (u := reference.wave()) and second(u, 1)(x, y) - 4 * second(u, 0)(x, y),
    "heat": lambda x, y: (u := reference.heat(0.3, 2)) and jax.grad(u, 1)(x, y) - 0.3 * second(u, 0)(x, y),
    "poisson": lambda x, y: (
        (s := reference.poisson()) and second(s.solution, 0)(x, y) + second(s.solution, 1)(x, y) + s.source(x, y)
    ),
    "helmholtz": lambda x, y: (
        (s := reference.helmholtz(1.5, 3, k=2.0))
        and second(s.solution, 0)(x, y) + second(s.solution, 1)(x, y) + 4 * s.solution(x, y) - s.source(x, y)
    ),
    "klein_gordon": lambda x, y: (
        (s := reference.klein_gordon())
        and second(s.solution, 1)(x, y) - second(s.solution, 0)(x, y) + s.solution(x, y) ** 3 - s.source(x, y)
    ),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_closed_forms_satisfy_their_equation(name):
    with jax.enable_x64(True):
        x, y = jax.random.uniform(jax.random.key(0), (2, 50), dtype=jnp.float64)
        np.testing.assert_allclose(jax.vmap(RESIDUALS[name])(x, y), 0.0, atol=1e-10)


def test_closed_forms_keep_float64_without_configuration():
    x = np.linspace(0, 1, 5)
    assert reference.wave()(x, 0.3).dtype == np.float64
    np.testing.assert_array_equal(reference.wave()(x, 0.0), np.sin(np.pi * x) + 0.5 * np.sin(4 * np.pi * x))


# Gear


def test_gear_distances_agree():
    gear, axis = reference.gear(), np.linspace(-1, 1, 61)
    by_shapely, by_numpy = (f(axis[:, None], axis) for f in (gear.distance, gear.distance_by_segments))
    np.testing.assert_allclose(by_shapely, by_numpy, atol=1e-14)
    assert min(by_numpy[0].min(), by_numpy[-1].min(), by_numpy[:, 0].min(), by_numpy[:, -1].min()) > 0.19


def test_gear_is_negative_in_the_material_only():
    gear = reference.gear()
    assert gear.distance(0.0, 0.0) == pytest.approx(0.25, abs=1e-3)  # the hole
    assert gear.distance(0.4, 0.0) == pytest.approx(-0.15, abs=1e-3)
    assert gear.distance(0.9, 0.0) == pytest.approx(0.1, abs=1e-12)  # beyond a tip
    assert gear.distance(0.7 * np.cos(np.pi / 12), 0.7 * np.sin(np.pi / 12)) > 0  # between two teeth


def test_gear_area_by_the_sign_of_the_distance():
    gear, points = reference.gear(), np.random.default_rng(0).uniform(-1, 1, (2, 40_000))
    share = np.mean(gear.distance(*points) < 0)
    assert 4 * share == pytest.approx(gear.area, abs=4 * 4 * np.sqrt(share * (1 - share) / 40_000))


def test_gear_boundary_points():
    gear = reference.gear()
    points = gear.boundary(2234)
    assert points.shape == (2234, 2)
    np.testing.assert_allclose(gear.distance(*points.T), 0.0, atol=1e-14)
    assert gear.perimeter == pytest.approx(9.52, abs=5e-3)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    on_edges = np.sort(steps)[200:-1]  # a step around a corner is a chord, and one joins the two rings
    np.testing.assert_allclose(on_edges, gear.perimeter / 2234, rtol=3e-3)


# Burgers


def cole_hopf(nu, t, points=2048):
    """u = −2ν φₓ/φ with φₜ = ν φₓₓ and φ(0) = exp(−∫u₀/2ν), for `hump`."""
    x = np.arange(points) / points
    integral = -0.5 * np.cos(2 * np.pi * x) / (2 * np.pi) + 0.2 * np.sin(4 * np.pi * x) / (4 * np.pi)
    k = 2 * np.pi * np.arange(points // 2 + 1)
    phi = np.fft.rfft(np.exp(-integral / (2 * nu))) * np.exp(-nu * k**2 * t)
    return -2 * nu * np.fft.irfft(1j * k * phi, points) / np.fft.irfft(phi, points)


@pytest.mark.parametrize(("nu", "points"), [(0.01, 128), (0.05, 128), (0.003, 512)])
def test_burgers_against_cole_and_hopf(nu, points):
    u = reference.burgers(hump, nu, points=points).sel(t=[0.5, 1.0], method="nearest")
    for t in (0.5, 1.0):
        exact = cole_hopf(nu, t)[:: 2048 // points]
        np.testing.assert_allclose(u.sel(t=t, method="nearest"), exact, atol=3e-7)


def test_burgers_order():
    runs = [reference.burgers(hump, 0.01, TENTHS, 256, substeps=n) for n in (10, 20, 40)]
    np.testing.assert_allclose(orders(runs), 4, atol=0.2)


def test_burgers_batch_is_its_samples_and_refines_by_fourier_series():
    x = np.arange(64) / 64
    u0 = np.stack([hump(x), hump(x + 0.25)])
    batch = reference.burgers(u0, 0.05, TENTHS, points=128)
    assert batch.dims == ("sample", "t", "x")
    one = reference.burgers(hump, 0.05, TENTHS, points=128)
    np.testing.assert_allclose(batch[0], one, atol=1e-13)
    np.testing.assert_allclose(batch[1], np.roll(one, -32, axis=1), atol=1e-12)


def test_frames_may_start_late():
    late = reference.burgers(hump, 0.05, np.array([0.4, 0.5, 0.6]), 128, substeps=20)
    np.testing.assert_allclose(late, reference.burgers(hump, 0.05, TENTHS, 128, substeps=20)[4:7], atol=1e-13)


# Allen-Cahn


def test_allen_cahn_against_splitting():
    """Exact cubic and heat flows, Strang, extrapolated. The kink at the seam shows in the first frames."""
    x = -1 + np.arange(8192) / 4096
    k = np.pi * np.arange(4097)

    def strang(dt):
        u, decay = x**2 * np.cos(np.pi * x), np.exp(-1e-4 * k**2 * dt)
        react = lambda u: u / np.sqrt(u**2 + (1 - u**2) * np.exp(-5 * dt))
        frames = []
        for i in range(1, round(1 / dt) + 1):
            u = react(np.fft.irfft(decay * np.fft.rfft(react(u)), 8192))
            if i % round(0.1 / dt) == 0:
                frames.append(u[::16])
        return np.stack(frames, axis=1)

    other = (4 * strang(1 / 800) - strang(1 / 400)) / 3
    ours = reference.allen_cahn(t=TENTHS)
    errors = np.abs(ours.values[:, 1:] - other).max(axis=0)
    assert errors.max() < 1e-5
    assert errors[4:].max() < 1e-6


def test_allen_cahn_order():
    runs = [reference.allen_cahn(t=TENTHS, substeps=n) for n in (10, 20, 40)]
    np.testing.assert_allclose(orders(runs), 4, atol=0.2)


# Korteweg-de Vries


def test_kdv_against_runge_kutta():
    x, k = -1 + np.arange(256) / 128, np.pi * np.arange(129)
    keep = np.arange(129) < 256 / 3
    convect = lambda v: -0.5j * k * keep * np.fft.rfft(np.fft.irfft(v * keep, 256) ** 2)
    other = integrating_factor(np.cos(np.pi * x), 0.0025j * k**3, convect, 1e-4, 10_000, 1000)
    ours = reference.kdv(t=TENTHS)
    assert np.abs(ours.values[::2].T - other).max() < 1e-6


def test_kdv_order_is_not_lost_to_real_coefficients():
    runs = [reference.kdv(t=TENTHS, points=128, substeps=n) for n in (100, 200, 400)]
    np.testing.assert_allclose(orders(runs), 4, atol=0.2)


def test_kdv_conserves_mass_and_energy():
    u = reference.kdv()
    np.testing.assert_allclose(u.mean("x"), 0.0, atol=1e-12)
    np.testing.assert_allclose((u**2).mean("x"), 0.5, rtol=1e-7)


# Navier-Stokes


def whirls(x, y):
    s, c = np.sin, np.cos
    x, y = 2 * np.pi * x, 2 * np.pi * y
    return s(x + 2 * y) + 0.7 * c(2 * x - y) + 0.5 * s(2 * x) * c(y)


def vorticity_by_runge_kutta(n, nu, dt, steps):
    """u = (ψ_y, −ψ_x), −Δψ = w, in flux form ∇·(u w), classical RK4 in everything."""
    axis = np.arange(n) / n
    x, y = np.meshgrid(axis, axis, indexing="ij")
    kx, ky = 2 * np.pi * np.fft.fftfreq(n, 1 / n)[:, None], 2 * np.pi * np.arange(n // 2 + 1)
    square = kx**2 + ky**2
    inverse = np.divide(1, square, where=square > 0, out=np.zeros_like(square))
    keep = (np.abs(kx) < 2 * np.pi * n / 3) & (ky < 2 * np.pi * n / 3)
    force = np.fft.rfft2(0.1 * (np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x + y))))
    back = lambda f: np.fft.irfft2(f * keep, (n, n))

    def rate(w):
        psi, vorticity = w * inverse, back(w)
        u, v = back(1j * ky * psi), back(-1j * kx * psi)
        flux = 1j * kx * np.fft.rfft2(u * vorticity) + 1j * ky * np.fft.rfft2(v * vorticity)
        return force - flux * keep - nu * square * w

    w = np.fft.rfft2(whirls(x, y))
    for _ in range(steps):
        a = rate(w)
        b = rate(w + dt / 2 * a)
        c = rate(w + dt / 2 * b)
        w = w + dt / 6 * (a + 2 * b + 2 * c + rate(w + dt * c))
    return np.fft.irfft2(w, (n, n))


def test_navier_stokes_against_runge_kutta():
    ours = reference.navier_stokes(whirls, 1e-3, t=np.array([0.5, 1.0]), points=64).isel(t=-1)
    np.testing.assert_allclose(ours, vorticity_by_runge_kutta(64, 1e-3, 0.005, 200), atol=1e-6)
    # Taylor-Green flow would not tell the sign of u; this flow does.
    mirrored = -reference.navier_stokes(
        lambda x, y: -whirls(x, y), 1e-3, np.array([0.5, 1.0]), 64, forcing=lambda x, y: -0.1 * (
            np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x + y))
        ),
    ).isel(t=-1)  # fmt: skip
    assert relative(mirrored, ours) > 0.01


def test_navier_stokes_order_with_forcing():
    runs = [reference.navier_stokes(whirls, 1e-3, np.array([1.0, 2.0]), 32, substeps=n) for n in (10, 20, 40)]
    np.testing.assert_allclose(orders(runs), 4, atol=0.2)


def test_navier_stokes_takes_shorter_steps_where_the_flow_becomes_fast():
    """At rest first, then driven: the step for a flow at rest blows up, the one that is taken does not."""
    strong = lambda x, y: 60 * reference.diagonal_forcing(x, y) + 3 * np.sin(2 * np.pi * x)
    solve = functools.partial(reference.navier_stokes, np.zeros((32, 32)), 1e-5, np.arange(1.0, 7.0), forcing=strong)
    with pytest.raises(FloatingPointError, match="Raise `substeps` above 40"):
        solve(substeps=40)
    w = solve()
    assert w.attrs["step"] < 1 / 40
    np.testing.assert_allclose(w[0], solve(substeps=640)[0], atol=1e-5 * np.abs(w[0]).max())


def test_navier_stokes_without_forcing_conserves_mean_and_loses_energy():
    w = reference.navier_stokes(whirls, 1e-3, np.arange(1.0, 6.0), 32, forcing=None)
    np.testing.assert_allclose(w.mean(("x", "y")), 0.0, atol=1e-12)
    assert np.all(np.diff((w**2).mean(("x", "y"))) < 0)


# Diffusion-sorption


def test_diffusion_sorption_against_bdf():
    t, n, d = np.array([0.0, 50.0, 250.0, 500.0]), 128, 5e-4

    def rate(_, c):
        last = c[-1] * (2 * d * n - 1) / (2 * d * n + 1)
        padded = np.concatenate([[2 - c[0]], c, [last]])
        factor = 0.71 / 0.29 * 2880 * 3.5e-4 * 0.874
        return d * n**2 * np.diff(padded, 2) / (1 + factor * (np.abs(c) + 1e-6) ** (0.874 - 1))

    tridiagonal = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    other = solve_ivp(rate, (0, 500), np.full(n, 0.1), "BDF", t, rtol=1e-9, atol=1e-11, jac_sparsity=tridiagonal)
    np.testing.assert_allclose(reference.diffusion_sorption(0.1, n, t), other.y.T, atol=1e-6)


def test_diffusion_sorption_order():
    t = np.array([0.0, 100.0, 500.0])
    halve = lambda u, times: u if times == 0 else halve((u[:, ::2] + u[:, 1::2]) / 2, times - 1)
    runs = [reference.diffusion_sorption(0.1, 64 * 2**i, t).values for i in range(4)]
    np.testing.assert_allclose(orders([halve(u, i) for i, u in enumerate(runs)]), 2, atol=0.2)


def test_diffusion_sorption_holds_its_walls():
    u = reference.diffusion_sorption(0.1, 1024, np.array([0.0, 500.0])).isel(t=-1).values
    left, right = (9 * u[0] - u[1]) / 8, (3 * u[-1] - u[-2]) / 2
    assert left == pytest.approx(1.0, abs=1e-3)
    assert right == pytest.approx(-5e-4 * (u[-1] - u[-2]) * 1024, rel=1e-2)


def test_the_other_sign_at_the_outlet_grows_without_bound():
    """The fastest mode of u_t = D u_xx with u(1) = +D u_x(1) grows at 1/D; with the other sign all decay."""
    d, n = 5e-4, 20_000
    for sign, rate in ((1, 1 / d), (-1, -(np.pi**2) * d)):
        slope = sign * d * n
        diagonal = np.full(n, -2.0)
        diagonal[0], diagonal[-1] = -3.0, -2.0 - (0.5 + slope) / (0.5 - slope)
        top = eigh_tridiagonal(d * n**2 * diagonal, np.full(n - 1, d * n**2), True, "i", (n - 1, n - 1))
        assert top[0] == pytest.approx(rate, rel=1e-2)
    with pytest.raises(ValueError, match="grow without bound"):
        reference.diffusion_sorption(0.1, outlet=1.0)


def test_pdebenchs_discretisation():
    exact = {"integrator": reference.CONVERGED}
    out, into = (reference.diffusion_sorption_pdebench(0.1, outlet=s, **exact) for s in (-1.0, 1.0))
    assert relative(into, out) == pytest.approx(4.7e-4, abs=2e-5)
    assert relative(out, reference.diffusion_sorption(0.1)) == pytest.approx(1.97e-3, rel=0.05)
    loose = reference.diffusion_sorption_pdebench(0.1, cells=128)
    assert relative(loose, reference.diffusion_sorption_pdebench(0.1, cells=128, **exact)) == pytest.approx(
        1.1e-3, rel=0.05
    )


# Lid-driven cavity


@pytest.fixture(scope="module")
def cavities():
    return {n: reference.lid_driven_cavity(100, n) for n in (32, 64, 128)}


def extrema(flow):
    fine = np.linspace(0, 1, 4001)
    u = CubicSpline(flow.y, flow.u.sel(x=0.5))(fine)
    v = CubicSpline(flow.x, flow.v.sel(y=0.5))(fine)
    return np.array([u.min(), v.max(), v.min()])


def test_cavity_against_published_values(cavities):
    flow = cavities[128]
    ghia_u = CubicSpline(flow.y, flow.u.sel(x=0.5))([0.0547, 0.1719, 0.4531, 0.5, 0.7344, 0.9531])
    np.testing.assert_allclose(ghia_u, [-0.03717, -0.10150, -0.21090, -0.20581, 0.00332, 0.68717], atol=0.01)
    ghia_v = CubicSpline(flow.x, flow.v.sel(y=0.5))([0.2344, 0.5, 0.8047])
    np.testing.assert_allclose(ghia_v, [0.17527, 0.05454, -0.24533], atol=0.01)
    # Spectral values, which Ghia's differ from by up to 3 %.
    np.testing.assert_allclose(extrema(flow), [-0.21404, 0.17957, -0.25380], rtol=5e-3)
    extrapolated = (4 * extrema(flow) - extrema(cavities[64])) / 3
    np.testing.assert_allclose(extrapolated, [-0.21404, 0.17957, -0.25380], atol=1e-4)


@pytest.mark.parametrize("name", ["u", "v", "p", "psi"])
def test_cavity_order_away_from_the_lids_corners(cavities, name):
    """Where lid and walls meet u jumps, and the order near by is lower."""
    fields = [cavities[n][name].values[:: n // 32, :: n // 32] for n in (32, 64, 128)]
    if name == "p":
        fields = [p - p[16, 16] for p in fields]
    assert orders([f[4:29, 4:29] for f in fields])[0] == pytest.approx(2, abs=0.2)


def momentum_and_mass(flow):
    """Residuals by fourth-order differences in the core: none of the solver's own operators."""
    n = flow.points

    def d(f, axis):
        near, far = (np.roll(f, -i, axis) - np.roll(f, i, axis) for i in (1, 2))
        return (8 * near - far) * n / 12

    u, v, p = (flow[name].values for name in "uvp")
    rates = [u * d(w, 0) + v * d(w, 1) - (d(d(w, 0), 0) + d(d(w, 1), 1)) / flow.reynolds for w in (u, v)]
    residuals = rates[0] + d(p, 0), rates[1] + d(p, 1), d(u, 0) + d(v, 1)
    core = slice(n // 4, -n // 4)
    return np.array([np.abs(r[core, core]).max() for r in residuals])


def test_cavity_satisfies_momentum_and_mass_at_second_order(cavities):
    coarse, fine = momentum_and_mass(cavities[64]), momentum_and_mass(cavities[128])
    assert fine.max() < 2e-3
    np.testing.assert_allclose(np.log2(coarse / fine), 2, atol=0.3)


# All of them


def test_float64_stays_inside():
    assert reference.burgers(hump, 0.05, TENTHS, 128).dtype == np.float64
    assert jnp.zeros(1).dtype == jnp.float32


def test_results_can_be_stored(tmp_path):
    results = [reference.burgers(hump, 0.05, TENTHS, 64), reference.reaction_diffusion(1, 1, t=TENTHS)]
    for i, result in enumerate(results):
        result.to_netcdf(tmp_path / f"{i}.nc", engine="h5netcdf")
        assert {"equation", "scheme"} <= set(result.attrs)


CALLS = {
    "exponax": ("data", lambda: reference.kdv()),
    "shapely": ("geometry", lambda: reference.gear().distance(0, 0)),
    "skfem": ("fem", lambda: reference.helmholtz_fem(1, 1, 4)),
}


@pytest.mark.parametrize("package", CALLS)
def test_a_missing_extra_is_named(package, monkeypatch):
    extra, call = CALLS[package]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'sclax\[{extra}\]'"):
        call()


MISTAKES = {
    "backwards": (lambda: reference.reaction_diffusion(-1, 1), "`nu` must not be negative, got -1"),
    "times": (lambda: reference.burgers(hump, 0.1, [0, 0.1, 0.5], 64), "`t` must be whole multiples"),
    "unsorted": (lambda: reference.kdv(t=[0, 1, 0.5]), "`t` must be .* increasing"),
    "points": (
        lambda: reference.burgers(np.zeros(64), points=32),
        "`points` must be at least the 64 of `u0`",
    ),
    "no points": (lambda: reference.burgers(hump), "`points` must be a whole number, got None"),
    "shape": (lambda: reference.navier_stokes(np.zeros((8, 9))), "`w0` must be a function or an array"),
    "element": (lambda: reference.helmholtz_fem(1, 1, 4, order=5), "`order` must be 1, 2, 3 or 4, got 5"),
    "teeth": (lambda: reference.gear(hole=0.7), "hole < root < tip"),
    "negative": (lambda: reference.diffusion_sorption(-0.1), "`c0` must be a concentration"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name):
    call, message = MISTAKES[name]
    with pytest.raises(ValueError, match=message):
        call()
