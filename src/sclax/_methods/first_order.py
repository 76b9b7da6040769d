"""Primal steps by gradients."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree

from .._base import Model, words
from .primal import AbstractPrimal, PlainStart, PrimalInfo


class FirstOrder(AbstractPrimal):
    """Any optax transformation:  θ ← θ + update(∇L)."""

    optimiser: optax.GradientTransformation

    chunk: ClassVar[int] = 100
    double: ClassVar[bool] = False
    watched: ClassVar[bool] = False

    def __repr__(self) -> str:
        return words(self.optimiser)

    @property
    def start(self) -> PlainStart:
        return PlainStart()

    def prepare(self, problem, worst_case=None, average=None):
        return problem.completed(worst_case, average)

    def init(self, model: Model) -> PyTree:
        return self.optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def step(self, problem, model, state, points, scale, prices, share=1.0) -> tuple[Any, Any, PrimalInfo]:
        weights, rest = eqx.partition(model, eqx.is_inexact_array)

        def lagrangian(weights):
            evaluation = problem.evaluate(eqx.combine(weights, rest), points)
            price = jax.lax.stop_gradient(prices(problem.violations(evaluation.values)))
            total = scale * evaluation.objective
            for name, value in evaluation.values.items():
                total = total + jnp.vdot(price[name], value)
            return total, evaluation

        (total, evaluation), gradient = jax.value_and_grad(lagrangian, has_aux=True)(weights)
        updates, state = self.optimiser.update(gradient, state, weights)
        updates = jax.tree.map(lambda update: share * update, updates)
        model = eqx.combine(optax.apply_updates(weights, updates), rest)
        return model, state, PrimalInfo(evaluation, total, jnp.asarray(0, jnp.int32))


def as_primal(owner: str, primal: Any) -> AbstractPrimal:
    if isinstance(primal, AbstractPrimal):
        return primal
    if isinstance(primal, optax.GradientTransformation):
        return FirstOrder(primal)
    raise ValueError(
        f"{owner}: `primal` must be an optax transformation such as optax.adam(1e-3), or GaussNewton(), got {primal!r}."
    )
