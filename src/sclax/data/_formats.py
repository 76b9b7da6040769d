"""Files by their first bytes, as named arrays."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base import Damaged, Entries, array, checks, entries, regular, require
from . import _matlab, _seals
from ._hdf5 import AGAIN, broken, datasets, is_hdf5, readable, subgroup
from ._stored import Groups, Stored
from ._tensors import tensors

KNOWN = "MATLAB (.mat), HDF5 (.h5, .nc), numpy (.npz) and torch (.pt) files"
# What is compressed in a file of MATLAB 5 may take so many times its size, or so many bytes.
GROWS, LEAST = 8, 2**28


class Contents(NamedTuple):
    """The arrays of a file by name, what its attributes say that is needed, and whether it is HDF5."""

    path: Path
    arrays: dict[str, Stored]
    attrs: dict[str, Any]
    hdf5: bool = False

    def found(self) -> str:
        return ", ".join(map(str, self.arrays.values())) or "no arrays"


def contents(path: Path) -> Contents:
    """The arrays of a file, whose format its first bytes tell. HDF5 and large tensors stay in the file."""
    regular("read", path)
    with open(path, "rb") as file:
        head = file.read(512)
    if not head:
        raise ValueError(f"read: {str(path)!r} is empty. {AGAIN}")
    if is_hdf5(path):
        return _hdf5(path, head)
    # A MATLAB 5 file has its version and the order of its bytes in bytes 124 to 127.
    if head[124:128] in (b"\x00\x01IM", b"\x01\x00MI"):
        return _matlab5(path)
    if head.startswith(b"PK\x03\x04"):
        return _zip(path)
    raise ValueError(f"read: {str(path)!r} {_told(head)}")


def _told(head: bytes) -> str:
    """What a file is that cannot be read, and what to do about it."""
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html")):
        return "is a web page, not data: the download asked for something first. Download it in a browser."
    if text.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not data. Fetch the data with `git lfs pull`."
    if head.startswith(b"\x93NUMPY"):
        return "is a single numpy array. Save it with its input: np.savez(path, input=..., output=...)."
    if head[257:262] == b"ustar" or (head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")):
        return (
            "is a pickle, or a file of torch before 1.6, which cannot be read without running what is in it. If you "
            "trust it, save it anew: torch.save(torch.load(path, weights_only=False), new_path) in torch 1.6 or later."
        )
    return f"begins with {head[:8]!r}, which is no format that can be read. There are readers for {KNOWN}."


def numbers(path: Path, arrays: Iterable[tuple[str, Any]]) -> dict[str, Stored]:
    """Those of the arrays that hold numbers."""
    return {name: Stored(path, name, a) for name, a in arrays if np.dtype(a.dtype).kind in "biufc"}


def _matlab5(path: Path) -> Contents:
    raw = path.read_bytes()
    try:
        found = _matlab.arrays(raw, max(LEAST, GROWS * len(raw)))
    except ValueError as error:
        raise broken(path, "MATLAB 5 file", error) from error
    return Contents(path, numbers(path, found.items()), {})


def _hdf5(path: Path, head: bytes) -> Contents:
    require("read", "h5py", "data")
    try:
        file, sealed = _seals.opened(path)
        if sealed:
            return Contents(path, _seals.contents(path, file), _seals.attributes(file), hdf5=True)
        groups = sorted(name for name in file if name.isdecimal())
        if groups and "data" in subgroup(path, file, groups[0]):
            return _pdebench(path, file, groups)
        found = dict(datasets(path, file))
        arrays = numbers(path, found.items())
        if head.startswith(b"MATLAB 7.3") or any("MATLAB_class" in array.dataset.attrs for array in found.values()):
            # MATLAB counts axes from the other end.
            arrays = {name: array.permuted(*reversed(range(array.ndim))) for name, array in arrays.items()}
        return Contents(path, arrays, {}, hdf5=True)
    except Exception as error:  # h5py has many kinds for what HDF5 reports
        if str(error).startswith("read: "):
            raise
        raise broken(path, "HDF5 file", error) from error


def _pdebench(path: Path, file: Any, groups: list[str]) -> Contents:
    first = readable(path, subgroup(path, file, groups[0]))
    grid = datasets(path, subgroup(path, first, "grid"), "grid/") if "grid" in first else ()
    arrays = numbers(path, [("data", Groups(path, file, groups, "data")), *grid])
    return Contents(path, arrays, {"config": first.attrs.get("config")}, hdf5=True)


def _zip(path: Path) -> Contents:
    try:
        with entries(path) as archive:
            names = archive.names
            if sum(name == "data.pkl" or name.endswith("/data.pkl") for name in names) == 1:
                return Contents(path, _torch(path, archive), {})
            if names and all(name.endswith(".npy") for name in names):
                found = ((name.removesuffix(".npy"), array(archive.read(name))) for name in names)
                return Contents(path, numbers(path, found), {})
    except Damaged as error:
        raise ValueError(
            f"read: {str(path)!r} is damaged, or no archive of numbers (.npz or .pt): {error}. Get the file again, or "
            "save it anew as arrays of numbers."
        ) from error
    raise ValueError(
        f"read: {str(path)!r} is a zip archive of {checks.listed(names[:5])}, neither .npz nor .pt. "
        "Unpack it and read the files inside."
    )


def _torch(path: Path, archive: Entries) -> dict[str, Stored]:
    try:
        return numbers(path, tensors(path, archive))
    except Exception as error:  # a hostile or damaged pickle may fail in any way
        raise ValueError(
            f"read: {str(path)!r} is a .pt file that is damaged or holds more than arrays: {error}. Nothing in it was "
            "run. If you trust it, save its tensors anew: torch.save({'input': ..., 'output': ...}, path)."
        ) from error
