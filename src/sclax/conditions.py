"""Residuals that know their place: what must vanish, and where.

A condition is what a user writes; `bind` pairs it with a problem's names and domain and gives a `Law`. The loss at a
point is the sum of the squared components of the residual (the Euclidean norm itself where `power` is 1).
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from . import _checks
from ._typing import Array, Float, Model, Point, Scalar
from .domains import TIME, AbstractPlace, Box, Pinned, PointSet, Where, columns, locate
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
    outputs,
    signature,
)

Parameters = Mapping[str, Scalar]
Value = NamedFunction | Constant


class AbstractResidual(eqx.Module):
    """A vector that must vanish at every point of a place."""

    @abc.abstractmethod
    def __call__(
        self, model: Model, parameters: Parameters, place: AbstractPlace, w: Float[Array, " k"]
    ) -> Float[Array, " c"]:
        """The residual at chart coordinates `w` of `place`."""


class Law(eqx.Module):
    """A residual on a place. `order` is the highest derivative in it, `power` the exponent of its loss."""

    residual: AbstractResidual
    place: AbstractPlace
    name: str = eqx.field(static=True)
    order: int = eqx.field(static=True)
    power: int = eqx.field(static=True, default=2)
    # How many evaluations of the residual one point of the place stands for (more than one after `over=`).
    inner: int = eqx.field(static=True, default=1)

    def rows(self, model: Model, parameters: Parameters, w: Float[Array, "n k"]) -> Float[Array, "n c"]:
        """The residual's components at each chart point."""
        return jax.vmap(lambda w: self.residual(model, parameters, self.place, w))(w)

    def losses(self, rows: Float[Array, "n c"]) -> Float[Array, " n"]:
        """The loss at each point, from the residual's components there."""
        squares = jnp.sum(rows**2, axis=-1)
        if self.power == 2:
            return squares
        # The root has no derivative at zero, where the loss has a minimum: take zero for it.
        return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


class AbstractCondition(eqx.Module):
    """A residual as its user writes it, before it knows the problem."""

    @abc.abstractmethod
    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        """The condition on the places and with the names of a problem."""


def _unknown(owner: str, unknown: str | None, vocabulary: Vocabulary) -> int:
    if unknown is None:
        if len(vocabulary.unknowns) > 1:
            raise ValueError(
                f"{owner}: the problem has the unknowns {_checks.listed(vocabulary.unknowns)}; "
                f'say which one with `unknown="{vocabulary.unknowns[0]}"`.'
            )
        return 0
    if unknown not in vocabulary.unknowns:
        raise ValueError(
            f"{owner}: `unknown={unknown!r}` is not one of {_checks.listed(vocabulary.unknowns)}."
            + _checks.nearest(unknown, vocabulary.unknowns)
        )
    return vocabulary.unknowns.index(unknown)


# --- equations ---------------------------------------------------------------------------------------------------


class FunctionResidual(AbstractResidual):
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
        residual = FunctionResidual(FieldFunction(self.function, vocabulary), name)
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


class InequalityResidual(AbstractResidual):
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


class ValueResidual(AbstractResidual):
    """A derivative of an unknown minus a prescribed value."""

    derivative: Derivative = eqx.field(static=True)
    value: Value
    vocabulary: Vocabulary

    def __call__(self, model, parameters, place, w):
        quantities = (self.derivative, *self.value.quantities)
        found = evaluate(model, self.vocabulary, parameters, place.embed(w), quantities)
        value = self.value.restricted(dict(zip(quantities, found, strict=True)))
        return components(found[0] - value, "condition")


class Initial(AbstractCondition):
    """An initial condition:  ∂ᵏu/∂tᵏ = value  at the lower end of `t`, with k = `order`.

    !!! example
        A plucked string at rest: `Initial(lambda x: jnp.sin(x))` and `Initial(0.0, order=1)`.
    """

    value: Any
    order: int = eqx.field(static=True, default=0)
    unknown: str | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        _checks.count("Initial", "order", self.order, at_least=0)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        if TIME not in domain.names:
            raise ValueError(
                f"Initial: the domain has no coordinate `t`, only {_checks.listed(domain.names)}. "
                "Name the time coordinate `t`, or use Dirichlet(..., on=domain.face(...))."
            )
        time = domain.names.index(TIME)
        derivative = Derivative(_unknown("Initial", self.unknown, vocabulary), (time,) * self.order)
        residual = ValueResidual(derivative, named(self.value, vocabulary, "Initial"), vocabulary)
        name = "initial" if self.order == 0 else f"initial_{self.order}"
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
        derivative = Derivative(_unknown("Dirichlet", self.unknown, vocabulary), ())
        residual = ValueResidual(derivative, named(self.value, vocabulary, "Dirichlet"), vocabulary)
        return Law(residual, locate("Dirichlet", self.on, domain, "boundary"), "dirichlet", 0)


class NormalResidual(AbstractResidual):
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
        unknown = _unknown("Robin", self.unknown, vocabulary)
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


class PeriodicResidual(AbstractResidual):
    coordinate: int = eqx.field(static=True)
    shift: float = eqx.field(static=True)
    order: int = eqx.field(static=True)
    which: tuple[int, ...] = eqx.field(static=True)
    unknowns: int = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        low = place.embed(w)
        high = low.at[self.coordinate].add(self.shift)
        indices = [(self.coordinate,) * k for k in range(self.order + 1)]

        def jet(z: Point) -> Float[Array, "k m"]:
            table = derivatives(lambda z: outputs(model, z, self.unknowns), z, indices)
            return jnp.stack([table[index][jnp.asarray(self.which)] for index in indices])

        return (jet(low) - jet(high)).ravel()


class Periodic(AbstractCondition):
    """Periodicity:  ∂ᵏu/∂cᵏ agrees at both ends of coordinate c, for k = 0 … `order`.

    A first-order equation needs `order=0`, a second-order one `order=1`: with fewer, the problem has many solutions.

    !!! example
        `Periodic("x", order=1)` for a diffusion on a ring.
    """

    coordinate: str = eqx.field(static=True)
    order: int = eqx.field(static=True, default=0)
    unknown: str | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        _checks.count("Periodic", "order", self.order, at_least=0)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        if self.coordinate not in domain.names:
            raise ValueError(
                f"Periodic: unknown coordinate `{self.coordinate}`; the domain has {_checks.listed(domain.names)}."
                + _checks.nearest(str(self.coordinate), domain.names)
            )
        i = domain.names.index(self.coordinate)
        unknowns = len(vocabulary.unknowns)
        which = tuple(range(unknowns)) if self.unknown is None else (_unknown("Periodic", self.unknown, vocabulary),)
        residual = PeriodicResidual(i, float(domain.lengths[i]), self.order, which, unknowns)
        place = domain.face(**{self.coordinate: domain.lower[i]})
        return Law(residual, place, f"periodic_{self.coordinate}", self.order)


# --- structure and data -------------------------------------------------------------------------------------------


class InvarianceResidual(AbstractResidual):
    maps: tuple[tuple[int, Value], ...]
    domain: Box
    unknowns: int = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        z = place.embed(w)
        moved = z
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
                    f"Invariance: unknown coordinate `{name}`; the domain has {_checks.listed(domain.names)}."
                    + _checks.nearest(name, domain.names)
                )
            bound.append((domain.names.index(name), named(function, vocabulary, f"Invariance({name}=...)")))
        residual = InvarianceResidual(tuple(bound), domain, len(vocabulary.unknowns))
        return Law(residual, domain, "invariance", 0)


class ObservationResidual(AbstractResidual):
    """u − data on one sample: its points side by side, divided so that the sum of squares is the sample's loss."""

    points: Float[Array, "samples m d"]
    values: Float[Array, "samples m c"]
    divisors: Float[Array, "samples m c"]
    which: tuple[int, ...] = eqx.field(static=True)
    unknowns: int = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        sample = w[0].astype(int)
        found = jax.vmap(lambda z: outputs(model, z, self.unknowns))(self.points[sample])
        differences = found[:, jnp.asarray(self.which)] - self.values[sample]
        return (differences / self.divisors[sample]).ravel()


class Observations(AbstractCondition):
    """Scattered measurements:  u(points_j) = values_j.

    **Arguments:**

    - `points`: a dict of arrays by coordinate name, a DataFrame, or an xarray object. Arrays of shape (J,) are J
      samples of one point each; arrays of shape (J, m) are J samples of m points each (one per experiment, say).
    - `values`: an array of the same shape; for several unknowns a dict by name; the name of a column of `points`; or
      left out where `points` has columns named as the unknowns.
    - `noise`: the standard deviation of the values. Residuals are divided by it: a loss of 1 is one deviation.

    !!! example
        `average(Observations({"x": x, "t": t}, u)) <= 1e-4`, or `each(Observations(...)) <= 1e-4`.
    """

    points: Mapping[str, Any]
    values: Any
    noise: Any

    def __init__(self, points: Any, values: Any = None, noise: Any = None):
        if hasattr(points, "to_dataframe"):  # xarray: every combination of its coordinates is one point
            points = (points if hasattr(points, "data_vars") else points.to_dataset(name=points.name)).to_dataframe()
            points = points.reset_index()
        table = {str(name): points[name] for name in points}
        if isinstance(values, str):
            if values not in table:
                raise ValueError(
                    f"Observations: `values={values!r}` is no column of the points; there are {_checks.listed(table)}."
                )
            values = {values: table.pop(values)}
        if noise is not None and np.any(_checks.finite_array("Observations", "noise", noise) <= 0):
            raise ValueError(
                f"Observations: `noise` is a standard deviation and must be positive, got {np.min(np.asarray(noise))}."
            )
        self.points, self.values, self.noise = table, values, noise

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        return self.law(vocabulary, domain, relative=False)

    def law(self, vocabulary: Vocabulary, domain: Box, relative: bool) -> Law:
        """The law with mean-square samples, or with relative ones (each divided by the norm of its data)."""
        table = dict(self.points)
        values = self.values
        if values is None:
            values = {name: table.pop(name) for name in vocabulary.unknowns if name in table}
            if not values:
                raise ValueError(
                    "Observations: `values` is missing and no column of the points is named as an unknown "
                    f"({_checks.listed(vocabulary.unknowns)})."
                )
        if not isinstance(values, Mapping):
            values = {vocabulary.unknowns[_unknown("Observations", None, vocabulary)]: values}
        elif len(values) == 1 and len(vocabulary.unknowns) == 1:
            values = {vocabulary.unknowns[0]: next(iter(values.values()))}
        table = {name: column for name, column in table.items() if name in domain.names or name not in values}
        z = columns("Observations", table, domain)
        shape = tuple(z.shape[:-1])
        stacked = []
        for name, column in values.items():
            _unknown("Observations", name, vocabulary)
            array = np.atleast_1d(_checks.finite_array("Observations", f"values[{name!r}]", column))
            if array.shape != shape:
                raise ValueError(
                    f"Observations: `values` of `{name}` must have the points' shape {shape}, got {array.shape}."
                )
            stacked.append(array)
        if len(shape) > 2:
            raise ValueError(f"Observations: points have shape (samples,) or (samples, m), got {shape}.")
        samples, m = (*shape, 1)[:2]
        data = jnp.asarray(np.stack(stacked, axis=-1).reshape(samples, m, len(stacked)))
        deviation = np.asarray(1.0 if self.noise is None else self.noise)
        try:
            noise = jnp.asarray(np.broadcast_to(deviation, shape))
        except ValueError:
            raise ValueError(
                f"Observations: `noise` must be a number or have the values' shape {shape}, got {deviation.shape}."
            ) from None
        norm = jnp.linalg.norm(data, axis=(1, 2), keepdims=True)
        if relative and not bool(jnp.all(norm > 0)):
            raise ValueError("RelativeL2: a sample is zero everywhere, so nothing is relative to it; use MeanSquare().")
        divisors = jnp.broadcast_to(norm if relative else jnp.sqrt(float(m)), data.shape)
        residual = ObservationResidual(
            z.reshape(samples, m, domain.dimension),
            data,
            divisors * noise.reshape(samples, m, 1).astype(data.dtype),
            tuple(vocabulary.unknowns.index(name) for name in values),
            len(vocabulary.unknowns),
        )
        place = PointSet(z.reshape(samples, m, -1)[:, 0])
        return Law(residual, place, "observations", 0, 1 if relative else 2)


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


# --- averaging over some coordinates ------------------------------------------------------------------------------


class SliceResidual(AbstractResidual):
    """The residual on all of a grid of inner coordinates, divided so that its square is the mean over the grid."""

    residual: AbstractResidual
    inner: AbstractPlace
    grid: Float[Array, "m k"]
    names: tuple[str, ...] = eqx.field(static=True)
    over: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, model, parameters, place, w):
        pinned = Pinned(self.inner, w, self.names, self.over)
        rows = jax.vmap(lambda v: self.residual(model, parameters, pinned, v))(self.grid)
        return (rows / jnp.sqrt(float(len(self.grid)))).ravel()


def sliced(law: Law, domain: Box, over: tuple[str, ...], n: int) -> Law:
    """The law whose points are the coordinates `over` alone; the others are averaged on a fixed grid of `n` points."""
    for name in over:
        if name not in domain.names:
            raise ValueError(
                f"worst_case: `over` names `{name}`, which is no coordinate of the domain "
                f"({_checks.listed(domain.names)})." + _checks.nearest(name, domain.names)
            )
    if isinstance(law.place, PointSet):
        raise ValueError(
            f"worst_case: `over` cannot range over {_checks.listed(over)}: {law.name} lives on given points; "
            "leave it out."
        )
    rest = domain.select(name for name in domain.names if name not in over)
    try:
        inner = law.place.within(rest)
    except ValueError:
        raise ValueError(
            f"worst_case: `over` cannot range over {_checks.listed(over)}, which {law.name} fixes."
        ) from None
    grid = inner.grid(n)
    residual = SliceResidual(law.residual, inner, grid, domain.names, over)
    return Law(residual, domain.select(over), law.name, law.order, law.power, len(grid))
