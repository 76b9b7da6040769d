"""The words of a problem: what `u_xx`, `grad_u`, `lap_u`, `normal`, `beta` or `t` in a signature stand for."""

import dataclasses
import itertools
from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx

from .._base import Traced, checks
from .._places import TIME

Index = tuple[int, ...]  # the coordinates of a derivative, ascending: u_xyx is (0, 0, 1)
Pin = tuple[int, float]  # a coordinate, and the value at which an unknown that does not depend on it is asked for

GRADIENT, LAPLACIAN, NORMAL = "grad_", "lap_", "normal"


class Coordinate(NamedTuple):
    number: int


class Parameter(NamedTuple):
    name: str


class Derivative(NamedTuple):
    """The derivative of field number `unknown` along the coordinates `along`; () is the field itself. The fields are
    the unknowns, then the derived quantities."""

    unknown: int
    along: Index

    def of(self, unknown: int) -> "Derivative":
        """The same of another field."""
        return self._replace(unknown=unknown)


# Not named tuples, which would be equal to each other.
@dataclasses.dataclass(frozen=True)
class Gradient:
    """The vector of first derivatives of field number `unknown` along the coordinates `space`."""

    unknown: int
    space: Index

    @property
    def parts(self) -> tuple[Derivative, ...]:
        return tuple(Derivative(self.unknown, (i,)) for i in self.space)

    def of(self, unknown: int) -> "Gradient":
        return Gradient(unknown, self.space)


@dataclasses.dataclass(frozen=True)
class Laplacian:
    """The sum of second derivatives of field number `unknown` along the coordinates `space`."""

    unknown: int
    space: Index

    @property
    def parts(self) -> tuple[Derivative, ...]:
        return tuple(Derivative(self.unknown, (i, i)) for i in self.space)

    def of(self, unknown: int) -> "Laplacian":
        return Laplacian(unknown, self.space)


@dataclasses.dataclass(frozen=True)
class Normal:
    """The outward unit normal of a boundary, its components along the coordinates `space`."""

    space: Index


Quantity = Coordinate | Parameter | Derivative | Gradient | Laplacian | Normal
Asked = tuple[Quantity, ...] | None  # the quantities that something names; None where nobody can see


class Derived(NamedTuple):
    """A quantity that is a function of others, by name."""

    name: str
    function: Traced
    quantities: tuple[Quantity, ...]


class Vocabulary(eqx.Module):
    """The names that a problem knows: coordinates (families included), unknowns, fixed parameters, derived quantities.

    `families` are the coordinates that are parameters, and `pins` has for each unknown the coordinates on which it does
    not depend. The last `learned` unknowns are coefficients of the equations, all others the solution itself.

    !!! example
        `Vocabulary(domain.names, ("u",), ())` in the test of a condition of your own.
    """

    coordinates: tuple[str, ...] = eqx.field(static=True)
    unknowns: tuple[str, ...] = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)
    families: tuple[str, ...] = eqx.field(static=True, default=())
    derived: tuple[Derived, ...] = eqx.field(static=True, default=())
    pins: tuple[tuple[Pin, ...], ...] = eqx.field(static=True, default=())
    learned: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        names = self.coordinates + self.fields + self.parameters
        for name in names:
            if not name.isidentifier():
                raise ValueError(f"Problem: `{name}` is not a valid name; use letters and digits.")
            if names.count(name) > 1:
                quantities = f", quantities {checks.listed(d.name for d in self.derived)}" if self.derived else ""
                raise ValueError(
                    f"Problem: `{name}` stands for two things: coordinates are {checks.listed(self.coordinates)}, "
                    f"unknowns {checks.listed(self.unknowns)}, parameters {checks.listed(self.parameters)}"
                    f"{quantities}. Rename one."
                )
        words = {prefix + name for prefix in (GRADIENT, LAPLACIAN) for name in self.fields}
        for name in self.coordinates + self.parameters + tuple(d.name for d in self.derived):
            if any(name.startswith(u + "_") and self._suffixes(name[len(u) + 1 :]) for u in self.fields):
                what = "parameter" if name in self.coordinates + self.parameters else "quantity"
                raise ValueError(f"Problem: `{name}` reads as a derivative of an unknown. Rename the {what}.")
        for name in names:
            if name in words:
                raise ValueError(f"Problem: `{name}` reads as a gradient or a Laplacian. Rename it.")

    @property
    def states(self) -> tuple[str, ...]:
        """The unknowns that are the solution."""
        return self.unknowns[: len(self.unknowns) - self.learned]

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all that has derivatives: unknowns, then derived quantities."""
        return self.unknowns + tuple(d.name for d in self.derived)

    @property
    def space(self) -> Index:
        """The numbers of the coordinates that are neither time nor a parameter."""
        others = (TIME, *self.families)
        return tuple(i for i, name in enumerate(self.coordinates) if name not in others)

    def _suffixes(self, suffix: str) -> list[Index]:
        """All ways to read `suffix` as coordinate names, longest names first."""
        if not suffix:
            return [()]
        found = []
        for i in sorted(range(len(self.coordinates)), key=lambda i: -len(self.coordinates[i])):
            name = self.coordinates[i]
            if suffix.startswith(name):
                found += [(i, *rest) for rest in self._suffixes(suffix[len(name) :])]
        return found

    def spelt(self, quantity: Quantity) -> str:
        """The name that `resolve` reads as the quantity."""
        match quantity:
            case Coordinate(number):
                return self.coordinates[number]
            case Parameter(name):
                return name
            case Derivative(unknown, along):
                return "_".join([self.fields[unknown], *["".join(self.coordinates[i] for i in along)] * bool(along)])
            case Gradient(unknown):
                return GRADIENT + self.fields[unknown]
            case Laplacian(unknown):
                return LAPLACIAN + self.fields[unknown]
            case Normal():
                return NORMAL

    def expanded(self, quantities: Iterable[Quantity]) -> tuple[Quantity, ...]:
        """What quantities come down to: coordinates, parameters, and derivatives of unknowns."""
        found: dict[Quantity, None] = {}
        for quantity in quantities:
            match quantity:
                case Gradient() | Laplacian():
                    found.update(dict.fromkeys(self.expanded(quantity.parts)))
                case Derivative(unknown, along) if unknown >= len(self.unknowns):
                    found.update(dict.fromkeys(self._differentiated(unknown, along)))
                case Normal():
                    pass
                case _:
                    found[quantity] = None
        return tuple(found)

    def order(self, quantities: Iterable[Quantity]) -> int:
        """The highest order of derivative of an unknown that quantities come down to."""
        return max((len(q.along) for q in self.expanded(quantities) if isinstance(q, Derivative)), default=0)

    def _differentiated(self, unknown: int, along: Index) -> Iterable[Quantity]:
        """What a derivative of a derived quantity comes down to: by the chain rule, all that the quantity is made of,
        with some of the derivatives more."""
        for quantity in self.expanded(self.derived[unknown - len(self.unknowns)].quantities):
            if not isinstance(quantity, Derivative):
                yield quantity
                continue
            for chosen in (c for n in range(len(along) + 1) for c in itertools.combinations(along, n)):
                yield Derivative(quantity.unknown, tuple(sorted(quantity.along + chosen)))

    def resolve(self, name: str, owner: str) -> Quantity:
        """The quantity that `name` stands for, or an error that lists what is on offer."""
        if name in self.coordinates:
            return Coordinate(self.coordinates.index(name))
        if name in self.parameters:
            return Parameter(name)
        if name in self.fields:
            return Derivative(self.fields.index(name), ())
        readings = {}
        for u, unknown in enumerate(self.fields):
            if name.startswith(unknown + "_"):
                suffix = name[len(unknown) + 1 :]
                for index in self._suffixes(suffix) if suffix else []:
                    readings.setdefault(Derivative(u, tuple(sorted(index))), index)
        if len(readings) > 1:
            ways = " or ".join(
                f"∂{self.fields[q.unknown]} along ({', '.join(self.coordinates[i] for i in index)})"
                for q, index in readings.items()
            )
            raise ValueError(f"{owner}: `{name}` is ambiguous: {ways}. Rename a coordinate or an unknown.")
        if readings:
            return self._moving(next(iter(readings)), name, owner)
        if name == NORMAL or name in self._spatial:
            return self._spatial_word(name, owner)
        first, second = [], []
        for unknown in self.fields:
            first += [f"{unknown}_{c}" for c in self.coordinates]
            second += [f"{unknown}_{a}{b}" for a in self.coordinates for b in self.coordinates]
        derived = f"the quantities {checks.listed(d.name for d in self.derived)}, " if self.derived else ""
        plain = [*self.fields, *self.coordinates, *self.parameters]
        raise ValueError(
            f"{owner}: argument `{name}` is not known. On offer are the unknowns {checks.listed(self.unknowns)}, "
            f"{derived}the coordinates {checks.listed(self.coordinates)}, the parameters "
            f"{checks.listed(self.parameters)}, derivatives such as {checks.listed(first[:8])} of any order, "
            f"over space {checks.listed(self._spatial)}, and on a boundary `{NORMAL}`."
            + checks.nearest(name, plain + first + second + self._spatial)
        )

    def _moving(self, derivative: Derivative, name: str, owner: str) -> Derivative:
        """The derivative, of which one along a coordinate that its unknown does not have is a slip."""
        held = dict(self.pins[derivative.unknown]) if derivative.unknown < len(self.pins) else {}
        for i in derivative.along:
            if i in held:
                raise ValueError(
                    f"{owner}: `{name}` is zero, since `{self.fields[derivative.unknown]}` does not depend on "
                    f"`{self.coordinates[i]}`; leave it out, or add the coordinate in `unknowns`."
                )
        return derivative

    @property
    def _spatial(self) -> list[str]:
        """The words for derivatives along all coordinates of space."""
        return [prefix + name for name in self.fields for prefix in (GRADIENT, LAPLACIAN)]

    def _spatial_word(self, name: str, owner: str) -> Quantity:
        if not self.space:
            raise ValueError(
                f"{owner}: `{name}` is over the coordinates of space, and there are none beside time and parameters: "
                f"the coordinates are {checks.listed(self.coordinates)}."
            )
        if name == NORMAL:
            return Normal(self.space)
        kind, prefix = (Gradient, GRADIENT) if name.startswith(GRADIENT) else (Laplacian, LAPLACIAN)
        return kind(self.fields.index(name.removeprefix(prefix)), self.space)
