"""How a problem is solved: one iteration draws points, moves the weights, moves the multipliers.

Stepping by hand is public:

    problem = method.prepare(problem)
    state = method.init(problem, model, key)
    state, info = method.step(problem, state, key)
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._base import Key, Losses, Model, Scalar
from .._problem import Evaluation, Multipliers, Problem
from ..samplers import SamplerState
from .primal import AbstractPrimal, Prices


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
