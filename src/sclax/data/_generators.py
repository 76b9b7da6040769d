"""The paper's supervised data sets, made on the spot: `input` (sample, x[, y]), `solution` (sample, t, x[, y]).

Solved in float64, kept in float32. Sample i of a seed is the same in sets of any size.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from .. import reference
from .._base import checks
from ..reference import burgers as _burgers
from ..reference import diffusion_sorption as _diffusion_sorption
from ..reference import navier_stokes as _navier_stokes
from ._cache import Batch, Progress, Recipe, make
from ._random_fields import LI_VORTICITY, PINO, GaussianField, generator


class Scale(NamedTuple):
    """Points per axis, frames, samples, and how often the grid that is solved is finer."""

    points: int
    frames: int
    samples: int
    finer: int = 1


# `tiny` takes seconds, `small` a minute or two on two cores, `paper` has the paper's grids and numbers of samples.
BURGERS = {"tiny": Scale(32, 11, 16), "small": Scale(64, 51, 300), "paper": Scale(128, 101, 1200)}
# The finer grids are odd multiples, whose middles are those of the coarse cells.
DIFFUSION_SORPTION = {
    "tiny": Scale(64, 11, 16, 5),
    "small": Scale(256, 51, 300, 3),
    "paper": Scale(1024, 101, 2000),
}
NAVIER_STOKES = {"tiny": Scale(16, 5, 8), "small": Scale(32, 20, 200), "paper": Scale(64, 50, 2000)}
# Navier-Stokes by viscosity, down to which: last time, samples, and points per axis that resolve the flow.
FLOWS = ((1e-3, 50, 2000, 64), (1e-4, 30, 2000, 128), (0.0, 20, 1200, 256))
# Cells of Burgers' grid in a front of width ν.
RESOLVED = 1.28


def _scale(owner: str, scales: dict[str, Scale], scale: str, samples: int | None) -> Scale:
    if scale not in scales:
        raise ValueError(
            f"{owner}: `scale` must be {checks.listed(scales)}, got {scale!r}.{checks.nearest(str(scale), scales)}"
        )
    size = scales[scale]
    return size if samples is None else size._replace(samples=checks.count(owner, "samples", samples))


def _attrs(pde: str, law: Any, seed: int, scale: str, **parameters: float | bool) -> dict[str, Any]:
    return {
        "pde": pde,
        "parameters": json.dumps(parameters),
        "initial_condition": str(law),
        "seed": seed,
        "scale": scale,
    }


def burgers(
    scale: str = "small",
    *,
    viscosity: float = 0.01,
    law: GaussianField = PINO,
    seed: int = 0,
    samples: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> xr.Dataset:
    """u(x, 0) ↦ u(x, t) of  uₜ + (u²/2)ₓ = ν uₓₓ,  periodic in x ∈ [0, 1),  t ∈ [0, 1].

    **Arguments:**

    - `scale`: `tiny` (32 × 11, 16 samples), `small` (64 × 51, 300) or `paper` (128 × 101, 1200); `samples` overrides.
    - `viscosity`: 0.01 is that of the paper's data (its text says 1e-3). At least 1.25e-3, which 1024 points resolve.
    - `law`: of the initial condition, by default that of the paper's data.
    - `cache`: whether to keep the set in the user's cache directory, and to take it from there.
    - `progress`: called with (samples done, samples in all) after every batch that is solved.

    !!! example
        `scl.data.burgers("tiny", samples=8)`
    """
    owner = "burgers"
    size, nu = _scale(owner, BURGERS, scale, samples), checks.positive(owner, "viscosity", viscosity)
    seed = checks.seed(owner, seed)
    if not isinstance(law, GaussianField) or law.dims != 1:
        raise ValueError(f"{owner}: `law` must be a field of one dimension, GaussianField(σ, τ, γ), got {law!r}.")
    solved = max(128, size.points)
    while solved < RESOLVED / nu:
        solved *= 2
    if solved > 1024:
        raise ValueError(
            f"{owner}: `viscosity` must be at least {RESOLVED / 1024:.3g}, got {nu}: its fronts are too thin for 1024 "
            "points. Raise it, or solve with `sclax.reference.burgers` on a grid of your own."
        )
    t, thin = np.linspace(0.0, 1.0, size.frames), solved // size.points

    def solve(begin: int, end: int) -> Batch:
        start = law.samples(seed, begin, end, solved)
        u = _burgers(start, nu, t)
        return Batch(start[:, ::thin], u.values[..., ::thin], u.attrs["scheme"], u.attrs["step"])

    pde = "uₜ + (u²/2)ₓ = ν uₓₓ, x ∈ [0, 1] periodic"
    attrs = _attrs(pde, law, seed, scale, viscosity=nu, solved_points=solved)
    coords = {"t": t, "x": np.arange(size.points) / size.points}
    return make(Recipe(owner, attrs, coords, size.samples, 16, solve), cache, progress)


def navier_stokes(
    scale: str = "small",
    *,
    viscosity: float = 1e-3,
    amplitude: float = 0.262,
    seed: int = 0,
    samples: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> xr.Dataset:
    """w(x, y, 0) ↦ w(x, y, t) of  wₜ + u·∇w = ν Δw + f,  f = 0.1 (sin 2π(x + y) + cos 2π(x + y)), on the torus [0, 1)².

    Frames are t = 1, 2, …; the paper's operators are given the first, `solution.isel(t=0)`, instead of `input`.
    Solved on 64², 128² or 256² points as the viscosity asks for, and thinned to the grid of the scale.

    **Arguments:**

    - `scale`: `tiny` (16², t ≤ 5, 8 samples), `small` (32², t ≤ 20, 200) or `paper` (64²; t ≤ 50 and 2000 samples from
      ν = 1e-3 on, t ≤ 30 and 2000 from 1e-4 on, t ≤ 20 and 1200 below); `samples` overrides.
    - `viscosity`: the paper's are 1e-3, 1e-4 and 1e-5.
    - `amplitude`: standard deviation of w(·, 0): 0.262 as in the data released by Li et al., 0.185 by their script of
      today.
    - `cache`, `progress`: see `burgers`.

    !!! example
        `scl.data.navier_stokes("tiny", viscosity=1e-3, samples=4)`
    """
    owner = "navier_stokes"
    size, nu = _scale(owner, NAVIER_STOKES, scale, samples), checks.positive(owner, "viscosity", viscosity)
    seed = checks.seed(owner, seed)
    law = LI_VORTICITY.scaled(checks.positive(owner, "amplitude", amplitude))
    _, last, number, solved = next(flow for flow in FLOWS if nu >= flow[0])
    if scale == "paper":
        size = size._replace(frames=last, samples=number if samples is None else size.samples)
    else:
        # 128² is within 2 % at the smallest viscosity, at a fifth of the cost.
        solved = min(solved, 128)
    t, thin = np.arange(1.0, size.frames + 1), solved // size.points

    def solve(begin: int, end: int) -> Batch:
        start = law.samples(seed, begin, end, solved)
        w = _navier_stokes(start, nu, t)
        values = np.ascontiguousarray(w.values[..., ::thin, ::thin])
        return Batch(start[:, ::thin, ::thin], values, w.attrs["scheme"], w.attrs["step"])

    pde = "wₜ + u·∇w = ν Δw + 0.1 (sin 2π(x + y) + cos 2π(x + y)), −Δψ = w, u = (ψ_y, −ψ_x), (x, y) ∈ [0, 1]² periodic"
    attrs = _attrs(pde, law, seed, scale, viscosity=nu, amplitude=float(amplitude), solved_points=solved)
    axis = np.arange(size.points) / size.points
    return make(Recipe(owner, attrs, {"t": t, "x": axis, "y": axis}, size.samples, 2, solve), cache, progress)


def diffusion_sorption(
    scale: str = "small",
    *,
    pdebench: bool = False,
    seed: int = 0,
    samples: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> xr.Dataset:
    """u(x, 0) ↦ u(x, t) of  uₜ = D/R(u) uₓₓ,  u(0, t) = 1,  u(1, t) = −D uₓ(1, t),  x ∈ [0, 1], t ∈ [0, 500].

    The initial condition is a constant from U(0, 0.2), as in PDEBench: a family of one parameter.

    **Arguments:**

    - `scale`: `tiny` (64 cells × 11, 16 samples), `small` (256 × 51, 300) or `paper` (1024 × 101, 2000); `samples`
      overrides.
    - `pdebench`: whether to solve as PDEBench did (1.5 % off at 1024 cells, 30 s a sample) instead of to convergence.
    - `cache`, `progress`: see `burgers`.

    !!! example
        `scl.data.diffusion_sorption("tiny", samples=8)`
    """
    owner = "diffusion_sorption"
    size = _scale(owner, DIFFUSION_SORPTION, scale, samples)
    seed = checks.seed(owner, seed)
    cells, t = size.points * size.finer, np.linspace(0.0, 500.0, size.frames)
    solver: Callable[..., xr.DataArray] = reference.diffusion_sorption_pdebench if pdebench else _diffusion_sorption

    def solve(begin: int, end: int) -> Batch:
        constants = [generator(seed, i).uniform(0.0, 0.2) for i in range(begin, end)]
        solved = [solver(c, cells, t) for c in constants]
        middle = slice(size.finer // 2, None, size.finer)
        u = np.stack([one.values[:, middle] for one in solved])
        return Batch(np.repeat(constants, size.points).reshape(-1, size.points), u, solved[0].attrs["scheme"], 0.0)

    pde = "uₜ = D/R(u) uₓₓ, R(u) = 1 + (1−φ)/φ ρₛ k n (u + 1e-6)ⁿ⁻¹, u(0) = 1, u(1) = −D uₓ(1)"
    parameters = {"D": 5e-4, "porosity": 0.29, "density": 2880.0, "k": 3.5e-4, "n": 0.874}
    attrs = _attrs(pde, "constant, U(0, 0.2)", seed, scale, **parameters, pdebench=bool(pdebench), solved_cells=cells)
    coords = {"t": t, "x": (np.arange(size.points) + 0.5) / size.points}
    return make(Recipe(owner, attrs, coords, size.samples, 1, solve), cache, progress)
