"""The loop: compiled chunks of iterations in a plain host loop, driven by a controller."""

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._base import precision
from .._result import RESULTS, History
from . import programs
from .checkpoint import Checkpoint
from .controller import AbstractController, Clock, Go, Restart, Steering, Stop
from .failure import Failure, failure
from .progress import Reporter
from .run import Chunk, Run, Task
from .stage import Stage

TOO_FAR = "all laws are finite there, but the step went too far; lower the learning rate"


class Trained(NamedTuple):
    """How far a run has come, who steered it, how it ended, and whether it has converged."""

    run: Run
    controller: AbstractController
    result: RESULTS = RESULTS.interrupted
    converged: bool = False
    failure: Failure | None = None


def train(task: Task, steer: Steering, store: "Store", clock: Clock, reporter: Reporter) -> Trained:
    """Trains until the controller says stop. Every change of the run is one assignment, so that Ctrl-C finds the run
    before it or after it, whole."""
    result, converged, failed = RESULTS.interrupted, False, None
    run = None
    try:
        with reporter:
            stored = store.latest()
            beginning = begin(task, Stage()) if stored is None else None
            controller = steer(task)  # while a new network is made ready
            run = store.restored(stored, controller) if beginning is None else first(task, controller, beginning)
            if run.step:
                reporter.say(f"resumed at step {run.step}")
            while True:
                match controller.decide(run, clock._replace(unsaved=store.unsaved())):
                    case Stop(result, converged):
                        break
                    case Restart(stage, why):
                        run = again(task, controller, run, stage)
                        reporter.say(why)
                    case Go(length, share, save, width):
                        if save:
                            store.save(run, reporter.warn)
                        found = chunk(task, controller, run, length, share, width)
                        while found is None and length > 1:  # as far as it goes
                            length //= 2
                            found = chunk(task, controller, run, length, share, width)
                        if found is None:
                            result, failed = RESULTS.nonfinite, failure(task, run, share, width)
                            reporter.say(f"NaN or infinity in step {run.step + 1}, rolled back: {failed or TOO_FAR}")
                            break
                        run = run.after(task, length, share, found)
                        clock = clock._replace(pace=found.seconds)
                        reporter.show(task.problem, run, clock, length)
    except KeyboardInterrupt:
        if run is None:  # nothing was learned yet
            raise
    return Trained(run, controller, result, converged, failed)  # pyright: ignore[reportPossiblyUnboundVariable]


class Beginning(NamedTuple):
    """A network as it was built; what waits for its first state and gives it with the seconds that it took; and the
    evaluations of differential operators that it takes."""

    built: Any
    ready: Callable[[], tuple[Any, float]]
    evaluations: int = 0


def begin(task: Task, stage: Stage) -> Beginning:
    """A first state, its network made ready where it is a new one."""
    problem, keys = stage.pose(task.problem), stage.keys(task.keys)
    built = task.built if stage.first else programs.build(problem, task.method, task.source, keys, task.many)[0]
    steps = task.method.primal.start.steps if task.source.fresh else 0
    if not steps:
        return Beginning(built, lambda: (built, 0.0))
    ready = lambda stop: programs.warm(problem, task.method, built, task.rest, keys, jnp.asarray(stop), task.many)
    jax.block_until_ready(ready(0))  # which compiles it
    inside = precision.as_now()

    def timed() -> tuple[Any, float]:
        began = time.monotonic()
        with inside():
            return jax.block_until_ready(ready(steps)), time.monotonic() - began

    # In a thread, so that meanwhile the rest may be compiled without being counted.
    return Beginning(built, ThreadPoolExecutor(1).submit(timed).result, task.start_evaluations)


def first(task: Task, controller: AbstractController, beginning: Beginning) -> Run:
    """A run before its first step; while its network is made ready, all else is compiled."""
    watch, history = controller.init(beginning.built), History.of(task.problem.constraints)
    run = Run(0, beginning.built, Stage(), watch, history)
    compile_all(task, controller, run)
    return run.restarted(Stage(), *beginning.ready(), beginning.evaluations)


def again(task: Task, controller: AbstractController, run: Run, stage: Stage) -> Run:
    """The run with a first state anew, in another stage."""
    beginning = begin(task, stage)
    run = run._replace(stage=stage, watch=controller.restart(run.watch, beginning.built), state=beginning.built)
    if stage.curbs:  # other programs, compiled while the network is made ready
        compile_all(task, controller, run)
    return run.restarted(stage, *beginning.ready(), beginning.evaluations)


def advanced(task: Task, run: Run, stop: int, share: float, width: float = 0.0) -> tuple[Any, programs.Summary]:
    return programs.advance(
        run.stage.pose(task.problem, width),
        task.method,
        run.state,
        task.rest,
        run.stage.keys(task.keys),
        jnp.asarray(run.step),
        jnp.asarray(stop),
        jnp.asarray(share),
        task.many,
    )


def compile_all(task: Task, controller: AbstractController, run: Run) -> None:
    """Compiles what a chunk needs, by one of no steps and a look that is forgotten."""
    advanced(task, run, run.step, 1.0)
    if run.stage.curbs:
        advanced(task, run, run.step, 1.0, 1.0)
    controller.look(run, run.state, run.step)


def chunk(
    task: Task, controller: AbstractController, run: Run, length: int, share: float, width: float = 0.0
) -> Chunk | None:
    """The next steps and a look at where they lead; None where no seed stayed finite."""
    began = time.monotonic()
    state, summary = advanced(task, run, run.step + length, share, width)
    summary = jax.tree.map(np.asarray, summary)  # waits for the chunk
    if not np.any(summary.finite):
        return None
    watch, looks = controller.look(run, state, run.step + length)
    return Chunk(state, summary, watch, looks, time.monotonic() - began)


class Store:
    """Where a run is kept: in a checkpoint, or nowhere. A disk that is full costs the checkpoint, not the run."""

    def __init__(self, task: Task, checkpoint: Checkpoint | None):
        self._task, self._checkpoint = task, checkpoint
        self._saved = time.monotonic()

    def unsaved(self) -> float:
        """Seconds since the last save."""
        return time.monotonic() - self._saved

    def latest(self) -> tuple[Any, Any] | None:
        """What was saved last; None for a new run."""
        return None if self._checkpoint is None else self._checkpoint.latest(warnings.warn)

    def restored(self, stored: tuple[Any, Any] | None, controller: AbstractController) -> Run:
        """The run that was saved, and all that it needs compiled."""
        try:
            about, arrays = stored or ({}, {})
            stage = Stage.from_json(about["stage"])
            built = begin(self._task, stage).built if stage.curbs else self._task.built
            run = Run.restored(about, arrays, built, controller.init(built))
        except (KeyError, TypeError, ValueError) as error:
            path = None if self._checkpoint is None else str(self._checkpoint.path)
            raise ValueError(
                f"solve: `checkpoint={path!r}` does not fit this run: {error}. Nothing was written; give another "
                "directory, or remove this one to start again."
            ) from error
        compile_all(self._task, controller, run)
        return run

    def save(self, run: Run, say: Callable[[str], Any]) -> None:
        """Saves a run that has begun and whose steps do not shrink yet."""
        if self._checkpoint is None or not run.step or run.settling:
            return
        self._saved = time.monotonic()
        try:
            self._checkpoint.save(run.step, *run.stored(), say)
        except OSError as error:
            say(f"solve: no checkpoint was written at step {run.step} ({error}); the run itself is not lost.")
