"""Files that people already have, in one layout: `input` (sample, x[, y]), `solution` (sample, t, x[, y]).

What a file is, its first bytes tell; HDF5 stays on disk until it is sliced. No file can run code.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._base import checks
from ..reference import periodic_grid
from ._files import open_dataset
from ._formats import Contents, contents
from ._stored import FirstFrame, Stored

PathLike = str | os.PathLike[str]
BURGERS = "`input` (samples, x) and `output` (samples, t, x), as burgers_pino.mat"
NAVIER_STOKES = "`a` (samples, x, y) and `u` (samples, x, y, t), as ns_V1e-3_N5000_T50.mat"
DIFFUSION_SORPTION = (
    "groups 0000, 0001, … of `data` (t, x, 1) and `grid`, as PDEBench's 1D_diff-sorp_NA_NA.h5, or a folder of "
    "solution.pt, t_grid.pt, x_grid.pt"
)
FOLDER = ("solution", "t_grid", "x_grid")


def read(path: PathLike) -> xr.Dataset:
    """A data set in any known layout: Burgers, Navier-Stokes, diffusion-sorption, or what `save` wrote.

    Large files are read when they are sliced: `read(path).isel(sample=slice(0, 100)).load()`.

    !!! example
        `scl.data.read("burgers_pino.mat")`
    """
    path = Path(path)
    if path.is_dir():
        return read_diffusion_sorption(path)
    found = contents(path)
    names = set(found.arrays)
    if {"input", "solution"} <= names and found.hdf5:
        return open_dataset(path)
    if {"input", "output"} <= names:
        return _burgers(found, None)
    if {"a", "u"} <= names:
        return _navier_stokes(found, None)
    if {"data", "grid/x", "grid/t"} <= names:
        return _diffusion_sorption(found)
    raise ValueError(
        f"read: {str(path)!r} holds {found.found()}; expected {BURGERS}; or {NAVIER_STOKES}; or {DIFFUSION_SORPTION}. "
        "Take its arrays with `read_arrays` and name them."
    )


def read_arrays(path: PathLike) -> dict[str, xr.DataArray]:
    """The numeric arrays of a file by name, in MATLAB's order of axes if MATLAB wrote it; those in HDF5 are lazy.

    !!! example
        `scl.data.read_arrays("burgers.npz")["input"]`
    """
    arrays = contents(Path(path)).arrays
    return {
        name: xr.DataArray(a.variable([f"dim_{i}" for i in range(a.ndim)]), name=name) for name, a in arrays.items()
    }


def read_burgers(path: PathLike, t: Sequence[float] | np.ndarray | None = None) -> xr.Dataset:
    """A file of `input` (samples, x), `output` (samples, t, x) and perhaps `visc`: burgers_pino.mat, burgers.npz,
    burgers_v1000_t200_r1024_N2048.mat. Periodic x ∈ [0, 1); `t` by default equispaced in [0, 1], ends included.

    Some of these files have zeros as their first frame: it is replaced by `input`.

    !!! example
        `scl.data.read_burgers("burgers_pino.mat")`
    """
    return _burgers(_expect(path, ("input", "output"), BURGERS), t)


def read_navier_stokes(path: PathLike, t: Sequence[float] | np.ndarray | None = None) -> xr.Dataset:
    """A file of `a` (samples, x, y), `u` (samples, x, y, t) and perhaps `t`: ns_V1e-3_N5000_T50.mat and its like.

    `input` is w at t = 0. The first frame is t = 1, which is what the paper's operators are given:
    `solution.isel(t=0)`. `t` overrides the file's times, by default 1, 2, ….

    !!! example
        `scl.data.read_navier_stokes("ns_V1e-3_N5000_T50.mat")`
    """
    return _navier_stokes(_expect(path, ("a", "u"), NAVIER_STOKES), t)


def read_diffusion_sorption(path: PathLike) -> xr.Dataset:
    """PDEBench's 1D_diff-sorp_NA_NA.h5, or the folder of solution.pt, t_grid.pt and x_grid.pt made of it.

    !!! example
        `scl.data.read_diffusion_sorption("1D_diff-sorp_NA_NA.h5")`
    """
    path = Path(path)
    if not path.is_dir():
        return _diffusion_sorption(_expect(path, ("data", "grid/x", "grid/t"), DIFFUSION_SORPTION))
    missing = [f"{name}.pt" for name in FOLDER if not (path / f"{name}.pt").is_file()]
    if missing:
        raise ValueError(
            f"read: the folder {str(path)!r} has no {checks.listed(missing)}; expected {DIFFUSION_SORPTION}. "
            "Pass a file, or the folder that holds them."
        )
    data, t, x = (_only(contents(path / f"{name}.pt")) for name in FOLDER)
    return _diffusion_sorption(Contents(path, {"data": data, "grid/t": t, "grid/x": x}, {}))


# --- layouts ------------------------------------------------------------------------------------------------------


def _expect(path: PathLike, names: Sequence[str], layout: str) -> Contents:
    found = contents(Path(path))
    missing = [name for name in names if name not in found.arrays]
    if missing:
        raise ValueError(
            f"read: {str(path)!r} has no {checks.listed(missing)}, it holds {found.found()}; expected {layout}. "
            "If the arrays have other names, take them with `read_arrays`."
        )
    return found


def _only(found: Contents) -> Stored:
    if len(found.arrays) != 1:
        raise ValueError(f"read: {str(found.path)!r} holds {found.found()}; expected one tensor. Save it on its own.")
    return next(iter(found.arrays.values()))


def _mismatch(path: Path, arrays: Sequence[Stored], layout: str) -> ValueError:
    shapes = ", ".join(map(str, arrays))
    return ValueError(
        f"read: the shapes in {str(path)!r} do not fit: {shapes}; expected {layout}, none of them empty. Transpose "
        "the arrays and save them anew."
    )


def _row(array: Stored) -> np.ndarray:
    """A vector, however MATLAB or torch has wrapped it."""
    return np.asarray(array.read(), float).reshape(-1)


def _times(path: Path, t: Any, frames: int) -> np.ndarray:
    t = checks.finite_array("read", "t", t).reshape(-1)
    if t.size != frames or np.any(np.diff(t) <= 0):
        raise ValueError(
            f"read: `t` of {str(path)!r} must be {frames} increasing times, one for each frame, got {t.size} "
            f"from {t[0] if t.size else '(none)'} on. Pass the times, `t=...`."
        )
    return t


def _dataset(
    path: Path, start: Stored, solution: Stored, coords: Mapping[str, np.ndarray], attrs: Mapping[str, Any]
) -> xr.Dataset:
    space = [name for name in coords if name != "t"]
    return xr.Dataset(
        {"input": start.variable(["sample", *space]), "solution": solution.variable(["sample", "t", *space])},
        {"sample": np.arange(start.shape[0]), **coords},
        {**attrs, "source": str(path)},
    )


def _burgers(found: Contents, t: Any) -> xr.Dataset:
    path, start, solution = found.path, found.arrays["input"], found.arrays["output"]
    if (
        (start.ndim, solution.ndim) != (2, 3)
        or start.shape != (solution.shape[0], solution.shape[2])
        or 0 in solution.shape
    ):
        raise _mismatch(path, [start, solution], BURGERS)
    frames, points = solution.shape[1:]
    first, given = solution.read(0, 0), start.read(0)
    if not first.any() and given.any():
        # The script that made these files writes its frames from the second on.
        solution = Stored(path, solution.name, FirstFrame(start, solution))
    elif t is None and not np.allclose(first, given, atol=1e-3 * np.abs(given).max()):
        raise ValueError(
            f"read: the first frame of `output` in {str(path)!r} is not `input`, so that its times are not "
            f"0, …, 1. Pass the times of its {frames} frames, `t=...`."
        )
    t = _times(path, np.linspace(0, 1, frames) if t is None else t, frames)
    attrs: dict[str, Any] = {"pde": "uₜ + (u²/2)ₓ = ν uₓₓ, x ∈ [0, 1] periodic"}
    if "visc" in found.arrays:
        attrs["viscosity"] = float(_row(found.arrays["visc"])[0])
    return _dataset(path, start, solution, {"t": t, "x": periodic_grid(0.0, 1.0, points)}, attrs)


def _navier_stokes(found: Contents, t: Any) -> xr.Dataset:
    path, start, solution = found.path, found.arrays["a"], found.arrays["u"]
    if (start.ndim, solution.ndim) != (3, 4) or start.shape != solution.shape[:3] or 0 in solution.shape:
        raise _mismatch(path, [start, solution], NAVIER_STOKES)
    frames = solution.shape[3]
    if t is None:
        t = _row(found.arrays["t"]) if "t" in found.arrays else np.arange(1.0, frames + 1)
    coords = {"t": _times(path, t, frames)}
    coords |= {name: periodic_grid(0.0, 1.0, n) for name, n in zip("xy", solution.shape[1:3], strict=True)}
    attrs = {"pde": "wₜ + u·∇w = ν Δw + f, −Δψ = w, u = (ψ_y, −ψ_x), (x, y) ∈ [0, 1]² periodic"}
    return _dataset(path, start, solution.permuted(0, 3, 1, 2), coords, attrs)


def _diffusion_sorption(found: Contents) -> xr.Dataset:
    path, data = found.path, found.arrays["data"]
    if data.ndim == 4 and data.shape[3] == 1:
        data = data.at(3, 0)
    t, x = _row(found.arrays["grid/t"]), _row(found.arrays["grid/x"])
    if data.ndim != 3 or data.shape[1:] != (t.size, x.size) or 0 in data.shape:
        raise _mismatch(path, [data, found.arrays["grid/t"], found.arrays["grid/x"]], DIFFUSION_SORPTION)
    attrs: dict[str, Any] = {"pde": "uₜ = D/R(u) uₓₓ, u(0) = 1, u(1) = −D uₓ(1)"}
    if isinstance(found.attrs.get("config"), str):
        attrs["config"] = found.attrs["config"]
    return _dataset(path, data.at(1, 0), data, {"t": _times(path, t, t.size), "x": x}, attrs)
