"""One step of the weights on the Lagrangian."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ._typing import Model, Points, PyTree
from .problem import Evaluation, Multipliers, Problem

Prices = Callable[[Multipliers], Multipliers]  # from violations to the factors of the constraints' gradients


class AbstractPrimal(eqx.Module):
    """Moves the weights down the Lagrangian  objective + Σ price_k value_k  on given points."""

    @abc.abstractmethod
    def init(self, model: Model) -> PyTree:
        """The first state."""

    @abc.abstractmethod
    def step(
        self, problem: Problem, model: Model, state: PyTree, points: tuple[Points, ...], scale: Any, prices: Prices
    ) -> tuple[Model, PyTree, Evaluation]:
        """The new model and state, and the pass that was made at the old model. `scale` multiplies the objective."""


class FirstOrder(AbstractPrimal):
    """Any optax transformation:  θ ← θ + update(∇L)."""

    optimiser: optax.GradientTransformation

    def init(self, model: Model) -> PyTree:
        return self.optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def step(self, problem, model, state, points, scale, prices) -> tuple[Any, Any, Evaluation]:
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
        return eqx.combine(optax.apply_updates(weights, updates), rest), state, evaluation


def as_primal(owner: str, primal: Any) -> AbstractPrimal:
    if isinstance(primal, AbstractPrimal):
        return primal
    if isinstance(primal, optax.GradientTransformation):
        return FirstOrder(primal)
    raise ValueError(f"{owner}: `primal` must be an optax transformation such as optax.adam(1e-3), got {primal!r}.")
