"""Burgers' equation on a ring."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from .._base import checks, require
from ._support import Times, exponax_scheme, initial, march, periodic_grid, provenance, times

EQUATION = "uₜ + (u²/2)ₓ = ν uₓₓ, x ∈ [0, 1] periodic"
# The time step as a share of ν/max|u₀|², the time a front takes to pass over itself.
SHARE = 0.1
LONGEST = 1e-2


def _stepper(points, dt, nu):
    ex = require("burgers", "exponax", "data")
    return ex.stepper.Burgers(1, 1.0, points, dt, diffusivity=nu, conservative=True, order=4)


def burgers(
    u0: np.ndarray | Callable[[np.ndarray], np.ndarray],
    nu: float = 0.01,
    t: Times = 101,
    points: int | None = None,
    substeps: int | None = None,
) -> xr.DataArray:
    """u[t, x], or u[sample, t, x] of a batch, of  uₜ + (u²/2)ₓ = ν uₓₓ,  periodic in x ∈ [0, 1].

    `u0` is a function of x or an array (samples, n), solved on `points` (default n) by Fourier collocation
    and ETDRK4; `t` is a number of times over [0, 1] or equispaced times. Measured for
    u₀ = ½ sin 2πx + ⅕ cos 4πx and ν = 0.01, largest error up to t = 1: 3e-9 of the step, 8e-9 of 128 points,
    1e-8 against Cole and Hopf. A smaller ν needs more points in proportion; the step follows by itself. 3 ms
    a sample of 128 × 101 in batches of 64.

    !!! example
        `scl.reference.burgers(lambda x: np.sin(2 * np.pi * x), nu=0.01, points=256)`
    """
    owner = "burgers"
    require(owner, "exponax", "data")
    nu, t = checks.positive(owner, "nu", nu), times(owner, t, 1.0)
    start = initial(owner, "u0", u0, points, 0.0, 1.0, dims=1)
    n = start.shape[-1]
    step = min(LONGEST, SHARE * nu / max(np.abs(start).max() ** 2, 1e-12))
    u, dt = march(owner, _stepper, (nu,), start, t, substeps, step, dims=1)
    attrs = provenance(EQUATION, exponax_scheme(), nu=nu, points=n, step=dt)
    coords = {"t": t, "x": periodic_grid(0.0, 1.0, n)}
    result = xr.DataArray(u, coords, ("sample", "t", "x"), "u", attrs)
    return result if start.ndim == 2 else result.squeeze("sample")
