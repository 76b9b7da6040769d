"""Arrays that stay in their file until they are sliced."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

Key = tuple[int | slice | np.ndarray, ...]


class Stored(BackendArray):
    """An array of a file. Its axis i is axis `axes[i]` of `source`; the other axes of `source` are held at `fixed`.

    `source` has `shape`, `dtype` and slicing: an HDF5 dataset, a memory map, or a numpy array already read. What is
    sliced out of it must be finite.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        source: Any,
        axes: Sequence[int] | None = None,
        fixed: Mapping[int, int] | None = None,
    ):
        self.path, self.name, self.source = path, name, source
        self.axes = tuple(range(len(source.shape))) if axes is None else tuple(axes)
        self.fixed = dict(fixed or {})
        self.shape = tuple(int(source.shape[axis]) for axis in self.axes)
        self.dtype = np.dtype(source.dtype)

    def __repr__(self) -> str:
        return f"`{self.name}` {self.shape} {self.dtype}"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def permuted(self, *order: int) -> "Stored":
        """Axis i of the result is axis `order[i]`."""
        return Stored(self.path, self.name, self.source, [self.axes[i] for i in order], self.fixed)

    def at(self, axis: int, index: int) -> "Stored":
        """Without `axis`, which is held at `index`."""
        rest = [stored for i, stored in enumerate(self.axes) if i != axis]
        return Stored(self.path, self.name, self.source, rest, {**self.fixed, self.axes[axis]: index})

    def read(self, *key: int | slice | np.ndarray) -> np.ndarray:
        """The slice, in memory; at most one entry may be an array of increasing indices. Without a key, all of it."""
        full: list[Any] = [slice(None)] * len(self.source.shape)
        for axis, index in self.fixed.items():
            full[axis] = slice(index, index + 1)
        drop = [len(self.axes) + i for i in range(len(self.fixed))]
        for i, entry in enumerate(key):
            if isinstance(entry, int | np.integer):
                entry = int(entry) + (self.shape[i] if entry < 0 else 0)
                drop.append(i)
                entry = slice(entry, entry + 1)
            full[self.axes[i]] = entry
        values = np.asarray(self.source[tuple(full)]).transpose(*self.axes, *self.fixed).squeeze(tuple(drop))
        bad = np.size(values) - np.count_nonzero(np.isfinite(values))
        if bad:
            raise ValueError(
                f"read: `{self.name}` of {str(self.path)!r} holds {bad} NaN or infinite values among {values.size} "
                "that were read. Leave their samples out with `dataset.isel(sample=...)`, or get the file again."
            )
        return values

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER_1VECTOR, lambda k: self.read(*k)
        )

    def variable(self, dims: Sequence[str]) -> xr.Variable:
        """As a variable of xarray: read at once if it is in memory anyway, else when it is sliced."""
        in_memory = type(self.source) is np.ndarray
        return xr.Variable(dims, self.read() if in_memory else indexing.LazilyIndexedArray(self))


class Groups:
    """The datasets `member` of many HDF5 groups as one array, whose first axis counts the groups."""

    def __init__(self, path: Path, file: Any, names: Sequence[str], member: str):
        self.path, self.file, self.names, self.member = path, file, list(names), member
        first = file[self.names[0]][member]
        self.shape, self.dtype = (len(self.names), *first.shape), first.dtype

    def __getitem__(self, key: Key) -> np.ndarray:
        chosen = np.arange(len(self.names))[key[0]]
        parts = []
        for i in chosen:
            group = self.file[self.names[i]]
            if self.member not in group or group[self.member].shape != self.shape[1:]:
                found = group[self.member].shape if self.member in group else "nothing"
                raise ValueError(
                    f"read: group {self.names[i]!r} of {str(self.path)!r} holds {found} as `{self.member}`, but the "
                    f"first group {self.shape[1:]}. Get the file again, or leave this sample out."
                )
            parts.append(group[self.member][key[1:]])
        empty = np.empty((0, *(len(np.arange(n)[k]) for n, k in zip(self.shape[1:], key[1:], strict=True))), self.dtype)
        return np.stack(parts) if parts else empty


class FirstFrame:
    """`solution` (sample, t, …) with `start` (sample, …) as its frame 0."""

    def __init__(self, start: Stored, solution: Stored):
        self.start, self.solution = start, solution
        self.shape, self.dtype = solution.shape, solution.dtype

    def __getitem__(self, key: Key) -> np.ndarray:
        values = np.array(self.solution.read(*key))
        (first,) = np.nonzero(np.arange(self.shape[1])[key[1]] == 0)
        if first.size:
            values[:, first[0]] = self.start.read(key[0], *key[2:])
        return values
