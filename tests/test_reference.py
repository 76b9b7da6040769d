"""Reference solutions: order of convergence, agreement with independent schemes, and exact identities."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sclax import reference

from .convergence import orders, relative

TENTHS = np.linspace(0.0, 1.0, 11)


def hump(x):
    return 0.5 * np.sin(2 * np.pi * x) + 0.2 * np.cos(4 * np.pi * x)


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
