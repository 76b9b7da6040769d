"""Zip archives of which nothing is believed: how large they get, what they are said to hold, that they are files."""

import contextlib
import io
import math
import os
import stat
import struct
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED, SIZES_FOLLOW, ELSEWHERE = 0x1, 0x8, 0xFFFFFFFF
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Of the text that begins an .npy, which numpy has Python parse: some 120 of it are needed.
HEADER_BYTES = 10_000


class Damaged(ValueError):
    """Something in an archive is not as it must be. Its text is the reason alone: the caller adds the file's name."""


@contextlib.contextmanager
def _judged() -> Iterator[None]:
    """What goes wrong inside, goes wrong because of the file."""
    try:
        yield
    except Damaged:
        raise
    except Exception as error:  # zipfile, zlib, struct and Python's parser have a dozen kinds for it
        raise Damaged(str(error) or type(error).__name__) from error


def size_text(size: float) -> str:
    """12 B, 3.4 GB: as people say it."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


def regular(owner: str, path: Path) -> None:
    """Nothing, if `path` is a file that ends; else an error, without opening it: a pipe would wait, a device go on."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = "" if isinstance(error, FileNotFoundError) else f" ({error})"
        raise ValueError(f"{owner}: there is no file {str(path)!r}{reason}. Check the path.") from None
    if stat.S_ISDIR(mode):
        raise ValueError(f"{owner}: {str(path)!r} is a folder, not a file. Give the path of a file in it.")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{owner}: {str(path)!r} is a pipe or device, not a file. Save what it gives to a file first.")


class Entries:
    """The entries of an open archive by name; together they take at most `most` bytes."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, most: int):
        self._path, self._archive, self.most = path, archive, most
        self._known = {entry.filename: entry for entry in archive.infolist()}
        if len(self._known) != len(archive.infolist()):
            raise Damaged("two of its entries have the same name")
        for entry in self._known.values():
            if entry.compress_type not in METHODS or entry.flag_bits & ENCRYPTED:
                raise Damaged(f"{entry.filename!r} is encrypted, or compressed by other means than zip's usual ones")
        total = sum(entry.file_size for entry in self._known.values())
        if total > most:
            raise Damaged(
                f"its entries would take {size_text(total)} of memory, where a file of its size may take "
                f"{size_text(most)}; if it is meant so, save it uncompressed, as np.savez does"
            )

    @property
    def names(self) -> list[str]:
        return list(self._known)

    def size(self, name: str) -> int:
        return self._entry(name).file_size

    def read(self, name: str) -> bytes:
        """All bytes of an entry, as long as it says and with the checksum that it says."""
        entry = self._entry(name)
        with _judged():
            self._begin(entry)
            with self._archive.open(entry) as file:
                # Told how much to read, zipfile inflates no more; only with one byte at least it checks the sum.
                raw = file.read(max(1, entry.file_size))
        if len(raw) != entry.file_size:
            raise Damaged(f"{name!r} has {len(raw)} bytes instead of {entry.file_size}")
        return raw

    def place(self, name: str) -> int | None:
        """Where in the file the bytes of an entry begin, if they stand there uncompressed."""
        entry = self._entry(name)
        if entry.compress_type != zipfile.ZIP_STORED:
            return None
        with _judged():
            return self._begin(entry)

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self._known:
            raise Damaged(f"there is no {name!r} in it")
        return self._known[name]

    def _begin(self, entry: zipfile.ZipInfo) -> int:
        """Where the data of an entry begin. It is described twice, before its data and at the end of the archive."""
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(entry.header_offset)
            signature, flags, method, crc, packed, whole, name, extra = struct.unpack("<4s2xHH4xIIIHH", file.read(30))
        begin = entry.header_offset + 30 + name + extra
        # Sizes may follow the data, and those of 4 GB and more, or of all that numpy writes, stand in the extra field.
        pairs = ((crc, entry.CRC), (packed, entry.compress_size), (whole, entry.file_size))
        agree = flags & SIZES_FOLLOW or all(here in (there, ELSEWHERE) for here, there in pairs)
        if signature != b"PK\x03\x04" or method != entry.compress_type or flags & ENCRYPTED or not agree:
            raise Damaged(f"{entry.filename!r} is described in two ways that disagree")
        if begin + entry.compress_size > size:
            raise Damaged(f"{entry.filename!r} goes beyond the end of the file")
        return begin


@contextlib.contextmanager
def entries(path: Path, grows: int = 8, least: int = 2**28) -> Iterator[Entries]:
    """The entries of a zip file that together take at most `grows` times its size, or `least` bytes. Whatever is wrong
    with the archive is `Damaged`, here or when an entry is read."""
    with _judged():
        archive = zipfile.ZipFile(path)
    with archive:
        with _judged():
            found = Entries(path, archive, max(least, grows * path.stat().st_size))
        yield found


def array(raw: bytes) -> np.ndarray:
    """The array of an .npy file, of which these are the bytes. It is a view of them, and cannot be written to."""
    file = io.BytesIO(raw)
    with _judged(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers by Python 2
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise Damaged(f"an .npy of version {version}, which arrays of numbers do not need")
        shape, fortran, dtype = HEADERS[version](file, max_header_size=HEADER_BYTES)
        if dtype.hasobject:
            raise Damaged("an array of Python objects, which cannot be read without running what is in it")
        need, have = math.prod(shape) * dtype.itemsize, len(raw) - file.tell()
        if need != have or any(n < 0 for n in shape) or not dtype.itemsize:
            raise Damaged(f"an array of shape {shape} and type {dtype} takes {need} bytes, but there are {have}")
        return np.ndarray(shape, dtype, raw, file.tell(), order="F" if fortran else "C")
