"""What places that belong to one domain are in another: parts of it, with its coordinates."""

from typing import Any

import equinox as eqx
import numpy as np

from .._base import changed, checks
from .box import ROUNDING, Box
from .shapes import AbstractShape, Combined, Leaf


def alike(one: Any, other: Any) -> bool:
    """Whether two shapes or surfaces are the same. A length that is the name of a parameter is like any number, which a
    problem may have given to that parameter."""
    if isinstance(one, str) and isinstance(other, float | int):
        return True
    if isinstance(one, eqx.Module):
        names = [n for n in getattr(one, "__dataclass_fields__", ()) if n != "enclosed"]  # which follows from the rest
        return type(one) is type(other) and all(alike(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(alike, one, other))
    if hasattr(one, "shape"):
        return np.shape(one) == np.shape(other) and bool(np.all(np.asarray(one) == np.asarray(other)))
    return bool(one == other)


def found_in(shape: AbstractShape, whole: AbstractShape | None) -> AbstractShape | None:
    """The shape among those of which a whole consists, with the numbers that a problem has given to its lengths."""
    if whole is None or alike(shape, whole):
        return whole
    return next((found for part in whole.operands if (found := found_in(shape, part)) is not None), None)


def part_of(part: Box, domain: Box) -> Box:
    """The part of a domain that a box or a shape is. Coordinates that it does not have take all their values, and those
    that the domain does not have are left out."""
    inside = _reaching(part, domain)
    if part.shape is None or alike(part.shape, domain.shape) or not set(part.shape.names) <= set(domain.names):
        return inside
    if part.shape.whole is not None and alike(part.shape.whole, domain.as_shape()):
        return inside.around(part.shape)  # which is a part of this domain already
    unknown = set(part.shape.parameters) - set(domain.names)
    if unknown:
        raise ValueError(
            f"on: a shape depends on {checks.listed(sorted(unknown))}, which is no coordinate of the problem; give it "
            "as a number where the shape is made."
        )
    if part.shape.names != inside.space:
        raise ValueError(
            f"on: a shape of {checks.listed(part.shape.names)} is no part of a domain whose coordinates of space are "
            f"{checks.listed(inside.space)}, in this order."
        )
    return inside.around(Combined(inside.as_shape(), part.shape, (1, 1, 1)))


def _reaching(part: Box, domain: Box) -> Box:
    """The domain as far as a box reaches; of a shape its own coordinates do not count."""
    ends = {name: part.ends(name) for name in reaches_less(part, domain)}
    if not ends:
        return domain
    periodic = tuple(name for name in domain.periodic if name not in ends)  # a part of a period is no period
    space = {name: ends[name] for name in domain.space if name in ends}
    if domain.shape is not None and space:
        domain &= Box(**{name: space.get(name, domain.ends(name)) for name in domain.space})
        ends = {name: end for name, end in ends.items() if name not in space}
    both = [_common(ends.get(name, (-np.inf, np.inf)), domain.ends(name)) for name in domain.names]
    lower, upper = (tuple(end[i] for end in both) for i in (0, 1))
    return changed(domain, lower=lower, upper=upper, periodic=periodic)


def reaches_less(part: Box, domain: Box) -> tuple[str, ...]:
    """The coordinates along which a box leaves out a part of the domain; of a shape its own ones do not count."""
    own = () if part.shape is None else part.shape.names
    common = (name for name in part.names if name in domain.names and name not in own)
    return tuple(name for name in common if _cuts(part.ends(name), domain.ends(name)))


def _common(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), min(one[1], other[1])


def _cuts(end: tuple[float, float], whole: tuple[float, float]) -> bool:
    """Whether an interval leaves out more of another one than rounding does."""
    slack = ROUNDING * (whole[1] - whole[0])
    return end[0] > whole[0] + slack or end[1] < whole[1] - slack


def surfaces_of(leaves: tuple[Leaf, ...], domain: Box) -> tuple[int, ...]:
    """The numbers of those surfaces of a domain that are among some others."""
    every = () if domain.shape is None else domain.shape.leaves()
    same = lambda leaf: any(alike(own.surface, leaf.surface) for own in leaves)
    return tuple(number for number, leaf in enumerate(every) if same(leaf))
