"""All that a run may change about training, as one value."""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr

from .._base import changed
from .._laws import smoothed
from .._problem import AbstractProblem, Term, course
from .._result import Tempered

# Of a law that became an average: it keeps a residual at its kinks whatever is drawn, and many steps on few points
# average that better than few steps on many.
THIN = 0.4
Curbs = tuple[tuple[float, ...], ...]  # by unknown and coordinate


class Stage(NamedTuple):
    """Which attempt at the weights it is, from which end of time training goes on (1, -1, or 0 for everywhere at once),
    which worst cases are averages now, with which row of the history the stage began, and by how much those averages
    resist bending, for a width of 1.

    !!! example
        `Stage(attempt=1)`: other first weights
    """

    attempt: int = 0
    direction: int = 0
    averaged: tuple[tuple[str, Tempered], ...] = ()
    began: int = 0
    curbs: tuple[tuple[str, Curbs], ...] = ()

    @property
    def tempered(self) -> dict[str, Tempered]:
        return dict(self.averaged)

    @property
    def first(self) -> bool:
        """Whether nothing was changed yet."""
        return not (self.attempt or self.direction or self.averaged)

    def pose(self, problem: AbstractProblem, width: float = 0.0) -> Any:
        """The problem as it is trained in this stage; laws that became averages resist bending by `width`."""
        domain, curbs = problem.domain, dict(self.curbs)
        along = tuple(i for i, name in enumerate(domain.names) if name not in domain.parameters)

        def averaged(term: Term) -> Term:
            if not term.worst or term.owner not in curbs:
                return term
            law = term.law
            if width:
                law = smoothed(law, width * jnp.asarray(curbs[term.owner]), along, problem.vocabulary)
            return dataclasses.replace(term, law=law, sampler=term.chosen.evenly(max(int(THIN * term.points), 1)))

        posed = changed(problem, course=course(problem.constraints, self.tempered, self.direction))
        return changed(posed, terms=tuple(map(averaged, problem.terms))) if curbs else posed

    def keys(self, keys: Any) -> Any:
        """The keys of this attempt."""
        # Far from the numbers of steps, with which keys are folded too.
        return jr.fold_in(keys, 2**31 + self.attempt) if self.attempt else keys

    def as_json(self) -> dict[str, Any]:
        averaged = [[name, t.step, t.where] for name, t in self.averaged]
        return {**self._asdict(), "averaged": averaged, "curbs": [[name, *curbs] for name, curbs in self.curbs]}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> "Stage":
        averaged = tuple((name, Tempered(step, where)) for name, step, where in stored["averaged"])
        curbs = tuple((name, tuple(map(tuple, rows))) for name, *rows in stored["curbs"])
        return Stage(**{**stored, "averaged": averaged, "curbs": curbs})
