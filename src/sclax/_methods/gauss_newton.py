"""Gauss-Newton steps along curved paths, for Lagrangians that are weighted sums of squares."""

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from .._base import Model, Points, Scalar, checks
from .._problem import AbstractProblem, Term, TermValues
from ..samplers import AbstractSampler, Drawn, ImportanceWeights, Sobol, Uniform
from . import gram
from .primal import AbstractPrimal, Count, PrimalInfo
from .warm_start import WarmStart

LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)  # of a step, tried from the longest down
LEAST, MOST = 0.01, 1e2  # bounds of the damping's factor; below, each step would overfit its own draw
DETERMINED = 1e-10  # the lower bound where a draw determines all weights
WILD = 10.0  # times the loss of earlier weights on the same draw: overfitting
ASIDE = 0.1  # of a step, to both sides, where its curvature is measured
BENT = 0.2  # of a step's length, the most by which it bends
PASSES = 3  # of a step beside the line search: two of them for this, one of earlier weights
STEADY = 0.1  # the lower bound where a law cannot hold everywhere, and no step may trust its draw so much

Solve = Callable[[Float[Array, " r"]], list[Array]]  # from rows to a direction in the weights


class Damping(NamedTuple):
    """μ = factor · loss, the loss being that after the last step, and the weights that did best on fresh draws."""

    factor: Scalar
    loss: Scalar
    best: list[Array]

    def before(self, leaves: list[Array], loss: Scalar, of_best: Scalar) -> "tuple[Damping, Bool[Array, '']]":
        """The damping of a step on a fresh draw, where the weights have some `loss` and the best ones `of_best`, at the
        same prices; and whether steps went wild. Where laws contradict data, steps fit both on their own points and
        neither in between: fresh points see it, and μ grows, with the loss that they see."""
        wild = loss > WILD * of_best
        best = [jnp.where(loss > of_best, old, new) for old, new in zip(self.best, leaves, strict=True)]
        return Damping(jnp.where(wild, 4.0, 1.0) * self.factor, jnp.where(wild, loss, self.loss), best), wild


class GaussNewton(AbstractPrimal):
    """Damped Gauss-Newton steps on the stacked residual rows ρ, whose squares add up to the Lagrangian:

        ρ = (√(price_k w_i) r_i),   J = ∂ρ/∂θ,   J⁺ = Jᵀ (J Jᵀ + μ I)⁻¹,
        θ ← θ − η d − η² b,   d = J⁺ ρ,   b = J⁺ ∂²ρ(θ + s d)/∂s² / 2.

    b bends the path as the rows bend (Transtrum & Sethna's geodesic acceleration): the valleys of a network's loss
    are narrow and curved, and straight steps would have to be short. It costs two passes and no other matrix, and
    is at most a fifth as long as d. The system has the size of the rows, and its matrix is found without J for
    dense layers; where there are more rows than weights it is solved by QR of J. Points are drawn afresh for every
    step, those of conditions too: a few fixed ones would be overfitted. η is the best of falling lengths with
    prices and worst-case weights frozen, 0 where none improves; μ is a factor times the loss, and the factor falls
    after long steps and grows after short and rejected ones, and where a fresh draw sees ten times the loss that
    earlier weights have on it. In the last part of a run `solve` makes steps ever shorter, so that the noise of the
    draws averages out. Runs in double precision inside `solve`. Constraints are scaled inside by the size of their
    residual at the start, so that one dual rate fits all; what the user sees is in the user's units.

    **Arguments:**

    - `warm_up`: Adam steps with which a network that `solve` builds is made ready. Gauss-Newton learns fine and coarse
      features at one pace; Adam learns the coarse ones first, which keeps equations with many weak solutions (the
      eikonal one) out of wrong folds, and spares the others a plateau. Conditions count fully in it, equations by 1 %.
    - `rows`: how many points a worst case has for each dimension of the domain, where it leaves its number open;
      averages have as many, in up to two dimensions 13/30 of them. Good values: 150 to 300.
    - `guard`: the least effective share of worst-case points, see `Drawn`.
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
        Drawn(guard=self.guard)  # which checks it

    @property
    def start(self) -> WarmStart:
        return WarmStart(self.warm_up)

    def samplers(self, problem: AbstractProblem) -> tuple[AbstractSampler, AbstractSampler]:
        """What worst cases and averages use where they leave it open."""
        dimension = problem.domain.dimension
        points = self.rows * dimension
        # Half of them where the loss is large, which few even points miss; the guard lets no few of them weigh it all.
        worst_case = lambda count: Drawn(count, crowd=True, guard=self.guard)
        if dimension <= 2:  # a condition on a line is known by fewer points
            return worst_case(points), Sobol(math.ceil(13 / 30 * self.rows) * dimension, crowd=True)
        # On a face of more dimensions too few leave a condition undetermined; but beside many conditions each has fewer
        # rows, by the square root of their number, and equations have what that saves.
        everywhere = worst_case(points), Sobol(points, crowd=True)
        left_open = {t.name for t in problem.terms if t.sampler is None and t.n is None and not t.law.place.finite}
        chosen = problem.completed(*everywhere)
        terms = [term for term in chosen.terms if term.name in left_open]
        equations = sum(_width(chosen, term) for term in terms if term.worst)
        conditions = sum(not term.worst for term in terms)
        if not conditions > equations > 0:
            return everywhere
        many = conditions / equations
        saved = many - math.sqrt(many)
        return worst_case(math.ceil(points * (1 + saved))), Sobol(math.ceil(points / math.sqrt(many)), crowd=True)

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
        most = average.count(problem.domain)
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

    def _fitting(self, problem: AbstractProblem, limit: int) -> AbstractProblem:
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
        # A copy: compiled steps may write into the model's own arrays.
        weights = jax.tree.map(jnp.array, jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
        return Damping(jnp.asarray(LEAST, dtype), jnp.asarray(1.0, dtype), weights)

    def step(self, problem, model, state, points, scale, prices, share=1.0):
        weights, rest = eqx.partition(model, eqx.is_inexact_array)
        leaves, structure = jax.tree.flatten(weights)
        rebuild = lambda leaves: eqx.combine(jax.tree.unflatten(structure, leaves), rest)
        evaluation = problem.evaluate(model, points)
        price = prices(problem.violations(evaluation.values))

        def rooted(evaluation):
            return [
                _root(term, found, scale if term.owner is None else _entries(term, price[term.owner], w))
                for term, found, w in zip(problem.terms, evaluation.terms, points, strict=True)
            ]

        roots = rooted(evaluation)
        stack = lambda rows: jnp.concatenate([(f[:, None] * r).ravel() for f, r in zip(roots, rows, strict=True)])

        def residual(leaves):
            model = rebuild(leaves)
            return stack([t.law.rows(model, problem.parameters, w) for t, w in zip(problem.terms, points, strict=True)])

        laws = [
            lambda leaves, w, term=term: term.law.at(rebuild(leaves), problem.parameters, w) for term in problem.terms
        ]
        rho = stack([found.rows for found in evaluation.terms])
        determined = rho.size > sum(leaf.size for leaf in leaves)
        least = jnp.where(problem.course.given_up, STEADY, DETERMINED if determined else LEAST)
        before = jnp.sum(rho**2)
        # Each by its own worst points: what is worst for one may be harmless for the other.
        earlier = problem.evaluate(rebuild(state.best), points)
        parts = zip(rooted(earlier), earlier.terms, strict=True)
        state, wild = state.before(leaves, before, sum(jnp.sum((f[:, None] * v.rows) ** 2) for f, v in parts))
        damping = jnp.maximum(state.factor, least) * state.loss
        solve, size = (_in_weights if determined else _in_samples)(laws, leaves, points, roots, damping, self.memory)
        direction = solve(rho)
        bend = _at_most(BENT, direction, solve(_curvature(residual, leaves, direction, rho) / 2))
        # The path along which the rows vanish to second order in its length.
        path = lambda length: [
            leaf - length * (d + length * b) for leaf, d, b in zip(leaves, direction, bend, strict=True)
        ]
        length, after, trials = _search(lambda length: jnp.sum(residual(path(length)) ** 2), before)
        falls = jnp.where(wild, 1.0, 0.5)
        factor = state.factor * jnp.where(length >= 0.5, falls, jnp.where(length > 0, 1.5, 4.0))
        # A rejected direction may hold NaN, and 0 · NaN is no step of length 0.
        gone = zip(path(share * length), leaves, strict=True)
        leaves = [jnp.where(length > 0, new, old) for new, old in gone]
        state = Damping(jnp.clip(factor, least, MOST), after, state.best)
        return rebuild(leaves), state, PrimalInfo(evaluation, before, trials + PASSES, jnp.isfinite(size))


def _curvature(residual, leaves, direction, rho) -> Float[Array, " r"]:
    """The second derivative of the rows along a direction, ∂²ρ(θ + s d)/∂s², by a central difference: two passes, where
    derivatives of derivatives of a differential operator would cost many. None where a law is not finite that near."""
    aside = lambda s: [leaf + s * d for leaf, d in zip(leaves, direction, strict=True)]
    ends = jax.lax.map(lambda s: residual(aside(s)), jnp.asarray([-ASIDE, ASIDE], rho.dtype))
    found = (ends[0] - 2 * rho + ends[1]) / ASIDE**2
    return jnp.where(jnp.all(jnp.isfinite(found)), found, 0.0)


def _at_most(share: float, direction: list[Array], bend: list[Array]) -> list[Array]:
    """The bend, shortened to a share of the direction's length: beyond it second derivatives say little."""
    straight, bent = (jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves)) for leaves in (direction, bend))
    shorter = jnp.minimum(1.0, share * straight / jnp.maximum(bent, jnp.finfo(bent.dtype).tiny))
    return [shorter * leaf for leaf in bend]


def _in_samples(laws, leaves, points, roots, damping, memory) -> tuple[Solve, Scalar]:
    """b ↦ Jᵀ (J Jᵀ + μ I)⁻¹ b, where there are fewer rows than weights, and the sum of squares of J."""
    matrix, pull = gram.system(laws, leaves, points, roots, memory)
    # Rounding makes a singular matrix indefinite by about its norm times eps.
    floor = 10 * jnp.finfo(matrix.dtype).eps * jnp.trace(matrix) + jnp.finfo(matrix.dtype).tiny ** 0.5
    damped = matrix + jnp.maximum(damping, floor) * jnp.eye(len(matrix), dtype=matrix.dtype)
    factor = jax.scipy.linalg.cho_factor(damped, lower=True)
    return lambda b: pull(jax.scipy.linalg.cho_solve(factor, b)), jnp.trace(matrix)


def _in_weights(laws, leaves, points, roots, damping, memory) -> tuple[Solve, Scalar]:
    """The same by least squares, |J d − b|² + μ |d|², where there are fewer weights than rows: J itself is small, and
    its QR keeps the digits that are lost where J is squared."""
    flat, unravel = ravel_pytree(leaves)
    jacobian = jnp.concatenate(
        [
            (
                f[:, None, None]
                * jax.vmap(lambda w, law=law: jax.jacrev(lambda v: law(unravel(v), w))(flat))(points_of)
            ).reshape(-1, flat.size)
            for law, points_of, f in zip(laws, points, roots, strict=True)
        ]
    )
    size = jnp.sum(jacobian**2)
    dtype = jacobian.dtype
    damping = jnp.maximum(damping, (10 * jnp.finfo(dtype).eps) ** 2 * size + jnp.finfo(dtype).tiny ** 0.5)
    r = jnp.linalg.qr(jnp.concatenate([jacobian, jnp.sqrt(damping) * jnp.eye(flat.size, dtype=dtype)]), mode="r")
    triangular = jax.scipy.linalg.solve_triangular

    def solve(b):
        # RᵀR d = Jᵀ b by the triangle alone, and once more for what is left of it, which gives back Q's digits.
        normal = lambda gradient: triangular(r, triangular(r, gradient, trans=1))
        d = normal(b @ jacobian)
        return unravel(d + normal((b - jacobian @ d) @ jacobian - damping * d))

    return solve, size


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


def _rows(problem: AbstractProblem, term: Term) -> int:
    """How many residual rows a term has."""
    nothing = lambda z: jnp.zeros(len(problem.vocabulary.unknowns))
    law, key, parameters = term.law, jr.key(0), problem.bare().parameters
    return jax.eval_shape(lambda: law.rows(nothing, parameters, term.chosen.init(law.place, key).points)).size


def _width(problem: AbstractProblem, term: Term) -> int:
    """How many residual rows a point has."""
    return _rows(problem, term) // term.points


def _batch(term: Term, most: int, guard: float) -> AbstractSampler:
    """Many given points take turns, a fresh draw for each step; a few are all there at once."""
    if not term.law.place.finite or term.separate or term.law.place.measure <= 2 * most:
        return term.chosen
    return ImportanceWeights(most, Uniform(), guard) if term.worst else Uniform(most)


def _thinned(term: Term, share: float, guard: float) -> AbstractSampler:
    """The term's sampler with a share of its points."""
    n = max(int(share * term.points), 1)
    if term.separate:
        return term.chosen
    if term.law.place.finite:
        return _batch(term, n, guard) if 2 * n < term.law.place.measure else term.chosen
    return term.chosen.thinned(n)
