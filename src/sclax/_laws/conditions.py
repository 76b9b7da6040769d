"""Conditions: residuals that know their place, as their user writes them. `bind` pairs one with a problem's names and
domain and gives a `Law`."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Point, checks, signature
from .._places import TIME, Box, Where, locate
from .fields import (
    Constant,
    Derivative,
    FieldFunction,
    NamedFunction,
    Vocabulary,
    components,
    derivatives,
    evaluate,
    named,
    nonlocal_function,
    outputs,
)
from .law import AbstractCondition, AbstractNamed, AbstractResidual, Law, OnSamples, unknown_index

Value = NamedFunction | Constant

# --- equations ---------------------------------------------------------------------------------------------------


class FunctionResidual(AbstractNamed):
    function: NamedFunction | Constant | FieldFunction
    owner: str = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        return components(self.function(model, parameters, place.embed(w)), self.owner)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "residual" if name == "<lambda>" else name


class FieldResidual(AbstractCondition):
    """A residual of the whole network; made by `field_residual`."""

    function: Callable[..., Any] = eqx.field(static=True)
    on: Where = None

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        name = _name_of(self.function)
        residual = FunctionResidual(nonlocal_function(self.function, vocabulary, name), name)
        return Law(residual, locate(name, self.on, domain, "interior"), name, residual.function.order)


def field_residual(function: Callable[..., Any], on: Where = None) -> FieldResidual:
    """The escape hatch: a residual that gets the network as a callable, for anything nonlocal.

    `function(field, point)` is evaluated at one point; `field(x=0.5)` is the network there, coordinates that are left
    out being those of the point, and `point.x` or `point["beta"]` is a coordinate or a parameter.

    !!! example
        Memory of the start, u(x, t) = u(x, 0) e⁻ᵗ:
        `field_residual(lambda field, point: field() - field(t=0.0) * jnp.exp(-point.t))`
    """
    return FieldResidual(function, on)


class Equation(AbstractCondition):
    """A plain function by argument name on the whole interior, parameters included; what a bare function means."""

    function: Callable[..., Any] = eqx.field(static=True)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        return Operator(self.function, on=domain).bind(vocabulary, domain)

    def on_samples(self, samples: OnSamples) -> Law:
        return samples.law_of_equation(self.function)


class Operator(AbstractCondition):
    """Any residual by argument name, on a place:  fn(u, u_x, …) = 0  on `on` (default: the boundary of space).

    !!! example
        Radiation: `Operator(lambda u, u_x: u_x + u**4, on=domain.face(x=1))`
    """

    function: Callable[..., Any] = eqx.field(static=True)
    on: Where = None

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        name = _name_of(self.function)
        function = named(self.function, vocabulary, name)
        residual = FunctionResidual(function, name)
        return Law(residual, locate(name, self.on, domain, "boundary"), name, function.order)


class InequalityResidual(AbstractNamed):
    inner: FunctionResidual

    def __call__(self, model, parameters, place, w):
        return jax.nn.relu(self.inner(model, parameters, place, w))


class Inequality(AbstractCondition):
    """A pointwise inequality:  fn(…) ≤ 0  on `on` (default: the interior). The residual is [fn]₊, its loss the square;
    `power=1` gives the paper's linear loss, for first-order methods only.

    !!! example
        u ≥ 0: `Inequality(lambda u: -u)`
    """

    function: Callable[..., Any] = eqx.field(static=True)
    on: Where = None
    power: int = eqx.field(static=True, default=2)

    def __check_init__(self):
        if self.power not in (1, 2):
            raise ValueError(f"Inequality: `power` must be 1 or 2, got {self.power!r}.")

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        place = domain if self.on is None else locate("Inequality", self.on, domain, "interior")
        law = Operator(self.function, on=place).bind(vocabulary, domain)
        assert isinstance(law.residual, FunctionResidual)
        return Law(InequalityResidual(law.residual), law.place, law.name, law.order, self.power)


# --- boundary and initial conditions ------------------------------------------------------------------------------


class ValueResidual(AbstractNamed):
    """A derivative of an unknown minus a prescribed value."""

    derivative: Derivative = eqx.field(static=True)
    value: Value
    vocabulary: Vocabulary

    def __call__(self, model, parameters, place, w):
        quantities = (self.derivative, *self.value.quantities)
        found = evaluate(model, self.vocabulary, parameters, place.embed(w), quantities)
        value = self.value.restricted(dict(zip(quantities, found, strict=True)))
        return components(found[0] - value, "condition")


def _named_after(kind: str, derivative: Derivative, vocabulary: Vocabulary) -> str:
    """`initial`, or `initial_v` where there are several unknowns."""
    return kind if len(vocabulary.unknowns) == 1 else f"{kind}_{vocabulary.unknowns[derivative.unknown]}"


class Initial(AbstractCondition):
    """An initial condition:  ∂ᵏu/∂tᵏ = value  at the lower end of `t`, with k = `order`.

    !!! example
        A plucked string at rest: `Initial(lambda x: jnp.sin(x))` and `Initial(0.0, order=1)`.
    """

    value: Any
    order: int = eqx.field(static=True, default=0)
    unknown: str | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        checks.count("Initial", "order", self.order, at_least=0)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        if TIME not in domain.names:
            raise ValueError(
                f"Initial: the domain has no coordinate `t`, only {checks.listed(domain.names)}. "
                "Name the time coordinate `t`, or use Dirichlet(..., on=domain.face(...))."
            )
        time = domain.names.index(TIME)
        derivative = Derivative(unknown_index("Initial", self.unknown, vocabulary), (time,) * self.order)
        residual = ValueResidual(derivative, named(self.value, vocabulary, "Initial"), vocabulary)
        name = _named_after("initial", derivative, vocabulary) + (f"_{TIME * self.order}" if self.order else "")
        return Law(residual, domain.face(t=domain.lower[time]), name, self.order)


class Dirichlet(AbstractCondition):
    """A prescribed value:  u = value  on `on` (default: the boundary of space).

    !!! example
        `Dirichlet(lambda y: jnp.sin(y), on=domain.face(x=0))`
    """

    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        derivative = Derivative(unknown_index("Dirichlet", self.unknown, vocabulary), ())
        residual = ValueResidual(derivative, named(self.value, vocabulary, "Dirichlet"), vocabulary)
        name = _named_after("dirichlet", derivative, vocabulary)
        return Law(residual, locate("Dirichlet", self.on, domain, "boundary"), name, 0)


class NormalResidual(AbstractNamed):
    """a u + b ∂u/∂n − value, with one forward pass along the outward normal."""

    a: Value
    b: Value
    value: Value
    unknown: int = eqx.field(static=True)
    unknowns: int = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        z = place.embed(w)
        u, slope = jax.jvp(lambda z: outputs(model, z, self.unknowns), (z,), (place.normal(w),))
        a, b, value = (f(model, parameters, z) for f in (self.a, self.b, self.value))
        return components(a * u[self.unknown] + b * slope[self.unknown] - value, "condition")


class Robin(AbstractCondition):
    """A mixed condition:  a u + b ∂u/∂n = value  on `on` (default: the boundary of space), n pointing outwards.

    !!! example
        Newton's cooling: `Robin(1.0, 0.5, 20.0, on=domain.face(x=1))`
    """

    a: Any
    b: Any
    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        a, b, value = (named(f, vocabulary, "Robin") for f in (self.a, self.b, self.value))
        unknown = unknown_index("Robin", self.unknown, vocabulary)
        residual = NormalResidual(a, b, value, unknown, len(vocabulary.unknowns))
        place = locate("Robin", self.on, domain, "boundary")
        jax.eval_shape(place.normal, jnp.zeros(place.chart.dimension))  # a place without normals fails here
        return Law(residual, place, "robin", 1)


class Neumann(AbstractCondition):
    """A prescribed outward slope:  ∂u/∂n = value  on `on` (default: the boundary of space).

    !!! example
        Insulated ends: `Neumann(0.0)`
    """

    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        law = Robin(0.0, 1.0, self.value, self.on, self.unknown).bind(vocabulary, domain)
        return Law(law.residual, law.place, "neumann", 1)


class Jet(eqx.Module):
    """The unknowns and their derivatives along one coordinate, up to an order."""

    coordinate: int = eqx.field(static=True)
    order: int = eqx.field(static=True)
    which: tuple[int, ...] = eqx.field(static=True)
    unknowns: int = eqx.field(static=True)

    @property
    def quantities(self) -> tuple[Derivative, ...]:
        return tuple(Derivative(k, ()) for k in self.which)

    def __call__(self, model, parameters, z: Point) -> tuple[Float[Array, ""], ...]:
        indices = [(self.coordinate,) * k for k in range(self.order + 1)]
        table = derivatives(lambda z: outputs(model, z, self.unknowns), z, indices)
        return tuple(table[index][k] for index in indices for k in self.which)


class PeriodicResidual(AbstractNamed):
    function: Jet | NamedFunction | Constant
    coordinate: int = eqx.field(static=True)
    shift: float = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        low, high = self.seen(parameters, place, w)
        at = lambda z: components(self.function(model, parameters, z), "Periodic")
        return at(low) - at(high)

    def seen(self, parameters, place, w):
        low = place.embed(w)
        return jnp.stack([low, low.at[self.coordinate].add(self.shift)])


class Periodic(AbstractCondition):
    """Periodicity:  ∂ᵏu/∂cᵏ agrees at both ends of coordinate c, for k = 0 … `order`.

    A first-order equation needs `order=0`, a second-order one `order=1`: with fewer, the problem has many solutions.
    `of` is a function of what must agree instead, such as the value and the flux.

    !!! example
        `Periodic("x", order=1)` for a diffusion on a ring, and where its coefficient may vanish
        `Periodic("x", of=lambda u, u_x, nu: (u, nu * u_x))`.
    """

    coordinate: str = eqx.field(static=True)
    order: int = eqx.field(static=True, default=0)
    unknown: str | None = eqx.field(static=True, default=None)
    of: Callable[..., Any] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        checks.count("Periodic", "order", self.order, at_least=0)
        if self.of is not None and not callable(self.of):
            raise ValueError(f"Periodic: `of` must be a function by argument name, got {self.of!r:.60}.")
        if self.of is not None and (self.order or self.unknown is not None):
            raise ValueError(
                "Periodic: give `of`, or `order` and `unknown`: `of` says itself what agrees at both ends."
            )

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        if self.coordinate not in domain.names:
            raise ValueError(
                f"Periodic: unknown coordinate `{self.coordinate}`; the domain has {checks.listed(domain.names)}."
                + checks.nearest(str(self.coordinate), domain.names)
            )
        i = domain.names.index(self.coordinate)
        function, order = self._agreeing(vocabulary, i)
        place = domain.face(**{self.coordinate: domain.lower[i]})
        residual = PeriodicResidual(function, i, float(domain.lengths[i]))
        return Law(residual, place, f"periodic_{self.coordinate}", order)

    @property
    def wraps(self) -> tuple[str, ...]:
        return (self.coordinate,)

    def _agreeing(self, vocabulary: Vocabulary, i: int) -> tuple[Jet | NamedFunction | Constant, int]:
        """What agrees at both ends, and its order."""
        if self.of is not None:
            function = named(self.of, vocabulary, "Periodic(of=...)")
            if not any(isinstance(quantity, Derivative) for quantity in function.quantities):
                raise ValueError(
                    "Periodic(of=...): nothing in it is free to agree; name an unknown, "
                    f"{checks.listed(vocabulary.unknowns)}, or a derivative of one."
                )
            return function, function.order
        unknowns = len(vocabulary.unknowns)
        which = (
            tuple(range(unknowns)) if self.unknown is None else (unknown_index("Periodic", self.unknown, vocabulary),)
        )
        return Jet(i, self.order, which, unknowns), self.order


# --- structure -------------------------------------------------------------------------------------------


class InvarianceResidual(AbstractNamed):
    maps: tuple[tuple[int, Value], ...]
    domain: Box
    unknowns: int = eqx.field(static=True)

    seen = AbstractResidual.seen  # nobody can tell: the image may lie outside the domain

    def __call__(self, model, parameters, place, w):
        moved = z = place.embed(w)
        for i, function in self.maps:
            moved = moved.at[i].set(function(model, parameters, z))
        difference = outputs(model, z, self.unknowns) - outputs(model, moved, self.unknowns)
        # The law relates two points of the domain; where the image leaves it, there is nothing to compare.
        return jnp.where(self.domain.contains(moved), difference, 0.0)


class Invariance(AbstractCondition):
    """A symmetry:  u(z) = u(g z)  wherever both z and g z lie in the domain; coordinates without a map stay.

    !!! example
        Period 2π/β in time: `Invariance(t=lambda t, beta: t + 2 * jnp.pi / beta)`
    """

    maps: tuple[tuple[str, Callable[..., Any]], ...] = eqx.field(static=True)

    def __init__(self, **maps: Callable[..., Any]):
        if not maps:
            raise ValueError("Invariance: give at least one map, for example Invariance(x=lambda x: -x).")
        for name, function in maps.items():
            signature(function, f"Invariance({name}=...)")
        self.maps = tuple(maps.items())

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        bound = []
        for name, function in self.maps:
            if name not in domain.names:
                raise ValueError(
                    f"Invariance: unknown coordinate `{name}`; the domain has {checks.listed(domain.names)}."
                    + checks.nearest(name, domain.names)
                )
            bound.append((domain.names.index(name), named(function, vocabulary, f"Invariance({name}=...)")))
        residual = InvarianceResidual(tuple(bound), domain, len(vocabulary.unknowns))
        return Law(residual, domain, "invariance", 0)


def as_condition(owner: str, residual: Any) -> AbstractCondition:
    """A condition as it is; a bare function lives on the whole interior."""
    if isinstance(residual, AbstractCondition):
        return residual
    if callable(residual):
        return Equation(residual)
    raise ValueError(
        f"{owner}: `residual` must be a function by argument name or a condition such as Initial(...), "
        f"got {residual!r}."
    )
