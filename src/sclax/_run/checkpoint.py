"""Runs on disk: the last two states of one run, each written whole or not at all."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._base import read_archive, replaced, write_archive

MARKER = "sclax.json"
KEEP = 2  # states


class Checkpoint:
    """A directory that holds the last two states of one run.

    The fingerprint says which run: a directory of another run, or one that sclax did not write, is refused before
    anything is written.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: Mapping[str, Any]):
        self.path = Path(path).absolute()
        self._states = self.path / "states"
        marker = self.path / MARKER
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"solve: `checkpoint={str(path)!r}` is a file; give a directory.")
        if marker.exists():
            self._compare(marker, json.loads(json.dumps(fingerprint)))
        elif self.path.exists() and any(self.path.iterdir()):
            raise ValueError(
                f"solve: `checkpoint={str(path)!r}` holds files that are not a checkpoint of sclax. "
                "Nothing was written; give an empty or new directory."
            )
        else:
            try:
                self._states.mkdir(parents=True, exist_ok=True)
                with replaced(marker) as temporary:
                    temporary.write_text(json.dumps(fingerprint, indent=1))
            except OSError as error:
                raise ValueError(
                    f"solve: `checkpoint={str(path)!r}` cannot be written ({error.strerror}); "
                    "give a directory that you may write to."
                ) from error

    def _compare(self, marker: Path, fingerprint: Mapping[str, Any]) -> None:
        try:
            stored = json.loads(marker.read_text())
        except (json.JSONDecodeError, OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is damaged: {MARKER} cannot be read ({error}). "
                "Nothing was written; remove the directory to start again."
            ) from error
        for name in fingerprint:
            if stored.get(name) != fingerprint[name]:
                raise ValueError(
                    f"solve: `checkpoint={str(self.path)!r}` belongs to another run: its {name} is "
                    f"{_short(stored.get(name))}, now it is {_short(fingerprint[name])}. Nothing was written; "
                    "give another directory, or remove this one to start again."
                )

    def _files(self) -> list[Path]:
        """The states, newest first."""
        return sorted(self._states.glob("[0-9]*.state"), reverse=True)

    def latest(self, say: Callable[[str], Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The newest state that is whole, as it was saved; None for a new run."""
        files = self._files()
        damage: Exception | None = None
        for file in files:
            try:
                return read_archive(file)
            except ValueError as error:
                damage = error
                say(f"solve: the state {file.name} of the checkpoint is damaged; looking for the one before.")
        if damage is not None:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is damaged: none of {[file.name for file in files]} can be "
                "read. Nothing was written; remove the directory to start again."
            ) from damage
        return None

    def save(self, step: int, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Writes a state; older ones but one go when this one is whole."""
        file = self._states / f"{step:012d}.state"
        if not file.exists():
            write_archive(file, about, arrays, compress=False)
        half_written = self._states.glob(".*.state.*")  # by a process that was killed
        for old in (*self._files()[KEEP:], *half_written):
            old.unlink(missing_ok=True)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
