"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


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
