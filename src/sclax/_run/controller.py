"""Who steers a run between chunks: from a run and a clock to an action, with nothing done on the way."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import PyTree

from .._result import RESULTS, History
from . import rules
from .run import Run, Task
from .stage import Stage

DEFAULT_SECONDS = 300.0
SAVE_EVERY = 20.0  # seconds between two checkpoints


class Go(NamedTuple):
    """On for so many steps, each a `share` of its length; where `save` is set, a checkpoint is written before. By
    `width` laws that became averages resist bending.

    !!! example
        `Go(100, save=True)`: a checkpoint, then a hundred steps
    """

    length: int
    share: float = 1.0
    save: bool = False
    width: float = 0.0


class Restart(NamedTuple):
    """On from a first state, in another stage; `why` is for people.

    !!! example
        `Restart(Stage(attempt=1), "the loss had stalled")`
    """

    stage: Stage
    why: str


class Stop(NamedTuple):
    """The end, and whether the run has converged, whatever ended it.

    !!! example
        `Stop(RESULTS.converged, True)`
    """

    result: RESULTS
    converged: bool


Action = Go | Restart | Stop


class Clock(NamedTuple):
    """How long a run may take, in steps and in seconds of training; with neither, until it has converged, or the
    default time is up. `pace` are the seconds that the last chunk took, `unsaved` those since the last checkpoint.

    !!! example
        In a controller's `decide(run, clock)`: `clock.over(run)` is how the time has run out, or None.
    """

    steps: int | None = None
    seconds: float | None = None
    pace: float = 0.0
    unsaved: float = 0.0

    @property
    def open(self) -> bool:
        return self.steps is None and self.seconds is None

    @property
    def limit(self) -> float | None:
        return DEFAULT_SECONDS if self.open else self.seconds

    def spent(self, step: int, seconds: float) -> float:
        """The share of the run that is over."""
        of_steps = 0.0 if self.steps is None else step / self.steps
        return max(of_steps, 0.0 if self.limit is None else seconds / self.limit)

    def over(self, run: Run) -> RESULTS | None:
        """What ends a run now, if anything does. Its first chunk is always made: without one nothing is known."""
        if not run.history.rows:
            return None
        if self.steps is not None and run.step >= self.steps:
            return RESULTS.steps_done
        if self.limit is not None and run.seconds + self.pace > self.limit:
            return RESULTS.time_up
        return None

    def length(self, step: int, chunk: int) -> int:
        """The steps of the next chunk. Chunks end at the same steps however a run is cut, so that its states are
        compared at the same ones."""
        length = chunk - step % chunk
        return length if self.steps is None else min(length, self.steps - step)


class AbstractController(eqx.Module):
    """Steers a run of `task`. Its memory, `watch`, is a pytree of arrays that checkpoints hold; `decide` is pure.

    A function of a `Task` that gives one is what `solve(..., controller=)` takes.

    !!! example
        `examples/extend.py` has one that stops when the objective is small enough.
    """

    task: eqx.AbstractVar[Task]

    @abc.abstractmethod
    def init(self, state: PyTree) -> PyTree:
        """The memory before the first chunk."""

    @abc.abstractmethod
    def look(self, run: Run, state: PyTree, step: int) -> tuple[PyTree, dict[str, Any]]:
        """The memory after a chunk that led `run` to a new state, and what was seen: further columns of the history."""

    @abc.abstractmethod
    def decide(self, run: Run, clock: Clock) -> Action:
        """What to do next."""

    @abc.abstractmethod
    def result(self, run: Run) -> tuple[PyTree, Any]:
        """The state to return, and the step that it is of."""

    def restart(self, watch: PyTree, state: PyTree) -> PyTree:
        """The memory of a run that starts again with `state`, perhaps on other numbers of points."""
        return watch

    @property
    def chunk(self) -> int:
        """Steps between two looks."""
        return self.task.problem.epoch or self.task.method.primal.chunk

    def go(self, run: Run, clock: Clock) -> Go:
        """On by a chunk of full steps, with a checkpoint when one is due."""
        return Go(clock.length(run.step, self.chunk), save=clock.unsaved > SAVE_EVERY)


Steering = Callable[[Task], AbstractController]


class KeepLast(AbstractController):
    """Stops when every constraint holds and the objective is flat; the last state is the result."""

    task: Task

    def init(self, state):
        return ()

    def look(self, run, state, step):
        return run.watch, {}

    def decide(self, run, clock):
        return stop_or_go(self, run, clock, found(self.task, run.history))

    def result(self, run):
        return run.state, run.step


def found(task: Task, history: History, merits: Any = None, floor: Any = 0.0) -> RESULTS | None:
    """The reason to end before the budget does, if there is one."""
    if rules.flat_and_feasible(history, task.problem.tolerances, floor):
        return RESULTS.converged
    return RESULTS.settled if merits is not None and rules.settled(merits) else None


def stop_or_go(controller: AbstractController, run: Run, clock: Clock, reason: RESULTS | None) -> Action:
    """The end, where the budget or an open one's `reason` says so, else on."""
    over = clock.over(run) or (reason if clock.open else None)
    return controller.go(run, clock) if over is None else Stop(over, reason is not None)
