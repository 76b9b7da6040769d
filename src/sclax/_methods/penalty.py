"""Fixed weights, as PINNs have them."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from .._base import Key, Model, checks
from .._problem import AbstractProblem, Evaluation
from .first_order import as_primal
from .method import AbstractMethod, Info, Merit, State, first_state, iterate, zero_multipliers
from .primal import AbstractPrimal


class Penalty(AbstractMethod):
    """A fixed weight for each term, as PINNs have:  minimise  w_objective objective + Σ w_k value_k.

    `weights` is a dict by constraint, and `"objective"` for the objective; what is left out weighs 1. Tolerances play
    no part in training; multipliers are reported as the weights that they are.

    !!! example
        `Penalty(primal=optax.adam(1e-3), weights={"objective": 100.0, "pde": 1.0})`
    """

    constrained: ClassVar[bool] = False

    primal: AbstractPrimal
    weights: tuple[tuple[str, float], ...] = eqx.field(static=True)

    def __init__(self, primal: Any, weights: Mapping[str, float] | None = None):
        self.primal = as_primal("Penalty", primal)
        self.weights = tuple((weights or {}).items())
        for name, weight in self.weights:
            if checks.number("Penalty", f"weights[{name!r}]", weight) < 0:
                raise ValueError(f"Penalty: `weights[{name!r}]` must not be negative, got {weight}.")

    def prepare(self, problem: Any) -> Any:
        known = (*problem.constraints, "objective")
        for name, _ in self.weights:
            if name not in known:
                raise ValueError(
                    f"Penalty: `weights` names `{name}`; there are {checks.listed(known)}."
                    + checks.nearest(name, known)
                )
        return self.primal.prepare(problem)

    def init(self, problem: AbstractProblem, model: Model, key: Key) -> State:
        multipliers = {
            name: jnp.full_like(zero, dict(self.weights).get(name, 1.0))
            for name, zero in zero_multipliers(problem).items()
        }
        return first_state(problem, self.primal, model, multipliers, (), key)

    def step(self, problem: AbstractProblem, state: State, key: Key, share: Any = 1.0) -> tuple[State, Info]:
        scale = dict(self.weights).get("objective", 1.0)
        return iterate(problem, self.primal, state, scale, lambda violations: state.multipliers, key, share)

    def merit(self, problem: AbstractProblem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        total = dict(self.weights).get("objective", 1.0) * worst.objective
        for name, value in worst.values.items():
            total += jnp.vdot(state.multipliers[name], value)
        return Merit(total, jnp.zeros(0), jnp.zeros(0), jnp.asarray(True))

    def unpriced(self, state: State) -> tuple[str, ...]:
        return tuple(state.multipliers)
