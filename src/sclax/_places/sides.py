"""On which side of a shape points are."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .shapes import AbstractShape
from .surfaces import At, Spot

ASIDE = 1e-5  # of a shape's size: how far to both sides of a surface one looks for what is inside
Integer = Int[Array, ""]


def size_of(shape: AbstractShape, at: At) -> float:
    """The longest side of the box round a shape."""
    lower, upper = shape.bounds({name: (float(value), float(value)) for name, value in at.items()})
    return max(high - low for low, high in zip(lower, upper, strict=True))


def lies_beyond(shape: AbstractShape, x: Spot, at: At, slack: float) -> Bool[Array, ""]:
    """Whether a point is outside a shape, and still is when moved back by `slack`."""
    uphill = jnp.nan_to_num(jax.grad(shape.level)(x, at))  # a disk has none at its centre
    return shape.level(x - slack * uphill / jnp.maximum(jnp.sqrt(jnp.sum(uphill**2)), 1e-30), at) > 0


def bounds_it(whole: AbstractShape, which: Integer, x: Spot, outward: Spot, at: At, aside: float) -> Bool[Array, ""]:
    """Whether a point of the surface of that number bounds the whole shape: inside to one side, outside to the other.
    Where surfaces coincide, inside on the same side, it counts once, as a point of the first."""
    leaves = whole.leaves()
    number = jnp.arange(len(leaves))
    # On which side of its own shape a point within is, whatever rounding says.
    side = jnp.asarray([1.0 if leaf.flipped else -1.0 for leaf in leaves], x.dtype)
    within = jnp.where(number == which, side, jnp.stack(whole.levels(x - aside * outward, at)))
    beyond = jnp.where(number == which, -side, jnp.stack(whole.levels(x + aside * outward, at)))
    coincide = jnp.any((within * side > 0) & (beyond * side < 0) & (number < which))
    return (whole.composed(tuple(within)) < 0) & (whole.composed(tuple(beyond)) > 0) & ~coincide
