"""The error of each reference of the zoo, by another resolution or an independent formula, against what it states."""

import decimal
from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sclax as scl
from sclax import reference
from sclax._result import evaluate
from sclax.reference import _allen_cahn, _burgers_sine, _lorenz, _reaction_diffusion

from .convergence import relative

# Burgers from a sine wave


def gauss_hermite(nu, x, t, nodes):
    """u of −sin πx by the quadrature of Gauss and Hermite."""
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    phase = np.pi * (x - np.sqrt(4 * nu * t)[..., None] * z)
    exponent = -np.cos(phase) / (2 * np.pi * nu)
    weights = weights * np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    return -np.sum(weights * np.sin(phase), axis=-1) / np.sum(weights, axis=-1)


def test_burgers_sine_against_gauss_and_hermite():
    x, t = np.linspace(-1, 1, 65)[:, None], np.linspace(0.1, 1, 10)
    nu = 0.01 / np.pi
    other = gauss_hermite(nu, x[..., None], t, 200)
    np.testing.assert_allclose(reference.burgers_sine(nu)(x, t), other, atol=1e-13)


@pytest.mark.parametrize(("nu", "error"), [(0.01 / np.pi, 1e-14), (0.001 / np.pi, 1e-13), (0.0001 / np.pi, 1e-12)])
def test_burgers_sine_against_twice_the_nodes(nu, error, monkeypatch):
    x, t = np.linspace(-1, 1, 65)[:, None], np.linspace(0, 1, 11)
    once = reference.burgers_sine(nu)(x, t)
    monkeypatch.setattr(_burgers_sine, "NODES", 2 * _burgers_sine.NODES)
    np.testing.assert_allclose(once, reference.burgers_sine(nu)(x, t), atol=error)


def test_burgers_sine_on_a_ring_against_fourier_series():
    nu, t = 0.01 / np.pi, np.linspace(0, 1, 11)
    ring = reference.burgers(lambda x: np.sin(2 * np.pi * x), nu, t, 1024)
    closed = reference.burgers_sine(nu, 1.0, 2 * np.pi)(ring.x.values, t[:, None])
    assert relative(closed, ring) < 1e-9


def test_burgers_sine_starts_from_the_sine_and_refuses_what_was_before():
    x = np.linspace(-1, 1, 9)
    np.testing.assert_array_equal(reference.burgers_sine(0.01)(x, 0.0), -np.sin(np.pi * x))
    with pytest.raises(ValueError, match="`t` must not be negative"):
        reference.burgers_sine(0.01)(x, -0.1)


# Lorenz


def test_lorenz_against_more_terms_and_shorter_steps():
    with decimal.localcontext(decimal.Context(prec=50)):
        numbers, start, end = [Decimal(10), Decimal(28), Decimal(8 / 3)], [Decimal(1)] * 3, [Decimal(15)]
        (once,), (finer,) = (
            _lorenz._marched(start, numbers, end, order, step) for order, step in ((40, 1 / 32), (50, 1 / 64))
        )
        assert max(abs(a - b) for a, b in zip(once, finer, strict=True)) < Decimal("1e-21")
    last = reference.lorenz().isel(t=-1)
    np.testing.assert_array_equal([last.x, last.y, last.z], [float(v) for v in once])


def test_lorenz_against_runge_kutta_while_that_is_good():
    rate = lambda _, s: [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]
    t = np.linspace(0, 5, 51)
    other = solve_ivp(rate, (0, 5), [1.0, 1.0, 1.0], "DOP853", t, rtol=1e-13, atol=1e-13)
    ours = reference.lorenz(end=5.0, t=51)
    np.testing.assert_allclose(np.stack([ours.x, ours.y, ours.z]), other.y, atol=1e-9)


def test_lorenz_explains_a_wrong_start():
    with pytest.raises(ValueError, match="`start` must be three numbers"):
        reference.lorenz(start=(1.0, 1.0))


# By another resolution


# The corners of the families' grids where the kink of the start lasts longest, and the paper's two pairs.
PAIRS = [(3, 3, 2e-9), (3, 5, 2e-9), (5 / 19, 5, 2e-8), (10 / 19, 10, 2e-8), (1, 20, 1e-8)]


@pytest.mark.parametrize(("nu", "rho", "error"), PAIRS)
def test_reaction_diffusion_against_twice_the_points(nu, rho, error, monkeypatch):
    once = reference.reaction_diffusion(nu, rho)
    monkeypatch.setattr(_reaction_diffusion, "FINEST", 2 * _reaction_diffusion.FINEST)
    assert relative(once, reference.reaction_diffusion(nu, rho)) < error


def test_allen_cahn_against_twice_the_points_and_half_the_step(monkeypatch):
    once = reference.allen_cahn(t=21)
    assert relative(once, reference.allen_cahn(t=21, substeps=20)) < 1e-8
    monkeypatch.setattr(_allen_cahn, "FINEST", 2 * _allen_cahn.FINEST)
    finer = reference.allen_cahn(t=21)
    assert relative(once, finer) < 2e-8
    assert np.abs(once - finer).isel(t=-1).max() < 1e-11


def test_kdv_against_more_points_and_half_the_step():
    once = reference.kdv(t=11, points=256)
    assert relative(once, reference.kdv(t=11, points=512, substeps=400)[::2]) < 2e-8


# Closed forms

CLOSED = {
    "convection": lambda x, t: np.sin(x - 30 * t),
    "helmholtz": lambda x, y: np.sin(2 * np.pi * x) * np.sin(3 * np.pi * y),
    "wave": lambda x, t: (
        np.cos(2 * np.pi * t) * np.sin(np.pi * x) + 0.5 * np.cos(8 * np.pi * t) * np.sin(4 * np.pi * x)
    ),
    "heat": lambda x, t: np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x),
    "poisson": lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y),
    "klein_gordon": lambda x, t: x * np.cos(5 * np.pi * t) + (x * t) ** 3,
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_lose_nothing_in_double_precision(name):
    """Of problems that were stated in single precision, too: numbers such as 0.1 are kept as they were given."""
    problem = scl.zoo.entry(name).build()
    axes = [np.asarray(axis) for axis in evaluate.default_axes(problem).values()]
    values = jax.tree.map(np.asarray, CLOSED[name](*np.meshgrid(*axes, indexing="ij")))
    with jax.enable_x64(True):
        table = jnp.asarray(values)
        first, step = np.array([a[0] for a in axes]), np.array([a[1] - a[0] for a in axes])
        model = lambda z: table[tuple(jnp.rint((z - first) / step).astype(int))][None]
        assert evaluate.relative_l2(problem, model) < 1e-13
