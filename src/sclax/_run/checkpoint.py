"""Full training states on disk, written atomically by orbax. Knows arrays and a fingerprint, nothing of problems."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orbax.checkpoint as ocp

from .._base import replaced

MARKER = "sclax.json"
Tree = dict[str, dict[str, np.ndarray]]


class Checkpoint:
    """A directory that holds the last two states of one run.

    The fingerprint says which run: a directory of another run, or one that sclax did not write, is refused before
    anything is written.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: Mapping[str, Any]):
        self.path = Path(path).absolute()
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
                self.path.mkdir(parents=True, exist_ok=True)
                with replaced(marker) as temporary:
                    temporary.write_text(json.dumps(fingerprint, indent=1))
            except OSError as error:
                raise ValueError(
                    f"solve: `checkpoint={str(path)!r}` cannot be written ({error.strerror}); "
                    "give a directory that you may write to."
                ) from error
        self._manager = ocp.CheckpointManager(
            self.path / "states", options=ocp.CheckpointManagerOptions(max_to_keep=2, create=True)
        )

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

    def latest(self) -> tuple[int, Tree] | None:
        """The newest state that can be read, and its step; None for a new run."""
        steps = sorted(self._manager.all_steps(), reverse=True)
        damage: Exception | None = None
        for step in steps:
            try:
                tree: Any = self._manager.restore(step, args=ocp.args.StandardRestore())
                return step, tree
            except Exception as error:  # orbax raises many types for a damaged file
                damage = error
        if damage is not None:
            raise ValueError(
                f"solve: `checkpoint={str(self.path)!r}` is damaged, none of its states {steps} can be read "
                f"({type(damage).__name__}). Nothing was written; remove the directory to start again."
            ) from damage
        return None

    def save(self, step: int, tree: Tree) -> None:
        """Writes a state; the one before stays until this one is whole."""
        if step in self._manager.all_steps():
            return
        # Orbax refuses arrays without entries; whoever reads knows their shapes.
        tree = {group: {k: v for k, v in arrays.items() if v.size} for group, arrays in tree.items()}
        try:
            self._manager.save(step, args=ocp.args.StandardSave(tree))
            self._manager.wait_until_finished()
        except Exception as error:  # orbax raises many types for a disk that is full
            raise OSError(str(error)) from error

    def close(self) -> None:
        self._manager.close()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
