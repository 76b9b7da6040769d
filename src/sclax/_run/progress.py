"""What a person sees while training: one line that stays up to date, or plain lines where there is no terminal."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02d}"


class Reporter:
    """Objective, worst violation, multipliers, rate and time left, on standard error."""

    def __init__(self, shown: bool, interval: float = 10.0):
        self._console = Console(file=sys.stderr)
        self._live = shown and self._console.is_terminal
        self._lines = shown and not self._live
        self._interval, self._last = interval, -float("inf")
        self._bar: Progress | None = None

    def __enter__(self) -> "Reporter":
        if self._live:
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(bar_width=24),
                TextColumn("{task.description}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("compiling …", total=1.0)
        elif self._lines:
            print("compiling ...", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(
        self,
        *,
        step: int,
        fraction: float,
        left: float | None,
        rate: float | None,
        objective: float,
        violation: float | None,
        multipliers: dict[str, float],
    ) -> None:
        parts = [f"step {step}", f"objective {objective:.2e}"]
        if violation is not None:
            parts.append(f"worst violation {violation:+.2e}")
        parts += [f"λ[{name}] {value:.3g}" for name, value in list(multipliers.items())[:3]]
        if rate is not None:
            parts.append(f"{rate:.0f} steps/s")
        if left is not None:
            parts.append(f"{_clock(left)} left")
        text = "  ".join(parts)
        if self._bar is not None:
            self._bar.update(self._task, completed=min(fraction, 1.0), description=escape(text))
        elif self._lines and time.monotonic() - self._last >= self._interval:
            self._last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """A message that stays."""
        if self._bar is not None:
            self._bar.console.print(escape(text))
        elif self._lines:
            print(text, file=sys.stderr, flush=True)
