"""Structure: periodicity and symmetry."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Point, checks, signature
from .._places import Box, embed_all
from . import mathml
from .fields import Constant, NamedFunction, components, derivatives, named, outputs
from .law import AbstractCondition, AbstractNamed, AbstractResidual, Law, unknown_index
from .words import Derivative, Vocabulary

BY = "Invariance(by=...)"
PROBES = 4096  # points that show whether a map stays in the domain
FEW = 0.005  # of the points: fewer whose image is in the domain are rounding, or the rim of it
SAME = 1e-5  # of a side: closer points are one, in single precision
ALONE = 0.01  # of a face: fewer points without an opposite one are those that rounding puts beyond its edge


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

    def written(self) -> tuple[str, ...]:
        along = [(self.coordinate,) * k for k in range(self.order + 1)]
        return tuple(mathml.name(self.vocabulary.spelt(Derivative(k, a))) for a in along for k in self.which)

    def __call__(self, model, parameters, z: Point) -> tuple[Float[Array, ""], ...]:
        indices = [(self.coordinate,) * k for k in range(self.order + 1)]
        table = derivatives(lambda z: outputs(model, z, self.vocabulary), z, indices)
        return tuple(table[index][k] for index in indices for k in self.which)


class PeriodicResidual(AbstractNamed):
    function: Jet | NamedFunction | Constant
    coordinate: int = eqx.field(static=True)
    shift: float = eqx.field(static=True)

    def written(self):
        words: Vocabulary = self.function.vocabulary  # pyright: ignore[reportAttributeAccessIssue] -- no constant agrees
        x = mathml.name(words.coordinates[self.coordinate])
        at = lambda where: f"<mo>(</mo>{where}<mo>)</mo>"
        there = at(f"{x}<mo>+</mo>{mathml.number(self.shift)}")
        return tuple(f"<mrow>{part}</mrow>{there}<mo>=</mo>{part}{at(x)}" for part in self.function.written())

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
        if domain.shape is not None and self.coordinate in domain.shape.names:
            self._check_opposite(domain, i)
        residual = PeriodicResidual(function, i, float(domain.lengths[i]))
        return Law(residual, place, f"periodic_{self.coordinate}", order)

    def _check_opposite(self, domain: Box, i: int) -> None:
        """Refuses shapes whose two faces are not each other's image."""
        ends = domain.lower[i], domain.upper[i]
        for here, there in (ends, ends[::-1]):
            face, other = (domain.face(**{self.coordinate: end}) for end in (here, there))
            w = face.sobol(PROBES)
            alone = ~np.asarray(jax.vmap(other.contains)(w))
            if np.mean(alone) > ALONE:
                point = face.by_name(w[int(np.argmax(alone))], domain.names)
                raise ValueError(
                    f"Periodic: {np.mean(alone):.0%} of the face at {self.coordinate} = {here:g} has no opposite at "
                    f"{self.coordinate} = {there:g}, the point {', '.join(f'{n} = {v:.4g}' for n, v in point.items())} "
                    "for one: the domain does not go on there. Both faces must have the same form."
                )

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
        unknowns = len(vocabulary.states)
        which = (
            tuple(range(unknowns)) if self.unknown is None else (unknown_index("Periodic", self.unknown, vocabulary),)
        )
        return Jet(i, self.order, which, vocabulary), self.order


class InvarianceResidual(AbstractNamed):
    maps: tuple[tuple[int, NamedFunction | Constant], ...]
    by: NamedFunction | Constant | None
    domain: Box
    vocabulary: Vocabulary

    seen = AbstractResidual.seen  # nobody can tell: the image may lie outside the domain

    def written(self):
        names = self.vocabulary.coordinates
        maps = "<mo>,</mo>".join(f"{mathml.name(names[i])}<mo>↦</mo>{''.join(f.written()[:1])}" for i, f in self.maps)
        states = [mathml.name(u) for u in self.vocabulary.states]
        images = states if self.by is None else self.by.written()
        return tuple(f"{u}<mo>(</mo>{maps}<mo>)</mo><mo>=</mo>{v}" for u, v in zip(states, images, strict=False))

    def _moved(self, model, parameters, z):
        moved = z
        for i, function in self.maps:
            moved = moved.at[i].set(function(model, parameters, z))
        return moved

    def __call__(self, model, parameters, place, w):
        z = place.embed(w)
        moved, states = self._moved(model, parameters, z), len(self.vocabulary.states)
        if self.by is None:
            here = outputs(model, z, self.vocabulary)[:states]
        else:
            here = components(self.by(model, parameters, z), BY)
        difference = here - outputs(model, moved, self.vocabulary)[:states]
        # The law relates two points of the domain; where the image leaves it, there is nothing to compare.
        return jnp.where(self.domain.contains(moved), difference, 0.0)

    def sound(self, parameters, place):
        unknowns = len(self.vocabulary.unknowns)
        if self.by is not None:
            by, nothing, z = self.by, _nothing(unknowns), jnp.zeros(len(self.vocabulary.coordinates))
            image = jax.eval_shape(lambda z: components(by(nothing, parameters, z), BY), z)
            if image.shape != (len(self.vocabulary.states),):
                raise ValueError(
                    f"{BY}: it must give a value for each of the unknowns {checks.listed(self.vocabulary.states)}, got "
                    f"{image.shape[0]}."
                )
        z = embed_all(place, place.sobol(PROBES))
        moved = jax.vmap(lambda z: self._moved(_nothing(unknowns), parameters, z))(z)
        inside = jax.vmap(self.domain.contains)(moved)
        steps = (moved - z) / jnp.asarray(self.domain.lengths)
        if not jnp.mean(inside) > FEW:
            raise ValueError(
                f"Invariance: the image of {'almost ' if jnp.any(inside) else ''}every point lies outside the domain, "
                f"so that the law compares nothing with nothing. {self._remedy(steps)}"
            )
        if self.by is None and bool(jnp.max(jnp.abs(jnp.where(inside[:, None], steps, 0.0))) < SAME):
            raise ValueError(
                "Invariance: the map moves no point, so that the law says nothing. Look at its units, or leave it out."
            )

    def _remedy(self, steps: Float[Array, "n d"]) -> str:
        """What was meant by a map that moves points by such shares of the domain's sides."""
        turns = jnp.all(jnp.abs(jnp.abs(steps) - 1) < SAME, axis=0)
        if bool(jnp.all(turns | jnp.all(jnp.abs(steps) < SAME, axis=0))):
            names = [name for name, turn in zip(self.domain.names, turns, strict=True) if turn]
            conditions = checks.listed(f'Periodic("{name}")' for name in names)
            return f"It shifts by the whole length of the domain: say so with {conditions}."
        return "Look at the maps' units and signs, or enlarge the domain."


def _nothing(unknowns: int) -> Callable[..., Any]:
    return lambda z: jnp.zeros(unknowns)


class Invariance(AbstractCondition):
    """A symmetry:  u(g z) = u(z)  wherever both z and g z lie in the domain; coordinates without a map stay.

    `by` makes it an equivariance,  u(g z) = A u(z):  a function by argument name of the unknowns (and of coordinates
    and parameters) that gives a value for each unknown.

    !!! example
        Period 2π/β in time: `Invariance(t=lambda t, beta: t + 2 * jnp.pi / beta)`; an odd function:
        `Invariance(x=lambda x: -x, by=lambda u: -u)`; a flow that turns with its domain:
        `Invariance(x=lambda y: -y, y=lambda x: x, by=lambda u, v: (-v, u))`.
    """

    maps: tuple[tuple[str, Callable[..., Any]], ...] = eqx.field(static=True)
    by: Callable[..., Any] | None = eqx.field(static=True)

    def __init__(self, by: Callable[..., Any] | None = None, **maps: Callable[..., Any]):
        if not maps:
            raise ValueError("Invariance: give at least one map, for example Invariance(x=lambda x: -x).")
        for name, function in maps.items():
            signature(function, f"Invariance({name}=...)")
        if by is not None:
            signature(by, BY)
        self.maps, self.by = tuple(maps.items()), by

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        bound = []
        for name, function in self.maps:
            if name not in domain.names:
                raise ValueError(
                    f"Invariance: unknown coordinate `{name}`; the domain has {checks.listed(domain.names)}."
                    + checks.nearest(name, domain.names)
                )
            bound.append((domain.names.index(name), named(function, vocabulary, f"Invariance({name}=...)")))
        by = None if self.by is None else named(self.by, vocabulary, BY)
        residual = InvarianceResidual(tuple(bound), by, domain, vocabulary)
        return Law(residual, domain, "invariance", 0)
