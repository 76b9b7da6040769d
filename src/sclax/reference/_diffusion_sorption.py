"""Diffusion through a porous medium that binds what passes, and PDEBench's discretisation of it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from .._base import checks
from ._support import Times, provenance, times

EQUATION = "uₜ = D/R(u) uₓₓ, R(u) = 1 + (1−φ)/φ ρₛ k n (u + 1e-6)ⁿ⁻¹, u(0) = 1, u(1) = outlet D uₓ(1)"
DIFFUSIVITY, POROSITY, DENSITY, SORPTION, EXPONENT = 5e-4, 0.29, 2880.0, 3.5e-4, 0.874
END = 500.0

# Ways to integrate in time: keywords of scipy's solve_ivp. PDEBench took the defaults of its time.
CONVERGED: Mapping[str, Any] = MappingProxyType(
    {"method": "LSODA", "lband": 1, "uband": 1, "rtol": 1e-8, "atol": 1e-10}
)
PDEBENCH: Mapping[str, Any] = MappingProxyType({"method": "RK45", "rtol": 1e-3, "atol": 1e-6})

Ghosts = Callable[[np.ndarray, float], tuple[float, float]]


def retardation(u: Any) -> Any:
    """R(u) = 1 + (1 − φ)/φ ρₛ k n (u + 1e-6)ⁿ⁻¹, kept finite at u = 0 as PDEBench does."""
    return 1 + (1 - POROSITY) / POROSITY * DENSITY * SORPTION * EXPONENT * (u + 1e-6) ** (EXPONENT - 1)


def _midpoints(cells: int) -> np.ndarray:
    return (np.arange(cells) + 0.5) / cells


def _solve(
    owner: str, c0: Any, cells: int, t: Times, integrator: Mapping[str, Any], ghosts: Ghosts
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells, t = checks.count(owner, "cells", cells, at_least=4), times(owner, t, END)
    x, dx = _midpoints(cells), 1 / cells
    start = checks.finite_array(owner, "c0", c0(x) if callable(c0) else c0)
    if start.shape not in ((), (cells,)) or start.min() < 0:
        raise ValueError(
            f"{owner}: `c0` must be a concentration ≥ 0: a number, a function of x or an array of {cells} "
            f"cells, got shape {start.shape} with minimum {start.min():.3g}."
        )
    padded = np.empty(cells + 2)

    def rate(_, c):
        padded[1:-1] = c
        padded[0], padded[-1] = ghosts(c, dx)
        # Round-off may take u a little below 0, where the power is not defined.
        return DIFFUSIVITY / retardation(np.maximum(c, 0.0)) * np.diff(padded, 2) / dx**2

    end = t[-1] if t[-1] > 0 else 1.0
    result = solve_ivp(rate, (0.0, end), np.broadcast_to(start, cells).copy(), t_eval=t, **integrator)
    if result.status != 0:
        raise FloatingPointError(f"{owner}: the integrator stopped at t = {result.t[-1:]}: {result.message}")
    return x, t, result.y.T


def diffusion_sorption(c0: Any, cells: int = 1024, t: Times = 101, outlet: float = -1.0) -> xr.DataArray:
    """u[t, x] of  uₜ = D/R(u) uₓₓ,  u(0, t) = 1,  u(1, t) = −D uₓ(1, t),  D = 5e-4, x ∈ [0, 1], t ∈ [0, 500].

    `c0` is a number, a function of x or an array of `cells`; `t` a number of times over [0, 500] or the
    times. Cell midpoints and banded LSODA. The data jump at both walls at t = 0, so the error of the cells is
    largest early; measured by doubling them, c0 = 0.1, 1024 cells: 5e-5 at t = 5, 3e-6 at t = 100, 5e-7 at
    t = 500. Order 2.

    `outlet` is the factor of D uₓ(1), at most 0. The paper's text has +1, with which u has no bound:
    uₓ = u/D at the wall feeds the mode exp((x − 1)/D), which grows at the rate 1/(D R), about 500 per unit of
    time. PDEBench, whose data the paper uses, has −1.

    !!! example
        `scl.reference.diffusion_sorption(0.1, cells=256)`
    """
    owner = "diffusion_sorption"
    outlet = checks.number(owner, "outlet", outlet)
    if outlet > 0:
        raise ValueError(
            f"{owner}: `outlet` must be at most 0, got {outlet}: u(1) = +D uₓ(1) makes u grow without bound. "
            "Use −1, or `diffusion_sorption_pdebench`, whose grid is too coarse to see it."
        )

    def ghosts(c, dx):
        # Both conditions hold at the wall, halfway between the last cell and the ghost: second order.
        slope = outlet * DIFFUSIVITY / dx
        return 2.0 - c[0], -c[-1] * (0.5 + slope) / (0.5 - slope)

    x, t, u = _solve(owner, c0, cells, t, CONVERGED, ghosts)
    attrs = provenance(EQUATION, "method of lines, order 2, banded LSODA, rtol 1e-8", cells=cells, outlet=outlet)
    return xr.DataArray(u, {"t": t, "x": x}, ("t", "x"), "u", attrs)


def diffusion_sorption_pdebench(
    c0: Any,
    cells: int = 1024,
    t: Times = 101,
    outlet: float = -1.0,
    integrator: Mapping[str, Any] = PDEBENCH,
) -> xr.DataArray:
    """u[t, x] in the discretisation of PDEBench, for comparison with its data only.

    Its walls are half a cell off (0.2 % in relative L² at 1024 cells) and its RK45 stops at 1e-3 (a further
    0.1 % at 128 cells, 1.5 % and half a minute at 1024); `integrator=CONVERGED` keeps the walls and
    integrates to 1e-8. `outlet` +1 is the sign of the paper's text: on this grid it moves u by 5e-4 only, the
    wall stays near 0.

    !!! example
        `scl.reference.diffusion_sorption_pdebench(0.1, cells=256)`
    """
    owner = "diffusion_sorption_pdebench"
    outlet = checks.number(owner, "outlet", outlet)

    def ghosts(c, dx):
        # u = 1 half a cell outside the wall; the outlet's value from the gradient one cell further in.
        return 1.0, outlet * DIFFUSIVITY * (c[-1] - c[-2]) / dx

    x, t, u = _solve(owner, c0, cells, t, integrator, ghosts)
    attrs = provenance(EQUATION, f"PDEBench's method of lines, {integrator['method']}", cells=cells, outlet=outlet)
    return xr.DataArray(u, {"t": t, "x": x}, ("t", "x"), "u", attrs)
