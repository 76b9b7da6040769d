"""Draws on a part of a place, by rejection: exactly as many points as were asked for, inside compiled code."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

EVEN = 128  # XLA makes random numbers in half the time where their number divides well
Drawn = Float[Array, "n k"]


def kept(draw: Callable[[int], Drawn], contains: Callable[[Array], Bool[Array, ""]], n: int, share: float) -> Drawn:
    """The first `n` points of a draw that belong to the part, which is about a `share` of the whole.

    As many are drawn as are enough but once in very many times; then the first ones come twice.
    """
    if share == 1:
        return draw(n)
    needed = (n + 5 * math.sqrt(n * (1 - share))) / share + 8
    many = EVEN * math.ceil(needed / EVEN)
    points = draw(many)
    inside = jax.vmap(contains)(points)
    number = _counted(inside)
    index = jnp.zeros(n, int).at[jnp.where(inside, number - 1, n)].set(jnp.arange(many), mode="drop")
    again = lambda: index[jnp.arange(n) % jnp.maximum(number[-1], 1)]
    return points[jax.lax.cond(number[-1] >= n, lambda: index, again)]


def spread(box: Any, ball: Any, draw: Callable[[Any, int], Drawn], n: int) -> Drawn:
    """Points of a ball times an interval of time, say, of which nothing is rejected."""
    beyond, columns = box.beyond_space, len(ball.names) + 1
    unit = draw(type(box)(**{f"w{i}": (0.0, 1.0) for i in range(columns + beyond.dimension)}), n)
    space, rest = ball.spread(unit[:, :columns]), beyond.from_unit(unit[:, columns:])
    by_name = dict(zip((*ball.names, *beyond.names), (*space.T, *rest.T), strict=True))
    return jnp.stack([by_name[name] for name in box.names], axis=1)


def _counted(inside: Bool[Array, " m"]) -> Int[Array, " m"]:
    """How many are inside up to each one. A product with triangles of ones takes a seventh of what XLA's
    cumulative sum does."""
    m = len(inside)
    columns = math.isqrt(m - 1) + 1
    rows = -(-m // columns)
    ones = lambda size: jnp.ones((size, size), jnp.float32)  # in which counts are exact up to 1.6e7
    marks = jnp.pad(inside, (0, rows * columns - m)).reshape(rows, columns).astype(jnp.float32)
    within = marks @ jnp.triu(ones(columns))
    before = jnp.tril(ones(rows), -1) @ within[:, -1]
    return (within + before[:, None]).ravel()[:m].astype(int)
