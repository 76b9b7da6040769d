"""Data sets made batch by batch, in memory or into the user's cache, where damage is found and made good."""

import hashlib
import importlib.metadata
import json
import math
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from .._base import alone, cache_directory, remains, replaced, require
from ._files import netcdf, open_dataset

Progress = Callable[[int, int], None]

# To be raised when a change makes other numbers of the same arguments.
GENERATION = 1
DTYPE = np.dtype("f4")
LARGEST = 10**11  # bytes of a data set; the paper's largest has 6e9


class Batch(NamedTuple):
    """Some samples: initial conditions, solutions, the scheme and the time step it took (0: adaptive)."""

    start: np.ndarray
    solution: np.ndarray
    scheme: str
    step: float


class Recipe(NamedTuple):
    """How a data set is made: `solve(begin, end)` gives those samples, always `batch` of them from a multiple on, so
    that a sample does not depend on how many were asked for."""

    name: str
    attrs: Mapping[str, Any]
    coords: Mapping[str, np.ndarray]
    samples: int
    batch: int
    solve: Callable[[int, int], Batch]

    @property
    def all_coords(self) -> dict[str, np.ndarray]:
        return {"sample": np.arange(self.samples), **self.coords}

    @property
    def identity(self) -> dict[str, Any]:
        """The attributes that say what is in the data set; the others tell how it came about."""
        return {**self.attrs, "samples": self.samples, "generation": GENERATION}

    @property
    def size(self) -> int:
        """Bytes of all arrays."""
        frames = len(self.coords["t"])
        of_frame = math.prod(len(values) for name, values in self.coords.items() if name != "t")
        return self.samples * (frames + 1) * of_frame * DTYPE.itemsize

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        space = tuple(name for name in self.coords if name != "t")
        return {"input": ("sample", *space), "solution": ("sample", "t", *space)}


def make(recipe: Recipe, cache: bool, progress: Progress | None) -> xr.Dataset:
    """The data set: from the cache, else solved, and kept there unless `cache` is False."""
    _check_size(recipe, LARGEST, "more than the largest data set may,")
    if not cache:
        sizes = {name: len(values) for name, values in recipe.all_coords.items()}
        arrays = {name: np.empty([sizes[d] for d in dims], DTYPE) for name, dims in recipe.dims.items()}
        made = _fill(recipe, arrays, progress)
        variables = {name: (dims, arrays[name]) for name, dims in recipe.dims.items()}
        return xr.Dataset(variables, recipe.all_coords, {**recipe.identity, **made})
    require(recipe.name, "h5netcdf", "data")
    path = cache_path(recipe)
    dataset, _ = _cached(path, recipe)
    return _made(path, recipe, progress) if dataset is None else dataset


def _check_size(recipe: Recipe, limit: int, what: str) -> None:
    """Refuses what would not fit before any of it is made."""
    if recipe.size > limit:
        raise ValueError(
            f"{recipe.name}: `samples` = {recipe.samples} would take {recipe.size / 1e9:.3g} GB, {what} "
            f"{limit / 1e9:.3g} GB. Ask for fewer."
        )


def _made(path: Path, recipe: Recipe, progress: Progress | None) -> xr.Dataset:
    """The data set, made by the one process that is at it: those that waited find it in the cache."""
    waits = f"{recipe.name}: another process is making {str(path)!r}: waiting for it."
    with alone(path, lambda: warnings.warn(waits, stacklevel=7)) as held:
        dataset, reason = _cached(path, recipe)
        if dataset is not None:
            return dataset
        if reason:
            warnings.warn(f"{recipe.name}: the cached {str(path)!r} {reason}: it is made again.", stacklevel=4)
        try:
            _check_size(recipe, shutil.disk_usage(path.parent).free, f"but {str(path.parent)!r} has room for")
            for rest in remains(path) if held else ():
                rest.unlink(missing_ok=True)
            _store(path, recipe, progress)
        except OSError as error:
            raise OSError(
                f"{recipe.name}: the cache {str(path)!r} cannot be written ({error}). Set XDG_CACHE_HOME to a folder "
                "with room, or pass cache=False."
            ) from error
        return open_dataset(path)


def cache_path(recipe: Recipe) -> Path:
    shape = {name: len(values) for name, values in recipe.all_coords.items()}
    text = json.dumps([recipe.name, recipe.identity, shape], sort_keys=True)
    return cache_directory() / f"{recipe.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.nc"


def _fill(recipe: Recipe, arrays: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Solves batch by batch into `arrays`; returns attributes that tell how."""
    steps, scheme = [], ""
    for begin in range(0, recipe.samples, recipe.batch):
        # The last batch is whole as well, though not all of it is kept: the same numbers, and compiled once.
        start, solution, scheme, step = recipe.solve(begin, begin + recipe.batch)
        kept = min(recipe.batch, recipe.samples - begin)
        arrays["input"][begin : begin + kept] = start[:kept].astype(DTYPE)
        arrays["solution"][begin : begin + kept] = solution[:kept].astype(DTYPE)
        steps.append(step)
        if progress is not None:
            progress(begin + kept, recipe.samples)
    taken = f"{min(steps):.3g} to {max(steps):.3g}" if min(steps) else "adaptive"
    return {"solver": scheme, "steps": taken, "version": importlib.metadata.version("sclax")}


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(path: Path) -> Path:
    """The checksum, as `sha256sum --check` reads it."""
    return path.with_name(f"{path.name}.sha256")


def _store(path: Path, recipe: Recipe, progress: Progress | None) -> None:
    variables = {name: (dims, DTYPE) for name, dims in recipe.dims.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as temporary:
        with netcdf(temporary, variables, recipe.all_coords) as (attrs, sinks):
            attrs.update(recipe.identity)
            attrs.update(_fill(recipe, sinks, progress))
        digest = _digest(temporary)
    # Data first: were the process to end here, the old checksum does not fit, and the set is made again.
    with replaced(_beside(path)) as temporary:
        temporary.write_text(f"{digest}  {path.name}\n")


def _cached(path: Path, recipe: Recipe) -> tuple[xr.Dataset | None, str]:
    """The data set at `path` if it is there, whole, and the one that is asked for; else what is wrong with it."""
    if not path.exists():
        return None, ""
    if not path.is_file():
        return None, "is a folder, a pipe or a device"
    if not _beside(path).is_file():
        return None, "has no checksum"
    if _beside(path).read_bytes().split()[:1] != [_digest(path).encode()]:
        return None, "does not fit its checksum"
    return _fitting(path, recipe)


def _fitting(path: Path, recipe: Recipe) -> tuple[xr.Dataset | None, str]:
    try:
        dataset = open_dataset(path)
    except ValueError as error:
        return None, f"cannot be opened ({error})"
    wrong = [name for name, value in recipe.identity.items() if dataset.attrs.get(name) != value]
    wrong += [
        name
        for name, values in recipe.all_coords.items()
        if name not in dataset.coords or not np.array_equal(dataset[name], values)
    ]
    if not wrong:
        return dataset, ""
    dataset.close()
    return None, f"is another data set (it differs in {', '.join(wrong)})"
