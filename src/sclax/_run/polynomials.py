"""What `solve` tries before a network: polynomials on tiles, which take seconds and say whether they converge."""

import contextlib
import dataclasses
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import threadpoolctl

from .. import nn
from .._base import Model, digest, precision
from .._methods import GaussNewton
from .._problem import AbstractProblem, Problem
from .._result import RESULTS, History, Row, Solution, solution_of
from .._spectral import March, Marched, Spectral, Unsuited
from .checkpoint import FIRST, Checkpoint
from .progress import Reporter

GOOD = 1e-4  # last coefficients, of the largest, with which nobody need train a network
POOR = 1e-2  # with which they are no solution
SPARE = 4096  # points of a law
SAVE_EVERY = 10.0  # seconds
OUT_OF_TIME = "the time was up"


class Found(NamedTuple):
    """A solution, and whether nothing better is to be expected from a network."""

    solution: Solution
    good: bool


def polynomials(
    problem: AbstractProblem,
    method: Spectral,
    seed: int,
    seconds: float | None,
    checkpoint: str | os.PathLike[str] | None,
    reporter: Reporter,
) -> Found:
    """The solution by polynomials. Raises `Unsuited` where there is none, with the reason."""
    if not problem.pointwise:
        raise Unsuited("an operator maps functions")
    with precision.double(True), contextlib.ExitStack() as stack:
        # Threads that wait for each other cost more than they do on fronts of this size, on a busy machine ten times.
        stack.enter_context(threadpoolctl.threadpool_limits(1, user_api="blas"))
        posed: Any = GaussNewton().prepare(problem)
        bare = posed.bare()
        march = March(bare, method)
        kept = None
        if checkpoint is not None:
            kept = stack.enter_context(contextlib.closing(Checkpoint(Path(checkpoint) / FIRST)))
            kept.belongs_to({"problem": digest(bare), "method": repr(method)})
        marched, history = _begun(march, kept, bare, reporter)
        began = time.monotonic() - (float(history.seconds[-1]) if history.rows else 0.0)
        saved, interrupted = time.monotonic(), False
        try:
            for marched in march.steps(marched):  # noqa: B020 -- each follows from the one before
                spent = time.monotonic() - began
                history = history.after(_row(bare, marched, spent))
                way = "" if march.axis is None else f"{march.share(marched):.0%} of the time, "
                count = sum(len(part.tiles) for part in marched.parts)
                text = f"polynomials: {way}{count} tiles, last coefficients {marched.tail:.0e}"
                reporter.note(text, march.share(marched))
                over = seconds is not None and spent > seconds and march.share(marched) < 1
                if kept is not None and (over or time.monotonic() - saved > SAVE_EVERY):
                    _save(kept, marched, history, reporter)
                    saved = time.monotonic()
                if over:
                    raise Unsuited(OUT_OF_TIME)
        except KeyboardInterrupt:
            interrupted = True
        if kept is not None:
            _save(kept, marched, history, reporter)
        if interrupted and march.share(marched) < 1:  # of later times nothing is known
            reporter.say(f"interrupted after {march.share(marched):.0%} of the time")
            raise KeyboardInterrupt
        return _found(posed, march, marched, method, history, seed, interrupted)


def _begun(
    march: March, kept: Checkpoint | None, problem: AbstractProblem, reporter: Reporter
) -> tuple[Marched, History]:
    """Where it was left, or the beginning."""
    stored = None if kept is None else kept.latest(warnings.warn)
    march.compile()
    if stored is None:
        return march.first, History.of(problem.constraints)
    about, arrays = stored
    marched = Marched.restored(about, {n: a for n, a in arrays.items() if not n.startswith("history/")})
    flat = {n.removeprefix("history/"): a for n, a in arrays.items() if n.startswith("history/")}
    reporter.say(f"resumed after {marched.newtons} steps")
    return marched, History.unflattened(flat)


def _save(kept: Checkpoint, marched: Marched, history: History, reporter: Reporter) -> None:
    about, arrays = marched.stored()
    try:
        rows = {f"history/{name}": array for name, array in history.items()}
        kept.save(marched.newtons, about, {**arrays, **rows}, reporter.warn)
    except OSError as error:
        reporter.warn(f"solve: no checkpoint was written ({error}); the run itself is not lost.")


def _row(problem: AbstractProblem, marched: Marched, seconds: float) -> Row:
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


def model_of(problem: AbstractProblem, marched: Marched) -> Model:
    """The tiles as a model: polynomials of the whole domain where there is but one."""
    pieces = [pair for part in marched.parts for pair in zip(part.tiles, part.coefficients, strict=True)]
    arrays = []
    for tile, c in pieces:
        array = np.zeros((len(c), *tile.terms))
        array[(slice(None), *tile.indices.T)] = c
        arrays.append(array)
    if len(pieces) > 1:
        return nn.Tiles([tile.lower for tile, _ in pieces], [tile.upper for tile, _ in pieces], arrays)
    whole = nn.Chebyshev(problem.domain, len(problem.unknowns), pieces[0][0].terms)
    return eqx.tree_at(lambda model: model.coefficients, whole, jnp.asarray(arrays[0]))


@eqx.filter_jit
def _spare(problem: AbstractProblem, model: Model, points: tuple[Any, ...]) -> Any:
    return problem.evaluate(model, points)


def spare_points(problem: AbstractProblem) -> tuple[Any, ...]:
    """Even points of each law that trained nothing."""
    places = [term.law.place for term in problem.terms]
    return tuple(p.grid(0) if p.finite else p.sobol(SPARE, jax.random.key(SPARE)) for p in places)


def _found(
    posed: Any, march: March, marched: Marched, method: Spectral, history: History, seed: int, interrupted: bool
) -> Found:
    """The solution with a last row on points that it was not fitted to."""
    bare, model = march.problem, model_of(march.problem, marched)
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
    good = marched.tail <= GOOD
    result = RESULTS.interrupted if interrupted else RESULTS.converged if holds else RESULTS.settled
    multipliers = {name: jnp.zeros_like(limit) for name, limit in bare.tolerances.items()}
    # Laws that hold together cost each other nothing; of others a fit that weighs them alike knows no price.
    unpriced = () if good else tuple(bare.tolerances)
    found: Any = solution_of(
        posed, model, method, multipliers, history, result, seed, converged=good and not interrupted, unpriced=unpriced
    )
    return Found(found, good or interrupted)


def better(one: Solution, other: Solution) -> Solution:
    """The feasible one of two solutions, of two feasible ones that of lower objective, else the one whose laws are
    violated less, by mean squares on points that trained neither, each law in units of its own."""
    problem: Problem = one.problem
    with precision.double(True):
        bare = problem.bare()
        points = spare_points(bare)
        means = [np.asarray([jnp.mean(t.losses) for t in _spare(bare, s.model, points).terms]) for s in (one, other)]
    total = np.maximum(means[0] + means[1], np.finfo(float).tiny)
    return one if np.sum(means[0] / total) <= np.sum(means[1] / total) else other
