"""Checksums in the files that `save` writes: of every frame, compared when it is read, and behind the file's end one of
all else, compared before HDF5 sees it. HDF5's own would not do: a flipped bit may switch them off, have it give zeros
for what it does not find, or search for ever."""

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._base import require
from ._hdf5 import Guarded, datasets, heaps_end
from ._stored import Key, Stored

MAGIC = b"sclax data set 1"
# It says where the values of `input` and `solution` stand in the file, and gives the digest of the rest.
SEAL = struct.Struct("<16s4Q32s")
# Samples are read in pieces of about this many bytes.
PIECE = 2**25
REMEDY = "Save it anew, or get the file again."


def digests_of(name: str) -> str:
    """The variable that has the digests of the frames of `name`."""
    return f"{name}_digests"


DIGESTS = {digests_of(name) for name in ("input", "solution")}


def digests(name: str, values: np.ndarray, samples: np.ndarray, frames: np.ndarray | None) -> np.ndarray:
    """For each sample, and each frame of it if there are frames, 8 bytes that also tell which it is."""
    shape = (len(samples),) if frames is None else (len(samples), len(frames))
    places = [(i, j) for i in samples.tolist() for j in ([0] if frames is None else frames.tolist())]
    size = max(1, values.nbytes // max(1, len(places)))
    raw = memoryview(values.tobytes())
    found = [
        hashlib.blake2b(
            raw[n * size : (n + 1) * size], digest_size=8, person=name.encode(), salt=struct.pack("<QQ", *place)
        ).digest()
        for n, place in enumerate(places)
    ]
    return np.frombuffer(b"".join(found), "<i8").reshape(shape).astype("i8")


def _rest(file: Any, spans: tuple[int, ...], end: int) -> bytes:
    """The digest of the bytes before `end` that are in none of the spans (begin, size, begin, size)."""
    whole = hashlib.sha256(struct.pack("<4Q", *spans))
    at = 0
    for begin, size in [*sorted(zip(spans[::2], spans[1::2], strict=True)), (end, 0)]:
        file.seek(at)
        while at < min(begin, end):
            part = file.read(min(PIECE, min(begin, end) - at))
            whole.update(part)
            at += len(part)
        at = min(end, max(at, begin + size))
    return whole.digest()


def seal(path: Path) -> None:
    """Closes a file that is to be changed no more. HDF5 ignores what stands behind its end."""
    spans = []
    with require("save", "h5py", "data").File(path, "r") as file:
        for name in ("input", "solution"):
            spans += [file[name].id.get_offset() or 0, file[name].nbytes]
    with open(path, "r+b") as raw:
        digest = _rest(raw, tuple(spans), raw.seek(0, 2))
        raw.seek(0, 2)
        raw.write(SEAL.pack(MAGIC, *spans, digest))


def opened(path: Path) -> tuple[Any, bool]:
    """The file, and whether it is sealed. A broken seal is an error: taken for none, nothing would be compared."""
    changed = (
        f"read: {str(path)!r} is damaged, or was changed after `save` wrote it: its checksum does not fit. {REMEDY}"
    )
    with open(path, "rb") as raw:
        end = max(0, raw.seek(0, 2) - SEAL.size)
        raw.seek(end)
        last = raw.read()
        sealed = last.startswith(MAGIC) and len(last) == SEAL.size
        if sealed:
            _, *spans, digest = SEAL.unpack(last)
            if digest != _rest(raw, tuple(spans), end):
                raise ValueError(changed)
    if not sealed:
        heaps_end(path)
    file = require("read", "h5py", "data").File(path, "r")
    if not sealed and not DIGESTS.isdisjoint(file):
        file.close()
        raise ValueError(changed)
    return file, sealed


def attributes(file: Any) -> dict[str, Any]:
    """Those of a data set; netCDF stores numbers as arrays of one, and empty text as nothing."""
    found = {}
    for name, value in file.attrs.items():
        if name != "_NCProperties":
            value = value if isinstance(value, str | np.ndarray | np.number) else ""
            found[name] = value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value
    return found


def contents(path: Path, file: Any) -> dict[str, Stored]:
    """The arrays of a sealed file by name. `input` and `solution` are compared with their digests when sliced."""
    found = dict(datasets(path, file))
    arrays = {}
    for name, dataset in found.items():
        if name not in DIGESTS:
            source = Verified(dataset, found[digests_of(name)][()]) if digests_of(name) in found else dataset[()]
            arrays[name] = Stored(path, name, source, finite=False)
    return arrays


class Verified:
    """`dataset` (sample, [t,] …), of which whole frames are read and compared with their `digests` (sample, [t])."""

    def __init__(self, dataset: Guarded, digests: np.ndarray):
        self.dataset, self.digests = dataset, digests
        self.shape, self.dtype = dataset.shape, dataset.dtype

    def __getitem__(self, key: Key) -> np.ndarray:
        places, within = self.digests.ndim, (slice(None),) * self.digests.ndim
        parts = [self._frames(chosen, *key[1:places])[(*within, *key[places:])] for chosen in self._pieces(key[0])]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pieces(self, chosen: Any) -> Iterator[Any]:
        each = max(1, int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize)
        step = max(1, PIECE // each)
        if not isinstance(chosen, slice):
            yield from (chosen[begin : begin + step] for begin in range(0, max(1, len(chosen)), step))
            return
        samples = range(self.shape[0])[chosen]
        for begin in range(0, max(1, len(samples)), step):
            piece = samples[begin : begin + step]
            yield slice(piece.start, piece.stop, piece.step)

    def _frames(self, *chosen: Any) -> np.ndarray:
        values = self.dataset[chosen]
        samples, *frames = (np.arange(n)[c] for n, c in zip(self.digests.shape, chosen, strict=True))
        wrong = digests(self.dataset.name, values, samples, *frames or [None]) != self.digests[chosen]
        if wrong.any():
            first = samples[np.argwhere(wrong)[0][0]]
            raise ValueError(
                f"read: `{self.dataset.name}` of {str(self.dataset.path)!r} is damaged: {wrong.sum()} of the "
                f"{wrong.size} frames that were read do not fit their checksum, the first in sample {first}. {REMEDY}"
            )
        return values
