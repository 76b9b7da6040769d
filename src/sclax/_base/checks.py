"""Argument checks. Every message names the argument, its value and the remedy."""

import difflib
import math
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def listed(names: Iterable[str]) -> str:
    """`a`, `b`, `c`: the way every message lists names."""
    return ", ".join(f"`{name}`" for name in names) or "(none)"


def nearest(name: str, options: Iterable[str]) -> str:
    """' Did you mean `u_xx`?' when something on offer is close to `name`, else an empty string."""
    matches = difflib.get_close_matches(name, list(options), n=1, cutoff=0.5)
    return f" Did you mean `{matches[0]}`?" if matches else ""


def number(owner: str, argument: str, value: Any) -> float:
    """A finite real number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: `{argument}` must be a number, got {value!r}.") from None
    if not math.isfinite(result):
        raise ValueError(f"{owner}: `{argument}` must be finite, got {result}.")
    return result


def positive(owner: str, argument: str, value: Any) -> float:
    result = number(owner, argument, value)
    if result <= 0:
        raise ValueError(f"{owner}: `{argument}` must be positive, got {result}.")
    return result


def count(owner: str, argument: str, value: Any, at_least: int = 1) -> int:
    """A whole number, at least `at_least`."""
    try:
        result = operator.index(value)
    except TypeError:
        raise ValueError(f"{owner}: `{argument}` must be a whole number, got {value!r}.") from None
    if result < at_least:
        raise ValueError(f"{owner}: `{argument}` must be at least {at_least}, got {result}.")
    return result


def interval(owner: str, name: str, value: Any) -> tuple[float, float]:
    """`(low, high)` with low < high, both finite."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: `{name}` must be an interval (low, high), got {value!r}.") from None
    low, high = number(owner, name, low), number(owner, name, high)
    if not low < high:
        raise ValueError(
            f"{owner}: `{name}` must have low < high, got ({low}, {high}). "
            + ("Swap the two ends." if low > high else "An empty interval holds no points: widen it.")
        )
    return low, high


def finite_array(owner: str, argument: str, value: Any) -> np.ndarray:
    """A numeric array without NaN or infinity."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: `{argument}` must be an array of numbers, got {value!r:.80}.") from None
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{owner}: `{argument}` holds {int(bad.sum())} NaN or infinite entries, the first at index {where}. "
            "Drop these points or fill them in before building the problem."
        )
    return array


def folder(owner: str, path: Path) -> None:
    """The folder is there that `path` is to be written to: to be asked before the work, and never made unasked."""
    if not path.parent.is_dir():
        raise ValueError(f"{owner}: there is no folder {str(path.parent)!r} to write {path.name!r} to. Make it first.")
