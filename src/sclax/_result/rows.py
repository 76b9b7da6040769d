"""The laws about an answer, at fresh points: what is left of them there, and by which derivatives of it they change."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Model, Points
from .._laws import Derivative, Vocabulary
from .._laws import evaluate as quantities_at
from .._places import AbstractPlace
from .._problem import AbstractProblem, Term
from .._spectral import Along, linearised, orders, seen
from ..nn import numbers_of
from . import evaluate

INSIDE, CONDITIONS = 2400, 500  # points of an equation, over the unknowns, and of a condition
PROBES = 16  # points at which a law shows what it depends on
MANY_DERIVATIVES = 80  # more of them take longer to compile than anybody waits

Answer = Callable[
    [np.ndarray, tuple[Along, ...]], np.ndarray
]  # points and derivatives to (points, derivatives, unknowns)


class Rows(NamedTuple):
    """A law at some points: what is left of it, and, where it can be seen what the law looks at, its slopes by the
    derivatives of the unknowns there, these derivatives, and what is left of it where all of them are zero."""

    term: Term
    left: np.ndarray  # (points, components)
    slopes: np.ndarray | None = None  # (points, components, points that are seen, derivatives, unknowns)
    z: np.ndarray | None = None  # (points, points that are seen, coordinates)
    jets: np.ndarray | None = None  # (points, points that are seen, derivatives, unknowns)
    given: np.ndarray | None = None  # (points, components)
    alongs: tuple[Along, ...] = ()


@eqx.filter_jit
def _jets(model: Model, vocabulary: Vocabulary, points: Points, alongs: tuple[Along, ...]) -> Float[Array, "n a m"]:
    indices = [tuple(i for i, n in enumerate(along) for _ in range(n)) for along in alongs]
    wanted = [Derivative(k, index) for index in indices for k in range(len(vocabulary.unknowns))]

    def at(z):
        return jnp.stack(quantities_at(model, vocabulary, {}, z, wanted)).reshape(len(alongs), -1)

    return jax.lax.map(at, points, batch_size=evaluate.block(model))


@eqx.filter_jit
def _left(problem: AbstractProblem, model: Model, term: Term, w: Points) -> Float[Array, "n c"]:
    return term.law.rows(model, problem.parameters, w)


def answer_of(model: Model, vocabulary: Vocabulary) -> Answer:
    """Any model's derivatives, by JAX."""
    return lambda z, alongs: np.asarray(_jets(model, vocabulary, jnp.asarray(z), alongs), float)


def chart_points(term: Term, n: int, seed: int, member: Mapping[str, float] | None = None) -> np.ndarray:
    """Fresh points of a law's place: even ones, or of finitely many as many; of one member of a family where its
    parameters are given."""
    place = term.law.place
    if not place.finite:
        return at_member(place, np.asarray(place.sobol(n, jr.key(seed)), float), member or {})
    every = np.asarray(place.grid(0), float)
    chosen = np.random.default_rng(seed).permutation(len(every))[:n]
    return every[np.sort(chosen)]


def at_member(place: AbstractPlace, w: np.ndarray, member: Mapping[str, float]) -> np.ndarray:
    """Chart points with the parameters of one member, those of them that are in the place then."""
    if not member:
        return w
    w = w.copy()
    # On several faces the chart's coordinates have no names of the domain's; their order is the same.
    for column, value in zip(place.parameter_columns, member.values(), strict=True):
        w[:, column] = value
    kept = np.asarray(_contained(place, jnp.asarray(w)))
    return w[kept] if np.any(kept) else w


@eqx.filter_jit
def _contained(place: AbstractPlace, w: Points) -> Bool[Array, " n"]:
    return jax.vmap(place.contains)(w)


def drawn(
    problem: AbstractProblem,
    model: Model,
    answer: Answer,
    term: Term,
    seed: int,
    member: Mapping[str, float] | None = None,
) -> Rows:
    """A law about an answer at fresh points."""
    inside = not term.law.place.finite and term.law.place.chart.dimension == problem.domain.dimension
    n = INSIDE // len(problem.vocabulary.unknowns) if inside else CONDITIONS
    w = chart_points(term, max(n // term.law.inner, 1), seed, member)
    try:
        return linear(problem, model, answer, term, w)
    except Exception:  # a law of the user's own that no Taylor polynomial will do for
        return plain(problem, model, term, w)


def plain(problem: AbstractProblem, model: Model, term: Term, w: np.ndarray) -> Rows:
    """What is left of a law, and nothing else."""
    return Rows(term, np.asarray(_left(problem, model, term, jnp.asarray(w)), float))


def linear(problem: AbstractProblem, model: Model, answer: Answer, term: Term, w: np.ndarray) -> Rows:
    """A law about an answer at some of its chart points."""
    law, unknowns = term.law, len(problem.vocabulary.unknowns)
    parameters: Any = {**problem.parameters, **numbers_of(model)}
    alongs = orders(problem.domain.dimension, law.order)
    if _hidden(problem, term, parameters, w) or len(alongs) > MANY_DERIVATIVES:
        return plain(problem, model, term, w)
    z = seen(law, parameters, law.place, w)
    _, shown = linearised(law.uncut, parameters, law.place, *_probes(problem, answer, w, z, alongs), alongs)
    used = tuple(a for k, a in enumerate(alongs) if np.any(shown[:, :, :, k]))  # NaN is something too
    jets = np.zeros((*z.shape[:2], len(alongs), unknowns))
    if used:
        found = answer(z.reshape(-1, z.shape[-1]), used)
        jets[:, :, [alongs.index(a) for a in used]] = found.reshape(*z.shape[:2], len(used), unknowns)
    left, slopes = linearised(law, parameters, law.place, w, jets, alongs)
    given, _ = linearised(law, parameters, law.place, w, np.zeros_like(jets), alongs)
    kept = [alongs.index(a) for a in used]
    return Rows(term, left, slopes[:, :, :, kept], z, jets[:, :, kept], np.nan_to_num(given, posinf=0, neginf=0), used)


def _probes(
    problem: AbstractProblem, answer: Answer, w: np.ndarray, z: np.ndarray, alongs: tuple[Along, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Chart points, and random derivatives there at which a law shows what it depends on: those of size one, and those
    about the answer, in its units. A law may have bends, and be flat far from what it is meant for."""
    some = z[:PROBES]
    values = answer(some.reshape(-1, z.shape[-1]), ((0,) * z.shape[-1],)).reshape(*some.shape[:2], 1, -1)
    values = np.nan_to_num(values, posinf=0, neginf=0)
    noise = np.random.default_rng(0).normal(size=(*some.shape[:2], len(alongs), values.shape[-1]))
    rates = np.prod((2 / problem.domain.lengths) ** np.asarray(alongs), axis=1)[:, None]
    about = noise * rates * np.sqrt(np.mean(values**2, axis=(0, 1, 2)))
    about[:, :, [not any(along) for along in alongs]] += values
    return np.tile(w[:PROBES], (2, 1)), np.concatenate([noise, about])


def _hidden(problem: AbstractProblem, term: Term, parameters: Any, w: np.ndarray) -> bool:
    """Whether nobody can tell what the law looks at: a Taylor polynomial about its points will not do then."""
    vocabulary = problem.vocabulary
    if any(vocabulary.pins) or not len(w):
        return True
    return term.law.residual.seen(parameters, term.law.place, jnp.asarray(w[0])) is None
