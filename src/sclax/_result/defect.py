"""How wrong is an answer? One defect correction: the laws linearised about it, solved for what is missing.

    R′(u) e = −R(u),   error ≈ ‖e‖ / ‖u + e‖

in a richer space than the answer's, on points that trained nothing. For polynomials on tiles that is one step of
Newton's with more of them; for anything else e is a sum of waves in random directions.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.linalg
import threadpoolctl

from .._base import Model
from .._problem import AbstractProblem, Problem
from .._spectral import March, Solved, Spectral, Tile, Unsuited, corrected, work
from ..nn import member
from . import evaluate
from .features import Waves, waves
from .rows import Answer, Rows, answer_of, at_member, drawn

COLUMNS = 1200  # waves, times unknowns
HELD_OUT = 0.25  # of the points tell which ridge is best
FEW = 8  # points of a law, of which none is held out
ROUNDS = 2
LOUDEST = 1e-3  # of the loudest law: no other counts for more than as if it left so little
RIDGES = (1e-3, 1e-7, 1e-11)  # of the mean square of a column
LEAST_FACTOR = 2.0
FACTOR = 3.0  # of estimates by polynomials
RICHER = 0.0  # share of polynomials more along a side; two more in any case
MOST_WORK = 6e10  # operations of the correction of polynomials, about ten seconds
ROUNDING = 5e-16
MEMBERS = 4  # of a family, that are solved anew
POINTS = 8192  # at which an error is taken
DOUBT = 4.0  # by which it grows where more waves change the correction by as much as it is, or leave as much
SHORT = 0.25  # of the waves are the short ones


class Defect(NamedTuple):
    """An estimate of the relative error, the factor within which it is believed to be right, and what to say of it; no
    estimate where there is none to be had."""

    error: float | None
    factor: float = 1.0
    note: str = ""


def tiled(problem: AbstractProblem, model: Model) -> Solved | None:
    """An answer that is polynomials on tiles of the domain, as such; None where it is anything else."""
    coefficients = getattr(model, "coefficients", None)
    box = getattr(model, "rescale", model)  # of polynomials on the whole domain, or the tiles' own
    lower, upper = (getattr(box, name, None) for name in ("lower", "upper"))
    if coefficients is None or lower is None or upper is None:
        return None
    arrays = np.asarray(coefficients, float)
    lower, upper = (np.asarray(ends, float).reshape(-1, problem.domain.dimension) for ends in (lower, upper))
    if arrays.ndim == lower.shape[1] + 1:
        arrays = arrays[None]
    if arrays.ndim != lower.shape[1] + 2 or len(arrays) != len(lower):
        return None
    tiles, found = [], []
    for low, high, array in zip(lower.tolist(), upper.tolist(), arrays, strict=True):
        terms = tuple(_used(array, i) for i in range(1, array.ndim))
        tile = Tile(tuple(low), tuple(high), terms)
        tiles.append(tile)
        found.append(array[(slice(None), *tile.indices.T)])
    return Solved(tiles, found)


def _used(array: np.ndarray, axis: int) -> int:
    """How many coefficients along an axis there are, without zeros that fill up."""
    others = tuple(i for i in range(array.ndim) if i != axis)
    used = np.flatnonzero(np.any(array != 0, axis=others))
    return int(used[-1]) + 1 if len(used) else 1


def answer_as(problem: AbstractProblem, model: Model) -> Answer:
    """The derivatives of an answer: of polynomials on tiles at hand, of others by JAX."""
    known = tiled(problem, model)
    if known is None:
        return answer_of(model, problem.vocabulary)
    return lambda z, alongs: np.stack([known(z, along) for along in alongs], axis=1)


def estimated(
    problem: Problem,
    model: Model,
    laws: Sequence[Rows],
    sizes: Sequence[float],
    member: Mapping[str, float] | None = None,
) -> Defect:
    """The relative error of an answer, in double precision, from the rows of the laws about it and their sizes; of one
    member of a family where its parameters, at which the rows are, are given."""
    if any(problem.vocabulary.pins):
        return Defect(None, note="an unknown depends on some of the coordinates only")
    if not all(np.all(np.isfinite(rows.left)) for rows in laws):
        return Defect(None, note="a law is not finite")
    # Threads that wait for each other cost more than they do on matrices of this size.
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        if member:
            answer, free = answer_as(problem, model), evaluate.free_constants(problem, model)
            z = at_member(problem.domain, np.asarray(problem.domain.sobol(POINTS), float), member)
            return _of_member(problem, answer, laws, sizes, z, free)
        try:
            if hasattr(model, "member"):
                return _of_members(problem, model)
            return _of_tiles(problem, model)
        except (Unsuited, np.linalg.LinAlgError):
            pass
        return _of_waves(problem, model, laws, sizes)


def _of_tiles(problem: Problem, model: Model) -> Defect:
    known = tiled(problem, model)
    if known is None or work(problem, known, RICHER, {}) > MOST_WORK:
        raise Unsuited("it would take too long")
    axes = evaluate.default_axes(problem)
    even = np.asarray(problem.domain.sobol(POINTS), float)
    z = even if len(axes) > 2 else np.stack([m.ravel() for m in np.meshgrid(*axes.values(), indexing="ij")], axis=-1)
    found = corrected(problem, known, z, RICHER)
    if not found.size:
        raise Unsuited("there is nothing to compare with")
    floor = ROUNDING * math.sqrt(len(known.tiles))
    return Defect(math.hypot(found.change / found.size, floor), FACTOR)


def _of_members(problem: Problem, model: Model) -> Defect:
    """A family's error by that of some members, solved anew."""
    domain, errors, spent = problem.domain, [], 0.0
    first = domain.dimension - len(domain.parameters)
    unit = np.asarray(domain.select(domain.parameters).sobol(MEMBERS + 1), float)[1:]
    inner = np.asarray(domain.select(domain.names[:first]).sobol(POINTS), float)
    for p in unit:
        march = March(problem, Spectral(), dict(enumerate(p.tolist(), start=first)))
        marched = march.first
        for marched in march.steps(marched):  # noqa: B020 -- each follows from the one before
            if spent + marched.work > MOST_WORK:
                raise Unsuited("it would take too long")
        spent += marched.work
        z = np.concatenate([inner, np.tile(p, (len(inner), 1))], axis=1)
        true = Solved.joined(marched.parts)(z, (0,) * z.shape[1])
        here = np.asarray(evaluate.values(problem, member(model, jnp.asarray(p)), jnp.asarray(z)), float)
        errors.append(float(np.linalg.norm(here - true) / np.linalg.norm(true)))
    return Defect(math.hypot(float(np.mean(errors)), ROUNDING), FACTOR + float(np.max(errors) / np.mean(errors)))


def _of_waves(problem: Problem, model: Model, laws: Sequence[Rows], sizes: Sequence[float]) -> Defect:
    """Of a family at some members: over its parameters phases change as no wave's do."""
    if not any(rows.slopes is not None and rows.alongs and rows.term.law.order > 0 for rows in laws):
        return Defect(None, note="nobody can see what the equations look at")
    domain, answer = problem.domain, answer_as(problem, model)
    z, free = np.asarray(domain.sobol(POINTS), float), evaluate.free_constants(problem, model)
    if not domain.parameters:
        return _of_member(problem, answer, laws, sizes, z, free)
    found = []
    for p in np.asarray(domain.select(domain.parameters).sobol(MEMBERS + 1), float)[1:]:
        held = dict(zip(domain.parameters, p.tolist(), strict=True))
        rows = [drawn(problem, model, answer, law.term, k, held) for k, law in enumerate(laws)]
        found.append(_of_member(problem, answer, rows, sizes, at_member(domain, z, held), free))
    known = [defect.error for defect in found if defect.error is not None]
    if not known:
        return found[0]
    return Defect(float(np.mean(known)), max(defect.factor for defect in found))


def _of_member(
    problem: Problem,
    answer: Answer,
    laws: Sequence[Rows],
    sizes: Sequence[float],
    z: np.ndarray,
    free: tuple[int, ...],
) -> Defect:
    domain = problem.domain
    every = list(zip(laws, sizes, strict=True))
    seen = [(rows, size) for rows, size in every if rows.slopes is not None and rows.alongs]
    numbers = wave_numbers(answer, z, domain.lengths)
    numbers[domain.dimension - len(domain.parameters) :] = 0.0
    found = by_waves(answer, seen, z, numbers, np.asarray(domain.lower) + domain.lengths / 2, free)
    if found.error is None:
        return found
    # A law that nobody sees into is taken for one on values.
    hidden = [_share(rows, size) for rows, size in every if rows.slopes is None]
    return found._replace(error=math.hypot(found.error, *hidden))


def _share(rows: Rows, size: float) -> float:
    return math.sqrt(np.mean(rows.left**2)) / size if size > 0 else 0.0


def wave_numbers(answer: Answer, z: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The root mean square wave number of the solution along each coordinate, half a turn over the domain at least."""
    zero = (0,) * z.shape[1]
    firsts = tuple(tuple(int(i == j) for i in range(z.shape[1])) for j in range(z.shape[1]))
    jets = answer(z, (zero, *firsts))
    spread = np.mean((jets[:, 0] - np.mean(jets[:, 0], axis=0)) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.mean(jets[:, 1:] ** 2, axis=0) / spread
    found = np.sqrt(np.max(np.where(np.isfinite(squares), squares, 0.0), axis=1))
    return np.maximum(found, np.pi / lengths)


class Normal(NamedTuple):
    """The normal equations of the rows of a law that are fitted, its rows that check the fit, the right-hand side as
    the last column, the root mean square of all right-hand sides, and how much of an unknown goes with what is left of
    the law where that is made of short waves."""

    gram: np.ndarray
    checked: np.ndarray
    loud: float
    harm: float

    def rest(self, c: np.ndarray, columns: np.ndarray) -> float:
        """The root mean square of what is left of the law, by the share that is left of rows that were not fitted."""
        before = float(np.linalg.norm(self.checked[:, -1]))
        if not before:
            return 0.0
        left = float(np.linalg.norm(self.checked[:, -1] - self.checked[:, columns] @ c))
        return self.loud * min(left / before, 1.0)


def by_waves(
    answer: Answer,
    laws: Sequence[tuple[Rows, float]],
    z: np.ndarray,
    numbers: np.ndarray,
    middle: np.ndarray,
    free: tuple[int, ...] = (),
) -> Defect:
    """The correction as a sum of waves, about those of wave numbers `numbers`, by the rows of some laws and their
    sizes, and its norm at points `z`, without the constants of unknowns that are `free`.

    What waves do not explain is made of shorter ones. It is taken to be as harmful as the shortest that there are: as
    it is, where it is left of a prescribed value, and hardly at all, where it is left of an equation of high order.
    """
    zero = (0,) * z.shape[1]
    here = answer(z, (zero,))[:, 0]
    unknowns = here.shape[1]
    count = COLUMNS // unknowns
    basis = waves(numbers, middle, count, 0)
    lengthy = np.linalg.norm(basis.vectors / np.where(numbers > 0, numbers, 1.0), axis=1)
    short = lengthy >= np.quantile(lengthy, 1 - SHORT)
    rows = [_normal(basis, law, size, short, k) for k, (law, size) in enumerate(laws)]
    every, some = np.arange(count * unknowns), np.flatnonzero(np.arange(count * unknowns) % count < count // 2)
    c, rest, solve = _solved(rows, every)
    values = basis(z, zero)
    change = evaluate.without_constants(free, values @ c.reshape(unknowns, -1).T)
    half = evaluate.without_constants(free, values[:, : count // 2] @ solve(some).reshape(unknowns, -1).T)
    norm = lambda e: math.sqrt(np.mean(np.sum(e**2, axis=1)))
    # The solution is the answer, the change and what no wave explains: for an answer of zero all of it is missing.
    error, size = math.hypot(norm(change), rest), math.hypot(norm(here + change), rest)
    if not size or not np.isfinite(error):
        return Defect(None, note="the linearised laws have no finite solution")
    doubt = min(max(norm(half - change), rest) / error, 1.0) if error else 0.0
    return Defect(error / size, LEAST_FACTOR + DOUBT * doubt)


def _normal(basis: Waves, rows: Rows, size: float, short: np.ndarray, seed: int) -> Normal:
    """The rows of a law in its size."""
    matrix = np.concatenate([basis.table(rows), -rows.left.reshape(-1, 1)], axis=1) / (size or 1.0)
    # Not every fourth: of an even sequence those lie side by side.
    out = np.repeat(np.random.default_rng(seed).uniform(size=len(rows.left)) < HELD_OUT, rows.left.shape[1])
    out &= len(rows.left) >= FEW
    kept = matrix[~out]
    gram = kept.T @ kept / len(kept)
    loudest = np.sqrt(np.max(np.diagonal(gram)[:-1].reshape(-1, len(short))[:, short], axis=0))
    harm = float(np.median(math.sqrt(0.5) / np.maximum(loudest, np.finfo(float).tiny)))
    checked = matrix[out] if np.any(out) else matrix
    return Normal(gram, checked, math.sqrt(np.mean(matrix[:, -1] ** 2)), harm if np.any(loudest) else 0.0)


def _solved(
    laws: Sequence[Normal], columns: np.ndarray
) -> tuple[np.ndarray, float, Callable[[np.ndarray], np.ndarray]]:
    """The least-squares solution in all columns, the harm of what it leaves of the laws, and how to find that in other
    columns. Each law counts by what it leaves: of one that the waves cannot explain nothing is to be learned."""
    harms = np.asarray([law.harm for law in laws])
    noise = np.asarray([law.loud for law in laws])
    best = np.zeros(len(columns)), math.inf, lambda columns: np.zeros(len(columns))
    for _ in range(ROUNDS):
        weights = 1 / np.maximum(noise, LOUDEST * np.max(noise)) ** 2 if np.any(noise) else np.ones(len(laws))
        total = np.sum([weight * law.gram for weight, law in zip(weights, laws, strict=True)], axis=0)
        for ridge in RIDGES:
            solve = functools.partial(_least, total, ridge)
            c = solve(columns)
            left = np.asarray([law.rest(c, columns) for law in laws])
            harm = float(np.linalg.norm(harms * left))
            if harm < best[1]:
                best, noise = (c, harm, solve), left
    return best


def _least(total: np.ndarray, ridge: float, columns: np.ndarray) -> np.ndarray:
    """The solution of normal equations in some columns, each of which has the same size."""
    gram, product = total[np.ix_(columns, columns)], total[columns, -1]
    scales = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(float).tiny))
    gram = gram / scales / scales[:, None]
    gram[np.diag_indices(len(gram))] += ridge
    try:
        factor = scipy.linalg.cho_factor(gram, check_finite=False)
    except np.linalg.LinAlgError:  # too small a ridge for rounding
        return np.zeros(len(columns))
    return scipy.linalg.cho_solve(factor, product / scales, check_finite=False) / scales
