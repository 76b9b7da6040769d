"""The loop: compiled chunks of iterations in a plain host loop, driven by a controller."""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._result import RESULTS, History
from . import programs
from .checkpoint import Checkpoint
from .controller import AbstractController, Clock, Go, Restart, Stop
from .progress import Reporter
from .run import Chunk, Run, Task
from .stage import Stage


class Trained(NamedTuple):
    """How far a run has come, how it ended, and whether it has converged."""

    run: Run
    result: RESULTS
    converged: bool


def train(task: Task, controller: AbstractController, store: "Store", clock: Clock, reporter: Reporter) -> Trained:
    """Trains until the controller says stop. Every change of the run is one assignment, so that Ctrl-C finds the run
    before it or after it, whole."""
    run = store.latest(controller) or first(task, controller)
    result, converged = RESULTS.interrupted, False
    try:
        with reporter:
            if run.step:
                reporter.say(f"resumed at step {run.step}")
            compile_all(task, controller, run)
            while True:
                match controller.decide(run, clock._replace(unsaved=store.unsaved())):
                    case Stop(result, converged):
                        break
                    case Restart(stage, why):
                        run = run.restarted(stage, *begin(task, stage))
                        reporter.say(why)
                    case Go(length, share, save):
                        if save:
                            store.save(run, reporter.say)
                        found = chunk(task, controller, run, length, share)
                        if found is None:
                            reporter.say(
                                f"NaN or infinity between steps {run.step} and {run.step + length}: rolled "
                                f"back to {run.step}"
                            )
                            result = RESULTS.nonfinite
                            break
                        run = run.after(task, length, share, found)
                        clock = clock._replace(pace=found.seconds)
                        reporter.show(task.problem, run, clock, length)
    except KeyboardInterrupt:
        pass
    return Trained(run, result, converged)


class Beginning(NamedTuple):
    """A first state, and what it has cost: seconds of training, evaluations of differential operators."""

    state: Any
    seconds: float = 0.0
    evaluations: int = 0


def begin(task: Task, stage: Stage) -> Beginning:
    """A first state, its network made ready where it is a new one."""
    problem, keys = stage.pose(task.problem), stage.keys(task.keys)
    state, _ = programs.build(problem, task.method, task.source, keys, task.many)
    start = task.method.primal.start
    if not task.source.fresh or not start.steps:
        return Beginning(state)
    ready = lambda stop: jax.block_until_ready(
        programs.warm(problem, task.method, state, task.rest, keys, jnp.asarray(stop), task.many)
    )
    ready(0)  # which compiles it
    began = time.monotonic()
    return Beginning(ready(start.steps), time.monotonic() - began, task.start_evaluations)


def first(task: Task, controller: AbstractController) -> Run:
    """A run before its first step."""
    state, *spent = begin(task, Stage())
    return Run(0, state, Stage(), controller.init(state), History.of(task.problem.constraints), *spent)


def advanced(task: Task, run: Run, stop: int, share: float) -> tuple[Any, programs.Summary]:
    return programs.advance(
        run.stage.pose(task.problem),
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
    """Compiles what a chunk runs, by one of no steps and a look that is forgotten."""
    jax.block_until_ready(advanced(task, run, run.step, 1.0))
    controller.look(run, run.state, run.step)


def chunk(task: Task, controller: AbstractController, run: Run, length: int, share: float) -> Chunk | None:
    """The next steps and a look at where they lead; None where no seed stayed finite."""
    began = time.monotonic()
    state, summary = advanced(task, run, run.step + length, share)
    summary = jax.tree.map(np.asarray, summary)  # waits for the chunk
    if not np.any(summary.finite):
        return None
    watch, looks = controller.look(run, state, run.step + length)
    return Chunk(state, summary, watch, looks, time.monotonic() - began)


class Store:
    """Where a run is kept: in a checkpoint, or nowhere. A disk that is full costs the checkpoint, not the run."""

    def __init__(self, checkpoint: Checkpoint | None, shapes: Any):
        self._checkpoint, self._shapes = checkpoint, shapes
        self._saved = time.monotonic()

    def unsaved(self) -> float:
        """Seconds since the last save."""
        return time.monotonic() - self._saved

    def latest(self, controller: AbstractController) -> Run | None:
        """The run as it was saved last; None for a new one."""
        stored = None if self._checkpoint is None else self._checkpoint.latest(warnings.warn)
        if self._checkpoint is None or stored is None:
            return None
        try:
            state = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._shapes)
            return Run.restored(*stored, state, controller.init(state))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"solve: `checkpoint={str(self._checkpoint.path)!r}` does not fit this run: {error}. Nothing was "
                "written; give another directory, or remove this one to start again."
            ) from error

    def save(self, run: Run, say: Callable[[str], Any]) -> None:
        """Saves a run that has begun and whose steps do not shrink yet."""
        if self._checkpoint is None or not run.step or run.settling:
            return
        self._saved = time.monotonic()
        try:
            self._checkpoint.save(run.step, *run.stored())
        except OSError as error:
            say(f"solve: no checkpoint was written at step {run.step} ({error}); training goes on.")
