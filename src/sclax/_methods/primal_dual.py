"""The paper's method."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from .._base import Key, Model, checks
from .._problem import AbstractProblem, ByConstraint, Evaluation
from ..samplers import AbstractSampler
from . import dual
from .dual import AbstractDual, as_duals
from .first_order import as_primal
from .method import AbstractMethod, Info, Merit, State, first_state, iterate, zero_multipliers
from .primal import GENTLE, AbstractPrimal


class PrimalDual(AbstractMethod):
    """The paper's Algorithm 1: descend the Lagrangian in the weights, ascend it in the multipliers λ ≥ 0, λ₀ = 0.

    Both see the same pass. With `primal_steps` > 1 the weights make several steps, each on new points, for each step
    of the multipliers.

    **Arguments:**

    - `primal`: `GaussNewton()`, or an optax transformation for the weights.
    - `dual`: `DualAscent(rate)`, `NuPI(rate)`, `AugmentedLagrangian(penalty)`, an optax transformation, or a dict of
      these by constraint.
    - `worst_case`, `average`: the samplers of measures that leave theirs open; default: the primal's choice.

    !!! example
        `PrimalDual(primal=optax.adam(1e-3), dual=optax.adam(1e-4))`
    """

    constrained: ClassVar[bool] = True

    primal: AbstractPrimal
    dual: AbstractDual | dict[str, AbstractDual]
    primal_steps: int = eqx.field(static=True)
    worst_case: AbstractSampler | None
    average: AbstractSampler | None

    def __init__(
        self,
        primal: Any,
        dual: Any,
        primal_steps: int = 1,
        worst_case: AbstractSampler | None = None,
        average: AbstractSampler | None = None,
    ):
        self.primal = as_primal("PrimalDual", primal)
        self.dual = as_duals("PrimalDual", dual)
        self.primal_steps = checks.count("PrimalDual", "primal_steps", primal_steps)
        for name, sampler in (("worst_case", worst_case), ("average", average)):
            if sampler is not None and not isinstance(sampler, AbstractSampler):
                raise ValueError(f"PrimalDual: `{name}` must be a sampler such as Sobol(128), got {sampler!r}.")
        self.worst_case, self.average = worst_case, average

    def prepare(self, problem: Any) -> Any:
        dual.for_constraints("PrimalDual", self.dual, problem.constraints)
        return self.primal.prepare(problem, self.worst_case, self.average)

    def init(self, problem: AbstractProblem, model: Model, key: Key) -> State:
        duals = dual.for_constraints("PrimalDual", self.dual, problem.constraints)
        multipliers = zero_multipliers(problem)
        return first_state(problem, self.primal, model, multipliers, dual.init(duals, multipliers), key)

    def step(self, problem: AbstractProblem, state: State, key: Key, share: Any = 1.0) -> tuple[State, Info]:
        duals = dual.for_constraints("PrimalDual", self.dual, problem.constraints)

        def settle(values: ByConstraint) -> ByConstraint:
            # A law that cannot hold everywhere has a fixed price: no multiplier would ever be high enough for it.
            averaged, fixed = problem.course.averaged, lambda name: GENTLE / state.units[name]
            return {name: jnp.where(averaged[name] > 0, fixed(name), v) for name, v in values.items()}

        def prices(violations: ByConstraint) -> ByConstraint:
            return settle(dual.prices(duals, state.multipliers, state.dual, violations, state.units))

        def descend(state: State, key: Key) -> tuple[State, Info]:
            return iterate(problem, self.primal, state, 1.0, prices, key, share)

        if self.primal_steps == 1:
            state, info = descend(state, key)
        else:
            arrays, rest = eqx.partition(state, eqx.is_array)

            def body(arrays, key):
                state, out = descend(eqx.combine(arrays, rest), key)
                return eqx.filter(state, eqx.is_array), out

            arrays, trail = jax.lax.scan(body, arrays, jr.split(key, self.primal_steps))
            state = eqx.combine(arrays, rest)
            info = jax.tree.map(lambda leaf: leaf[-1], trail)
            info = info._replace(evaluations=jnp.sum(trail.evaluations), finite=jnp.all(trail.finite))
        multipliers, dual_state = dual.step(
            duals,
            state.multipliers,
            state.dual,
            problem.violations(info.values),
            state.units,
            info.seen,
            problem.tolerances,
            dual.Standing(info.objective, state.first, problem.course.given_up),
            {term.owner for term in problem.terms if term.law.residual.one_sided},
            set(problem.constraints) - {term.owner for term in problem.terms if term.law.order > 0},
        )
        multipliers = settle(multipliers)
        return state._replace(multipliers=multipliers, dual=dual_state), info._replace(multipliers=multipliers)

    def merit(self, problem: AbstractProblem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        names = tuple(problem.tolerances)
        holds = [jnp.all(violation <= 0) for violation in problem.violations(worst.values).values()]
        # No smaller than the multipliers, so that near an optimum no violation pays.
        least = lambda n: 1 / (state.units[n] * state.multipliers[n].size)  # all samples weigh as one constraint
        above = [jnp.maximum(2 * state.multipliers[n], least(n)) for n in names]
        # What a tolerance allows counts as much, but where training presses it less, so that it costs the objective
        # nothing.
        duals = dual.for_constraints("PrimalDual", self.dual, problem.constraints)
        nothing = {n: jnp.zeros_like(multiplier) for n, multiplier in state.multipliers.items()}
        gentle = dual.prices(duals, nothing, state.dual, nothing, state.units)
        less = lambda n: (gentle[n] > 0) & (gentle[n] < GENTLE * least(n))
        below = [jnp.where(less(n), gentle[n], w) for n, w in zip(names, above, strict=True)]
        excess = [jnp.maximum(average.values[n] - problem.tolerances[n], 0.0) for n in names]
        allowed = [jnp.minimum(average.values[n], problem.tolerances[n]) for n in names]
        stack = lambda arrays: jnp.concatenate([jnp.zeros(0), *map(jnp.ravel, arrays)])
        holds_all = jnp.all(jnp.asarray(holds, bool))
        return Merit(worst.objective, stack([*excess, *allowed]), stack([*above, *below]), holds_all)

    def unpriced(self, state: State) -> tuple[str, ...]:
        duals = dual.for_constraints("PrimalDual", self.dual, tuple(state.multipliers))
        return tuple(n for n, d in duals.items() if not d.priced(state.units[n] * state.multipliers[n], state.first))
