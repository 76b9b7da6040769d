"""A run: exactly what a checkpoint holds. Replaced by the next one, never changed."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .._methods import AbstractMethod
from .._problem import AbstractProblem
from .._result import History, Row
from .programs import Summary
from .source import AbstractSource
from .stage import Stage


class Task(NamedTuple):
    """What is trained, and how: all of a run that stays the same.

    `problem` is bare, as compiled code sees it. `built` are the arrays of a first state as it was built, those of
    `many` seeds side by side; `rest` is what in a state is no array, which all seeds share. `start_evaluations` are
    those of differential operators that it takes to make a new network ready.

    !!! example
        In a controller: `self.task.problem.tolerances`.
    """

    problem: AbstractProblem
    method: AbstractMethod
    source: AbstractSource
    keys: Any
    built: PyTree
    rest: PyTree
    many: bool
    start_evaluations: int = 0


class Run(NamedTuple):
    """How far training has come: arrays of the state, the stage, the controller's memory, the history, and what was
    spent so far (seconds of training, evaluations of differential operators).

    !!! example
        In a controller's `decide(run, clock)`: `run.step`, `run.history.objective[-1]`.
    """

    step: int
    state: PyTree
    stage: Stage
    watch: PyTree
    history: History
    seconds: float = 0.0
    evaluations: Any = 0

    @property
    def settling(self) -> bool:
        """Whether steps have begun to shrink. No checkpoint holds such a run: one that goes on does so from before."""
        return bool(self.history.rows) and self.history.share[-1] < 1

    def after(self, task: Task, length: int, share: float, found: "Chunk") -> "Run":
        """The run after a chunk of `length` steps, with one more row."""
        step, seconds = self.step + length, self.seconds + found.seconds
        evaluations = self.evaluations + np.asarray(found.summary.evaluations, np.int64)
        terms = list(enumerate(task.problem.terms))
        worst = lambda parts: {t.name: parts[i] for i, t in terms if t.worst}
        row = Row(
            step=step,
            seconds=seconds,
            evaluations=evaluations,
            objective=found.summary.objective,
            share=share,
            values=found.summary.values,
            multipliers=found.summary.multipliers,
            acceptance=worst(found.summary.acceptance),
            sample_size=worst(found.summary.sample_size),
            points={} if self.stage.curbs else worst([s.points for s in found.state.samplers]),
            weights=worst(found.summary.weights),
            looks=found.looks,
        )
        return Run(step, found.state, self.stage, found.watch, self.history.after(row), seconds, evaluations)

    def restarted(self, stage: Stage, state: PyTree, seconds: float, evaluations: int) -> "Run":
        """The run with a new first state, in another stage; what it was worth before is not forgotten."""
        spent = {"seconds": self.seconds + seconds, "evaluations": self.evaluations + evaluations}
        return self._replace(state=state, stage=stage, **spent)

    # --- files ---

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The run as plain data and named arrays."""
        about = {"step": self.step, "stage": self.stage.as_json(), "seconds": self.seconds}
        arrays = {"evaluations": np.asarray(self.evaluations)}
        for group, tree in (("state", self.state), ("watch", self.watch)):
            arrays |= {f"{group}/{i:04d}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(tree))}
        return about, arrays | {f"history/{name}": a for name, a in self.history.items()}

    @staticmethod
    def restored(about: dict[str, Any], arrays: dict[str, np.ndarray], state: PyTree, watch: PyTree) -> "Run":
        """The run that was stored; `state` and `watch` have the shapes of its own."""
        flat = {name.removeprefix("history/"): a for name, a in arrays.items() if name.startswith("history/")}
        return Run(
            int(about["step"]),
            _poured(state, arrays, "state"),
            Stage.from_json(about["stage"]),
            _poured(watch, arrays, "watch"),
            History.unflattened(flat),
            float(about["seconds"]),
            arrays["evaluations"],
        )


class Chunk(NamedTuple):
    """What a chunk of iterations, and the controller's look at it, have found."""

    state: PyTree
    summary: Summary
    watch: PyTree
    looks: dict[str, Any]
    seconds: float


def _poured(tree: PyTree, arrays: dict[str, np.ndarray], group: str) -> PyTree:
    leaves, structure = jax.tree.flatten(tree)
    new = []
    for i, leaf in enumerate(leaves):
        found = arrays.get(f"{group}/{i:04d}")
        if found is None or found.shape != np.shape(leaf):
            raise ValueError(f"it has an array of another shape than this run ({group} {i})")
        new.append(np.asarray(found) if isinstance(leaf, np.ndarray) else jnp.asarray(found, leaf.dtype))
    return jax.tree.unflatten(structure, new)
