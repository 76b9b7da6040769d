"""Names to numbers: how what `u_xx`, `lap_u`, `beta` or `t` in a residual's signature stand for is computed.

Derivatives are nested forward-mode passes that share their work: shorter branches ride along as auxiliary output of the
longest chain, so that a reaction-diffusion residual costs what a hand-written Taylor pass costs. Gradients and
Laplacians over many coordinates take one pass with all directions at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Model, Point, Scalar, Traced, checks, signature
from .._places import AbstractPlace
from . import mathml
from .laplacian import forward_laplacian
from .tables import Table, is_table
from .words import Coordinate, Derivative, Gradient, Index, Laplacian, Normal, Parameter, Quantity, Vocabulary


def outputs(model: Model, z: Point, vocabulary: Vocabulary) -> Float[Array, " m"]:
    """The network's values at one point, one for each unknown."""
    unknowns = len(vocabulary.unknowns)

    def at(z: Point) -> Float[Array, " m"]:
        values = jnp.atleast_1d(model(z))
        if values.shape != (unknowns,):
            raise ValueError(
                f"solve: `model` must map a point of shape {z.shape} to shape ({unknowns},), one value for each "
                f"unknown, got shape {values.shape}."
            )
        return values

    # Coefficients see to it themselves.
    held = tuple(() if k >= len(vocabulary.states) else pins for k, pins in enumerate(vocabulary.pins))
    if not any(held):
        return at(z)
    # What an unknown must not depend on is the same wherever it is asked for, so that any model will do.
    found = {pins: at(_pinned(z, pins)) for pins in dict.fromkeys(held)}
    return jnp.stack([found[pins][k] for k, pins in enumerate(held)])


def _pinned(z: Point, pins: tuple[tuple[int, float], ...]) -> Point:
    for coordinate, value in pins:
        z = z.at[coordinate].set(value)
    return z


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


def _spatial(
    function: Callable[[Point], Float[Array, " m"]], z: Point, first: set[int], space: Index
) -> tuple[dict[Index, Array], Array]:
    """The value, first derivatives, and the Laplacian over `space` (nothing of second order where it is empty), all
    directions in one pass."""
    along = sorted(first | set(space))
    directions = jnp.zeros((len(along), len(z)), z.dtype).at[jnp.arange(len(along)), jnp.asarray(along)].set(1)
    if space:
        value, slopes, total = forward_laplacian(function, z, directions, tuple(float(i in space) for i in along))
    else:
        value, push = jax.linearize(function, z)
        slopes, total = jax.vmap(push)(directions), jnp.zeros_like(value)
    return {(): value, **{(i,): slope for i, slope in zip(along, slopes, strict=True)}}, total


def _table(
    function: Callable[[Point], Float[Array, " m"]], z: Point, quantities: Sequence[Quantity], outputs: int
) -> dict[Quantity, Array]:
    """Derivatives of a function of several outputs, gradients and Laplacians among them, whose number `unknown` is that
    of an output."""
    wanted = {q.along for q in quantities if isinstance(q, Derivative)}
    gradients = {(i,) for q in quantities if isinstance(q, Gradient) for i in q.space}
    space = next((q.space for q in quantities if isinstance(q, Laplacian)), ())
    higher = any(len(index) > 1 for index in wanted)
    total = jnp.zeros(outputs)
    if space or (gradients and (higher or outputs > 1)):
        first = {index[0] for index in wanted | gradients if len(index) == 1}
        found, total = _spatial(function, z, first, space)
        rest = {index for index in wanted if len(index) > 1}
        found |= derivatives(function, z, rest) if rest else {}
    else:
        found = derivatives(function, z, wanted | gradients)
    values: dict[Quantity, Array] = {}
    for q in quantities:
        match q:
            case Derivative(unknown, along):
                values[q] = found[along][unknown]
            case Gradient(unknown, directions):
                values[q] = jnp.stack([found[i,][unknown] for i in directions])
            case Laplacian(unknown):
                values[q] = total[unknown]
    return values


def evaluate(
    model: Model,
    vocabulary: Vocabulary,
    parameters: Mapping[str, Scalar],
    z: Point,
    quantities: Iterable[Quantity],
    normal: Point | None = None,
) -> list[Any]:
    """The value of each quantity at the point `z`, at which a boundary has the outward normal `normal`; only the
    derivatives asked for are computed."""
    quantities = list(quantities)
    values: dict[Quantity, Any] = {}
    for q in quantities:
        match q:
            case Coordinate(number):
                values[q] = z[number]
            case Parameter(name):
                values[q] = parameters[name]
            case Normal(space):
                assert normal is not None  # `named_on` has seen to it
                values[q] = normal[jnp.asarray(space)]
    unknowns = len(vocabulary.unknowns)
    of_fields = [q for q in quantities if isinstance(q, Derivative | Gradient | Laplacian)]
    if of_network := [q for q in of_fields if q.unknown < unknowns]:
        values |= _table(lambda z: outputs(model, z, vocabulary), z, of_network, unknowns)
    for number in dict.fromkeys(q.unknown for q in of_fields if q.unknown >= unknowns):
        derived = vocabulary.derived[number - unknowns]

        def at(z: Point, derived=derived) -> Float[Array, " m"]:
            return components(
                derived.function(*evaluate(model, vocabulary, parameters, z, derived.quantities)), derived.name
            )

        alone = {q: q.of(0) for q in of_fields if q.unknown == number}
        found = _table(at, z, list(alone.values()), 1)
        values |= {q: found[named] for q, named in alone.items()}
    return [values[q] for q in quantities]


def outward(quantities: Iterable[Quantity], place: AbstractPlace, w: Float[Array, " k"]) -> Point | None:
    """The normal of a place, where one of the quantities is one."""
    return place.normal(w) if any(isinstance(q, Normal) for q in quantities) else None


class NamedFunction(eqx.Module):
    """A plain function of plain scalars (vectors, for a gradient or a normal), whose argument names say what to
    inject."""

    function: Traced = eqx.field(static=True)
    quantities: tuple[Quantity, ...] = eqx.field(static=True)
    vocabulary: Vocabulary

    @property
    def asked(self) -> tuple[Quantity, ...]:
        return self.vocabulary.expanded(self.quantities)

    @property
    def order(self) -> int:
        """The highest order of derivative of an unknown that the function comes down to."""
        return self.vocabulary.order(self.quantities)

    def __call__(self, model: Model, parameters: Mapping[str, Scalar], z: Point, normal: Point | None = None) -> Any:
        return self.function(*evaluate(model, self.vocabulary, parameters, z, self.quantities, normal))

    def on(self, model: Model, parameters: Mapping[str, Scalar], place: AbstractPlace, w: Float[Array, " k"]) -> Any:
        """The function at a point of a place, whose normal it may ask for."""
        return self(model, parameters, place.embed(w), outward(self.quantities, place, w))

    def written(self) -> tuple[str, ...]:
        """What it gives, in MathML, one expression for each component."""
        words = tuple(self.vocabulary.spelt(q) for q in self.quantities)
        called = "<mo>,</mo>".join(mathml.name(word) for word in words)
        shown = mathml.expressions(self.function, words)
        return shown or (f"<mi>{escape(repr(self.function))}</mi><mo>(</mo>{called}<mo>)</mo>",)

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
    def asked(self) -> tuple[Quantity, ...]:
        return ()

    @property
    def order(self) -> int:
        return 0

    def __call__(self, model: Model, parameters: Mapping[str, Scalar], z: Point, normal: Point | None = None) -> Scalar:
        return self.value

    def on(self, model: Model, parameters: Mapping[str, Scalar], place: AbstractPlace, w: Float[Array, " k"]) -> Scalar:
        return self.value

    def written(self) -> tuple[str, ...]:
        return (mathml.number(float(self.value)),)

    def restricted(self, values: Mapping[Quantity, Array]) -> Scalar:
        return self.value


Bound = TypeVar("Bound", NamedFunction, NamedFunction | Constant)


def named(function: Any, vocabulary: Vocabulary, owner: str, shape: tuple[int, ...] = ()) -> NamedFunction | Constant:
    """A number or a function by argument name, bound to a problem's names. It is called with numbers, or with values on
    a whole grid of `shape`; a normal is not among them."""
    return _without_normal(_bound(function, vocabulary, owner, shape), owner)


def _without_normal(found: Bound, owner: str) -> Bound:
    if any(isinstance(q, Normal) for q in found.quantities):
        raise ValueError(
            f"{owner}: `normal` is the outward normal of a boundary and is not known here. Use it in a condition on "
            "one, Operator(..., on=domain.boundary) say."
        )
    return found


def named_on(function: Any, vocabulary: Vocabulary, owner: str, place: AbstractPlace) -> NamedFunction | Constant:
    """The same on a place, whose normal it may ask for where it has one."""
    found = _bound(function, vocabulary, owner, ())
    if any(isinstance(q, Normal) for q in found.quantities):
        check_normal(owner, place)
    if is_table(function):
        Table(owner, function, vocabulary).covers(place, vocabulary)
    return found


def word(name: str, vocabulary: Vocabulary, owner: str) -> NamedFunction:
    """The function that gives the quantity of a name: an unknown, a derivative, a gradient, a derived quantity."""
    quantity = vocabulary.resolve(name, owner)
    return _without_normal(NamedFunction(Traced(_itself, examples((quantity,)), owner), (quantity,), vocabulary), owner)


def _itself(value: Any) -> Any:
    return value


def check_normal(owner: str, place: AbstractPlace) -> None:
    """A place without normals fails here."""
    try:
        jax.eval_shape(place.normal, jnp.zeros(place.chart.dimension))
    except ValueError as error:
        raise ValueError(f"{owner}: it asks for an outward normal, and there is none. {error}") from None


def _bound(function: Any, vocabulary: Vocabulary, owner: str, shape: tuple[int, ...]) -> NamedFunction | Constant:
    if is_table(function):
        function = Table(owner, function, vocabulary)
    if callable(function):
        quantities = asked_by(function, vocabulary, owner)
        return NamedFunction(Traced(function, examples(quantities, shape), owner), quantities, vocabulary)
    return Constant(jnp.asarray(checks.number(owner, "value", function)))


def asked_by(function: Callable[..., Any], vocabulary: Vocabulary, owner: str) -> tuple[Quantity, ...]:
    """The quantities that a function's arguments name."""
    taken = vocabulary.coordinates + vocabulary.fields + vocabulary.parameters
    return tuple(vocabulary.resolve(name, owner) for name in signature(function, owner, taken))


def examples(quantities: Iterable[Quantity], shape: tuple[int, ...] = ()) -> tuple[jax.ShapeDtypeStruct, ...]:
    """What a function of quantities is called with, by shape and type."""

    def example(q: Quantity) -> jax.ShapeDtypeStruct:
        match q:
            case Parameter():
                return number()
            case Gradient() | Normal():
                return number((len(q.space), *shape))
            case _:
                return number(shape)

    return tuple(map(example, quantities))


def number(shape: tuple[int, ...] = ()) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float64")


def components(value: Any, owner: str) -> Float[Array, " c"]:
    """A residual's return value, a number or a tuple of numbers, as a vector."""
    parts = value if isinstance(value, tuple | list) else (value,)
    parts = [jnp.asarray(part, dtype=jnp.result_type(float)) for part in parts]
    if any(part.ndim > 0 for part in parts):
        shapes = [part.shape for part in parts]
        raise ValueError(f"{owner}: a residual returns a number or a tuple of numbers, got shapes {shapes}.")
    return jnp.stack(parts)
