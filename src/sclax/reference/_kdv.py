"""The Korteweg-de Vries equation of Zabusky and Kruskal: a cosine breaks into solitons."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr

from .._base import checks, require
from ._support import Times, exponax_scheme, march, periodic_grid, provenance, times

EQUATION = "uₜ + u uₓ + δ uₓₓₓ = 0, x ∈ [−1, 1] periodic, u(x, 0) = cos(πx)"
STEP = 5e-4


def _complex_coefficients(stepper: Any, linear: Any, dt: float) -> Any:
    """The stepper with the full coefficients of ETDRK4.

    exponax keeps their real parts only, which is right for diffusion and leaves first order for dispersion.
    """
    # The mean over a circle around each L dt, after Kassam and Trefethen (2005), avoids cancellation at 0.
    z = linear * dt + jnp.exp(2j * jnp.pi * (jnp.arange(32) + 0.5) / 32)[:, None, None]
    e, half = jnp.exp(z), jnp.exp(z / 2)
    first = dt * jnp.mean((half - 1) / z, axis=0)
    fourth = dt * jnp.mean((-4 - z + e * (4 - 3 * z + z**2)) / z**3, axis=0)
    fifth = dt * jnp.mean((2 + z + e * (z - 2)) / z**3, axis=0)
    sixth = dt * jnp.mean((-4 - 3 * z - z**2 + e * (4 - z)) / z**3, axis=0)
    where = lambda s: [getattr(s._integrator, f"_coef_{i}") for i in range(1, 7)]
    return eqx.tree_at(where, stepper, [first, first, first, fourth, fifth, sixth])


def _stepper(points, dt, delta):
    ex = require("kdv", "exponax", "data")
    stepper = ex.stepper.KortewegDeVries(
        1, 2.0, points, dt,
        convection_scale=1.0, dispersivity=delta, hyper_diffusivity=0.0, conservative=True, order=4,
    )  # fmt: skip
    wavenumber = jnp.pi * jnp.arange(points // 2 + 1)
    return _complex_coefficients(stepper, (1j * delta * wavenumber**3)[None], dt)


def kdv(delta: float = 0.0025, t: Times = 101, points: int = 512, substeps: int | None = None) -> xr.DataArray:
    """u[x, t] of  uₜ + u uₓ + δ uₓₓₓ = 0,  periodic in x ∈ [−1, 1],  u(x, 0) = cos(πx).

    Fourier collocation and ETDRK4; `t` is a number of times over [0, 1] or equispaced times. Measured,
    largest error up to t = 1: 5e-9 of the step, 1e-7 of 128 points, below 1e-13 of 256.

    !!! example
        `scl.reference.kdv(t=11)`
    """
    owner = "kdv"
    require(owner, "exponax", "data")
    delta, t = checks.positive(owner, "delta", delta), times(owner, t, 1.0)
    points = checks.count(owner, "points", points, at_least=4)
    x = periodic_grid(-1.0, 1.0, points)
    u, dt = march(owner, _stepper, (delta,), np.cos(np.pi * x), t, substeps, STEP, dims=1)
    attrs = provenance(EQUATION, exponax_scheme(), delta=delta, points=points, step=dt)
    return xr.DataArray(u[0].T, {"x": x, "t": t}, ("x", "t"), "u", attrs)
