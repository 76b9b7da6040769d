"""Training along time: from the end at which the conditions are, on as fast as the equation holds there."""

from typing import NamedTuple

import jax.numpy as jnp

from .._base import Points, Scalar
from .._places import TIME
from .._problem import AbstractProblem, Term

BEGIN, PACE, LEAST_PACE = 0.05, 1 / 300, 1 / 3000  # shares of time: the first one, and those that a step adds
CALM = 0.01  # the loss, over the largest so far, at which training goes on in time


class Reach(NamedTuple):
    """How far training has come in time, where it goes along time."""

    share: Scalar
    largest: Scalar  # loss so far

    def after(self, loss: Scalar) -> "Reach":
        """Further on after a step, fast where the loss has become small."""
        largest = jnp.maximum(self.largest, loss)
        share = jnp.minimum(self.share + jnp.where(loss < CALM * largest, PACE, LEAST_PACE), 1.0)
        return Reach(share, largest)

    def of(self, problem: AbstractProblem) -> Scalar:
        """The share of time on which training is: all of it where it does not go along time."""
        return jnp.where(problem.course.direction == 0, 1.0, self.share)


def begin() -> Reach:
    dtype = jnp.result_type(float)
    return Reach(jnp.asarray(BEGIN, dtype), jnp.asarray(0.0, dtype))


def placed(problem: AbstractProblem, reach: Reach, term: Term, w: Points) -> Points:
    """Drawn points of a term at times within reach. Given ones and those of a union of faces stay."""
    chart = term.law.place.chart
    if TIME not in chart.names or not term.chosen.fresh:
        return w
    i = chart.names.index(TIME)
    low, high = chart.ends(TIME)
    start = jnp.where(problem.course.direction < 0, high, low)
    return w.at[:, i].set(start + reach.of(problem) * (w[:, i] - start))
