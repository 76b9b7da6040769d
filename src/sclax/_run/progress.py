"""What a person sees while training: one line that stays up to date, or plain lines where there is no terminal."""

import sys
import time
import warnings
from collections.abc import Callable
from html import escape as html
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from .._problem import AbstractProblem
from .._result import History, largest
from .controller import Clock
from .run import Run


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02d}"


Callback = Callable[[dict[str, Any]], Any]


def record_of(problem: AbstractProblem, history: History, by: str) -> dict[str, Any]:
    """The last row of a history in plain numbers, of several samples the worst and of several seeds the mean objective;
    `by` says what was trained."""
    limits = {name: np.asarray(tolerance) for name, tolerance in problem.tolerances.items()}
    values = {name: history.values[name][-1] for name in limits}
    return {
        "by": by,
        "step": int(history.step[-1]),
        "seconds": float(history.seconds[-1]),
        "evaluations": int(np.max(history.evaluations[-1])),
        "objective": float(np.mean(history.objective[-1])),
        "values": {name: largest(value) for name, value in values.items()},
        "violations": {name: largest(values[name] - limit) for name, limit in limits.items()},
        "multipliers": {name: float(np.max(history.multipliers[name][-1])) for name in limits},
    }


class _Notebook:
    """A bar in a notebook, which is no terminal; it takes IPython alone."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._shown: Any = display(HTML(self._text(0.0, "compiling …")), display_id=True)

    def _text(self, done: float, words: str) -> str:
        return f'<progress max="1" value="{done:.4f}" style="width:14em"></progress> <code>{html(words)}</code>'

    def update(self, done: float, words: str) -> None:
        self._shown.update(self._html(self._text(done, words)))


class Reporter:
    """Objective, worst violation, multipliers, rate and time left, on standard error or in a notebook; and the same in
    numbers for a `callback`."""

    def __init__(self, shown: bool, callback: Callback | None = None, interval: float = 10.0):
        self._console = Console(file=sys.stderr)
        self._notebook = shown and self._console.is_jupyter
        self._live = shown and self._console.is_terminal
        self._lines = shown and not self._live and not self._notebook
        self._callback, self._interval, self._last = callback, interval, -float("inf")
        self._bar: Progress | None = None
        self._page: _Notebook | None = None
        self._started = False

    def __enter__(self) -> "Reporter":
        """Says that something is going on, once."""
        if self._started:
            return self
        self._started = True
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
        elif self._notebook:
            self._page = _Notebook()
        elif self._lines:
            print("compiling ...", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, problem: AbstractProblem, run: Run, clock: Clock, length: int) -> None:
        """The numbers of the last row; the last chunk had `length` steps."""
        self.tell(problem, run.history, "network")
        due = self._lines and time.monotonic() - self._last >= self._interval
        if self._bar is self._page is None and not due:
            return
        history, pace = run.history, clock.pace
        limits = {name: np.asarray(tolerance) for name, tolerance in problem.tolerances.items()}
        parts = [f"step {run.step}", f"objective {float(np.mean(history.objective[-1])):.2e}"]
        worst = [largest(history.values[name][-1] - limit) for name, limit in limits.items()]
        if worst:
            parts.append(f"worst violation {max(worst):+.2e}")
        parts += [f"λ[{name}] {float(np.max(history.multipliers[name][-1])):.3g}" for name in list(limits)[:3]]
        if pace:
            parts.append(f"{length / pace:.0f} steps/s")
        by_steps = None if clock.steps is None or not pace else (clock.steps - run.step) * pace / length
        by_time = None if clock.limit is None else max(clock.limit - run.seconds, 0.0)
        left = min((t for t in (by_steps, by_time) if t is not None), default=None)
        if left is not None:
            parts.append(f"{'at most ' if clock.open else ''}{_clock(left)} left")
        self.note("  ".join(parts), min(clock.spent(run.step, run.seconds), 1.0))

    def tell(self, problem: AbstractProblem, history: History, by: str) -> None:
        """The last row of a history, to whoever asked for it."""
        if self._callback is not None and history.rows:
            self._callback(record_of(problem, history, by))

    def note(self, text: str, done: float) -> None:
        """How far it has come, in words and as a share."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=escape(text))
        elif self._page is not None:
            self._page.update(done, text)
        elif self._lines and time.monotonic() - self._last >= self._interval:
            self._last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """A message that stays."""
        if self._bar is not None:
            self._bar.console.print(escape(text))
        elif self._lines or self._notebook:
            print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """A message that nobody may miss: where progress is not shown, a warning."""
        if self._bar is self._page is None and not self._lines:
            warnings.warn(text, stacklevel=2)
        self.say(text)
