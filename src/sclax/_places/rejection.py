"""Draws on a part of a place, by rejection: exactly as many points as were asked for, inside compiled code."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Drawn = Float[Array, "n k"]


def kept(draw: Callable[[int], Drawn], contains: Callable[[Array], Bool[Array, ""]], n: int, share: float) -> Drawn:
    """The first `n` points of a draw that belong to the part, which is about a `share` of the whole.

    As many are drawn as are enough but once in very many times; then the first ones come twice.
    """
    if share == 1:
        return draw(n)
    needed = n / share
    many = math.ceil(needed + 5 * math.sqrt(needed) + 8)
    points = draw(many)
    inside = jax.vmap(contains)(points)
    (index,) = jnp.nonzero(inside, size=n, fill_value=-1)
    count = jnp.maximum(jnp.sum(index >= 0), 1)
    return points[jnp.where(index >= 0, index, index[jnp.arange(n) % count])]
