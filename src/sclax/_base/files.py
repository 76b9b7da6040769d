"""Files that are written whole or not at all, and whose reading never executes code."""

import contextlib
import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .zips import Damaged, array, entries, regular


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends well, and goes when it does not."""
    # Not by `tempfile`, whose files only their owner may read.
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


FORMAT = 3
ABOUT, SUMS = "about.json", "sha256.json"


def write_archive(
    path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], compress: bool = True
) -> None:
    """A zip of `about.json`, .npy arrays and the checksums of them all, written beside its place and moved there when
    it is whole."""
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    sums = {}
    with replaced(path) as temporary, zipfile.ZipFile(temporary, "w", kind) as archive:
        for name, content in _contents({"format": FORMAT, **about}, arrays):
            archive.writestr(name, content)
            sums[name] = hashlib.sha256(content).hexdigest()
        # Each entry has a checksum of the zip's own; these tell when entries of two files were mixed.
        archive.writestr(SUMS, json.dumps(sums))


def _contents(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, bytes]]:
    yield ABOUT, json.dumps(about).encode()
    for name, value in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        yield f"{name}.npy", buffer.getvalue()


def read_archive(path: Path, owner: str = "load") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_archive` wrote; a file that is anything else is an error that says so."""
    regular(owner, path)
    try:
        with entries(path, least=2**27) as archive:
            contents = {name: archive.read(name) for name in archive.names}
        about = json.loads(contents.get(ABOUT, b"null"))
        if not isinstance(about, dict):
            raise Damaged(f"it has no table {ABOUT}")
        if about.get("format") == FORMAT:  # files of before had none
            _compare(contents)
        arrays = {name.removesuffix(".npy"): array(raw) for name, raw in contents.items() if name.endswith(".npy")}
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{owner}: {str(path)!r} was not written by sclax, or it is damaged ({error or type(error).__name__}). "
            "Nothing was loaded; get the file again."
        ) from error
    if about.get("format") != FORMAT:
        raise ValueError(
            f"{owner}: {str(path)!r} has format {about.get('format')!r:.20}, this version of sclax reads {FORMAT}. "
            "Read it with the version that wrote it."
        )
    return about, arrays


def _compare(contents: Mapping[str, bytes]) -> None:
    """Nothing, if all entries are there and have the checksums that the archive holds."""
    sums = json.loads(contents.get(SUMS, b"null"))
    if not isinstance(sums, dict) or sums.keys() | {SUMS} != contents.keys():
        raise Damaged("its entries are not those that it was written with")
    for name, digest in sums.items():
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            raise Damaged(f"{name!r} does not fit its checksum")
