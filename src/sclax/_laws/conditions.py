"""Conditions at boundaries and at the start, as their user writes them. `bind` pairs one with a problem's names and
domain and gives a `Law`."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._base import checks
from .._places import TIME, AbstractPlace, Box, Where, at_start, locate
from . import mathml
from .fields import Constant, NamedFunction, check_normal, components, evaluate, named_on, outward
from .law import AbstractCondition, AbstractNamed, Law, unknown_index
from .tables import is_tables
from .words import Asked, Derivative, Vocabulary

Value = NamedFunction | Constant
PROBES = 256  # points that show how large prescribed values are


def _by_unknown(owner: str, value: Any, unknown: str | None, vocabulary: Vocabulary) -> dict[int, Any]:
    """What is prescribed for each unknown, by its number: from one value, a dict or a Dataset by name."""
    if is_tables(value):
        value = {str(name): value[name] for name in value.data_vars}
    if not isinstance(value, Mapping):
        return {unknown_index(owner, unknown, vocabulary): value}
    if unknown is not None:
        raise ValueError(f"{owner}: the dict names its unknowns; leave out `unknown={unknown!r}`.")
    if not value:
        raise ValueError(f"{owner}: the dict of values is empty; name an unknown, {checks.listed(vocabulary.fields)}.")
    return {unknown_index(owner, str(name), vocabulary): given for name, given in value.items()}


class ValueResidual(AbstractNamed):
    """Fields or derivatives of them, minus prescribed values."""

    derivatives: tuple[Derivative, ...] = eqx.field(static=True)
    values: tuple[Value, ...]
    vocabulary: Vocabulary

    def prescribed(self, parameters, place):
        w = place.grid(0) if place.finite else place.sobol(PROBES)
        nothing = lambda z: jnp.zeros(len(self.vocabulary.unknowns))
        values = np.asarray(jax.vmap(lambda w: self(nothing, parameters, place, w))(w), float)
        sizes = np.sqrt(np.mean(values**2, axis=0))
        return {d.unknown: float(size) for d, size in zip(self.derivatives, sizes, strict=True) if not d.along}

    @property
    def asked(self) -> Asked:
        derived = [d for d in self.derivatives if d.unknown >= len(self.vocabulary.unknowns)]
        return self.vocabulary.expanded(derived) + tuple(q for value in self.values for q in value.asked)

    def written(self):
        pairs = zip(self.derivatives, self.values, strict=True)
        return tuple(f"{mathml.name(self.vocabulary.spelt(d))}<mo>=</mo>{''.join(v.written()[:1])}" for d, v in pairs)

    def __call__(self, model, parameters, place, w):
        # The network's values for both sides come from one pass.
        quantities = tuple(dict.fromkeys((*self.derivatives, *(q for v in self.values for q in v.quantities))))
        normal = outward(quantities, place, w)
        found = evaluate(model, self.vocabulary, parameters, place.embed(w), quantities, normal)
        known = dict(zip(quantities, found, strict=True))
        pairs = zip(self.derivatives, self.values, strict=True)
        return components(tuple(known[d] - value.restricted(known) for d, value in pairs), "condition")


def _prescribed(
    owner: str, along: tuple[int, ...], values: Mapping[int, Any], vocabulary: Vocabulary, place: AbstractPlace
) -> tuple[ValueResidual, int]:
    """The residual of fields, or of their derivatives, with given values, and its order."""
    derivatives = tuple(Derivative(k, along) for k in values)
    bound = tuple(named_on(value, vocabulary, owner, place) for value in values.values())
    order = max(vocabulary.order(derivatives), *(value.order for value in bound))
    return ValueResidual(derivatives, bound, vocabulary), order


def _named_after(kind: str, which: Mapping[int, Any], vocabulary: Vocabulary) -> str:
    """`initial`; with the names of the fields where these are not all unknowns."""
    if tuple(sorted(which)) == tuple(range(len(vocabulary.states))):
        return kind
    return "_".join([kind, *(vocabulary.fields[k] for k in which)])


class Initial(AbstractCondition):
    """An initial condition:  ∂ᵏu/∂tᵏ = value  at the lower end of `t`, with k = `order`.

    `value` is a number, a function by argument name, an xarray DataArray, or a dict (a Dataset) of these by unknown.
    `on` is a part of space: points by name, a face, a smaller box; default is all of it.

    !!! example
        A plucked string at rest: `Initial(lambda x: jnp.sin(x))` and `Initial(0.0, order=1)`; two species:
        `Initial({"u": 1.0, "v": lambda x: jnp.exp(-(x**2))})`.
    """

    value: Any
    order: int = eqx.field(static=True, default=0)
    unknown: str | None = eqx.field(static=True, default=None)
    on: Where = None

    def __check_init__(self):
        checks.count("Initial", "order", self.order, at_least=0)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        if TIME not in domain.names:
            raise ValueError(
                f"Initial: the domain has no coordinate `t`, only {checks.listed(domain.names)}. "
                "Name the time coordinate `t`, or use Dirichlet(..., on=domain.face(...))."
            )
        time = domain.names.index(TIME)
        place = at_start("Initial", self.on, domain)
        values = _by_unknown("Initial", self.value, self.unknown, vocabulary)
        residual, order = _prescribed("Initial", (time,) * self.order, values, vocabulary, place)
        name = _named_after("initial", values, vocabulary) + (f"_{TIME * self.order}" if self.order else "")
        return Law(residual, place, name, order)


class Dirichlet(AbstractCondition):
    """A prescribed value:  u = value  on `on` (default: the boundary of space).

    `value` is a number, a function by argument name, an xarray DataArray, or a dict (a Dataset) of these by unknown.

    !!! example
        `Dirichlet(lambda y: jnp.sin(y), on=domain.face(x=0))`; no slip: `Dirichlet({"u": 0.0, "v": 0.0})`.
    """

    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        place = locate("Dirichlet", self.on, domain, "boundary")
        values = _by_unknown("Dirichlet", self.value, self.unknown, vocabulary)
        residual, order = _prescribed("Dirichlet", (), values, vocabulary, place)
        return Law(residual, place, _named_after("dirichlet", values, vocabulary), order)


class NormalResidual(AbstractNamed):
    """a u + b ∂u/∂n − value for some fields, with one forward pass along the outward normal."""

    a: Value
    b: Value
    values: tuple[Value, ...]
    which: tuple[Derivative, ...] = eqx.field(static=True)
    vocabulary: Vocabulary

    @property
    def asked(self) -> Asked:
        derived = [d for d in self.which if d.unknown >= len(self.vocabulary.unknowns)]
        values = (self.a, self.b, *self.values)
        return self.vocabulary.expanded(derived) + tuple(q for value in values for q in value.asked)

    def written(self):
        a, b = (f.written()[0] for f in (self.a, self.b))
        equations = []
        for d, value in zip(self.which, self.values, strict=True):
            u = mathml.name(self.vocabulary.spelt(d))
            slope = f"<mfrac><mrow><mo>∂</mo>{u}</mrow><mrow><mo>∂</mo><mi>n</mi></mrow></mfrac>"
            slope = slope if b == mathml.number(1.0) else f"<mrow>{b}</mrow>{slope}"
            own = "" if a == mathml.number(0.0) else u if a == mathml.number(1.0) else f"<mrow>{a}</mrow>{u}"
            equations.append(f"{own}{'<mo>+</mo>' if own else ''}{slope}<mo>=</mo>{value.written()[0]}")
        return tuple(equations)

    def __call__(self, model, parameters, place, w):
        fields = lambda z: jnp.stack(evaluate(model, self.vocabulary, parameters, z, self.which))
        u, slope = jax.jvp(fields, (place.embed(w),), (place.normal(w),))
        a, b, *values = (f.on(model, parameters, place, w) for f in (self.a, self.b, *self.values))
        return components(tuple(a * u[i] + b * slope[i] - value for i, value in enumerate(values)), "condition")


def _robin(
    owner: str, a: Any, b: Any, value: Any, on: Where, unknown: str | None, vocabulary: Vocabulary, domain: Box
) -> Law:
    place = locate(owner, on, domain, "boundary")
    check_normal(owner, place)
    given = _by_unknown(owner, value, unknown, vocabulary)
    bound = [named_on(f, vocabulary, owner, place) for f in (a, b, *given.values())]
    which = tuple(Derivative(k, ()) for k in given)
    residual = NormalResidual(bound[0], bound[1], tuple(bound[2:]), which, vocabulary)
    order = max(vocabulary.order(which) + 1, *(f.order for f in bound))
    return Law(residual, place, _named_after(owner.lower(), given, vocabulary), order)


class Robin(AbstractCondition):
    """A mixed condition:  a u + b ∂u/∂n = value  on `on` (default: the boundary of space), n pointing outwards.

    `value` may be a dict by unknown, to all of which `a` and `b` belong.

    !!! example
        Newton's cooling: `Robin(1.0, 0.5, 20.0, on=domain.face(x=1))`
    """

    a: Any
    b: Any
    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        return _robin("Robin", self.a, self.b, self.value, self.on, self.unknown, vocabulary, domain)


class Neumann(AbstractCondition):
    """A prescribed outward slope:  ∂u/∂n = value  on `on` (default: the boundary of space).

    Given points have normals where they come with them, `on={"x": …, "y": …, "nx": …, "ny": …}`.

    !!! example
        Insulated ends: `Neumann(0.0)`
    """

    value: Any
    on: Where = None
    unknown: str | None = eqx.field(static=True, default=None)

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        return _robin("Neumann", 0.0, 1.0, self.value, self.on, self.unknown, vocabulary, domain)
