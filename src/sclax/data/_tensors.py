"""Arrays in the files of `torch.save`, without torch and without running anything.

A pickle is a program that may call whatever it names. Here the names it may use are a fixed list, and each stands for
a function of this module that only builds arrays.
"""

import io
import math
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Below this, an entry is read whole, and the archive's own checksum with it; above, it is mapped into memory.
MAPPED = 2**26
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


class Refused(pickle.UnpicklingError):
    """Something in the pickle is not needed to hold arrays."""


class _Name:
    """What a name of the allow-list stands for. Frozen, so that a pickle cannot change it for the next one."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., Any]):
        object.__setattr__(self, "make", make)

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused("it tries to change the reader")

    def __setstate__(self, state: Any) -> None:
        raise Refused("it tries to change the reader")

    def __call__(self, *args: Any) -> Any:
        return self.make(*args)


class _Storage(_Name):
    """The name of a type of storage: it stands in references to storages, and is never called."""

    __slots__ = ("dtype",)

    def __init__(self, code: str):
        super().__init__(lambda *_: _refuse("it makes a storage by hand"))
        object.__setattr__(self, "dtype", np.dtype(code))


class _Pending:
    """An object that a pickle makes in two steps: `build` is called with the state that comes second."""

    __slots__ = ("_build", "value")

    def __init__(self, build: Callable[[Any], Any], value: Any = None):
        self._build, self.value = build, value

    def __setstate__(self, state: Any) -> None:
        self.value = self._build(state)


def _refuse(reason: str) -> Any:
    raise Refused(reason)


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, tuple) or any(type(v) is not int or v < 0 for v in values):
        raise Refused(f"{values!r:.40} are no sizes")
    return values


def _dtype(code: Any, *_: Any) -> _Pending:
    if not isinstance(code, str) or code[:1] not in "biufc" or not code[1:].isdigit():
        raise Refused(f"it holds numpy values of type {code!r:.20}, not numbers")

    def ordered(state: Any) -> np.dtype:
        order = state[1]
        return np.dtype(code).newbyteorder(order if order in ("<", ">") else "=")

    return _Pending(ordered, np.dtype(code))


def _ndarray(*_: Any) -> _Pending:
    def filled(state: Any) -> np.ndarray:
        _version, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Pending) or not isinstance(raw, bytes):
            raise Refused("it holds a numpy array of something other than numbers")
        flat, shape = np.frombuffer(raw, dtype.value), _integers(shape)
        if flat.size != math.prod(shape):
            raise Refused(f"a numpy array of shape {shape} has {flat.size} values")
        return flat.reshape(shape, order="F" if fortran else "C")

    return _Pending(filled)


def _scalar(dtype: Any, raw: Any) -> Any:
    if not isinstance(dtype, _Pending) or not isinstance(raw, bytes):
        raise Refused("it holds a numpy scalar of something other than a number")
    return np.frombuffer(raw, dtype.value)[0]


def _encoded(text: Any, encoding: Any) -> bytes:
    # How protocol 2 writes bytes.
    if encoding != "latin1" or not isinstance(text, str):
        raise Refused(f"bytes in the encoding {encoding!r:.20}")
    return text.encode("latin1")


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


def _names() -> dict[tuple[str, str], Any]:
    names: dict[tuple[str, str], Callable[..., Any]] = {
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("collections", "OrderedDict"): lambda *items: OrderedDict(*items),
        ("_codecs", "encode"): _encoded,
        ("numpy", "dtype"): _dtype,
        ("numpy", "ndarray"): lambda *_: _refuse("it makes a numpy array by hand"),
    }
    for package in ("numpy.core", "numpy._core"):
        names[f"{package}.multiarray", "_reconstruct"] = _ndarray
        names[f"{package}.multiarray", "scalar"] = _scalar
    storages = {("torch", name): _Storage(code) for name, code in STORAGES.items()}
    return {key: _Name(make) for key, make in names.items()} | storages


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, storage: Callable[[str, np.dtype, int], np.ndarray]):
        super().__init__(file)
        self._storage, self._names = storage, _names()

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._names:
            raise Refused(f"it asks for `{module}.{name}`, which is no array")
        return self._names[module, name]

    def persistent_load(self, pid: Any) -> np.ndarray:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[1], _Storage)):
            raise Refused(f"it refers to {pid!r:.60}, which is no storage of numbers")
        _, storage, key, _location, numel = pid
        return self._storage(str(key), storage.dtype, *_integers((numel,)))


def tensors(path: Path, archive: zipfile.ZipFile) -> Any:
    """What `torch.save` was given, with arrays for tensors. Raises UnpicklingError, BadZipFile or KeyError."""
    (index,) = [name for name in archive.namelist() if name == "data.pkl" or name.endswith("/data.pkl")]
    folder = index.removesuffix("data.pkl")
    big = f"{folder}byteorder" in archive.namelist() and archive.read(f"{folder}byteorder") == b"big"

    def storage(key: str, dtype: np.dtype, numel: int) -> np.ndarray:
        entry = archive.getinfo(f"{folder}data/{key}")
        dtype = dtype.newbyteorder(">" if big else "<")
        if entry.file_size != numel * dtype.itemsize:
            raise Refused(f"storage {key!r} has {entry.file_size} bytes for {numel} values of type {dtype}")
        if entry.file_size <= MAPPED or entry.compress_type != zipfile.ZIP_STORED:
            return np.frombuffer(archive.read(entry), dtype)
        with open(path, "rb") as file:
            # The data begin behind the entry's own header of 30 bytes, its name and its extra field.
            file.seek(entry.header_offset)
            signature, name, extra = struct.unpack("<4s22xHH", file.read(30))
            if signature != b"PK\x03\x04":
                raise zipfile.BadZipFile(f"no entry where {entry.filename} should be")
            begin = entry.header_offset + 30 + name + extra
        return np.memmap(path, dtype, "r", begin, (numel,))

    return _finished(_Unpickler(io.BytesIO(archive.read(index)), storage).load())


def _finished(value: Any) -> Any:
    if isinstance(value, _Pending):
        return value.value
    if isinstance(value, dict):
        return {str(key): _finished(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finished(item) for item in value]
    return value
