"""Gauss-Newton steps in sample space, for Lagrangians that are weighted sums of squares."""

import math
import warnings
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float

from .._base import Key, Model, Points, Scalar, checks
from .._laws import outputs
from .._places import TIME, AbstractPlace, PointSet
from .._problem import Multipliers, Problem, Term, TermValues
from ..samplers import AbstractSampler, Fixed, Grid, ImportanceWeights, MetropolisHastings, Sobol, Uniform
from . import gram
from .first_order import FirstOrder
from .primal import GENTLE, AbstractPrimal, Count

LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)  # of a step, tried from the longest down
LEAST, MOST = 0.01, 1e2  # bounds of the damping's factor; below, each step would overfit its own draw
STEADY = 0.1  # the lower bound where a law cannot hold everywhere, and no step may trust its draw so much
BEGIN, PACE, LEAST_PACE = 0.05, 1 / 300, 1 / 3000  # shares of time: the first one, and those that a step adds
CALM = 0.01  # the loss, over the largest so far, at which training goes on in time
PROBES = 256  # points that measure the size of a residual's gradient


class Damping(NamedTuple):
    """μ = factor · loss, the loss being that after the last step; and how far training has come in time."""

    factor: Scalar
    loss: Scalar
    largest: Scalar  # loss so far
    reach: Scalar  # the share of time on which training is, where the problem is marching
    share: Scalar  # the part of its length that a step goes


class GaussNewton(AbstractPrimal):
    """Damped Gauss-Newton steps on the stacked residual rows ρ, whose squares add up to the Lagrangian:

        ρ = (√(price_k w_i) r_i),   J = ∂ρ/∂θ,   θ ← θ − η Jᵀ (J Jᵀ + μ I)⁻¹ ρ.

    The system has the size of the rows, not of the weights, and its matrix is found without J for dense layers. Points
    are drawn afresh for every step, those of conditions too: a few fixed ones would be overfitted. η is the best of
    falling lengths with prices and worst-case weights frozen, 0 where none improves; μ is a factor times the loss, and
    the factor falls after long steps and grows after short and rejected ones. In the last part of a run `solve` makes
    steps ever shorter, so that the noise of the draws averages out. Runs in double precision inside `solve`.
    Constraints are scaled inside by the size of their residual at the start, so that one dual rate fits all; what the
    user sees is in the user's units.

    **Arguments:**

    - `warm_up`: Adam steps with which a network that `solve` builds is made ready. Gauss-Newton learns fine and coarse
      features at one pace; Adam learns the coarse ones first, which keeps equations with many weak solutions (the
      eikonal one) out of wrong folds, and spares the others a plateau. Conditions count fully in it, equations by 1 %.
    - `rows`: how many points a worst case has for each dimension of the domain, where it leaves its number open;
      averages have as many, in up to two dimensions 13/30 of them. Good values: 150.
    - `guard`: the least effective share of worst-case points, see `ImportanceWeights`.
    - `memory`: bytes for the Gram matrix and what it is made of, for each of several seeds. Beyond it fewer points are
      drawn, with a warning.

    !!! example
        `PrimalDual(primal=GaussNewton(), dual=DualAscent(0.3, clip=1.0, cap=2.0))`
    """

    warm_up: int = eqx.field(static=True, default=1000)
    rows: int = eqx.field(static=True, default=150)
    guard: float = eqx.field(static=True, default=0.5)
    memory: float = eqx.field(static=True, default=1e9)

    chunk: ClassVar[int] = 10
    double: ClassVar[bool] = True
    watched: ClassVar[bool] = True

    def __check_init__(self):
        checks.count("GaussNewton", "warm_up", self.warm_up, at_least=0)
        checks.positive("GaussNewton", "memory", self.memory)
        checks.count("GaussNewton", "rows", self.rows, at_least=2)
        ImportanceWeights(guard=self.guard)  # which checks it

    def samplers(self, problem: Problem) -> tuple[AbstractSampler, AbstractSampler]:
        """What worst cases and averages use where they leave it open."""
        dimension = problem.domain.dimension
        worst_case = ImportanceWeights(self.rows * dimension, Sobol(crowd=True), self.guard)
        # A condition on a line is known by fewer points; on a face of more dimensions too few leave it undetermined.
        share = 13 / 30 if dimension <= 2 else 1.0
        return worst_case, Sobol(math.ceil(share * self.rows) * dimension, crowd=True)

    def prepare(self, problem, worst_case=None, average=None):
        if not problem.pointwise:
            raise ValueError(
                "GaussNewton: a solution operator has a whole grid of residual rows for each sample, too many for a "
                "Gram matrix; use a first-order primal such as optax.adam(1e-3)."
            )
        default = self.samplers(problem)
        worst_case, average = worst_case or default[0], average or default[1]
        left_open = {term.name for term in problem.terms if term.sampler is None and term.n is None and not term.worst}
        problem = problem.completed(worst_case, average)
        if problem.domain.dimension > 2:  # where conditions are costly, one with several rows a point has fewer points
            problem = problem.resampled(
                lambda t: _thinned(t, 1 / _width(problem, t), 0) if t.name in left_open else t.chosen
            )
        most = _size(average, problem.domain)
        problem = problem.resampled(lambda term: _batch(term, most, self.guard))
        rows = {term.name: _rows(problem, term) for term in problem.terms}
        limit = int(math.sqrt(self.memory / 32))  # the matrix, its factor, and room to make them, 8 bytes each
        if sum(rows.values()) <= limit:
            return problem
        kept = sum(rows[term.name] for term in problem.terms if term.separate)
        share = (limit - kept) / max(sum(rows.values()) - kept, 1)
        if share <= 0:
            raise ValueError(
                f"GaussNewton: `each` has {kept} rows, and a Gram matrix of them needs {32 * kept**2:.2g} bytes, more "
                f"than `memory={self.memory:.2g}`. Raise it, or use a first-order primal such as optax.adam(1e-3)."
            )
        warnings.warn(
            f"GaussNewton: {sum(rows.values())} rows in a step need {32 * sum(rows.values()) ** 2:.2g} bytes, more "
            f"than `memory={self.memory:.2g}`: only {share:.0%} of the points are drawn for each step.",
            stacklevel=2,
        )
        return self._fitting(problem.resampled(lambda term: _thinned(term, share, self.guard)), limit)

    def _fitting(self, problem: Problem, limit: int) -> Problem:
        rows = {term.name: _rows(problem, term) for term in problem.terms}
        if sum(rows.values()) > 1.1 * limit:
            largest = max(rows, key=lambda name: rows[name])
            raise ValueError(
                f"GaussNewton: `{largest}` has {rows[largest]} rows that cannot be thinned out, and all need more than "
                f"`memory={self.memory:.2g}`. Raise it, give fewer points, or use a first-order primal."
            )
        return problem

    def init(self, model: Model) -> Damping:
        dtype = jnp.result_type(float)
        return Damping(*(jnp.asarray(value, dtype) for value in (LEAST, 1.0, 0.0, BEGIN, 1.0)))

    def placed(self, problem, state, points):
        """Where the problem is marching, points at a time within reach; those of a union of faces stay."""

        def place(term: Term, w: Points) -> Points:
            if TIME not in term.law.place.chart.names or not _fresh(term.chosen):
                return w
            i = term.law.place.chart.names.index(TIME)
            low, high = term.law.place.chart.ends(TIME)
            start = jnp.where(term.march < 0, high, low)
            return w.at[:, i].set(start + self.reach(problem, state) * (w[:, i] - start))

        return tuple(place(term, w) for term, w in zip(problem.terms, points, strict=True))

    def reach(self, problem, state):
        return jnp.where(problem.terms[0].march == 0, 1.0, state.reach)

    def slowed(self, state, share):
        return state._replace(share=jnp.full_like(state.share, share))

    def units(self, problem: Problem, model: Model, key: Key) -> Multipliers:
        """The mean square of a residual at the start, or, where it is larger, of its gradient in the weights over that
        of the objective's rows: a residual that is small at first, as u = 0 makes many, is not small for the weights.
        """
        terms = problem.terms
        keys = jr.split(key, 3)
        objective = [_slope(problem, model, t, keys[0]) for t in terms if t.owner is None]
        if not objective:
            value = lambda model, z: outputs(model, z, len(problem.unknowns))
            objective = [_mean_slope(value, model, problem.domain.uniform(PROBES, keys[0]), 16)]
        reference = sum(objective) / len(objective)
        units = {name: jnp.zeros(()) for name in problem.tolerances}
        for term in terms:
            if term.owner is not None:
                rows = term.law.rows(
                    model, problem.parameters, term.law.place.uniform(_count(8 * PROBES, term), keys[1])
                )
                slope = _slope(problem, model, term, keys[2]) / jnp.where(reference > 0, reference, 1.0)
                size = jnp.maximum(jnp.mean(jnp.sum(rows**2, axis=-1)), slope)
                units[term.owner] += term.scale * (size if term.law.power == 2 else jnp.sqrt(size))
        return {name: jnp.where((unit > 0) & jnp.isfinite(unit), unit, 1.0) for name, unit in units.items()}

    def start(self, problem: Problem, model: Model, units: Multipliers, key: Key) -> Model:
        differential = {t.owner for t in problem.terms if t.law.order > 0}
        prices = {
            name: jnp.full_like(tolerance, (GENTLE if name in differential else 1.0) / max(tolerance.size, 1))
            / units[name]
            for name, tolerance in problem.tolerances.items()
        }
        adam, even = FirstOrder(optax.adam(optax.cosine_decay_schedule(2e-3, max(self.warm_up, 1)))), _even(problem)
        weights, rest = eqx.partition(model, eqx.is_inexact_array)

        def body(carry, key):
            weights, state = carry
            keys = jr.split(key, len(even.terms))
            points = tuple(t.chosen.init(t.law.place, k).points for t, k in zip(even.terms, keys, strict=True))
            model, state, _, _ = adam.step(even, eqx.combine(weights, rest), state, points, 1.0, lambda _: prices)
            return (eqx.filter(model, eqx.is_inexact_array), state), None

        (weights, _), _ = jax.lax.scan(body, (weights, adam.init(model)), jr.split(key, self.warm_up))
        return eqx.combine(weights, rest)

    def start_evaluations(self, problem: Problem) -> int:
        terms = [(t.law.inner, _size(t.chosen, t.law.place)) for t in _even(problem).terms if t.law.order > 0]
        return self.warm_up * sum(inner * n for inner, n in terms)

    def step(self, problem, model, state, points, scale, prices):
        weights, rest = eqx.partition(model, eqx.is_inexact_array)
        leaves, structure = jax.tree.flatten(weights)
        rebuild = lambda leaves: eqx.combine(jax.tree.unflatten(structure, leaves), rest)
        evaluation = problem.evaluate(model, points)
        price = prices(problem.violations(evaluation.values))
        roots = [
            _root(term, found, scale if term.owner is None else _entries(term, price[term.owner], w))
            for term, found, w in zip(problem.terms, evaluation.terms, points, strict=True)
        ]
        stack = lambda rows: jnp.concatenate([(f[:, None] * r).ravel() for f, r in zip(roots, rows, strict=True)])

        def loss(leaves):
            model = rebuild(leaves)
            rows = (t.law.rows(model, problem.parameters, w) for t, w in zip(problem.terms, points, strict=True))
            return jnp.sum(stack(rows) ** 2)

        laws = [
            lambda leaves, w, term=term: term.law.residual(rebuild(leaves), problem.parameters, term.law.place, w)
            for term in problem.terms
        ]
        matrix, pull = gram.system(laws, leaves, points, roots, self.memory)
        rho = stack([found.rows for found in evaluation.terms])
        # Rounding makes a singular matrix indefinite by about its norm times eps.
        floor = 10 * jnp.finfo(matrix.dtype).eps * jnp.trace(matrix) + jnp.finfo(matrix.dtype).tiny ** 0.5
        least = jnp.where(_unmeetable(problem), STEADY, LEAST)
        damped = matrix + jnp.maximum(jnp.maximum(state.factor, least) * state.loss, floor) * jnp.eye(
            len(matrix), dtype=matrix.dtype
        )
        direction = pull(jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(damped, lower=True), rho))
        moved = lambda length: [leaf - length * d for leaf, d in zip(leaves, direction, strict=True)]
        before = jnp.sum(rho**2)
        length, after, trials = _search(lambda length: loss(moved(length)), before)
        factor = state.factor * jnp.where(length >= 0.5, 0.5, jnp.where(length > 0, 1.5, 4.0))
        # A rejected direction may hold NaN, and 0 · NaN is no step of length 0.
        gone = zip(moved(state.share * length), leaves, strict=True)
        leaves = [jnp.where(length > 0, new, old) for new, old in gone]
        largest = jnp.maximum(state.largest, before)
        reach = jnp.minimum(state.reach + jnp.where(before < CALM * largest, PACE, LEAST_PACE), 1.0)
        state = Damping(jnp.clip(factor, least, MOST), after, largest, reach, state.share)
        return rebuild(leaves), state, evaluation, trials


def _unmeetable(problem: Problem) -> Array:
    """Whether a worst case had to become an average: its residual stays, on other points at every draw."""
    return jnp.max(jnp.stack([term.temper for term in problem.terms])) > 0


def _fresh(sampler: AbstractSampler) -> bool:
    """Whether a sampler draws other points for every step, whatever the last ones were."""
    return isinstance(sampler.proposal if isinstance(sampler, ImportanceWeights) else sampler, Uniform | Sobol)


def _entries(term: Term, price: Array, w: Points) -> Array:
    """The price of each drawn sample, or of the whole constraint."""
    return price[w[:, 0].astype(int)] if term.separate else price


def _root(term: Term, found: TermValues, price: Any) -> Float[Array, " n"]:
    """The factor of the rows of each point: the root of its price, scale and weight."""
    weights = jnp.ones_like(found.losses) if term.separate else found.weights
    if term.law.power == 1:  # |r| = r² / |r|: a parabola that touches it from above
        weights = weights / (2 * jnp.maximum(found.losses, 1e-8))
    return jnp.sqrt(jnp.maximum(price * term.scale * weights, 0.0))


def _search(loss: Any, before: Scalar) -> tuple[Scalar, Scalar, Count]:
    """The best of falling lengths, stopping where the loss no longer falls; 0 where none improves."""
    lengths = jnp.asarray(LENGTHS, before.dtype)

    def going(carry):
        k, length, _, worse = carry
        return (k < len(LENGTHS)) & ~(worse & (length > 0))

    def body(carry):
        k, length, best, _ = carry
        found = loss(lengths[k])
        better = found < best  # not where it is NaN
        return k + 1, jnp.where(better, lengths[k], length), jnp.where(better, found, best), ~better

    start = (jnp.asarray(0, jnp.int32), jnp.zeros_like(before), before, jnp.asarray(False))
    trials, length, best, _ = jax.lax.while_loop(going, body, start)
    return length, best, trials


def _slope(problem: Problem, model: Model, term: Term, key: Key) -> Scalar:
    residual = lambda model, w: term.law.residual(model, problem.parameters, term.law.place, w)
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


def _size(sampler: AbstractSampler, place: AbstractPlace) -> int:
    """How many points a sampler draws."""
    return jax.eval_shape(lambda: sampler.init(place, jr.key(0)).points).shape[0]


def _rows(problem: Problem, term: Term) -> int:
    """How many residual rows a term has."""
    nothing = lambda z: jnp.zeros(len(problem.unknowns))
    law, key, parameters = term.law, jr.key(0), problem.bare().parameters
    return jax.eval_shape(lambda: law.rows(nothing, parameters, term.chosen.init(law.place, key).points)).size


def _width(problem: Problem, term: Term) -> int:
    """How many residual rows a point has."""
    return _rows(problem, term) // _size(term.chosen, term.law.place)


def _even(problem: Problem) -> Problem:
    """The problem on fresh uniform points, for the warm-up; given points are honoured."""

    def choose(term: Term) -> AbstractSampler:
        given = isinstance(term.chosen, Grid | Fixed) and not isinstance(term.law.place, PointSet)
        return term.chosen if given or term.separate else Uniform(_count(PROBES, term))

    return problem.resampled(choose)


def _batch(term: Term, most: int, guard: float) -> AbstractSampler:
    """Many given points take turns, a fresh draw for each step; a few are all there at once."""
    if not isinstance(term.law.place, PointSet) or term.separate or len(term.law.place.points) <= 2 * most:
        return term.chosen
    return ImportanceWeights(most, Uniform(), guard) if term.worst else Uniform(most)


def _thinned(term: Term, share: float, guard: float) -> AbstractSampler:
    """The term's sampler with a share of its points."""
    n = max(int(share * _size(term.chosen, term.law.place)), 1)
    if term.separate:
        return term.chosen
    if isinstance(term.law.place, PointSet):
        return _batch(term, n, guard) if 2 * n < len(term.law.place.points) else term.chosen
    if isinstance(term.chosen, MetropolisHastings):
        return term.chosen.sized(max(n // term.chosen.chains, 1) * term.chosen.chains)
    return term.chosen.sized(n)
