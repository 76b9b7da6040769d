"""Named coordinates as users give them: arrays, numbers of points, or single values."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._base import checks
from .._problem import Problem
from .evaluate import default_axes


def points(
    problem: Problem, parameters: Mapping[str, float], owner: str, coordinates: Mapping[str, Any]
) -> tuple[Array, tuple[int, ...]]:
    """Points from coordinates that broadcast, one a row, and the shape that these have together."""
    names = problem.domain.names
    for name in coordinates:
        if name not in names:
            hint = f" `{name}` is fixed at {parameters[name]}." if name in parameters else ""
            raise ValueError(
                f"{owner}: unknown coordinate `{name}`; the solution takes {checks.listed(names)}.{hint}"
                + checks.nearest(name, names)
            )
    for name in names:
        if name not in coordinates:
            raise ValueError(f"{owner}: coordinate `{name}` is missing; the solution takes {checks.listed(names)}.")
    given = {n: _numbers(owner, n, coordinates[n]) for n in names}
    try:
        arrays = jnp.broadcast_arrays(*given.values())
    except ValueError:
        shapes = {n: array.shape for n, array in given.items()}
        raise ValueError(f"{owner}: the coordinates do not broadcast, their shapes are {shapes}.") from None
    return jnp.stack([a.ravel() for a in arrays], axis=-1), arrays[0].shape


def _numbers(owner: str, name: str, value: Any) -> Array:
    try:
        return jnp.asarray(value, jnp.result_type(float))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{owner}: `{name}` must be a number or an array of them, got {value!r:.60}.") from None


def grid(problem: Problem, owner: str, coordinates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The values of all coordinates: given ones, and those of the test grid."""
    axes, names = default_axes(problem), problem.domain.names
    for name, value in coordinates.items():
        if name not in axes:
            raise ValueError(
                f"{owner}: unknown coordinate `{name}`; the solution takes {checks.listed(names)}."
                + checks.nearest(name, names)
            )
        axes[name] = axis(problem, owner, name, value)
    return axes


def axis(problem: Problem, owner: str, name: str, value: Any) -> np.ndarray:
    """The values of a coordinate: given ones, or a number of equally spaced ones."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return np.linspace(*problem.domain.ends(name), checks.points(owner, name, value))
    return np.atleast_1d(checks.finite_array(owner, name, value))


def family(problem: Problem, owner: str, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The values of a family's parameters that are given."""
    known = problem.domain.parameters
    for name in parameters:
        if name not in known:
            raise ValueError(
                f"{owner}: `{name}` is no parameter of the family; it has {checks.listed(known) or 'none'}."
                + checks.nearest(name, known)
            )
    return {name: axis(problem, owner, name, value) for name, value in parameters.items()}


def held(problem: Problem, owner: str, given: Mapping[str, Any], free: tuple[str, ...]) -> dict[str, float]:
    """One value for each coordinate that is not free: given, or the middle of its interval."""
    rest = [name for name in problem.domain.names if name not in free]
    for name in given:
        if name not in rest:
            raise ValueError(f"{owner}: `{name}` cannot be held; the coordinates to hold are {checks.listed(rest)}.")
    return {n: checks.number(owner, n, given[n]) if n in given else middle(problem, n) for n in rest}


def middle(problem: Problem, name: str) -> float:
    low, high = problem.domain.ends(name)
    return (low + high) / 2 if abs(low + high) > 1e-9 * (high - low) else 0.0
