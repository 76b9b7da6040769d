"""Structure: periodicity and symmetry."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Point, checks, signature
from .._places import Box
from .fields import Constant, NamedFunction, components, derivatives, named, outputs
from .law import AbstractCondition, AbstractNamed, AbstractResidual, Law, unknown_index
from .words import Derivative, Vocabulary


class Jet(eqx.Module):
    """The unknowns and their derivatives along one coordinate, up to an order."""

    coordinate: int = eqx.field(static=True)
    order: int = eqx.field(static=True)
    which: tuple[int, ...] = eqx.field(static=True)
    vocabulary: Vocabulary

    @property
    def quantities(self) -> tuple[Derivative, ...]:
        return tuple(Derivative(k, ()) for k in self.which)

    @property
    def asked(self) -> tuple[Derivative, ...]:
        return self.quantities

    def __call__(self, model, parameters, z: Point) -> tuple[Float[Array, ""], ...]:
        indices = [(self.coordinate,) * k for k in range(self.order + 1)]
        table = derivatives(lambda z: outputs(model, z, self.vocabulary), z, indices)
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
        return Jet(i, self.order, which, vocabulary), self.order


class InvarianceResidual(AbstractNamed):
    maps: tuple[tuple[int, NamedFunction | Constant], ...]
    domain: Box
    vocabulary: Vocabulary

    seen = AbstractResidual.seen  # nobody can tell: the image may lie outside the domain

    def __call__(self, model, parameters, place, w):
        moved = z = place.embed(w)
        for i, function in self.maps:
            moved = moved.at[i].set(function(model, parameters, z))
        difference = outputs(model, z, self.vocabulary) - outputs(model, moved, self.vocabulary)
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
        residual = InvarianceResidual(tuple(bound), domain, vocabulary)
        return Law(residual, domain, "invariance", 0)
