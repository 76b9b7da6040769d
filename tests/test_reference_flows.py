"""Reference solutions of flows and of diffusion with sorption: order of convergence, and independent schemes."""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh_tridiagonal

from sclax import reference

from .convergence import orders, relative

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
