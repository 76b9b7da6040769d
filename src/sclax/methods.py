"""How a problem is solved: one iteration draws points, moves the weights, moves the multipliers.

Stepping by hand is public:

    problem = method.prepare(problem)
    state = method.init(problem, model, key)
    state, info = method.step(problem, state, key)
"""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from . import _checks, dual
from ._typing import Array, Bool, Float, Int, Key, Losses, Model, PyTree, Scalar
from .dual import AbstractDual, DualAscent, as_duals
from .primal import GENTLE, AbstractPrimal, Prices, as_primal
from .problem import Evaluation, Multipliers, Problem
from .samplers import AbstractSampler, SamplerState


class State(NamedTuple):
    """All that the next iteration needs."""

    model: Model
    multipliers: Multipliers
    primal: PyTree
    dual: PyTree
    samplers: tuple[SamplerState, ...]
    levels: tuple[Scalar, ...]  # the α-level of each term's ψ_α, from the last pass
    units: Multipliers  # the size of each constraint's value, in which the dual sees it


class Info(NamedTuple):
    """What a person wants to know about an iteration."""

    objective: Scalar
    values: Multipliers
    seen: dict[str, Bool[Array, "..."]]  # which entries of `values` are of this iteration
    multipliers: Multipliers
    acceptance: tuple[Scalar, ...]
    sample_size: tuple[Scalar, ...]
    weights: tuple[Losses, ...]  # of the points of each term
    evaluations: Int[Array, ""]
    finite: Array


class Merit(NamedTuple):
    """What tells a better state from a worse one. A feasible state is better than one that is not; of two feasible ones
    the one with the lower objective is, of two others the one with the lower  objective + Σ weight · average.

    Averages, since of a worst case a few points carry the weight, and states compared by it would be chosen by luck.
    """

    objective: Scalar
    averages: Float[Array, " k"]
    weights: Float[Array, " k"]
    feasible: Array


class AbstractMethod(eqx.Module):
    """A way to train: `prepare` fills in the problem's open choices, `init` and `step` iterate."""

    primal: eqx.AbstractVar[AbstractPrimal]

    @abc.abstractmethod
    def prepare(self, problem: Problem) -> Problem:
        """The problem with every open choice of points made."""

    @abc.abstractmethod
    def init(self, problem: Problem, model: Model, key: Key) -> State:
        """The first state."""

    @abc.abstractmethod
    def step(self, problem: Problem, state: State, key: Key) -> tuple[State, Info]:
        """One iteration."""

    def warm(self, problem: Problem, state: State, key: Key) -> State:
        """The first state with a network made ready; for networks that are not trained yet."""
        model = self.primal.start(problem, state.model, state.units, key)
        return state._replace(model=model, primal=self.primal.init(model))

    @abc.abstractmethod
    def merit(self, problem: Problem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        """How good a state is, given a pass on points that did not train it, by worst cases and by averages."""

    @abc.abstractmethod
    def unpriced(self, state: State) -> tuple[str, ...]:
        """The constraints whose multiplier is no price: a fixed weight, or one that sits at its cap."""


def _zero_multipliers(problem: Problem) -> Multipliers:
    return {name: jnp.zeros_like(tolerance) for name, tolerance in problem.tolerances.items()}


def _start(problem: Problem, primal: AbstractPrimal, model: Model, multipliers, dual_state: PyTree, key: Key) -> State:
    keys = jr.split(key, len(problem.terms))
    samplers = tuple(t.chosen.init(t.law.place, k) for t, k in zip(problem.terms, keys, strict=True))
    levels = tuple(jnp.zeros_like(t.alpha) for t in problem.terms)
    # Not one of the keys of the samplers, which are folds of `key` by their numbers.
    units = primal.units(problem, model, jr.fold_in(key, len(problem.terms)))
    return State(model, multipliers, primal.init(model), dual_state, samplers, levels, units)


def _iterate(
    problem: Problem, primal: AbstractPrimal, state: State, scale: Any, prices: Prices, key: Key
) -> tuple[State, Evaluation, Info]:
    """Draws points under the current weights, makes one primal step on them, and lets the samplers see the losses."""
    terms = problem.terms
    key_draw, key_move = jr.split(key)
    densities = [problem.density(state.model, t, level) for t, level in zip(terms, state.levels, strict=True)]
    drawn = [
        t.chosen.step(t.law.place, d, s, k)
        for t, d, s, k in zip(terms, densities, state.samplers, jr.split(key_draw, len(terms)), strict=True)
    ]
    points = primal.placed(problem, state.primal, tuple(s.points for s, _ in drawn))
    drawn = [(s._replace(points=w), found) for (s, found), w in zip(drawn, points, strict=True)]
    model, primal_state, evaluation, passes = primal.step(problem, state.model, state.primal, points, scale, prices)
    levels = tuple(t.alpha * jnp.max(r.losses) for t, r in zip(terms, evaluation.terms, strict=True))
    # Chains move under the weights of the pass, at which their densities are known.
    densities = [problem.density(state.model, t, level) for t, level in zip(terms, levels, strict=True)]
    moved = [
        t.chosen.observe(t.law.place, d, s, t.density(r.losses), k)
        for t, d, (s, _), r, k in zip(
            terms, densities, drawn, evaluation.terms, jr.split(key_move, len(terms)), strict=True
        )
    ]
    evaluations = jnp.asarray(0, jnp.int32)
    for t, (s, before), (_, after) in zip(terms, drawn, moved, strict=True):
        if t.law.order > 0:  # the paper's currency: evaluations of a differential operator
            evaluations += t.law.inner * (len(s.points) * (1 + passes) + before.evaluations + after.evaluations)
    info = Info(
        objective=evaluation.objective,
        values=evaluation.values,
        seen=evaluation.seen,
        multipliers=state.multipliers,
        acceptance=tuple(a.acceptance * b.acceptance for (_, a), (_, b) in zip(drawn, moved, strict=True)),
        sample_size=tuple(
            t.chosen.effective(t.density(r.losses)) for t, r in zip(terms, evaluation.terms, strict=True)
        ),
        weights=tuple(r.weights for r in evaluation.terms),
        evaluations=evaluations,
        finite=_finite((evaluation.objective, evaluation.values, eqx.filter(model, eqx.is_inexact_array))),
    )
    state = state._replace(model=model, primal=primal_state, samplers=tuple(s for s, _ in moved), levels=levels)
    return state, evaluation, info


def _finite(tree: PyTree) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))


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
        self.primal_steps = _checks.count("PrimalDual", "primal_steps", primal_steps)
        for name, sampler in (("worst_case", worst_case), ("average", average)):
            if sampler is not None and not isinstance(sampler, AbstractSampler):
                raise ValueError(f"PrimalDual: `{name}` must be a sampler such as Sobol(128), got {sampler!r}.")
        self.worst_case, self.average = worst_case, average

    def prepare(self, problem: Problem) -> Problem:
        dual.for_constraints("PrimalDual", self.dual, problem.constraints)
        return self.primal.prepare(problem, self.worst_case, self.average)

    def init(self, problem: Problem, model: Model, key: Key) -> State:
        duals = dual.for_constraints("PrimalDual", self.dual, problem.constraints)
        multipliers = _zero_multipliers(problem)
        return _start(problem, self.primal, model, multipliers, dual.init(duals, multipliers), key)

    def step(self, problem: Problem, state: State, key: Key) -> tuple[State, Info]:
        duals = dual.for_constraints("PrimalDual", self.dual, problem.constraints)

        def settle(values: Multipliers) -> Multipliers:
            # A law that cannot hold everywhere has a fixed price: no multiplier would ever be high enough for it.
            fixed = lambda name: GENTLE / state.units[name]
            return {name: jnp.where(problem.temper(name) > 0, fixed(name), v) for name, v in values.items()}

        def prices(violations: Multipliers) -> Multipliers:
            return settle(dual.prices(duals, state.multipliers, state.dual, violations, state.units))

        def descend(state: State, key: Key) -> tuple[State, Info]:
            state, _, info = _iterate(problem, self.primal, state, 1.0, prices, key)
            return state, info

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
            duals, state.multipliers, state.dual, problem.violations(info.values), state.units, info.seen
        )
        multipliers = settle(multipliers)
        return state._replace(multipliers=multipliers, dual=dual_state), info._replace(multipliers=multipliers)

    def merit(self, problem: Problem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        names = tuple(problem.tolerances)
        holds = [jnp.all(violation <= 0) for violation in problem.violations(worst.values).values()]
        # No smaller than the multipliers, so that near an optimum no violation pays.
        weights = [jnp.maximum(2 * jnp.max(state.multipliers[n]), 1 / state.units[n]) for n in names]
        return Merit(
            worst.objective,
            jnp.asarray([jnp.sum(average.values[n]) for n in names]),
            jnp.asarray(weights),
            jnp.all(jnp.asarray(holds, bool)),
        )

    def unpriced(self, state: State) -> tuple[str, ...]:
        duals = dual.for_constraints("PrimalDual", self.dual, tuple(state.multipliers))
        scaled = {name: float(jnp.max(state.units[name] * m)) for name, m in state.multipliers.items()}
        return tuple(n for n, d in duals.items() if isinstance(d, DualAscent) and scaled[n] >= 0.999 * d.cap)


class Penalty(AbstractMethod):
    """A fixed weight for each term, as PINNs have:  minimise  w_objective objective + Σ w_k value_k.

    `weights` is a dict by constraint, and `"objective"` for the objective; what is left out weighs 1. Tolerances play
    no part in training; multipliers are reported as the weights that they are.

    !!! example
        `Penalty(primal=optax.adam(1e-3), weights={"objective": 100.0, "pde": 1.0})`
    """

    primal: AbstractPrimal
    weights: tuple[tuple[str, float], ...] = eqx.field(static=True)

    def __init__(self, primal: Any, weights: Mapping[str, float] | None = None):
        self.primal = as_primal("Penalty", primal)
        self.weights = tuple((weights or {}).items())
        for name, weight in self.weights:
            if _checks.number("Penalty", f"weights[{name!r}]", weight) < 0:
                raise ValueError(f"Penalty: `weights[{name!r}]` must not be negative, got {weight}.")

    def prepare(self, problem: Problem) -> Problem:
        known = (*problem.constraints, "objective")
        for name, _ in self.weights:
            if name not in known:
                raise ValueError(
                    f"Penalty: `weights` names `{name}`; there are {_checks.listed(known)}."
                    + _checks.nearest(name, known)
                )
        return self.primal.prepare(problem)

    def init(self, problem: Problem, model: Model, key: Key) -> State:
        multipliers = {
            name: jnp.full_like(zero, dict(self.weights).get(name, 1.0))
            for name, zero in _zero_multipliers(problem).items()
        }
        return _start(problem, self.primal, model, multipliers, (), key)

    def step(self, problem: Problem, state: State, key: Key) -> tuple[State, Info]:
        scale = dict(self.weights).get("objective", 1.0)
        state, _, info = _iterate(problem, self.primal, state, scale, lambda violations: state.multipliers, key)
        return state, info

    def merit(self, problem: Problem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        total = dict(self.weights).get("objective", 1.0) * worst.objective
        for name, value in worst.values.items():
            total += jnp.vdot(state.multipliers[name], value)
        return Merit(total, jnp.zeros(0), jnp.zeros(0), jnp.asarray(True))

    def unpriced(self, state: State) -> tuple[str, ...]:
        return tuple(state.multipliers)
