"""One step of the weights on the Lagrangian."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ._typing import Array, Int, Key, Model, Points, PyTree
from .problem import Evaluation, Multipliers, Problem
from .samplers import AbstractSampler

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


class FirstOrder(AbstractPrimal):
    """Any optax transformation:  θ ← θ + update(∇L)."""

    optimiser: optax.GradientTransformation

    def init(self, model: Model) -> PyTree:
        return self.optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def step(self, problem, model, state, points, scale, prices) -> tuple[Any, Any, Evaluation, Count]:
        weights, rest = eqx.partition(model, eqx.is_inexact_array)

        def lagrangian(weights):
            evaluation = problem.evaluate(eqx.combine(weights, rest), points)
            price = jax.lax.stop_gradient(prices(problem.violations(evaluation.values)))
            total = scale * evaluation.objective
            for name, value in evaluation.values.items():
                total = total + jnp.vdot(price[name], value)
            return total, evaluation

        gradient, evaluation = jax.grad(lagrangian, has_aux=True)(weights)
        updates, state = self.optimiser.update(gradient, state, weights)
        return eqx.combine(optax.apply_updates(weights, updates), rest), state, evaluation, jnp.asarray(0, jnp.int32)


def as_primal(owner: str, primal: Any) -> AbstractPrimal:
    if isinstance(primal, AbstractPrimal):
        return primal
    if isinstance(primal, optax.GradientTransformation):
        return FirstOrder(primal)
    raise ValueError(
        f"{owner}: `primal` must be an optax transformation such as optax.adam(1e-3), or GaussNewton(), got {primal!r}."
    )
