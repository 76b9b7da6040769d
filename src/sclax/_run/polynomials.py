"""What `solve` tries before a network: polynomials on tiles, which take seconds and say whether they converge."""

import contextlib
import dataclasses
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import threadpoolctl

from .._base import Model, digest, precision
from .._methods import GaussNewton
from .._problem import AbstractProblem, Problem
from .._result import RESULTS, History, Row, Solution, sizes_of, solution_of
from .._spectral import Family, March, Marched, Spanned, Spectral, Unsuited
from .checkpoint import FIRST, Checkpoint
from .progress import Reporter

GOOD = 1e-4  # last coefficients, of the largest, with which nobody need train a network
POOR = 1e-2  # with which they are no solution
SPARE = 4096  # points of a law
SMALL, IN_A_TILE = 0.01, 32  # a tile's share of the domain that few of them see, and the points that it gets
_ENDS = ("lower", "upper")
SAVE_EVERY = 10.0  # seconds
OUT_OF_TIME = "the time was up"


class OutOfTime(Unsuited):
    """The time was up in the middle of the way."""


class Way(Protocol):
    """To the solution of one problem, or to all of a family, state by state."""

    problem: AbstractProblem
    patience: Callable[[float], None]

    @property
    def first(self) -> Any: ...
    def compile(self) -> None: ...
    def steps(self, state: Any, /) -> Iterator[Any]: ...
    def share(self, state: Any, /) -> float: ...
    def complete(self, state: Any, /) -> bool: ...
    def told(self, state: Any, /) -> str: ...
    def finished(self, state: Any, /) -> Any: ...
    def model(self, state: Any, /) -> Model: ...


State = Marched | Spanned


class Found(NamedTuple):
    """A solution, and whether nothing better is to be expected from a network."""

    solution: Solution
    good: bool


class Pace:
    """How long a step of so many operations takes, by the fastest one before."""

    def __init__(self):
        self.best, self.last = math.inf, None

    def expected(self, now: float, operations: float) -> float:
        """The seconds of a step that begins now."""
        if self.last is not None:
            began, size = self.last
            self.best = min(self.best, (now - began) / size)
        self.last = (now, operations)
        return self.best * operations if math.isfinite(self.best) else 0.0


def polynomials(
    problem: AbstractProblem,
    method: Spectral,
    seed: int,
    seconds: float | None,
    checkpoint: str | os.PathLike[str] | None,
    reporter: Reporter,
    on_time: float = 1.0,
) -> Found:
    """The solution by polynomials. Raises `Unsuited` where there is none, with the reason.

    After the share `on_time` of the `seconds` they go on only while they are on the way and, at the pace so far, would
    arrive in time: on a machine that is half as fast a march is not given up halfway."""
    if not problem.pointwise:
        raise Unsuited("an operator maps functions")
    with precision.double(True), contextlib.ExitStack() as stack:
        # Threads that wait for each other cost more than they do on fronts of this size, on a busy machine ten times.
        stack.enter_context(threadpoolctl.threadpool_limits(1, user_api="blas"))
        posed: Any = GaussNewton().prepare(problem)
        bare = posed.bare()
        march = _way(bare, method)
        kept = None
        if checkpoint is not None:
            kept = stack.enter_context(contextlib.closing(Checkpoint(Path(checkpoint) / FIRST)))
            kept.belongs_to({"problem": digest(bare), "method": repr(method)})
        marched, history = _begun(march, kept, bare, reporter)
        began = time.monotonic() - (float(history.seconds[-1]) if history.rows else 0.0)
        saved, interrupted = time.monotonic(), False

        def late(spent: float) -> bool:
            """Whether the time is up."""
            if seconds is None or spent <= on_time * seconds:
                return False
            return march.complete(marched) or spent > march.share(marched) * seconds

        pace = Pace()

        def patience(operations: float) -> None:
            """No step is begun for which there is no time, at the best pace so far."""
            now = time.monotonic()
            if late(now - began + pace.expected(now, operations)):
                raise OutOfTime(OUT_OF_TIME)

        march.patience = patience
        try:
            for after in march.steps(marched):
                spent = time.monotonic() - began
                fresh, marched = after is not marched, after
                over = late(spent)
                if fresh:
                    history = history.after(_row(bare, marched, spent))
                    reporter.tell(bare, history, "polynomials")
                    reporter.note(f"polynomials: {march.told(marched)}", march.share(marched))
                if kept is not None and (over or (fresh and time.monotonic() - saved > SAVE_EVERY)):
                    _save(kept, marched, history, reporter)
                    saved = time.monotonic()
                if over and not march.complete(marched):
                    raise Unsuited(OUT_OF_TIME)
                if over:
                    break
        except OutOfTime:
            if not march.complete(marched):
                if kept is not None:
                    _save(kept, marched, history, reporter)
                raise
        except KeyboardInterrupt:
            interrupted = True
        known = march.complete(marched)
        if interrupted and known:
            reporter.say("interrupted: making ready what was learned")
        marched = march.finished(marched) if known else marched
        if kept is not None:
            _save(kept, marched, history, reporter)
        if not known:
            reporter.say(f"interrupted after {march.share(marched):.0%} of the way")
            raise KeyboardInterrupt
        return _found(posed, march, marched, method, history, seed, interrupted)


def _way(problem: AbstractProblem, method: Spectral) -> Way:
    return Family(problem, method) if problem.domain.parameters else March(problem, method)


def _begun(march: Way, kept: Checkpoint | None, problem: AbstractProblem, reporter: Reporter) -> tuple[State, History]:
    """Where it was left, or the beginning."""
    stored = None if kept is None else kept.latest(warnings.warn)
    march.compile()
    if stored is None:
        return march.first, History.of(problem.constraints)
    about, arrays = stored
    marched = type(march.first).restored(about, {n: a for n, a in arrays.items() if not n.startswith("history/")})
    flat = {n.removeprefix("history/"): a for n, a in arrays.items() if n.startswith("history/")}
    reporter.say(f"resumed after {marched.newtons} steps")
    return marched, History.unflattened(flat)


def _save(kept: Checkpoint, marched: State, history: History, reporter: Reporter) -> None:
    about, arrays = marched.stored()
    try:
        rows = {f"history/{name}": array for name, array in history.items()}
        kept.save(marched.newtons, about, {**arrays, **rows}, reporter.warn)
    except OSError as error:
        reporter.warn(f"solve: no checkpoint was written ({error}); the run itself is not lost.")


def _row(problem: AbstractProblem, marched: State, seconds: float) -> Row:
    """The last part in numbers: its largest losses for worst cases, its mean ones for averages."""
    values, objective = dict.fromkeys(problem.constraints, 0.0), 0.0
    for term in problem.terms:
        losses = marched.losses.get(term.name, np.zeros(1))
        value = float(term.scale) * float(np.max(losses) if term.worst else np.mean(losses))
        if term.owner is None:
            objective += value
        else:
            values[term.owner] += value
    worst = {term.name: 1.0 for term in problem.terms if term.worst}
    return Row(
        step=marched.newtons,
        seconds=seconds,
        evaluations=marched.evaluations,
        objective=objective,
        share=1.0,
        values=values,
        multipliers=dict.fromkeys(problem.constraints, 0.0),
        acceptance=worst,
        sample_size=worst,
        points={},
        weights={},
        looks={},
    )


@eqx.filter_jit
def _spare(problem: AbstractProblem, model: Model, points: tuple[Any, ...]) -> Any:
    return problem.evaluate(model, points)


def spare_points(problem: AbstractProblem) -> tuple[Any, ...]:
    """Even points of each law that trained nothing."""
    places = [term.law.place for term in problem.terms]
    return tuple(p.grid(0) if p.finite else p.sobol(SPARE, jax.random.key(SPARE)) for p in places)


def _found(
    posed: Any, march: Way, marched: State, method: Spectral, history: History, seed: int, interrupted: bool
) -> Found:
    """The solution with a last row on points that it was not fitted to."""
    bare, model = march.problem, march.model(marched)
    points = spare_points(bare)
    seen = _spare(bare, model, points)
    if not np.isfinite(float(seen.objective)):
        raise Unsuited("a law is not finite")
    values = {name: float(np.max(value)) for name, value in seen.values.items()}
    row = _row(bare, marched, float(history.seconds[-1]))
    history = history.after(row._replace(objective=float(seen.objective), values=values))
    terms = [(i, term) for i, term in enumerate(bare.terms) if term.worst]
    history = dataclasses.replace(
        history,
        snapshot_step=np.asarray([marched.newtons]),
        snapshot={t.name: np.asarray(points[i])[None] for i, t in terms},
        snapshot_weights={t.name: np.asarray(seen.terms[i].weights)[None] for i, t in terms},
    )
    holds = all(values[name] <= float(np.min(limit)) for name, limit in bare.tolerances.items())
    if marched.tail > POOR and not interrupted:
        raise Unsuited("the last coefficients, or what is left of the laws, stay large")
    good = bool(marched.tail <= GOOD)
    result = RESULTS.interrupted if interrupted else RESULTS.converged if holds else RESULTS.settled
    multipliers = {name: jnp.zeros_like(limit) for name, limit in bare.tolerances.items()}
    # Laws that hold together cost each other nothing; of others a fit that weighs them alike knows no price.
    unpriced = () if good else tuple(bare.tolerances)
    found: Any = solution_of(
        posed, model, method, multipliers, history, result, seed, converged=good and not interrupted, unpriced=unpriced
    )
    return Found(found, good or interrupted)


def better(one: Solution, other: Solution) -> Solution:
    """Of polynomials and another solution the one whose laws are violated less on points that trained neither, each law
    in units of its own terms. Means of sizes, not of squares: at a corner where conditions contradict each other
    squares are large whatever the solution is elsewhere. Small tiles have points of their own: laws that contradict
    each other everywhere would be seen to fail nowhere but in a layer that even points miss."""
    problem: Problem = one.problem
    with precision.double(True):
        bare = problem.bare()
        points, layers = spare_points(bare), _layers(one.model, bare)
        means = [_sizes(bare, s.model, points, layers) for s in (one, other)]
        own, units = sizes_of(bare, one.model), sizes_of(bare, other.model)
        units = np.where(units > 0, units, own)  # those of a network, which is smooth: the terms in a layer are huge
    shares = [np.sum(mean / np.maximum(units, np.finfo(float).tiny)) for mean in means]
    return one if shares[0] <= shares[1] else other


def _layers(model: Any, problem: AbstractProblem) -> tuple[np.ndarray, np.ndarray]:
    """Even points of the tiles that are too small for the spare draw, and the share of the domain that each stands
    for."""
    domain = problem.domain
    lower, upper = (np.asarray(getattr(model, name, np.zeros((0, domain.dimension))), float) for name in _ENDS)
    shares = (
        np.prod((upper - lower) / domain.lengths, axis=1) if lower.shape[1:] == (domain.dimension,) else np.zeros(0)
    )
    small = np.flatnonzero(shares < SMALL)
    even = (np.asarray(domain.sobol(IN_A_TILE), float) - domain.lower) / domain.lengths
    inside = [lower[k] + even * (upper[k] - lower[k]) for k in small]
    if not inside:
        return np.zeros((0, domain.dimension)), np.zeros(0)
    return np.concatenate(inside), np.repeat(shares[small] / IN_A_TILE, IN_A_TILE)


def _sizes(problem: AbstractProblem, model: Model, points: tuple[Any, ...], layers: Any) -> np.ndarray:
    """The mean size of each law's residual."""
    found = [float(jnp.mean(jnp.sqrt(t.losses))) for t in _spare(problem, model, points).terms]
    w, shares = layers
    for k, term in enumerate(problem.terms):
        if len(w) and term.law.place.chart.names == problem.domain.names:
            found[k] += float(np.sum(shares * np.sqrt(np.asarray(_losses(problem, term, model, jnp.asarray(w))))))
    return np.asarray(found)


@eqx.filter_jit
def _losses(problem: AbstractProblem, term: Any, model: Model, w: Any) -> Any:
    return jax.lax.map(
        lambda w: term.law.losses(term.law.rows(model, problem.parameters, w[None]))[0], w, batch_size=SPARE
    )
