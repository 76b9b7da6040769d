"""Files that are written whole or not at all, and whose reading never executes code."""

import contextlib
import io
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends well, and goes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by `tempfile`, whose files only their owner may read.
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


FORMAT = 2


def write_archive(
    path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], compress: bool = True
) -> None:
    """A zip of `about.json` and .npy arrays, with their checksums, written beside its place and moved there when it is
    whole."""
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with replaced(path) as temporary, zipfile.ZipFile(temporary, "w", kind) as archive:
        archive.writestr("about.json", json.dumps({"format": FORMAT, **about}))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_archive` wrote; a file that is anything else is an error that says so."""
    if not path.exists():
        raise ValueError(f"load: there is no file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read("about.json"))
            arrays = {
                name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"load: {str(path)!r} is not a solution, or it is damaged ({error}). Nothing was loaded."
        ) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"load: {str(path)!r} has format {about.get('format')!r}; this version reads {FORMAT}.")
    return about, arrays
