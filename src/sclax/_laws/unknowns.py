"""Coefficients that nobody knows: parameters that are learned with the solution."""

from collections.abc import Iterable
from typing import Any, Self

import equinox as eqx

from .._base import checks
from .._places import Box


class AbstractUnknown(eqx.Module):
    """A coefficient that is learned: a function of `coordinates`, a number where there are none.

    !!! example
        `isinstance(Unknown(1.0), AbstractUnknown)`
    """

    coordinates: eqx.AbstractVar[tuple[str, ...]]
    initial: eqx.AbstractVar[float]
    positive: eqx.AbstractVar[bool]

    def within(self, name: str, domain: Box) -> Self:
        """Itself, where the domain has its coordinates."""
        for coordinate in self.coordinates:
            if coordinate not in domain.names:
                raise ValueError(
                    f"UnknownField: `{name}` is to depend on `{coordinate}`, which is no coordinate of the domain "
                    f"({checks.listed(domain.names)})." + checks.nearest(str(coordinate), domain.names)
                )
        return self


class Unknown(AbstractUnknown):
    """An unknown number, for `Problem(parameters={"c": Unknown(1.0)})`: laws name it as any parameter, and it is
    learned with the weights. `solution.estimates["c"]` says what it is, and how sure that is.

    `initial` is where it starts, and the size of a large change of it; `positive=True` keeps it above zero.

    !!! example
        `parameters={"D": Unknown(1.0, positive=True)}` with `lambda u_t, u_xx, D: u_t - D * u_xx`
    """

    initial: float = eqx.field(static=True)
    positive: bool = eqx.field(static=True)
    coordinates: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, initial: float = 1.0, positive: bool = False):
        self.initial = checks.number("Unknown", "initial", initial)
        self.positive = _positive("Unknown", positive, self.initial)
        self.coordinates = ()


class UnknownField(AbstractUnknown):
    """An unknown coefficient function of some coordinates, for `Problem(parameters={"a": UnknownField(("x", "y"))})`.
    Laws name it and its derivatives as those of an unknown: `a`, `a_x`. `solution("a", x=..., y=...)` evaluates it.

    `initial` is about what it is at first, and its size; `positive=True` keeps it above zero.

    !!! example
        −∇·(a ∇u) = f: `lambda u_x, u_y, u_xx, u_yy, a, a_x, a_y: a * (u_xx + u_yy) + a_x * u_x + a_y * u_y + f`
    """

    coordinates: tuple[str, ...] = eqx.field(static=True)
    initial: float = eqx.field(static=True)
    positive: bool = eqx.field(static=True)

    def __init__(self, coordinates: Iterable[str] | str, positive: bool = False, initial: float = 1.0):
        self.coordinates = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        if not self.coordinates:
            raise ValueError("UnknownField: it is a function of no coordinate; an unknown number is Unknown(initial).")
        self.initial = checks.number("UnknownField", "initial", initial)
        self.positive = _positive("UnknownField", positive, self.initial)


def _positive(owner: str, positive: Any, initial: float) -> bool:
    if positive and initial <= 0:
        raise ValueError(f"{owner}: `positive=True` needs a positive `initial`, got {initial}.")
    return bool(positive)
