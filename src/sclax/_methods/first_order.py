"""Primal steps by gradients."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree

from .._base import Model
from .._problem import Evaluation
from .primal import AbstractPrimal, Count


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
