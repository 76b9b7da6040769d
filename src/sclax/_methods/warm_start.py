"""How a Gauss-Newton run begins: units by probing, and Adam steps that find the coarse shape."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import PyTree

from .._base import Key, Model, Points, Scalar
from .._laws import outputs
from .._problem import AbstractProblem, ByConstraint, Term
from ..samplers import AbstractSampler, Uniform
from .first_order import FirstOrder
from .primal import GENTLE, AbstractStart

PROBES = 256  # points that measure the size of a residual's gradient


class WarmStart(AbstractStart):
    """`steps` of Adam, at rates that fall from 2e-3 to 0, in which conditions count fully and equations by 1 %."""

    steps: int = eqx.field(static=True)

    def units(self, problem: AbstractProblem, model: Model, key: Key) -> ByConstraint:
        """The mean square of a residual at the start, or, where it is larger, of its gradient in the weights over that
        of the objective's rows: a residual that is small at first, as u = 0 makes many, is not small for the weights.
        """
        terms = problem.terms
        keys = jr.split(key, 3)
        objective = [_slope(problem, model, t, keys[0]) for t in terms if t.owner is None]
        if not objective:
            value = lambda model, z: outputs(model, z, problem.vocabulary)
            objective = [_mean_slope(value, model, problem.domain.uniform(PROBES, keys[0]), 16)]
        reference = sum(objective) / len(objective)
        units = {name: jnp.zeros(()) for name in problem.tolerances}
        for term in terms:
            if term.owner is not None:
                points = term.law.place.uniform(_count(8 * PROBES, term), keys[1])
                rows = term.law.rows(model, problem.parameters, points)
                slope = _slope(problem, model, term, keys[2]) / jnp.where(reference > 0, reference, 1.0)
                size = jnp.maximum(jnp.mean(jnp.sum(rows**2, axis=-1)), slope)
                units[term.owner] += term.scale * (size if term.law.power == 2 else jnp.sqrt(size))
        return {name: jnp.where((unit > 0) & jnp.isfinite(unit), unit, 1.0) for name, unit in units.items()}

    def _adam(self) -> FirstOrder:
        return FirstOrder(optax.adam(optax.cosine_decay_schedule(2e-3, max(self.steps, 1))))

    def init(self, model: Model) -> PyTree:
        return self._adam().init(model)

    def step(self, problem, model, state, units, key) -> tuple[Any, Any]:
        differential = {t.owner for t in problem.terms if t.law.order > 0}
        prices = {
            name: jnp.full_like(tolerance, (GENTLE if name in differential else 1.0) / max(tolerance.size, 1))
            / units[name]
            for name, tolerance in problem.tolerances.items()
        }
        even = _even(problem)
        keys = jr.split(key, len(even.terms))
        points = tuple(t.chosen.init(t.law.place, k).points for t, k in zip(even.terms, keys, strict=True))
        model, state, _ = self._adam().step(even, model, state, points, 1.0, lambda _: prices)
        return model, state

    def evaluations(self, problem: AbstractProblem) -> int:
        return self.steps * sum(t.law.inner * t.points for t in _even(problem).terms if t.law.order > 0)


def _even(problem: AbstractProblem) -> AbstractProblem:
    """The problem on fresh uniform points; given points are honoured."""

    def choose(term: Term) -> AbstractSampler:
        given = term.chosen.fixed and not term.law.place.finite
        return term.chosen if given or term.separate else Uniform(_count(PROBES, term))

    return problem.resampled(choose)


def _slope(problem: AbstractProblem, model: Model, term: Term, key: Key) -> Scalar:
    residual = lambda model, w: term.law.at(model, problem.parameters, w)
    points = term.law.place.uniform(_count(PROBES, term), key)
    return _mean_slope(residual, model, points, max(16 // term.law.inner, 1))


def _count(points: int, term: Term) -> int:
    """So many points, or fewer where each stands for many, after `over=`."""
    return max(points // term.law.inner, 8)


def _mean_slope(function: Any, model: Model, points: Points, block: int) -> Scalar:
    """The mean over points of the sum of squares of a function's derivatives in the weights, by blocks of points."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)

    def square(w):
        rows = jax.jacrev(lambda weights: function(eqx.combine(weights, rest), w))(weights)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(rows))

    return jnp.mean(jax.lax.map(square, points, batch_size=block))
