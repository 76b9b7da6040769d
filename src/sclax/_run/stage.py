"""All that a run may change about training, as one value."""

from typing import Any, NamedTuple

import jax.random as jr

from .._base import changed
from .._problem import AbstractProblem, course
from .._result import Tempered


class Stage(NamedTuple):
    """Which attempt at the weights it is, from which end of time training goes on (1, -1, or 0 for everywhere at once),
    which worst cases are averages now, and with which row of the history the stage began."""

    attempt: int = 0
    direction: int = 0
    averaged: tuple[tuple[str, Tempered], ...] = ()
    began: int = 0

    @property
    def tempered(self) -> dict[str, Tempered]:
        return dict(self.averaged)

    @property
    def first(self) -> bool:
        """Whether nothing was changed yet."""
        return not (self.attempt or self.direction or self.averaged)

    def pose(self, problem: AbstractProblem) -> Any:
        """The problem as it is trained in this stage."""
        return changed(problem, course=course(problem.constraints, self.tempered, self.direction))

    def keys(self, keys: Any) -> Any:
        """The keys of this attempt."""
        # Far from the numbers of steps, with which keys are folded too.
        return jr.fold_in(keys, 2**31 + self.attempt) if self.attempt else keys

    def as_json(self) -> dict[str, Any]:
        averaged = [[name, t.step, t.where] for name, t in self.averaged]
        return {**self._asdict(), "averaged": averaged}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> "Stage":
        averaged = tuple((name, Tempered(step, where)) for name, step, where in stored["averaged"])
        return Stage(**{**stored, "averaged": averaged})
