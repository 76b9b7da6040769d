"""Tolerances that give way where constraints contradict each other (resilient constrained learning)."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._base import changed, precision
from .._problem import AbstractProblem
from .._result import AbstractSolution, conflict, values_of
from .controller import Clock

ROUNDS = 5  # of training, each with tolerances that gave way where the last one failed
HELD = 1.05  # a value, of its tolerance, that holds for all that another draw can tell
PRESSING = 0.3  # of the largest multiplier: a sample that presses so hard against the others gives way
FAR = 4.0  # times its value: the tolerance of a sample that gave way, so that it no longer presses
DRAGGED = 0.1  # of the largest value that gave way: a sample below it was only pulled along, and is asked again
LATER = 0.5  # of the steps or seconds of the first round: those of each later one, which begins where it ended


def relaxing(
    problem: AbstractProblem,
    train: Callable[..., AbstractSolution],
    model: Any,
    clock: Clock,
    checkpoint: str | os.PathLike[str] | None,
    say: Callable[[str], Any],
) -> AbstractSolution:
    """Trains; where constraints stay violated, raises the tolerances that the multipliers say cost the least to raise,
    and trains on. Of samples those with the largest multipliers give way, since raising theirs by as much gains the
    most; constraints that pull against each other get the values that they have. Samples that a wrong one had pulled
    along are asked for their own tolerance again, once. At the end every tolerance that was raised is what its value
    needs.
    """
    if not problem.constraints:
        raise ValueError("solve: `relax=True` raises tolerances, and the problem has no constraints; leave it out.")
    stated = {name: np.asarray(tolerance, float) for name, tolerance in problem.tolerances.items()}
    asked = {name: np.zeros(np.shape(tolerance), bool) for name, tolerance in stated.items()}
    limits, posed, number = dict(stated), problem, 0
    while True:
        where = None if checkpoint is None else Path(checkpoint) / f"round{number}"
        if where is not None:
            where.parent.mkdir(parents=True, exist_ok=True)
        solution = train(posed, model, clock if number == 0 else _shorter(clock), where)
        with precision.of(solution.model):
            values = values_of(problem, solution.model)
        new = {name: _raised(limits[name], values[name], solution.multipliers[name]) for name in limits}
        higher = [name for name in new if np.any(new[name] > limits[name])]
        # A wrong sample may be why an equation does not hold, so that samples give way first. Constraints that are only
        # unfinished do not pull against each other, and stay.
        gives = {name for name in higher if new[name].ndim} or _in_conflict(posed, solution, higher)
        new = {name: new[name] if name in gives else limits[name] for name in new}
        number += 1
        if number == ROUNDS:
            break
        if all(np.array_equal(new[name], limits[name]) for name in limits):
            back = {n: _dragged(limits[n] > stated[n], values[n]) & ~asked[n] for n in limits}
            if not any(np.any(entries) for entries in back.values()):
                break
            new = {n: np.where(back[n], stated[n], limits[n]) for n in limits}
            asked = {n: asked[n] | back[n] for n in limits}
            say("relax: samples that were only pulled along are asked again; training goes on")
        else:
            say(f"relax: {_told(limits, new)}; training goes on")
        limits, posed = new, _with(problem, new)
        if hasattr(solution.method, "primal"):  # a network goes on where it is
            model = solution.model
    raised = {n: (limits[n] > stated[n]) | (asked[n] & (values[n] > HELD * stated[n])) for n in stated}
    final = {n: np.where(raised[n], np.maximum(stated[n], HELD * values[n]), stated[n]) for n in stated}
    relaxed = {name: final[name] - stated[name] for name in stated if np.any(final[name] > stated[name])}
    return dataclasses.replace(solution, problem=_with(solution.problem, final), relaxed=relaxed)


def _in_conflict(posed: AbstractProblem, solution: AbstractSolution, names: list[str]) -> set[str]:
    """The constraints among some violated ones that are in the smallest conflict."""
    with precision.of(solution.model):
        return {entry.name for entry in conflict(posed.bare(), solution.model, names)}


def _shorter(clock: Clock) -> Clock:
    steps = None if clock.steps is None else max(int(LATER * clock.steps), 1)
    return clock._replace(steps=steps, seconds=None if clock.seconds is None else LATER * clock.seconds)


def _raised(limits: np.ndarray, values: np.ndarray, multipliers: Any) -> np.ndarray:
    violated = values > HELD * limits
    if not limits.ndim:
        return np.where(violated, HELD * values, limits)
    prices = np.where(violated, np.asarray(multipliers), 0.0)
    gives = violated & (prices >= PRESSING * np.max(prices, initial=0.0))
    return np.where(gives, FAR * values, limits)


def _dragged(gave: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The samples that gave way although they are now far nearer than the wrong ones."""
    if not gave.ndim:
        return np.zeros((), bool)
    return gave & (values < DRAGGED * np.max(values, initial=0.0, where=gave))


def _told(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> str:
    parts = []
    for name in new:
        moved = np.flatnonzero(new[name] > old[name])
        if new[name].ndim and len(moved):
            parts.append(f"`{name}` of samples {', '.join(map(str, moved[:8]))}{' …' * (len(moved) > 8)}")
        elif len(moved):
            parts.append(f"`{name}` from {float(old[name]):.3g} to {float(new[name]):.3g}")
    return ", ".join(parts)


def _with(problem: Any, tolerances: dict[str, np.ndarray]) -> Any:
    arrays = {n: np.asarray(t, problem.tolerances[n].dtype) for n, t in tolerances.items()}
    return changed(problem, tolerances={n: problem.tolerances[n] * 0 + a for n, a in arrays.items()})
