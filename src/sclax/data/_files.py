"""Data sets as netCDF files: written whole or not at all, read when they are sliced."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._base import checks, regular, replaced, require
from . import _seals
from ._hdf5 import Guarded, is_hdf5, keeps_to_itself
from ._stored import Stored

# Samples are copied in pieces of about this many bytes.
PIECE = 2**25


class Sink:
    """A variable of a new file, filled by slices of samples, and its digests with it."""

    def __init__(self, name: str, variable: Any, digests: Any):
        self.name, self.variable, self.digests = name, variable, digests

    def __setitem__(self, piece: slice, values: np.ndarray) -> None:
        values = np.asarray(values, self.variable.dtype)
        samples, *frames = (np.arange(n) for n in self.digests.shape)
        self.variable[piece] = values
        self.digests[piece] = _seals.digests(self.name, values, samples[piece], *frames or [None])


@contextlib.contextmanager
def netcdf(
    path: Path, variables: Mapping[str, tuple[tuple[str, ...], Any]], coords: Mapping[str, Any]
) -> Iterator[tuple[Any, dict[str, Sink]]]:
    """A new netCDF file with `coords` filled in: its attributes, to be set, and `variables`, given as (dims, dtype), to
    be filled. When the block has ended well, the file is sealed."""
    h5netcdf = require("save", "h5netcdf", "data")
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {name: len(values) for name, values in coords.items()}
        for name, values in coords.items():
            file.create_variable(name, (name,), data=np.asarray(values))
        sinks = {}
        for name, (dims, dtype) in variables.items():
            marked = tuple(d for d in dims if d in ("sample", "t"))
            digests = file.create_variable(_seals.digests_of(name), marked, "i8")
            sinks[name] = Sink(name, file.create_variable(name, dims, dtype), digests)
        yield file.attrs, sinks
    _seals.seal(path)


def _storable(owner: str, attrs: Mapping[Any, Any]) -> dict[str, Any]:
    for name, value in attrs.items():
        if isinstance(value, str | int | float | np.number | np.ndarray) and not isinstance(value, bool):
            continue
        raise ValueError(
            f"{owner}: the attribute `{name}` is {value!r:.60}, which netCDF cannot hold. "
            "Make it a string, a number or an array."
        )
    return {str(name): value for name, value in attrs.items()}


def save(dataset: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Writes a data set as netCDF, some samples at a time. An old file at `path` stays until the new one is whole.

    !!! example
        `scl.data.save(scl.data.burgers("tiny"), "burgers.nc")`
    """
    space, path = space_of("save", dataset, "`dataset`"), checks.folder("save", "path", path)
    coords = {name: dataset[name].values for name in ("sample", "t", *space)}
    dims = {"input": ("sample", *space), "solution": ("sample", "t", *space)}
    attrs = _storable("save", dataset.attrs)
    samples = dataset.sizes["sample"]
    step = max(1, PIECE // max(1, dataset["solution"].nbytes // max(1, samples)))
    variables = {name: (order, dataset[name].dtype) for name, order in dims.items()}
    with replaced(path) as temporary, netcdf(temporary, variables, coords) as (noted, sinks):
        noted.update(attrs)
        for begin in range(0, samples, step):
            piece = slice(begin, begin + step)
            for name, order in dims.items():
                sinks[name][piece] = dataset[name].isel(sample=piece).transpose(*order).values
    return path


def open_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """A data set that `save` wrote. Its arrays are read from the file when they are sliced, and then compared with
    their checksums. Other netCDF files of the same layout have none.

    !!! example
        `scl.data.open_dataset("burgers.nc")`
    """
    path = Path(path)
    require("open_dataset", "h5netcdf", "data")
    regular("open_dataset", path)
    if not is_hdf5(path):
        raise ValueError(f"open_dataset: {str(path)!r} is no netCDF 4 file. Files of other formats are for `read`.")
    file = None
    try:
        file, sealed = _seals.opened(path)
        dataset = _ours(path, file) if sealed else _foreign(path, file)
        space_of("open_dataset", dataset, repr(str(path)))
    except Exception as error:  # h5py, h5netcdf and xarray have many kinds for what is wrong with a file
        if file:
            file.close()
        if isinstance(error, ValueError) and repr(str(path)) in str(error):
            raise
        raise ValueError(
            f"open_dataset: {str(path)!r} is damaged or no netCDF file ({error}). Save it anew."
        ) from error
    return dataset


def _ours(path: Path, file: Any) -> xr.Dataset:
    found = _seals.contents(path, file)
    space = ("x", "y")[: found["input"].ndim - 1]
    dims = {"input": ("sample", *space), "solution": ("sample", "t", *space)}
    coords = {name: found[name].read() for name in ("sample", "t", *space)}
    dataset = xr.Dataset(
        {name: (order, found[name].kept()) for name, order in dims.items()}, coords, _seals.attributes(file)
    )
    dataset.set_close(file.close)
    return dataset


def _foreign(path: Path, file: Any) -> xr.Dataset:
    keeps_to_itself(path, file)
    file.close()
    # Without `phony_dims`, a foreign HDF5 file gives a warning instead of the error for the layout.
    dataset = xr.open_dataset(path, engine="h5netcdf", phony_dims="access", cache=False)
    guarded = {}
    for name, v in dataset.variables.items():
        if not v._in_memory:
            stored = Stored(path, str(name), Guarded(path, str(name), v), finite=False)
            guarded[name] = xr.Variable(v.dims, stored.kept(), v.attrs, v.encoding)
    coords = {name: guarded.pop(name) for name in list(guarded) if name in dataset.coords}
    result = dataset.assign(guarded).assign_coords(coords)
    result.set_close(dataset.close)
    return result


def space_of(owner: str, dataset: xr.Dataset, what: str) -> tuple[str, ...]:
    """The spatial dimensions of a data set in the library's layout."""
    found = ", ".join(f"`{name}` {tuple(map(str, v.dims))}" for name, v in dataset.data_vars.items()) or "nothing"
    remedy = "Name the variables and dimensions so: `input` (sample, x[, y]), `solution` (sample, t, x[, y])."
    missing = [name for name in ("input", "solution") if name not in dataset.data_vars]
    if missing:
        raise ValueError(f"{owner}: {what} has no variable {checks.listed(missing)}; it has {found}. {remedy}")
    space = tuple(str(name) for name in dataset["input"].dims if name != "sample")
    expected = {"input": {"sample", *space}, "solution": {"sample", "t", *space}}
    if any(set(dataset[name].dims) != dims for name, dims in expected.items()) or space not in (("x",), ("x", "y")):
        raise ValueError(f"{owner}: {what} has {found}. {remedy}")
    absent = [name for name in ("sample", "t", *space) if name not in dataset.coords]
    if absent:
        raise ValueError(f"{owner}: {what} has no coordinate {checks.listed(absent)}. Add it with `assign_coords`.")
    return space
