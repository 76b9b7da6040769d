"""Shapes of space: where they are, what bounds them, and how they combine. A level is negative inside, positive outside
and, but for implicit shapes, about the distance to the boundary."""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Scalar
from .sobol import fixed_sobol
from .surfaces import (
    AbstractSurface,
    At,
    BoxFaces,
    Chart,
    EllipseArc,
    Length,
    Sphere,
    Spot,
    number,
    plain,
    sphere_area,
)

Ranges = Mapping[str, tuple[float, float]]  # of parameters
Bounds = tuple[tuple[float, ...], tuple[float, ...]]  # lower and upper ends, by coordinate
COUNT = 2**17  # points by which a volume without a formula is counted
ROOMY = 3  # dimensions beyond which a ball leaves most of its box empty: 84 % of five, 99.8 % of ten
LOOKS = 2**10  # points of a surface that say where it lies


class AbstractShape(eqx.Module):
    """A bounded part of space; `names` are its coordinates. Lengths may be names of parameters."""

    names: eqx.AbstractVar[tuple[str, ...]]

    @abc.abstractmethod
    def level(self, x: Spot, at: At) -> Scalar:
        """Negative inside, positive outside."""

    def located(self, names: Sequence[str], z: Float[Array, " k"]) -> tuple[Spot, dict[str, Array]]:
        """Where a point of a box lies for the shape: its own coordinates, and all of them by name."""
        at = dict(zip(names, z, strict=True))
        return jnp.stack([at[name] for name in self.names]), at

    def encloses(self, x: Spot, at: At) -> Bool[Array, ""]:
        """Whether the level is negative, or on the boundary perhaps; without the distance, which draws do not need."""
        return self.level(x, at) <= 0

    def levels(self, x: Spot, at: At) -> tuple[Scalar, ...]:
        """The levels of the shapes of which it consists, in the order of its leaves."""
        return (self.level(x, at),)

    def composed(self, levels: Sequence[Scalar]) -> Scalar:
        """The level that follows from those."""
        return levels[0]

    @property
    def operands(self) -> tuple["AbstractShape", ...]:
        """The shapes that it combines."""
        return ()

    @property
    def whole(self) -> "AbstractShape | None":
        """The shape of which it is a part, where it says so: a ∧ b is a part of a."""
        return None

    @property
    def spreads(self) -> bool:
        """Whether `spread` fills it evenly, and better than what is inside of its box does."""
        return False

    def spread(self, unit: Float[Array, "n k"]) -> Float[Array, "n d"]:
        """From the unit cube of one more dimension to the shape, so that uniform stays uniform."""
        raise NotImplementedError

    @abc.abstractmethod
    def bump(self, x: Spot, at: At) -> Scalar:
        """A smooth function that is positive inside and vanishes on the boundary like the distance to it."""

    @abc.abstractmethod
    def leaves(self) -> tuple["Leaf", ...]:
        """The surfaces of which the boundary consists, or parts of them."""

    @abc.abstractmethod
    def bounds(self, ranges: Ranges) -> Bounds:
        """The ends of the smallest box that holds the shape at all parameters."""

    @abc.abstractmethod
    def volume(self, at: At) -> float | None:
        """The volume, where there is a formula."""

    @property
    @abc.abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The parameters that it depends on."""

    @abc.abstractmethod
    def fixing(self, values: Mapping[str, float]) -> "AbstractShape":
        """The same shape at given values of parameters."""


class Leaf(NamedTuple):
    """The surface of a shape that is not composed, and the name that it was given. `flipped` where the shape is what
    is taken away."""

    surface: AbstractSurface
    name: str | None
    flipped: bool = False

    def outward(self, v: Chart, at: At) -> Spot:
        """The normal that points out of the whole shape."""
        return self.surface.normal(v, at) * (-1.0 if self.flipped else 1.0)


def fixed(length: Length, values: Mapping[str, float]) -> Length:
    return float(values[length]) if isinstance(length, str) and length in values else length


def named(lengths: tuple[Length, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(length for length in lengths if isinstance(length, str)))


def ends(length: Length, ranges: Ranges) -> tuple[float, float]:
    """The smallest and the largest value of a length."""
    if not isinstance(length, str):
        return length, length
    return ranges[length]


class BallShape(AbstractShape):
    """|x − centre| < radius."""

    names: tuple[str, ...] = eqx.field(static=True)
    centre: tuple[Length, ...] = eqx.field(static=True)
    radius: Length = eqx.field(static=True)
    name: str | None = eqx.field(static=True, default=None)

    def _away(self, x: Spot, at: At) -> Spot:
        return x - jnp.stack([number(c, at) for c in self.centre])

    def level(self, x, at):
        return jnp.sqrt(jnp.sum(self._away(x, at) ** 2)) - number(self.radius, at)

    def encloses(self, x, at):
        return jnp.sum(self._away(x, at) ** 2) <= number(self.radius, at) ** 2

    @property
    def spreads(self):
        return len(self.names) > ROOMY and not self.parameters

    def spread(self, unit):
        """The direction of normal numbers, and the root of the last one as the radius."""
        d, least = len(self.names), 1e-6
        normals = jax.scipy.special.ndtri(jnp.clip(unit[:, :d], least, 1 - least))
        direction = normals / jnp.sqrt(jnp.sum(normals**2, axis=1, keepdims=True))
        centre = jnp.asarray([plain(c, {}) for c in self.centre], unit.dtype)
        return centre + plain(self.radius, {}) * unit[:, d:] ** (1 / d) * direction

    def bump(self, x, at):
        radius = number(self.radius, at)
        return (radius**2 - jnp.sum(self._away(x, at) ** 2)) / (2 * radius)

    def leaves(self):
        return (Leaf(Sphere(self.centre, self.radius), self.name),)

    def bounds(self, ranges):
        most = ends(self.radius, ranges)[1]
        centres = [ends(c, ranges) for c in self.centre]
        return tuple(low - most for low, _ in centres), tuple(high + most for _, high in centres)

    def volume(self, at):
        d = len(self.names)
        return sphere_area(d) / d * plain(self.radius, at) ** d

    @property
    def parameters(self):
        return named((*self.centre, self.radius))

    def fixing(self, values):
        centre = tuple(fixed(c, values) for c in self.centre)
        return BallShape(self.names, centre, fixed(self.radius, values), self.name)


class EllipseShape(AbstractShape):
    """((x − x₀)/a)² + ((y − y₀)/b)² < 1."""

    names: tuple[str, ...] = eqx.field(static=True)
    centre: tuple[Length, ...] = eqx.field(static=True)
    radii: tuple[Length, ...] = eqx.field(static=True)
    name: str | None = eqx.field(static=True, default=None)

    def _scaled(self, x: Spot, at: At) -> tuple[Spot, Float[Array, " d"]]:
        radii = jnp.stack([number(r, at) for r in self.radii])
        return (x - jnp.stack([number(c, at) for c in self.centre])) / radii, radii

    def level(self, x, at):
        unit, radii = self._scaled(x, at)
        # To first order the distance: the function over the size of its gradient.
        value = jnp.sum(unit**2) - 1
        slope = 2 * jnp.sqrt(jnp.sum((unit / radii) ** 2))
        return value / jnp.maximum(slope, 1 / jnp.max(radii))

    def encloses(self, x, at):
        return jnp.sum(self._scaled(x, at)[0] ** 2) <= 1

    def bump(self, x, at):
        unit, radii = self._scaled(x, at)
        return (1 - jnp.sum(unit**2)) * jnp.min(radii) / 2

    def leaves(self):
        return (Leaf(EllipseArc(self.centre, self.radii), self.name),)

    def bounds(self, ranges):
        most = [ends(r, ranges)[1] for r in self.radii]
        centres = [ends(c, ranges) for c in self.centre]
        lower = tuple(low - r for (low, _), r in zip(centres, most, strict=True))
        return lower, tuple(high + r for (_, high), r in zip(centres, most, strict=True))

    def volume(self, at):
        return math.pi * math.prod(plain(r, at) for r in self.radii)

    @property
    def parameters(self):
        return named((*self.centre, *self.radii))

    def fixing(self, values):
        centre, radii = (tuple(fixed(c, values) for c in part) for part in (self.centre, self.radii))
        return EllipseShape(self.names, centre, radii, self.name)


class BoxShape(AbstractShape):
    """A product of intervals, as a part of other shapes."""

    names: tuple[str, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    name: str | None = eqx.field(static=True, default=None)

    def level(self, x, at):
        beyond = jnp.maximum(jnp.asarray(self.lower, x.dtype) - x, x - jnp.asarray(self.upper, x.dtype))
        squares, most = jnp.sum(jnp.maximum(beyond, 0.0) ** 2), jnp.max(beyond)
        return jnp.where(most > 0, jnp.sqrt(jnp.where(most > 0, squares, 1.0)), most)

    def encloses(self, x, at):
        return jnp.all((x >= jnp.asarray(self.lower, x.dtype)) & (x <= jnp.asarray(self.upper, x.dtype)))

    def bump(self, x, at):
        lower, upper = jnp.asarray(self.lower, x.dtype), jnp.asarray(self.upper, x.dtype)
        return joined((x - lower) * (upper - x) / (upper - lower))

    def leaves(self):
        return (Leaf(BoxFaces(self.lower, self.upper), self.name),)

    def bounds(self, ranges):
        return self.lower, self.upper

    def volume(self, at):
        return math.prod(high - low for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def parameters(self):
        return ()

    def fixing(self, values):
        return self


def joined(parts: Float[Array, " m"]) -> Scalar:
    """A function that vanishes where one of several does, and is smooth inside."""
    found = parts[0]
    for part in parts[1:]:
        found = both(found, part)
    return found


def both(a: Scalar, b: Scalar) -> Scalar:
    """Positive where both are, and zero where one is:  a + b − √(a² + b²)."""
    squares = a**2 + b**2
    # The root has no derivative where both vanish: at a corner take the plane's.
    return a + b - jnp.sqrt(jnp.where(squares > 0, squares, 1.0)) * (squares > 0)


class Combined(AbstractShape):
    """Two shapes as one: what is in both, with signs that turn a shape inside out:

    union = ¬(¬a ∧ ¬b),   intersection = a ∧ b,   difference = a ∧ ¬b.
    """

    first: AbstractShape
    second: AbstractShape
    signs: tuple[int, int, int] = eqx.field(static=True)  # of the first, the second, and the whole
    names: tuple[str, ...] = eqx.field(static=True)
    enclosed: float | None = eqx.field(static=True)

    def __init__(self, first: AbstractShape, second: AbstractShape, signs: tuple[int, int, int]):
        self.first, self.second, self.signs, self.names = first, second, signs, first.names
        self.enclosed = None if first.parameters or second.parameters else _together(first, second, signs)

    @property
    def operands(self):
        return self.first, self.second

    @property
    def whole(self):
        return self.first if self.signs == (1, 1, 1) else None

    def level(self, x, at):
        return self.composed(self.levels(x, at))

    def encloses(self, x, at):
        (one, two, whole), parts = self.signs, (self.first.encloses(x, at), self.second.encloses(x, at))
        both_hold = (parts[0] == (one > 0)) & (parts[1] == (two > 0))
        return both_hold == (whole > 0)

    def levels(self, x, at):
        return self.first.levels(x, at) + self.second.levels(x, at)

    def composed(self, levels):
        (one, two, whole), count = self.signs, len(self.first.leaves())
        first, second = self.first.composed(levels[:count]), self.second.composed(levels[count:])
        return whole * jnp.maximum(one * first, two * second)

    def bump(self, x, at):
        one, two, whole = self.signs
        return whole * both(one * self.first.bump(x, at), two * self.second.bump(x, at))

    def leaves(self):
        one, two, whole = self.signs
        turned = lambda leaf, sign: leaf._replace(flipped=leaf.flipped != (sign * whole < 0))
        return (
            *(turned(leaf, one) for leaf in self.first.leaves()),
            *(turned(leaf, two) for leaf in self.second.leaves()),
        )

    def bounds(self, ranges):
        (low, high), (other_low, other_high) = self.first.bounds(ranges), self.second.bounds(ranges)
        match self.signs:
            case (-1, -1, -1):
                return tuple(map(min, low, other_low)), tuple(map(max, high, other_high))
            case (1, 1, 1):
                return tuple(map(max, low, other_low)), tuple(map(min, high, other_high))
        return low, high

    def volume(self, at):
        return self.enclosed

    @property
    def parameters(self):
        return tuple(dict.fromkeys(self.first.parameters + self.second.parameters))

    def fixing(self, values):
        return Combined(self.first.fixing(values), self.second.fixing(values), self.signs)


def _together(first: AbstractShape, second: AbstractShape, signs: tuple[int, int, int]) -> float | None:
    """The volume of two shapes as one, where one lies wholly inside or outside the other."""
    a, b = first.volume({}), second.volume({})
    if a is None or b is None:
        return None
    match (signs, _lies(second, first, {}), _lies(first, second, {})):
        case ((1, -1, 1), "in", "out"):
            return a - b
        case ((1, -1, 1), "out", "out") | ((-1, -1, -1), "in", "out") | ((1, 1, 1), "out", "in"):
            return a
        case ((-1, -1, -1), "out", "out"):
            return a + b
        case ((-1, -1, -1), "out", "in") | ((1, 1, 1), "in", "out"):
            return b
    return None


def _lies(one: AbstractShape, other: AbstractShape, at: At) -> str | None:
    """Whether all surfaces of one shape are inside another, all outside, or neither can be said."""
    with jax.ensure_compile_time_eval():
        sides = set()
        for leaf in one.leaves():
            v = jnp.asarray(fixed_sobol(leaf.surface.columns, int(math.log2(LOOKS))))
            levels = jax.vmap(lambda v, leaf=leaf: other.level(leaf.surface.embed(v, at), at))(v)
            sides |= {"in" if np.all(levels < 0) else "out" if np.all(levels > 0) else None}
        return sides.pop() if len(sides) == 1 else None
