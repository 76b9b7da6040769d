"""Equations and inequalities: residuals by argument name, on a place."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

from .._places import Box, Where, locate
from .fields import Constant, NamedFunction, components, named_on
from .law import AbstractCondition, AbstractNamed, Law, OnSamples
from .nearby import FieldFunction, nonlocal_function
from .words import Vocabulary


class FunctionResidual(AbstractNamed):
    function: NamedFunction | Constant | FieldFunction
    owner: str = eqx.field(static=True)

    def written(self):
        return tuple(f"{part}<mo>=</mo><mn>0</mn>" for part in self.function.written())

    def __call__(self, model, parameters, place, w):
        return components(self.function.on(model, parameters, place, w), self.owner)


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
        Radiation: `Operator(lambda u, grad_u, normal: grad_u @ normal + u**4, on=domain.boundary)`
    """

    function: Callable[..., Any] = eqx.field(static=True)
    on: Where = None

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        name = _name_of(self.function)
        place = locate(name, self.on, domain, "boundary")
        function = named_on(self.function, vocabulary, name, place)
        return Law(FunctionResidual(function, name), place, name, function.order)


class InequalityResidual(AbstractNamed):
    inner: FunctionResidual

    @property
    def one_sided(self) -> bool:
        return True

    @property
    def uncut(self) -> FunctionResidual:
        return self.inner

    def written(self):
        return tuple(f"{part}<mo>≤</mo><mn>0</mn>" for part in self.inner.function.written())

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
