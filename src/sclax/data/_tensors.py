"""Arrays in the files of `torch.save`, without torch and without running anything.

The names that the pickle of such a file may use are a fixed list, and each stands for a function of this module that
only builds arrays.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .._base import Entries, size_text
from ._pickles import Name, Pending, Refused, dictionary, load, short

# Below this, an entry is read whole, and the archive's own checksum with it; above, it is mapped into memory.
MAPPED = 2**26
# A tree of arrays may have so many nodes, and branch so often from its root on.
NODES, DEPTH = 20_000, 20
HUGE = 2**63
STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "b1",
    "ComplexFloatStorage": "c8",
    "ComplexDoubleStorage": "c16",
}


class _Storage(Name):
    """The name of a type of storage: it stands in references to storages, and is never called."""

    __slots__ = ("dtype",)

    def __init__(self, code: str):
        super().__init__(lambda *_: _refuse("it makes a storage by hand"))
        self.dtype = np.dtype(code)


def _refuse(reason: str) -> Any:
    raise Refused(reason)


def _integers(values: Any) -> tuple[int, ...]:
    if (
        not isinstance(values, tuple)
        or len(values) > 64
        or any(type(v) is not int or not 0 <= v < HUGE for v in values)
    ):
        raise Refused(f"{short(values)} are no sizes")
    return values


def _dtype(code: Any, *_: Any) -> Pending:
    if not isinstance(code, str) or code[:1] not in "biufc" or not code[1:].isdigit():
        raise Refused(f"it holds numpy values of type {short(code)}, not numbers")

    def ordered(state: Any) -> np.dtype:
        order = state[1]
        return np.dtype(code).newbyteorder(order if order in ("<", ">") else "=")

    return Pending(ordered, np.dtype(code))


def _ndarray(*_: Any) -> Pending:
    def filled(state: Any) -> np.ndarray:
        _version, shape, dtype, fortran, raw = state
        if not isinstance(dtype, Pending) or not isinstance(raw, bytes):
            raise Refused("it holds a numpy array of something other than numbers")
        flat, shape = np.frombuffer(raw, dtype.value), _integers(shape)
        if flat.size != math.prod(shape):
            raise Refused(f"a numpy array of shape {shape} has {flat.size} values")
        return flat.reshape(shape, order="F" if fortran else "C")

    return Pending(filled)


def _scalar(dtype: Any, raw: Any) -> Any:
    if not isinstance(dtype, Pending) or not isinstance(raw, bytes):
        raise Refused("it holds a numpy scalar of something other than a number")
    return np.frombuffer(raw, dtype.value)[0]


def _encoder() -> Callable[[Any, Any], bytes]:
    """How protocol 2 writes bytes: as text that is to be encoded."""
    once = cache(lambda text: text.encode("latin1"))  # one text may be encoded again and again

    def encoded(text: Any, encoding: Any) -> bytes:
        if encoding != "latin1" or not isinstance(text, str):
            raise Refused(f"bytes in the encoding {short(encoding)}")
        return once(text)

    return encoded


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> np.ndarray:
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise Refused("it holds a tensor without storage")
    size, stride = _integers(size), _integers(stride)
    (offset,) = _integers((offset,))
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if math.prod(size) > storage.size or (math.prod(size) and last >= storage.size):
        raise Refused(
            f"a tensor of shape {size} lies outside its storage of {storage.size} values, or is an expanded one: "
            "save `tensor.contiguous()`"
        )
    steps = tuple(s * storage.itemsize for s in stride)
    # `subok` keeps a memory map one, so that it is not read before it is sliced.
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, subok=True, writeable=False)


def _names() -> dict[tuple[str, str], Name]:
    names: dict[tuple[str, str], Callable[..., Any]] = {
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("collections", "OrderedDict"): dictionary,
        ("_codecs", "encode"): _encoder(),
        ("numpy", "dtype"): _dtype,
        ("numpy", "ndarray"): lambda *_: _refuse("it makes a numpy array by hand"),
    }
    for package in ("numpy.core", "numpy._core"):
        names[f"{package}.multiarray", "_reconstruct"] = _ndarray
        names[f"{package}.multiarray", "scalar"] = _scalar
    storages = {("torch", name): _Storage(code) for name, code in STORAGES.items()}
    return {key: Name(make) for key, make in names.items()} | storages


def tensors(path: Path, archive: Entries) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays and numbers in what `torch.save` was given, by name. A file that is damaged or hostile may raise any
    exception."""
    (index,) = [name for name in archive.names if name == "data.pkl" or name.endswith("/data.pkl")]
    folder = index.removesuffix("data.pkl")
    big = f"{folder}byteorder" in archive.names and archive.read(f"{folder}byteorder") == b"big"

    @cache  # many tensors may lie in one storage
    def storage(key: str, dtype: np.dtype, numel: int) -> np.ndarray:
        entry = f"{folder}data/{key}"
        size, dtype = archive.size(entry), dtype.newbyteorder(">" if big else "<")
        if size != numel * dtype.itemsize:
            raise Refused(f"storage {key!r} has {size} bytes for {numel} values of type {dtype}")
        begin = archive.place(entry)
        if size <= MAPPED or begin is None:
            return np.frombuffer(archive.read(entry), dtype)
        return np.memmap(path, dtype, "r", begin, (numel,))

    def referred(pid: Any) -> np.ndarray:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[1], _Storage)):
            raise Refused(f"it refers to {short(pid)}, which is no storage of numbers")
        _, kind, key, _location, numel = pid
        if not isinstance(key, str):
            raise Refused(f"it has a storage {short(key)}, which is no name")
        return storage(key, kind.dtype, *_integers((numel,)))

    value = load(archive.read(index), _names(), referred)
    return _Walk(archive.most).leaves(path.stem, value)


class _Walk:
    """Through a tree whose branches may be one and the same, or themselves again: so many nodes and bytes, no more."""

    def __init__(self, most: int):
        self.most, self.nodes, self.bytes = most, 0, 0

    def leaves(self, name: str, value: Any, inside: str = "", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays and numbers of a tree; an array that is the whole file takes the file's name."""
        self.nodes += 1
        if self.nodes > NODES or depth > DEPTH:
            raise Refused(f"it holds more than {NODES} values, or nests them more than {DEPTH} deep")
        if isinstance(value, Pending):
            value = value.value
        if isinstance(value, list | tuple):
            self._count(8 * len(value))
            if value and all(isinstance(v, int | float) for v in value):
                value = np.asarray(value)
        if isinstance(value, np.ndarray):
            self._count(value.nbytes)
            yield name, value
        elif isinstance(value, bool | int | float | np.number):
            if np.isfinite(value):
                yield name, np.asarray(value)
        elif isinstance(value, dict | list | tuple):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in items:
                yield from self.leaves(f"{inside}{key}", item, f"{inside}{key}/", depth + 1)

    def _count(self, size: int) -> None:
        self.bytes += size
        if self.bytes > self.most:
            raise Refused(f"its arrays would take more than {size_text(self.most)}, many times its size")
