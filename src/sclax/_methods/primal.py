"""One step of the weights on the Lagrangian."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from .._base import Key, Model, Points
from .._problem import Evaluation, Multipliers, Problem
from ..samplers import AbstractSampler

GENTLE = 0.01  # the price of a constraint, in its units, that must not decide where training goes
Count = Int[Array, ""]
Prices = Callable[[Multipliers], Multipliers]  # from violations to the factors of the constraints' gradients


class AbstractPrimal(eqx.Module):
    """Moves the weights down the Lagrangian  objective + Σ price_k value_k  on given points."""

    chunk: ClassVar[int] = 100  # iterations between two looks of the host, a fraction of a second
    double: ClassVar[bool] = False  # whether it needs double precision
    watched: ClassVar[bool] = False  # whether its states are compared on a spare draw, and the best one is the result

    @abc.abstractmethod
    def init(self, model: Model) -> PyTree:
        """The first state."""

    @abc.abstractmethod
    def step(
        self, problem: Problem, model: Model, state: PyTree, points: tuple[Points, ...], scale: Any, prices: Prices
    ) -> tuple[Model, PyTree, Evaluation, Count]:
        """The new model and state, the pass that was made at the old model, and the number of passes beyond it.

        `scale` multiplies the objective.
        """

    def prepare(
        self, problem: Problem, worst_case: AbstractSampler | None = None, average: AbstractSampler | None = None
    ) -> Problem:
        """The problem with every open choice of points made."""
        return problem.completed(worst_case, average)

    def placed(self, problem: Problem, state: PyTree, points: tuple[Array, ...]) -> tuple[Array, ...]:
        """Drawn points, moved to where training is just now."""
        return points

    def reach(self, problem: Problem, state: PyTree) -> Any:
        """The share of time on which training is."""
        return jnp.ones(())

    def slowed(self, state: PyTree, share: float) -> PyTree:
        """The state from which steps are only a share as long, if the primal can."""
        return state

    def units(self, problem: Problem, model: Model, key: Key) -> Multipliers:
        """The size of each constraint's value at the start; the dual sees values and multipliers in these units."""
        return {name: jnp.ones(()) for name in problem.tolerances}

    def start(self, problem: Problem, model: Model, units: Multipliers, key: Key) -> Model:
        """A network that `solve` has built, made ready."""
        return model

    def start_evaluations(self, problem: Problem) -> int:
        """How many evaluations of differential operators `start` makes."""
        return 0
