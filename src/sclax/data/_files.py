"""Data sets as netCDF files: written whole or not at all, read when they are sliced."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._base import checks, replaced, require
from ._formats import is_hdf5

# Samples are copied in pieces of about this many bytes.
PIECE = 2**25


@contextlib.contextmanager
def netcdf(
    path: Path, variables: Mapping[str, tuple[tuple[str, ...], Any]], coords: Mapping[str, Any]
) -> Iterator[Any]:
    """A new netCDF file with `coords` filled in and `variables`, given as (dims, dtype), to be filled by slices."""
    h5netcdf = require("save", "h5netcdf", "data")
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {name: len(values) for name, values in coords.items()}
        for name, values in coords.items():
            file.create_variable(name, (name,), data=np.asarray(values))
        for name, (dims, dtype) in variables.items():
            file.create_variable(name, dims, dtype)
        yield file


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
    """Writes a data set as netCDF, some samples at a time. An old file at `path` stays until the new one is whole."""
    space, path = space_of("save", dataset, "`dataset`"), checks.folder("save", "path", path)
    coords = {name: dataset[name].values for name in ("sample", "t", *space)}
    dims = {"input": ("sample", *space), "solution": ("sample", "t", *space)}
    attrs = _storable("save", dataset.attrs)
    samples = dataset.sizes["sample"]
    step = max(1, PIECE // max(1, dataset["solution"].nbytes // max(1, samples)))
    variables = {name: (order, dataset[name].dtype) for name, order in dims.items()}
    with replaced(path) as temporary, netcdf(temporary, variables, coords) as file:
        file.attrs.update(attrs)
        for begin in range(0, samples, step):
            piece = slice(begin, begin + step)
            for name, order in dims.items():
                file[name][piece] = dataset[name].isel(sample=piece).transpose(*order).values
    return path


def open_dataset(path: str | os.PathLike[str]) -> xr.Dataset:
    """A data set that `save` wrote. Its arrays are read from the file when they are sliced."""
    path = Path(path)
    require("open_dataset", "h5netcdf", "data")
    if not path.is_file():
        raise ValueError(f"open_dataset: there is no file {str(path)!r}. Check the path.")
    with open(path, "rb") as file:
        if not is_hdf5(file):
            raise ValueError(f"open_dataset: {str(path)!r} is no netCDF 4 file. Files of other formats are for `read`.")
    try:
        # Without `phony_dims`, a foreign HDF5 file gives a warning instead of the error below.
        dataset = xr.open_dataset(path, engine="h5netcdf", phony_dims="access")
    except Exception as error:  # HDF5 reports damage by many kinds of exception
        raise ValueError(
            f"open_dataset: {str(path)!r} is damaged or no netCDF file ({error}). Save it anew."
        ) from error
    try:
        space_of("open_dataset", dataset, repr(str(path)))
    except ValueError:
        dataset.close()
        raise
    return dataset


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
