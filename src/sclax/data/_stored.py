"""Arrays that stay in their file until they are sliced."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from ._hdf5 import Guarded, fits, held, member, subgroup, told

Key = tuple[int | slice | np.ndarray, ...]


class Stored(BackendArray):
    """An array of a file. Its axis i is axis `axes[i]` of `source`; the other axes of `source` are held at `fixed`.

    `source` has `shape`, `dtype` and slicing: an HDF5 dataset, a memory map, or a numpy array already read. What is
    sliced out of it must be `finite`, if not said otherwise, and no more than the file can hold.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        source: Any,
        axes: Sequence[int] | None = None,
        fixed: Mapping[int, int] | None = None,
        finite: bool = True,
    ):
        self.path, self.name, self.source, self.finite = path, name, source, finite
        self.axes = tuple(range(len(source.shape))) if axes is None else tuple(axes)
        self.fixed = dict(fixed or {})
        self.shape = tuple(int(source.shape[axis]) for axis in self.axes)
        self.dtype = np.dtype(source.dtype)

    def __repr__(self) -> str:
        return f"`{self.name}` {self.shape} {self.dtype}"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def in_memory(self) -> bool:
        return type(self.source) is np.ndarray

    def permuted(self, *order: int) -> "Stored":
        """Axis i of the result is axis `order[i]`."""
        return Stored(self.path, self.name, self.source, [self.axes[i] for i in order], self.fixed, self.finite)

    def at(self, axis: int, index: int) -> "Stored":
        """Without `axis`, which is held at `index`."""
        rest = [stored for i, stored in enumerate(self.axes) if i != axis]
        return Stored(self.path, self.name, self.source, rest, {**self.fixed, self.axes[axis]: index}, self.finite)

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
        if not self.in_memory:
            lengths = (
                len(range(*k.indices(n)) if isinstance(k, slice) else k)
                for n, k in zip(self.source.shape, full, strict=True)
            )
            fits(self.path, self.name, tuple(lengths), self.dtype)
        values = np.asarray(self.source[tuple(full)]).transpose(*self.axes, *self.fixed).squeeze(tuple(drop))
        bad = np.size(values) - np.count_nonzero(np.isfinite(values)) if self.finite else 0
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
        return xr.Variable(dims, self.read() if self.in_memory else indexing.LazilyIndexedArray(self))

    def kept(self) -> Any:
        """As data of xarray's own kind: read when sliced, kept when all of it was asked for, copied when written to."""
        kept: Any = indexing.MemoryCachedArray(indexing.LazilyIndexedArray(self))
        return indexing.CopyOnWriteArray(kept)


class Groups:
    """The datasets `name` of many HDF5 groups as one array, whose first axis counts the groups."""

    def __init__(self, path: Path, file: Any, groups: Sequence[str], name: str):
        self.path, self.file, self.groups, self.name = path, file, list(groups), name
        first = held(path, member(path, subgroup(path, file, self.groups[0]), name))
        self.shape, self.dtype = (len(self.groups), *first.shape), first.dtype

    def __getitem__(self, key: Key) -> np.ndarray:
        parts = []
        for i in np.arange(len(self.groups))[key[0]]:
            with told(self.path, f"{self.groups[i]}/{self.name}"):
                parts.append(self._part(self.groups[i])[key[1:]])
        empty = np.empty((0, *(len(np.arange(n)[k]) for n, k in zip(self.shape[1:], key[1:], strict=True))), self.dtype)
        return np.stack(parts) if parts else empty

    def _part(self, group: str) -> Guarded:
        inside = subgroup(self.path, self.file, group)
        found = None
        if self.name in inside:
            found = Guarded(self.path, f"{group}/{self.name}", held(self.path, member(self.path, inside, self.name)))
        if found is None or found.shape != self.shape[1:]:
            raise ValueError(
                f"read: group {group!r} of {str(self.path)!r} holds {found.shape if found else 'nothing'} as "
                f"`{self.name}`, but the first group {self.shape[1:]}. Get the file again, or leave this sample out."
            )
        return found


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
