"""Arrays in files of MATLAB 5 to 7: what is needed of them to read numbers, with every size checked before it is used.

A file is a row of elements, each a tag (type, bytes) and its data, padded to 8 bytes. An array is an element that holds
others: flags, dimensions, name, numbers. Structs, cells, text and sparse arrays are left out.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._base import size_text

HEADER = 128
ARRAY, COMPRESSED, INT32, UINT32 = 14, 15, 5, 6
# How numbers are stored, by the type of their element, and what they are meant to be, by the class of the array.
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX, LOGICAL = 0x800, 0x200
MOST_AXES = 64


class Broken(ValueError):
    """Why the bytes are no MATLAB file; the caller adds the file's name."""


class Element(NamedTuple):
    kind: int
    data: memoryview


def arrays(raw: bytes, most: int) -> dict[str, np.ndarray]:
    """The numeric arrays of a file by name; they, and what is inflated of it, may take `most` bytes each."""
    order = "<" if raw[126:128] == b"IM" else ">"
    found: dict[str, np.ndarray] = {}
    inflated = taken = 0
    for element in _elements(memoryview(raw)[HEADER:], order):
        if element.kind == COMPRESSED:
            plain = _inflated(element.data, most - inflated)
            inflated += len(plain)
            (element,) = _elements(memoryview(plain), order)
        if element.kind == ARRAY:
            for name, value in _array(element.data, order, most - taken):
                taken += value.nbytes
                found[name] = value
    return found


def _elements(data: memoryview, order: str) -> Iterator[Element]:
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise Broken(f"{len(data) - at} bytes where an element should begin")
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind >> 16:
            # Up to four bytes stand in the tag itself.
            kind, size, begin = kind & 0xFFFF, kind >> 16, at + 4
            at += 8
            room = 4
        else:
            begin, room = at + 8, len(data) - at - 8
            # What is compressed is not padded; and the last element may lack its padding.
            at = begin + (size if kind == COMPRESSED else -(-size // 8) * 8)
        if size > room:
            raise Broken(f"an element of {size} bytes, where {room} are left")
        yield Element(kind, data[begin : begin + size])


def _inflated(data: memoryview, most: int) -> bytes:
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, most + 1)
    except zlib.error as error:
        raise Broken(str(error)) from error
    if len(plain) > most:
        raise Broken(f"what is compressed in it takes more than {size_text(most)} of memory")
    if not inflate.eof or inflate.unused_data:
        raise Broken("something compressed that ends too early, or too late")
    return plain


def _array(data: memoryview, order: str, most: int) -> Iterator[tuple[str, np.ndarray]]:
    """The array with its name, if it holds numbers and is not one of MATLAB's own, which have no name."""
    parts = _elements(data, order)
    flags, dims, name = (next(parts, None) for _ in range(3))
    if flags is None or flags.kind != UINT32 or len(flags.data) != 8:
        raise Broken("an array without flags")
    (flag,) = struct.unpack_from(f"{order}I", flags.data)
    if flag & 0xFF not in CLASSES:
        return
    if dims is None or dims.kind != INT32 or len(dims.data) % 4 or not 8 <= len(dims.data) <= 4 * MOST_AXES:
        raise Broken("an array without dimensions")
    if name is None or name.kind not in STORED:
        raise Broken("an array without a name")
    shape = struct.unpack(f"{order}{len(dims.data) // 4}i", dims.data)
    dtype = np.dtype(bool if flag & LOGICAL else CLASSES[flag & 0xFF])
    count = 2 if flag & COMPLEX else 1
    if count * math.prod(shape) * dtype.itemsize > most:
        raise Broken(f"an array of shape {shape} and more than {size_text(most)} of memory")
    with np.errstate(all="ignore"):  # of numbers that damage has made too large for their class
        values = [_numbers(part, shape, order).astype(dtype) for part in parts]
    if len(values) != count:
        raise Broken(f"an array of {len(values)} parts where {count} are needed")
    value = values[0] if count == 1 else values[0] + 1j * values[1]
    if name.data:
        yield bytes(name.data).decode("latin1"), value.reshape(shape, order="F")


def _numbers(part: Element, shape: tuple[int, ...], order: str) -> np.ndarray:
    """Numbers, which MATLAB stores in the smallest type that holds them all."""
    if part.kind not in STORED:
        raise Broken(f"numbers of type {part.kind}, which there is not")
    dtype = np.dtype(f"{order}{STORED[part.kind]}")
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize != len(part.data):
        raise Broken(f"an array of shape {shape} with {len(part.data)} bytes of {dtype} numbers")
    return np.frombuffer(part.data, dtype) if part.data else np.empty(0, dtype)
