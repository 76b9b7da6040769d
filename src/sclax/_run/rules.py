"""The signs by which a run is steered, as pure functions of its numbers, none of which knows the solution."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._result import History

LOOKS = 30  # the shortest stretch of records that says anything
SPAN = 10  # records over which a run that has more to gain by full steps still falls to a tenth
# Set by one recorded run each: a quarter of 30 looks is within 4 of the lowest at a front, 1.02 at the kink of a tent,
# and at the kinks of a gear 3.9 early on, 2.05 at step 330, 1.7 later.
OFTEN, NEAR = 0.25, 2.0  # the share of looks that come back to a floor, and how near
FALLEN = 1.5  # by which a floor may fall between two halves: 2.7 to 3.4 at the front, at most 1.4 at the kinks
EARLY = 20  # records after which a run must have come a good part of its way


def stalled(merits: ArrayLike) -> bool:
    """The best merit so far fell by less than a tenth in the last third of the run."""
    best = np.minimum.accumulate(np.asarray(merits, float))
    window = max(LOOKS, len(best) // 3)
    return len(best) > 2 * window and bool(best[-1] > 0.9 * best[-1 - window])


def settled(merits: np.ndarray) -> bool:
    """No seed makes progress any more."""
    return len(merits) > 0 and all(stalled(column) for column in merits.reshape(len(merits), -1).T)


def stuck(merits: np.ndarray, first: float) -> bool:
    """A run has stalled far from a solution, at more than a thousandth of its `first` merit."""
    return stalled(merits) and float(np.min(merits)) > 1e-3 * first


def slow(merits: ArrayLike) -> bool:
    """The best merit of an early stretch is still a tenth of the first one."""
    merits = np.asarray(merits, float)
    return len(merits) == EARLY and bool(merits.min() > 0.1 * merits[0])


def falls_fast(merits: np.ndarray) -> bool:
    """Some seed's merit still falls to a tenth within SPAN records: it has more to gain by full steps than by an end to
    the noise of draws. Too few records say nothing else."""
    if len(merits) <= SPAN:
        return True
    best = np.minimum.accumulate(merits, axis=0)
    return bool(np.any(best[-1] <= 0.1 * best[-1 - SPAN]))


def cannot_hold(
    violations: ArrayLike, multipliers: ArrayLike, shares: ArrayLike, peaks: ArrayLike, unit: float
) -> bool:
    """A constraint that cannot be met everywhere: its multiplier does not fall; its violation stays, and stays large
    against the size `unit` that its value had at the start; a small share of the points carries the weight; and the
    largest loss has a floor."""
    v, m, s, p = (np.asarray(a, float)[-LOOKS:] for a in (violations, multipliers, shares, peaks))
    if len(v) < LOOKS:
        return False
    half = LOOKS // 2
    stays = np.median(v[half:]) > 0.8 * np.median(v[:half])
    return bool(stays and np.median(v) > 1e-3 * unit and m[-1] >= m[0] > 0 and np.median(s) < 0.25 and has_floor(p))


def has_floor(peaks: np.ndarray) -> bool:
    """Whether the largest losses come back to one value, below which none ever is. Where slopes of +1 and -1 meet, the
    slope of a smooth function passes through 0, however sharp its bend is: |u'| - 1 = -1 there at every look. Of a
    steep front that is not resolved yet the largest loss goes up and down by large factors, and its lowest falls."""
    before, after = np.min(peaks[: len(peaks) // 2]), np.min(peaks[len(peaks) // 2 :])
    return bool(after > before / FALLEN and np.quantile(peaks, OFTEN) < NEAR * min(before, after))


def flat_and_feasible(history: History, tolerances: Mapping[str, Any], floor: Any = 0.0) -> bool:
    """Every constraint held in the last quarter of the run, and the objective fell by less than 2 % in it, or stayed
    below a `floor` under which nobody has asked for more."""
    window = max(10, history.rows // 4)
    if history.rows < 2 * window:
        return False
    if np.any(history.looks.get("reach", np.ones(1))[-window:] < 1):  # not of the whole domain
        return False
    for name, tolerance in tolerances.items():
        if np.any(history.values[name][-window:] > np.asarray(tolerance)):
            return False
    recent = np.mean(history.objective[-window:], axis=0)
    before = np.mean(history.objective[-2 * window : -window], axis=0)
    low = np.max(history.objective[-window:], axis=0) <= floor
    return bool(np.all((recent >= 0.98 * before) | low))


def signs_from(history: History, began: int) -> int:
    """The row from which on signs count: none before training has come to the end of time."""
    if "reach" not in history.looks:
        return began
    short = np.flatnonzero(np.any(history.looks["reach"].reshape(history.rows, -1) < 1, axis=1))
    return max(began, int(short[-1]) + 1) if len(short) else began
