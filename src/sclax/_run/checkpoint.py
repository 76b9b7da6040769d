"""Runs on disk: the last two states of one run, each written whole or not at all, by one process at a time."""

import contextlib
import datetime
import json
import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from .._base import read_archive, regular, replaced, write_archive

MARKER, STATES = "sclax.json", "states"
LOCK, HOLDER = ".lock", ".holder.json"
FIRST = "polynomials"  # a checkpoint inside, of what is tried before a network
KEEP = 2  # states

Say = Callable[[str], Any]


class Checkpoint:
    """A directory that holds the last two states of one run, and is this process's until `close`.

    A directory that sclax did not write, or that another process has, is refused at once; `belongs_to` says which run
    it is of, and refuses that of another one. Until then nothing is written but the lock.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path).absolute()
        self._fingerprint: dict[str, Any] = {}
        self._lock = FileLock(self.path / LOCK)
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"solve: `checkpoint={str(path)!r}` is a file; give a directory.")
        try:
            found = {p.name for p in self.path.iterdir()} if self.path.exists() else set()
            if found - {STATES, LOCK, HOLDER, FIRST} and MARKER not in found:
                raise ValueError(
                    f"solve: `checkpoint={str(path)!r}` holds files that are not a checkpoint of sclax. "
                    "Nothing was written; give an empty or new directory."
                )
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        self._take()

    def belongs_to(self, fingerprint: Mapping[str, Any]) -> "Checkpoint":
        """The checkpoint of the run that the fingerprint tells from all others."""
        self._fingerprint = json.loads(json.dumps(fingerprint))
        marker = self.path / MARKER
        if marker.exists():
            self._compare(marker)
            return self
        try:
            self._begin()
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def _unwritable(self, error: OSError) -> ValueError:
        return ValueError(
            f"solve: `checkpoint={str(self.path)!r}` cannot be written ({error.strerror or error}); "
            "give a directory that you may write to."
        )

    def close(self) -> None:
        """Leaves the directory to others. A process that is killed leaves it too."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                (self.path / HOLDER).unlink(missing_ok=True)
        self._lock.release()

    def _take(self) -> None:
        """The directory for this process alone, where the file system has locks and it may be written to."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is in use by {self._holder()}: two runs would remove each "
                "other's states. Wait until it has ended, stop it, or give another directory."
            ) from None
        except (OSError, NotImplementedError):
            return
        since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
        with contextlib.suppress(OSError), replaced(self.path / HOLDER) as temporary:
            temporary.write_text(json.dumps({"process": os.getpid(), "host": platform.node(), "since": since}))

    def _holder(self) -> str:
        try:
            found = json.loads((self.path / HOLDER).read_text())
            return f"process {found['process']} on {found['host']}, since {found['since']}"
        except (OSError, ValueError, KeyError, TypeError):  # it has not said so yet
            return "another process"

    def _begin(self) -> None:
        (self.path / STATES).mkdir(parents=True, exist_ok=True)
        with replaced(self.path / MARKER) as temporary:
            temporary.write_text(json.dumps(self._fingerprint, indent=1))

    def _compare(self, marker: Path) -> None:
        try:
            regular("solve", marker)
            stored = json.loads(marker.read_text())
            if not isinstance(stored, dict):
                raise ValueError("no table")
        except (ValueError, OSError, RecursionError) as error:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is damaged: {MARKER} cannot be read ({error}). "
                "Nothing was written; remove the directory to start again."
            ) from error
        for name, now in self._fingerprint.items():
            if stored.get(name) != now:
                raise ValueError(
                    f"solve: `checkpoint={str(self.path)!r}` belongs to another run: its {name} is "
                    f"{_short(stored.get(name))}, now it is {_short(now)}. Nothing was written; "
                    "give another directory, or remove this one to start again."
                )

    def _files(self) -> list[Path]:
        """The states, newest first."""
        return sorted((self.path / STATES).glob("[0-9]*.state"), reverse=True)

    def latest(self, say: Say) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """The newest state that is whole, as it was saved; None for a new run."""
        files = self._files()
        damage: Exception | None = None
        for file in files:
            try:
                return read_archive(file, "solve")
            except ValueError as error:
                damage = error
                say(f"solve: the state {file.name} of the checkpoint is damaged; looking for the one before.")
        if damage is not None:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is damaged: none of {[file.name for file in files]} can be "
                "read. Nothing was written; remove the directory to start again."
            ) from damage
        return None

    def save(self, step: int, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], say: Say) -> None:
        """Writes a state; older ones but one go when this one is whole."""
        if not (self.path / MARKER).exists() or not (self.path / STATES).exists():
            self._begin()
            say(f"solve: `checkpoint={str(self.path)!r}` was removed during the run; it is made again.")
        states = self.path / STATES
        file = states / f"{step:012d}.state"
        if not file.exists():
            write_archive(file, about, arrays, compress=False)
        half_written = states.glob(".*.state.*")  # by a process that was killed
        for old in (*self._files()[KEEP:], *half_written):
            old.unlink(missing_ok=True)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
