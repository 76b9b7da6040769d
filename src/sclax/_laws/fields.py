"""Names to numbers: what `u_xx`, `beta` or `t` in a residual's signature mean, and how they are computed.

Derivatives are nested forward-mode passes that share their work: shorter branches ride along as auxiliary output of the
longest chain, so that a reaction-diffusion residual costs what a hand-written Taylor pass costs.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Model, Point, Scalar, Traced, checks, signature

Index = tuple[int, ...]  # the coordinates of a derivative, ascending: u_xyx is (0, 0, 1)


class Coordinate(NamedTuple):
    number: int


class Parameter(NamedTuple):
    name: str


class Derivative(NamedTuple):
    """The derivative of unknown number `unknown` along the coordinates `along`; () is the unknown itself."""

    unknown: int
    along: Index


Quantity = Coordinate | Parameter | Derivative
Asked = tuple[Quantity, ...] | None  # the quantities that something names; None where nobody can see


class Vocabulary(eqx.Module):
    """The names that a problem knows: coordinates (families included), unknowns and fixed parameters."""

    coordinates: tuple[str, ...] = eqx.field(static=True)
    unknowns: tuple[str, ...] = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)

    def __check_init__(self):
        names = self.coordinates + self.unknowns + self.parameters
        for name in names:
            if not name.isidentifier():
                raise ValueError(f"Problem: `{name}` is not a valid name; use letters and digits.")
            if names.count(name) > 1:
                raise ValueError(
                    f"Problem: `{name}` stands for two things: coordinates are {checks.listed(self.coordinates)}, "
                    f"unknowns {checks.listed(self.unknowns)}, parameters {checks.listed(self.parameters)}. "
                    "Rename one."
                )
        for name in self.coordinates + self.parameters:
            if any(name.startswith(u + "_") and self._suffixes(name[len(u) + 1 :]) for u in self.unknowns):
                raise ValueError(f"Problem: `{name}` reads as a derivative of an unknown. Rename the parameter.")

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
                return "_".join([self.unknowns[unknown], *["".join(self.coordinates[i] for i in along)] * bool(along)])

    def resolve(self, name: str, owner: str) -> Quantity:
        """The quantity that `name` stands for, or an error that lists what is on offer."""
        if name in self.coordinates:
            return Coordinate(self.coordinates.index(name))
        if name in self.parameters:
            return Parameter(name)
        if name in self.unknowns:
            return Derivative(self.unknowns.index(name), ())
        readings = {}
        for u, unknown in enumerate(self.unknowns):
            if name.startswith(unknown + "_"):
                suffix = name[len(unknown) + 1 :]
                for index in self._suffixes(suffix) if suffix else []:
                    readings.setdefault(Derivative(u, tuple(sorted(index))), index)
        if len(readings) > 1:
            ways = " or ".join(
                f"∂{self.unknowns[q.unknown]} along ({', '.join(self.coordinates[i] for i in index)})"
                for q, index in readings.items()
            )
            raise ValueError(f"{owner}: `{name}` is ambiguous: {ways}. Rename a coordinate or an unknown.")
        if readings:
            return next(iter(readings))
        first, second = [], []
        for unknown in self.unknowns:
            first += [f"{unknown}_{c}" for c in self.coordinates]
            second += [f"{unknown}_{a}{b}" for a in self.coordinates for b in self.coordinates]
        plain = [*self.unknowns, *self.coordinates, *self.parameters]
        raise ValueError(
            f"{owner}: argument `{name}` is not known. On offer are the unknowns {checks.listed(self.unknowns)}, "
            f"the coordinates {checks.listed(self.coordinates)}, the parameters {checks.listed(self.parameters)}, "
            f"and derivatives such as {checks.listed(first)} of any order."
            + checks.nearest(name, plain + first + second)
        )


def outputs(model: Model, z: Point, unknowns: int) -> Float[Array, " m"]:
    """The network's values at one point, one for each unknown."""
    values = jnp.atleast_1d(model(z))
    if values.shape != (unknowns,):
        raise ValueError(
            f"solve: `model` must map a point of shape {z.shape} to shape ({unknowns},), one value for each unknown, "
            f"got shape {values.shape}."
        )
    return values


def derivatives(
    function: Callable[[Point], Float[Array, " m"]], z: Point, wanted: Iterable[Index]
) -> dict[Index, Array]:
    """The derivatives of `function` at `z` along each index of `wanted`, by nested forward-mode passes.

    A bare gradient is the exception: one reverse pass costs as much as one forward direction, whatever the dimension
    (measured for two directions: 0.7 times the time, with and without the gradient in the weights).
    """
    wanted = list(wanted)
    first = {index for index in wanted if len(index) == 1}
    if max(map(len, wanted)) == 1 and len(first) > 1:
        value, pull = jax.vjp(function, z)
        if value.shape == (1,):
            (gradient,) = pull(jnp.ones_like(value))
            return {index: gradient[index[0], None] if index else value for index in wanted}
    chains = [w for w in wanted if not any(v != w and v[: len(w)] == w for v in wanted)]
    longest = max(chains, key=len)
    # First derivatives ride along on the longest chain. Longer ones get a chain of their own: inside another's passes
    # they would be differentiated again at every level, 400 000 operations for a biharmonic residual.
    riders = [w for w in chains if len(w) == 1 and w != longest]
    found: dict[Index, Array] = {}
    for chain in (longest, *(w for w in chains if w != longest and w not in riders)):
        tower = lambda z: (function(z), {})
        for rider in riders if chain == longest else ():
            tower = _with_rider(tower, rider)
        for depth in range(len(chain)):
            tower = _differentiated(tower, chain[:depth], chain[depth])
        value, others = tower(z)
        found.update(others)
        found[chain] = value
    return {index: found[index] for index in wanted}


def _push(function, z: Point, coordinate: int):
    """Value, derivative along a coordinate, and auxiliary output of `function: z -> (value, others)`."""
    return jax.jvp(function, (z,), (jnp.zeros_like(z).at[coordinate].set(1),), has_aux=True)


def _with_rider(function, rider: Index):
    """The same value, with its first derivative along `rider` among the others."""

    def joined(z):
        value, tangent, others = _push(function, z, rider[0])
        return value, {**others, rider: tangent}

    return joined


def _differentiated(function, index: Index, coordinate: int):
    """One more derivative of a value that is the derivative `index` itself; the value joins the others."""

    def differentiated(z):
        value, tangent, others = _push(function, z, coordinate)
        return tangent, {**others, index: value}

    return differentiated


def evaluate(
    model: Model,
    vocabulary: Vocabulary,
    parameters: Mapping[str, Scalar],
    z: Point,
    quantities: Iterable[Quantity],
) -> list[Scalar]:
    """The value of each quantity at the point `z`; only the derivatives asked for are computed."""
    quantities = list(quantities)
    wanted = {q.along for q in quantities if isinstance(q, Derivative)}
    network = lambda z: outputs(model, z, len(vocabulary.unknowns))
    table = derivatives(network, z, wanted) if wanted else {}
    values = []
    for q in quantities:
        match q:
            case Coordinate(number):
                values.append(z[number])
            case Parameter(name):
                values.append(parameters[name])
            case Derivative(unknown, along):
                values.append(table[along][unknown])
    return values


class NamedFunction(eqx.Module):
    """A plain function of plain scalars, whose argument names say what to inject."""

    function: Traced = eqx.field(static=True)
    quantities: tuple[Quantity, ...] = eqx.field(static=True)
    vocabulary: Vocabulary

    @property
    def order(self) -> int:
        """The highest order of derivative that the function asks for."""
        return max((len(q.along) for q in self.quantities if isinstance(q, Derivative)), default=0)

    def __call__(self, model: Model, parameters: Mapping[str, Scalar], z: Point) -> Any:
        return self.function(*evaluate(model, self.vocabulary, parameters, z, self.quantities))

    def restricted(self, values: Mapping[Quantity, Array]) -> Any:
        """The function at quantities that are known already."""
        return self.function(*(values[q] for q in self.quantities))


class Constant(eqx.Module):
    """A number in a function's place."""

    value: Scalar

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return ()

    @property
    def order(self) -> int:
        return 0

    def __call__(self, model: Model, parameters: Mapping[str, Scalar], z: Point) -> Scalar:
        return self.value

    def restricted(self, values: Mapping[Quantity, Array]) -> Scalar:
        return self.value


def named(function: Any, vocabulary: Vocabulary, owner: str, shape: tuple[int, ...] = ()) -> NamedFunction | Constant:
    """A number or a function by argument name, bound to a problem's names. It is called with numbers, or with values on
    a whole grid of `shape`."""
    if callable(function):
        taken = vocabulary.coordinates + vocabulary.unknowns + vocabulary.parameters
        quantities = tuple(vocabulary.resolve(n, owner) for n in signature(function, owner, taken))
        examples = tuple(_number(() if isinstance(q, Parameter) else shape) for q in quantities)
        return NamedFunction(Traced(function, examples, owner), quantities, vocabulary)
    return Constant(jnp.asarray(checks.number(owner, "value", function)))


def _number(shape: tuple[int, ...] = ()) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float64")


def components(value: Any, owner: str) -> Float[Array, " c"]:
    """A residual's return value, a number or a tuple of numbers, as a vector."""
    parts = value if isinstance(value, tuple | list) else (value,)
    parts = [jnp.asarray(part, dtype=jnp.result_type(float)) for part in parts]
    if any(part.ndim > 0 for part in parts):
        shapes = [part.shape for part in parts]
        raise ValueError(f"{owner}: a residual returns a number or a tuple of numbers, got shapes {shapes}.")
    return jnp.stack(parts)


class Nearby(dict):
    """A point by name (`point["x"]` or `point.x`), fixed parameters included."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"point has no `{name}`; it has {checks.listed(self)}.") from None


class Field(NamedTuple):
    """The network as a function of named coordinates; coordinates left out are those of the current point."""

    model: Model
    vocabulary: Vocabulary
    point: Nearby

    def __call__(self, where: Mapping[str, Any] | None = None, **coordinates: Any) -> Any:
        given = {**(where or {}), **coordinates}
        unknown = [name for name in given if name not in self.point]
        if unknown:
            raise ValueError(
                f"field_residual: field() got `{unknown[0]}`; the coordinates are "
                f"{checks.listed(self.vocabulary.coordinates)}."
            )
        z = jnp.stack([jnp.asarray(given.get(n, self.point[n])) for n in self.vocabulary.coordinates])
        values = outputs(self.model, z, len(self.vocabulary.unknowns))
        if len(self.vocabulary.unknowns) == 1:
            return values[0]
        return dict(zip(self.vocabulary.unknowns, values, strict=True))


class FieldFunction(eqx.Module):
    """A residual of the whole network and a point; made by `field_residual`."""

    function: Traced = eqx.field(static=True)
    vocabulary: Vocabulary
    # Nobody can see which derivatives the function takes: it counts as a first-order operator.
    order: int = eqx.field(static=True, default=1)

    @property
    def quantities(self) -> None:
        return None

    def __call__(self, model: Model, parameters: Mapping[str, Scalar], z: Point) -> Any:
        return self.function(model, self.vocabulary, parameters, z)


def _nonlocal(
    function: Callable[..., Any], model: Model, vocabulary: Vocabulary, parameters: Mapping[str, Any], z: Point
) -> Any:
    point = Nearby(zip(vocabulary.coordinates, z, strict=True))
    point.update(parameters)
    return function(Field(model, vocabulary, point), point)


def nonlocal_function(function: Any, vocabulary: Vocabulary, owner: str) -> FieldFunction:
    """A function of the network and a point, bound to a problem's names."""
    network = jax.tree_util.Partial(lambda z: jnp.full(len(vocabulary.unknowns), jnp.sin(z).sum()))  # stands for any
    parameters = dict.fromkeys(vocabulary.parameters, _number())
    examples = (network, vocabulary, parameters, _number((len(vocabulary.coordinates),)))
    return FieldFunction(Traced(functools.partial(_nonlocal, function), examples, owner), vocabulary)
