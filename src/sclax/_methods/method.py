"""How a problem is solved: one iteration draws points, moves the weights, moves the multipliers.

Stepping by hand is public:

    problem = method.prepare(problem)
    state = method.init(problem, model, key)
    state, info = method.step(problem, state, key)
"""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._base import Key, Losses, Model, Scalar, call
from .._problem import AbstractProblem, ByConstraint, Evaluation
from ..samplers import SamplerState
from .march import Reach, begin, placed
from .primal import AbstractPrimal, Prices


class State(NamedTuple):
    """All that the next iteration needs."""

    model: Model
    multipliers: ByConstraint
    primal: PyTree
    dual: PyTree
    samplers: tuple[SamplerState, ...]
    levels: tuple[Scalar, ...]  # the α-level of each term's ψ_α, from the last pass
    units: ByConstraint  # the size of each constraint's value, in which the dual sees it
    reach: Reach  # how far training has come in time
    first: Scalar  # the objective of the network as it was built


class Info(NamedTuple):
    """What a person wants to know about an iteration."""

    objective: Scalar
    values: ByConstraint
    seen: dict[str, Bool[Array, "..."]]  # which entries of `values` are of this iteration
    multipliers: ByConstraint
    acceptance: tuple[Scalar, ...]
    sample_size: tuple[Scalar, ...]
    weights: tuple[Losses, ...]  # of the points of each term
    evaluations: Int[Array, ""]
    finite: Array


class Merit(NamedTuple):
    """What tells a better state from a worse one: a lower  objective + Σ weight · average.  Of two that are equal in it
    but for noise, a feasible state is better than one that is not, and of two feasible ones that of lower objective.

    Averages, since of a worst case a few points carry the weight, and states compared by it would be chosen by luck.
    """

    objective: Scalar
    averages: Float[Array, " k"]
    weights: Float[Array, " k"]
    feasible: Array


class AbstractMethod(eqx.Module):
    """A way to train: `prepare` fills in the problem's open choices, `init` and `step` iterate. `constrained` says
    whether multipliers enforce tolerances; fixed weights promise none.

    !!! example
        `method = PrimalDual(GaussNewton(), DualAscent(0.3)); problem = method.prepare(problem)`
    """

    primal: eqx.AbstractVar[AbstractPrimal]
    constrained: ClassVar[bool]

    def __repr__(self) -> str:
        return call(self)

    @abc.abstractmethod
    def prepare(self, problem: Any) -> Any:
        """The problem with every open choice of points made."""

    @abc.abstractmethod
    def init(self, problem: AbstractProblem, model: Model, key: Key) -> State:
        """The first state."""

    @abc.abstractmethod
    def step(self, problem: AbstractProblem, state: State, key: Key, share: Any = 1.0) -> tuple[State, Info]:
        """One iteration, whose primal step goes a `share` of its length."""

    @abc.abstractmethod
    def merit(self, problem: AbstractProblem, state: State, worst: Evaluation, average: Evaluation) -> Merit:
        """How good a state is, given a pass on points that did not train it, by worst cases and by averages."""

    @abc.abstractmethod
    def unpriced(self, state: State) -> tuple[str, ...]:
        """The constraints whose multiplier is no price: a fixed weight, or one that sits at its cap."""


def zero_multipliers(problem: AbstractProblem) -> ByConstraint:
    return {name: jnp.zeros_like(tolerance) for name, tolerance in problem.tolerances.items()}


def first_state(
    problem: AbstractProblem, primal: AbstractPrimal, model: Model, multipliers: Any, dual_state: PyTree, key: Key
) -> State:
    keys = jr.split(key, len(problem.terms))
    samplers = tuple(t.chosen.init(t.law.place, k) for t, k in zip(problem.terms, keys, strict=True))
    levels = tuple(jnp.zeros_like(t.alpha) for t in problem.terms)
    # Not one of the keys of the samplers, which are folds of `key` by their numbers.
    units = primal.start.units(problem, model, jr.fold_in(key, len(problem.terms)))
    first = _objective(problem, model, samplers)
    return State(model, multipliers, primal.init(model), dual_state, samplers, levels, units, begin(), first)


def _objective(problem: AbstractProblem, model: Model, samplers: tuple[SamplerState, ...]) -> Scalar:
    """The objective at the samplers' points."""
    total = jnp.zeros(())
    for term, state in zip(problem.terms, samplers, strict=True):
        if term.owner is None:
            losses = term.law.losses(term.law.rows(model, problem.parameters, state.points))
            total += term.scale * jnp.mean(losses)
    return total


def iterate(
    problem: AbstractProblem, primal: AbstractPrimal, state: State, scale: Any, prices: Prices, key: Key, share: Any
) -> tuple[State, Info]:
    """Draws points under the current weights, makes one primal step on them, and lets the samplers see the losses."""
    terms = problem.terms
    key_draw, key_move = jr.split(key)
    place = lambda term, w: placed(problem, state.reach, term, w)
    drawn = []
    for t, level, s, k in zip(terms, state.levels, state.samplers, jr.split(key_draw, len(terms)), strict=True):
        density = problem.density(state.model, t, level)
        # Of the points as they will be placed, so that draws by the loss are draws by that within reach.
        s, before = t.chosen.step(t.law.place, lambda w, t=t, density=density: density(place(t, w)), s, k)
        drawn.append((s._replace(points=place(t, s.points)), before))
    points = tuple(s.points for s, _ in drawn)
    model, primal_state, found = primal.step(problem, state.model, state.primal, points, scale, prices, share)
    evaluation = found.evaluation
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
            evaluations += t.law.inner * (len(s.points) * (1 + found.trials) + before.evaluations + after.evaluations)
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
        finite=found.finite
        & finite((evaluation.objective, evaluation.values, eqx.filter(model, eqx.is_inexact_array))),
    )
    samplers = tuple(s for s, _ in moved)
    reach = state.reach.after(found.loss)
    state = state._replace(model=model, primal=primal_state, samplers=samplers, levels=levels, reach=reach)
    return state, info


def finite(tree: PyTree) -> Array:
    """Whether all numbers of a tree are finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))
