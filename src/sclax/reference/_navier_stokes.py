"""Two-dimensional Navier-Stokes equations on a torus, in vorticity."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from .._base import checks, require
from ._support import Times, exponax_scheme, initial, march, periodic_grid, provenance, strides, times

EQUATION = "wₜ + u·∇w = ν Δw + f, −Δψ = w, u = (ψ_y, −ψ_x), (x, y) ∈ [0, 1]² periodic"
STEP = 1 / 40
# Runge-Kutta steps of order 4 are stable up to dt |u| k = 2.8; k is at most a third of the points, times 2π.
STABLE = 2.5

Field = np.ndarray | Callable[[np.ndarray, np.ndarray], np.ndarray]


def diagonal_forcing(x: Any, y: Any) -> Any:
    """f = 0.1 (sin 2π(x + y) + cos 2π(x + y)), of Li et al. (2021).

    !!! example
        `scl.reference.diagonal_forcing(0.25, 0.0)` is 0.1
    """
    return 0.1 * (np.sin(2 * np.pi * (x + y)) + np.cos(2 * np.pi * (x + y)))


@functools.cache
def _forced() -> Callable[..., Any]:
    # exponax's own forced stepper adds f by Euler, at first order: here f is part of what ETDRK4 integrates.
    ex = require("navier_stokes", "exponax", "data")

    class Advection(ex.nonlin_fun.VorticityConvection2d):
        forcing: Any

        def __init__(self, points, derivative, forcing):
            # Scale −1: exponax takes +Δψ = w with u = (ψ_y, −ψ_x), which turns every vortex the wrong way.
            super().__init__(
                2, points, convection_scale=-1.0, derivative_operator=derivative, dealiasing_fraction=2 / 3
            )
            self.forcing = ex.fft(forcing[None], num_spatial_dims=2)

        def __call__(self, w_hat):
            return super().__call__(w_hat) + self.forcing

    class Vorticity(ex.stepper.NavierStokesVorticity):
        forcing: Any

        def __init__(self, points, dt, nu, forcing):
            # Before the parent's constructor, which asks for the nonlinear function.
            self.forcing = forcing
            super().__init__(2, 1.0, points, dt, diffusivity=nu, vorticity_convection_scale=-1.0, order=4)

        def _build_nonlinear_fun(self, derivative_operator):
            return Advection(self.num_points, derivative_operator, self.forcing)

    return Vorticity


def _stepper(points, dt, nu, forcing):
    return _forced()(points, dt, nu, forcing)


def _fastest(w: np.ndarray) -> float:
    """The largest |u_x| + |u_y|, at least a little."""
    n = w.shape[-1]
    kx, ky = 2 * np.pi * np.fft.fftfreq(n, 1 / n)[:, None], 2 * np.pi * np.arange(n // 2 + 1)
    square = np.maximum(kx**2 + ky**2, 1.0)
    flow = np.fft.rfft2(w) / square  # ψ
    ux, uy = np.fft.irfft2(1j * ky * flow, (n, n)), np.fft.irfft2(1j * kx * flow, (n, n))
    return max(float((np.abs(ux) + np.abs(uy)).max()), 1e-6)


def navier_stokes(
    w0: Field,
    nu: float = 1e-3,
    t: Times | None = None,
    points: int | None = None,
    forcing: Field | None = diagonal_forcing,
    substeps: int | None = None,
) -> xr.DataArray:
    """w[t, x, y], or w[sample, t, x, y] of a batch, of  wₜ + u·∇w = ν Δw + f  on the torus [0, 1]².

    −Δψ = w and u = (ψ_y, −ψ_x). `w0` is a function of x and y or an array (samples, n, n), solved on
    `points`² (default n²) by dealiased Fourier collocation and ETDRK4. `t` is a number of times over [0, 50]
    or equispaced times, by default 1, 2, …, 50 as in the data of Li et al.; `forcing` is a function, an
    array, or None.

    Measured for one random w₀ with the law of Li et al., largest error up to t = 10: at ν = 1e-3, where
    |w| ≤ 1.1, 1e-9 of the step and 9e-9 of 64² points; at ν = 1e-4, where |w| ≤ 1.6, 7e-7 and 9e-3: use
    128² or more. 1 s a sample of 64² to t = 50.

    !!! example
        `scl.reference.navier_stokes(lambda x, y: np.sin(2 * np.pi * x), t=[1.0], points=64)`
    """
    owner = "navier_stokes"
    require(owner, "exponax", "data")
    nu = checks.positive(owner, "nu", nu)
    t = times(owner, np.arange(1.0, 51.0) if t is None else t, 50.0)
    start = initial(owner, "w0", w0, points, 0.0, 1.0, dims=2)
    n = start.shape[-1]
    source = np.zeros((n, n)) if forcing is None else initial(owner, "forcing", forcing, n, 0.0, 1.0, dims=2)
    gap, skip = strides(owner, t)
    frames, dt = [start.reshape(-1, n, n)], np.inf
    for _ in range(skip + t.size - 1):
        # Frame by frame: the flow may become faster than it was at the start, by what drives it and a little more.
        speed = 1.2 * (_fastest(frames[-1]) + gap * _fastest(source))
        step = min(STEP / max(1.0, np.abs(start).max()), STABLE / (speed * 2 * np.pi * n / 3))
        frame, taken = march(owner, _stepper, (nu, source), frames[-1], np.array([gap]), substeps, step, dims=2)
        frames.append(frame[:, 0])
        dt = min(dt, taken)
    w = np.stack(frames[skip:], axis=1)
    axis = periodic_grid(0.0, 1.0, n)
    attrs = provenance(EQUATION, exponax_scheme(), nu=nu, points=n, step=dt)
    result = xr.DataArray(w, {"t": t, "x": axis, "y": axis}, ("sample", "t", "x", "y"), "w", attrs)
    return result if start.ndim == 3 else result.squeeze("sample")
