"""What a person sees of many runs: which one, how many are left, and for how long."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ._running import Job, last_line


def clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Silent:
    """Tells nothing."""

    def begins(self, job: Job) -> None: ...
    def ends(self, job: Job, record: dict[str, Any] | None) -> None: ...
    def waits(self, running: Sequence[Job]) -> None: ...


class Teller:
    """A line for each run, with what it found and the time that is left for all; for runs in other processes also a
    line for each that is under way, with its own time left. On standard error."""

    def __init__(self, jobs: Sequence[Job], missing: int, folder: Path):
        self._console = Console(file=sys.stderr)
        self._folder, self._missing, self._done = folder, missing, 0
        self._began, self._shown = time.monotonic(), 0.0
        self._bar: Progress | None = None
        total = len({job.name for job in jobs})
        if total > missing:
            self._say(f"{total - missing} of {total} runs are finished already")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> "Teller":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def _left(self) -> str:
        """The time that the other runs take if they take as long as those before."""
        if not self._done:
            return ""
        each = (time.monotonic() - self._began) / self._done
        return f", {clock(each * (self._missing - self._done))} left for all"

    def begins(self, job: Job) -> None:
        self._say(f"run {self._done + 1} of {self._missing}: {job.label}{self._left}")

    def ends(self, job: Job, record: dict[str, Any] | None) -> None:
        self._done += 1
        error = None if record is None else record["relative_l2"]
        found = "failed" if record is None else "no reference" if error is None else f"error {error:.2e}"
        self._say(f"  {job.label}: {found} ({self._done} of {self._missing}{self._left})")
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def waits(self, running: Sequence[Job]) -> None:
        if time.monotonic() - self._shown < 2.0:
            return
        self._shown = time.monotonic()
        lines = [f"{job.label}: {text}" for job in running[:8] if (text := last_line(job, self._folder))]
        if self._console.is_terminal and self._bar is None:
            columns = (BarColumn(24), MofNCompleteColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._missing)
        if self._bar is not None:
            self._bar.update(self._task, description="\n".join([self._left.strip(", "), *lines]).replace("[", "\\["))
