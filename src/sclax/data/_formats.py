"""Files by their first bytes, as named arrays."""

import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.io

from .._base import checks, require
from ._stored import Groups, Stored
from ._tensors import tensors

HDF5 = b"\x89HDF\r\n\x1a\n"
KNOWN = "MATLAB (.mat), HDF5 (.h5, .nc), numpy (.npz) and torch (.pt) files"
AGAIN = "Get the file again."


class Contents(NamedTuple):
    """The arrays of a file by name, and its attributes (of PDEBench: those of the first group)."""

    path: Path
    arrays: dict[str, Stored]
    attrs: dict[str, Any]

    def found(self) -> str:
        return ", ".join(map(str, self.arrays.values())) or "no arrays"


def damaged(path: Path, what: str, error: Exception | str) -> ValueError:
    return ValueError(f"read: {str(path)!r} is a damaged or truncated {what} ({error}). {AGAIN}")


def contents(path: Path) -> Contents:
    """The arrays of a file, whose format its first bytes tell. HDF5 and large tensors stay in the file."""
    if not path.is_file():
        raise ValueError(f"read: there is no file {str(path)!r}. Check the path.")
    with open(path, "rb") as file:
        head = file.read(512)
        if not head:
            raise ValueError(f"read: {str(path)!r} is empty. {AGAIN}")
        if is_hdf5(file):
            return _hdf5(path, head)
    # A MATLAB 5 file has its version and the order of its bytes in bytes 124 to 127.
    if head[124:128] in (b"\x00\x01IM", b"\x01\x00MI"):
        return _matlab(path)
    if head.startswith(b"PK\x03\x04"):
        return _zip(path)
    raise ValueError(f"read: {str(path)!r} {_told(head)}")


def is_hdf5(file: Any) -> bool:
    """Whether HDF5's signature stands at byte 0, 512, 1024, 2048, … (MATLAB writes 512 bytes of its own before it)."""
    size = file.seek(0, 2)
    begin = 0
    while begin < size:
        file.seek(begin)
        if file.read(8) == HDF5:
            return True
        begin = max(512, 2 * begin)
    return False


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
    # HDF5 has datasets without a shape, for MATLAB's empty values.
    held = ((name, a) for name, a in arrays if a.shape is not None and np.dtype(a.dtype).kind in "biufc")
    return {name: Stored(path, name, a) for name, a in held}


def _matlab(path: Path) -> Contents:
    try:
        found = scipy.io.loadmat(path)
    except Exception as error:  # scipy reports damage by many kinds of exception
        raise damaged(path, "MATLAB 5 file", error) from error
    arrays = [(name, a) for name, a in found.items() if isinstance(a, np.ndarray)]
    return Contents(path, numbers(path, arrays), {})


def _hdf5(path: Path, head: bytes) -> Contents:
    h5py = require("read", "h5py", "data")
    try:
        file = h5py.File(path, "r")
        names = list(file)
        groups = sorted(name for name in names if name.isdecimal())
        if groups and "data" in file[groups[0]]:
            return _pdebench(path, file, groups)
        datasets = [(name, file[name]) for name in names if isinstance(file[name], h5py.Dataset)]
        arrays = numbers(path, datasets)
        matlab = head.startswith(b"MATLAB 7.3") or any("MATLAB_class" in array.attrs for _, array in datasets)
        if matlab:
            # MATLAB counts axes from the other end.
            arrays = {name: array.permuted(*reversed(range(array.ndim))) for name, array in arrays.items()}
        return Contents(path, arrays, dict(file.attrs))
    except (OSError, KeyError, RuntimeError) as error:
        raise damaged(path, "HDF5 file", error) from error


def _pdebench(path: Path, file: Any, groups: list[str]) -> Contents:
    first = file[groups[0]]
    grid = [(f"grid/{name}", first["grid"][name]) for name in first.get("grid", ())]
    return Contents(path, numbers(path, [("data", Groups(path, file, groups, "data")), *grid]), dict(first.attrs))


def _zip(path: Path) -> Contents:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise damaged(path, "zip archive (.npz or .pt)", error) from error
    with archive:
        names = archive.namelist()
        if sum(name == "data.pkl" or name.endswith("/data.pkl") for name in names) == 1:
            return _torch(path, archive)
    if not names or not all(name.endswith(".npy") for name in names):
        raise ValueError(
            f"read: {str(path)!r} is a zip archive of {checks.listed(names[:5])}, neither .npz nor .pt. "
            "Unpack it and read the files inside."
        )
    try:
        with np.load(path, allow_pickle=False) as found:
            return Contents(path, numbers(path, [(name, found[name]) for name in found.files]), {})
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"read: {str(path)!r} holds an array of Python objects, which cannot be read without running what "
                "is in it. Save it anew as an array of numbers."
            ) from error
        raise damaged(path, ".npz file", error) from error
    except Exception as error:  # zlib.error, struct.error: damage inside an entry
        raise damaged(path, ".npz file", error) from error


def _torch(path: Path, archive: zipfile.ZipFile) -> Contents:
    try:
        value = tensors(path, archive)
    except Exception as error:  # a hostile or damaged pickle may fail in any way
        raise ValueError(
            f"read: {str(path)!r} is a .pt file that is damaged or holds more than arrays: {error}. Nothing in it was "
            "run. If you trust it, save its tensors anew: torch.save({'input': ..., 'output': ...}, path)."
        ) from error
    return Contents(path, numbers(path, _leaves(path.stem, value)), {})


def _leaves(name: str, value: Any, inside: str = "") -> Iterable[tuple[str, Any]]:
    """The arrays and numbers of a tree; an array that is the whole file takes the file's name."""
    if isinstance(value, list) and value and all(isinstance(v, int | float) for v in value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, bool | int | float | np.number):
        if math.isfinite(value):
            yield name, np.asarray(value)
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(f"{inside}{key}", item, f"{inside}{key}/")
