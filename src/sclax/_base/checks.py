"""Argument checks. Every message names the argument, its value and the remedy."""

import difflib
import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

MOST = 2**31 - 1  # compiled code counts in 32 bits
MOST_POINTS = 10**8  # an array of so many, with two coordinates in double precision, takes 1.6 GB
MOST_SEED = 2**32 - 1  # beyond, random numbers would depend on the precision


def listed(names: Iterable[str]) -> str:
    """`a`, `b`, `c`: the way every message lists names."""
    return ", ".join(f"`{name}`" for name in names) or "(none)"


def nearest(name: str, options: Iterable[str]) -> str:
    """' Did you mean `u_xx`?' when something on offer is close to `name`, else an empty string."""
    matches = difflib.get_close_matches(name, list(options), n=1, cutoff=0.5)
    return f" Did you mean `{matches[0]}`?" if matches else ""


def number(owner: str, argument: str, value: Any, or_else: str = "") -> float:
    """A finite real number; `or_else` says what else would do."""
    try:
        result = float(value)
    except OverflowError:  # an integer beyond all floats
        result = math.inf
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: `{argument}` must be a number{or_else}, got {value!r:.80}.") from None
    if not math.isfinite(result):
        raise ValueError(f"{owner}: `{argument}` must be finite, got {result}.")
    return result


def positive(owner: str, argument: str, value: Any) -> float:
    result = number(owner, argument, value)
    if result <= 0:
        raise ValueError(f"{owner}: `{argument}` must be positive, got {result}.")
    return result


def count(owner: str, argument: str, value: Any, at_least: int = 1, at_most: int = MOST, why: str = "") -> int:
    """A whole number from `at_least` to `at_most`; `why` says why it may not be more."""
    try:
        result = operator.index(value)
    except TypeError:
        raise ValueError(f"{owner}: `{argument}` must be a whole number, got {value!r:.80}.") from None
    if result < at_least:
        raise ValueError(f"{owner}: `{argument}` must be at least {at_least}, got {short(result)}.")
    if result > at_most:
        raise ValueError(f"{owner}: `{argument}` must be at most {at_most}, got {short(result)}{why}.")
    return result


def points(owner: str, argument: str, value: Any, at_least: int = 1) -> int:
    """A number of points, all of which are in memory at once."""
    return count(owner, argument, value, at_least, MOST_POINTS, ": so many points do not fit into memory")


def seed(owner: str, value: Any, seeds: int = 1) -> int:
    """The first of some seeds."""
    return count(owner, "seed", value, at_least=0, at_most=MOST_SEED - seeds + 1)


def short(whole: int) -> str:
    """A whole number in a message, which Python itself refuses to write out in thousands of digits."""
    if whole.bit_length() < 100:
        return str(whole)
    return f"about {'-' if whole < 0 else ''}1e{whole.bit_length() * 3 // 10}"


def folder(owner: str, argument: str, path: str | os.PathLike[str]) -> Path:
    """A path that can be written to, in a folder that is there. A missing one is rather misspelt than meant, so nobody
    makes it."""
    path = Path(path)
    try:
        path.exists()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", error)
        raise ValueError(f"{owner}: `{argument}` cannot be a path ({why}), got {str(path)!r:.80}.") from None
    if not path.parent.is_dir():
        what = "is no folder" if path.parent.exists() else "is missing"
        raise ValueError(
            f"{owner}: `{argument}` is {str(path)!r}, but the folder {str(path.parent)!r} {what}. Make it first, or "
            "give another path."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{owner}: `{argument}` is {str(path)!r}, to which you may not write. Give another path.")
    return path


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
