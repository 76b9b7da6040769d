"""HDF5 files that keep to themselves: what lies elsewhere is not followed, what they only claim is not allocated."""

import contextlib
import math
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._base import require, size_text

SIGNATURE = b"\x89HDF\r\n\x1a\n"
HEAP = b"GCOL\x01\0\0\0"
AGAIN = "Get the file again."
# What is read at once may take so many times the size of the file (fields that are mostly constant compress well), or
# so many bytes.
GROWS, LEAST = 50, 2**28
MOST_OBJECTS = 100_000


def is_hdf5(path: Path) -> bool:
    """Whether HDF5's signature stands at byte 0, 512, 1024, 2048, … (MATLAB writes 512 bytes of its own before it)."""
    with open(path, "rb") as file:
        size, begin = file.seek(0, 2), 0
        while begin < size:
            file.seek(begin)
            if file.read(8) == SIGNATURE:
                return True
            begin = max(512, 2 * begin)
    return False


def broken(path: Path, what: str, error: Exception | str) -> ValueError:
    return ValueError(f"read: {str(path)!r} is a damaged or truncated {what} ({error}). {AGAIN}")


def heaps_end(path: Path) -> None:
    """An error for what HDF5 (2.0 at least) would read for ever or make gigabytes of: in one of the heaps that hold
    texts and references an object that says it is free space of no size, or a reference to one that is said to be much
    longer than it is. Looked for in the first `LEAST` bytes."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        base = raw.find(SIGNATURE)  # from which addresses count
        for heap in _places(raw, HEAP):
            sizes = _objects(raw, heap)
            if sizes is None:
                raise broken(path, "HDF5 file", f"its heap at byte {heap} has no end")
            # A reference is a length, the heap's address, and the number of the object.
            for at in _places(raw, struct.pack("<Q", heap - base)):
                length, number = struct.unpack_from("<I8xI", raw[max(at - 4, 0) : at + 12].ljust(16))
                if length > LEAST and length > sizes.get(number, length):
                    raise broken(path, "HDF5 file", f"what is said to take {size_text(length)} takes {sizes[number]} B")


def _places(raw: mmap.mmap, pattern: bytes) -> Iterator[int]:
    at = raw.find(pattern, 0, LEAST)
    while at >= 0:
        yield at
        at = raw.find(pattern, at + 1, LEAST)


def _objects(raw: mmap.mmap, heap: int) -> dict[int, int] | None:
    """The sizes of the objects of a heap by number; None if there is no end to them."""
    sizes: dict[int, int] = {}
    at, end = heap + 16, min(len(raw), heap + struct.unpack_from("<Q", raw[heap : heap + 16].ljust(16), 8)[0])
    while end - at >= 16:
        number, size = struct.unpack_from("<H6xQ", raw, at)
        if number == size == 0:
            return None
        sizes[number] = size
        at += 16 + -(-size // 8) * 8 if number else size
    return sizes


def fits(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """An error before an array is read that the file cannot hold."""
    need, most = math.prod(shape) * dtype.itemsize, max(LEAST, GROWS * path.stat().st_size)
    if need > most:
        raise ValueError(
            f"read: `{name}` of {str(path)!r} would take {size_text(need)} of memory, but the file has "
            f"{size_text(path.stat().st_size)}: no more than {size_text(most)} are read of it at once. "
            f"Slice it before it is loaded, or get the file again."
        )


def member(path: Path, group: Any, name: str) -> Any:
    """What a group has under this name, in the file itself: links lead elsewhere, or round in circles."""
    h5py = require("read", "h5py", "data")
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink | h5py.SoftLink):
        target = f"{link.path!r} of {link.filename!r}" if isinstance(link, h5py.ExternalLink) else repr(link.path)
        raise ValueError(
            f"read: {name!r} in {str(path)!r} is a link to {target}, which is not followed. Copy the data into the "
            "file itself, or read the file that has them."
        )
    return group[name]


def subgroup(path: Path, group: Any, name: str) -> Any:
    found = member(path, group, name)
    if not isinstance(found, require("read", "h5py", "data").Group):
        raise ValueError(f"read: {name!r} in {str(path)!r} is no group of arrays. {AGAIN}")
    return found


def held(path: Path, dataset: Any) -> Any:
    """The dataset, if it is one, and its values lie in the file itself."""
    if not isinstance(dataset, require("read", "h5py", "data").Dataset) or dataset.shape is None:
        raise ValueError(f"read: {dataset.name!r} in {str(path)!r} is no array. {AGAIN}")
    elsewhere = [source.file_name for source in dataset.virtual_sources()] if dataset.is_virtual else []
    elsewhere += [entry[0] for entry in dataset.external or ()]
    if elsewhere or dataset.is_virtual:
        raise ValueError(
            f"read: the values of {dataset.name!r} in {str(path)!r} lie elsewhere ({', '.join(map(str, elsewhere[:3]))}"
            "), which is not followed. Copy the data into the file itself, or read the file that has them."
        )
    if dataset.chunks:
        fits(path, f"{dataset.name} (a piece of it)", dataset.chunks, dataset.dtype)
    return dataset


@contextlib.contextmanager
def told(path: Path, name: str) -> Iterator[None]:
    """What goes wrong inside is told with the file and the name."""
    try:
        yield
    except Exception as error:  # h5py has many kinds for what HDF5 reports
        if str(error).startswith("read: "):
            raise
        raise ValueError(
            f"read: `{name}` of {str(path)!r} cannot be read ({error}). It is damaged there. {AGAIN}"
        ) from error


class Guarded:
    """A dataset, or a variable of xarray, whose errors name it and the file."""

    def __init__(self, path: Path, name: str, dataset: Any):
        self.path, self.name, self.dataset = path, name, dataset
        self.shape, self.dtype = dataset.shape, dataset.dtype

    def __getitem__(self, key: Any) -> np.ndarray:
        with told(self.path, self.name):
            return np.asarray(self.dataset[key])


def datasets(path: Path, group: Any, inside: str = "") -> Iterator[tuple[str, Guarded]]:
    """The datasets of a group, one level of them, by name."""
    h5py = require("read", "h5py", "data")
    for name in group:
        found = member(path, group, name)
        # HDF5 has datasets without a shape, for MATLAB's empty values.
        if isinstance(found, h5py.Dataset) and found.shape is not None:
            yield f"{inside}{name}", Guarded(path, f"{inside}{name}", held(path, found))


VARIABLE_LENGTH = 9


def readable(path: Path, holder: Any) -> Any:
    """The group or variable, if HDF5 (2.0 at least) can read its attributes and live: of values of variable length
    there are sequences (0) and texts (1), and it does not ask whether a damaged type says something else."""
    for name in holder.attrs:
        kind = holder.attrs.get_id(name).get_type().encode()
        if kind[2] & 0xF == VARIABLE_LENGTH and kind[3] & 0xF > 1:
            raise broken(path, "HDF5 file", f"the attribute {name!r} has a type that there is not")
    return holder


def keeps_to_itself(path: Path, file: Any) -> None:
    """An error if anything in any group leads out of the file, for readers that follow whatever there is."""
    h5py = require("read", "h5py", "data")
    groups, seen = [readable(path, file)], set()
    while groups:
        group = groups.pop()
        for name in group:
            found = member(path, group, name)
            address = h5py.h5o.get_info(found.id).addr
            if address in seen:
                continue
            seen.add(address)
            readable(path, found)
            if len(seen) > MOST_OBJECTS:
                raise ValueError(f"read: {str(path)!r} has more than {MOST_OBJECTS} groups and variables. {AGAIN}")
            if isinstance(found, h5py.Group):
                groups.append(found)
            elif isinstance(found, h5py.Dataset) and len(held(path, found).shape or ()) == 1:
                fits(path, name, found.shape, found.dtype)  # coordinates are read at once
