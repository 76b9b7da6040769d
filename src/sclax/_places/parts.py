"""Parts of places, on which points are drawn by rejection."""

import abc
import math
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, checks, signature, told_in_words
from .box import ROUNDING, Box
from .face import Face
from .place import AbstractPlace
from .rejection import kept
from .sides import ASIDE, size_of
from .sobol import fixed_sobol

LEAST = 0.01  # of a face: less is where a round shape touches it
LOOKS = 2**13  # points that say how much of its chart a place is


class AbstractPart(AbstractPlace):
    """Those points of a whole place at which something holds; a `share` of the chart belongs to it."""

    inner: eqx.AbstractVar[AbstractPlace]
    share: eqx.AbstractVar[float]

    @abc.abstractmethod
    def holds(self, z: Point) -> Bool[Array, ""]:
        """Whether a point of the whole belongs to the part."""

    @property
    def chart(self) -> Box:
        return self.inner.chart

    @property
    def measure(self) -> float:
        return self.inner.measure * self.share / self.inner.fullness

    @property
    def fullness(self) -> float:
        return self.share

    @property
    def constants(self) -> tuple[tuple[str, float], ...]:
        return self.inner.constants

    def embed(self, w: Float[Array, " k"]) -> Point:
        return self.inner.embed(w)

    def normal(self, w: Float[Array, " k"]) -> Point:
        return self.inner.normal(w)

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        return self.inner.contains(w) & self.holds(self.inner.embed(w))

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.bounding.uniform(m, key), self.contains, n, self.share)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.bounding.sobol(m, key), self.contains, n, self.share)

    def grid(self, n: int) -> Float[Array, "n k"]:
        return filtered_grid(self, n, self.share)


class Part(AbstractPart):
    """The part of a place where a condition on the coordinates holds; made by `place.where(lambda x, y: x > 0)`."""

    inner: AbstractPlace
    condition: Callable[..., Any] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)  # of the domain's coordinates
    share: float = eqx.field(static=True)

    def __init__(self, inner: AbstractPlace, condition: Callable[..., Any], names: tuple[str, ...]):
        for name in signature(condition, "where", names):
            if name not in names:
                raise ValueError(
                    f"where: `{name}` is no coordinate of the domain ({checks.listed(names)})."
                    + checks.nearest(name, names)
                )
        self.inner, self.condition, self.names, self.share = inner, condition, names, 1.0
        self.share = share_of(self)
        if self.share == 0:
            raise ValueError("where: no point of the place fulfils the condition; check its signs and bounds.")

    def holds(self, z):
        point = dict(zip(self.names, z, strict=True))
        with told_in_words("where"):
            found = self.condition(*(point[name] for name in signature(self.condition, "where", self.names)))
        return jnp.asarray(found, bool)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    def within(self, domain: Box) -> "Part":
        return Part(self.inner.within(domain), self.condition, domain.names)


class Along(AbstractPart):
    """The part of a place that lies between bounds of some coordinates: one face of a box that is a hole, say."""

    inner: AbstractPlace
    bounds: tuple[tuple[str, float, float], ...] = eqx.field(static=True)
    share: float = eqx.field(static=True)

    def __init__(self, inner: AbstractPlace, bounds: tuple[tuple[str, float, float], ...]):
        self.inner, self.bounds, self.share = inner, bounds, 1.0
        self.share = share_of(self)
        if self.share == 0:
            raise ValueError("on: this face of another shape does not bound the domain; look at how the shapes lie.")

    def holds(self, z):
        at = dict(zip(self.coordinates, z, strict=True))
        return jnp.all(jnp.stack([(at[name] >= low) & (at[name] <= high) for name, low, high in self.bounds]))

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.inner.coordinates

    def within(self, domain: Box) -> "Along":
        return Along(self.inner.within(domain), self.bounds)


class Cut(AbstractPart):
    """A face of the box round a shape, as far as it bounds the domain; or a plane through it, as far as it is inside.
    Made by `domain.face(x=0)`."""

    inner: AbstractPlace
    domain: Box
    fixed: tuple[tuple[str, float], ...] = eqx.field(static=True)
    aside: Float[Array, " d"]  # from a face inwards
    share: float = eqx.field(static=True)

    def __init__(self, domain: Box, fixed: tuple[tuple[str, float], ...]):
        assert domain.shape is not None
        self.inner, self.domain, self.fixed, self.share = Face(domain.bounding, fixed), domain, fixed, 1.0
        inwards = {
            name: (value == domain.ends(name)[0]) * 1.0 - (value == domain.ends(name)[1]) for name, value in fixed
        }
        step = ASIDE * size_of(domain.shape, domain.middle)
        self.aside = jnp.asarray([step * inwards.get(name, 0.0) for name in domain.names])
        self.share = share_of(self)
        if self.share < LEAST:
            raise ValueError(f"Box.face: no part of the domain lies at {dict(fixed)}, only single points at most.")

    def holds(self, z):
        return self.domain.contains(z + self.aside.astype(z.dtype))

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.domain.names

    def within(self, domain: Box) -> AbstractPlace:
        from .boundary import face_within

        return face_within(self.domain, self.fixed, domain)


def face_of(domain: Box, fixed: Mapping[str, Any]) -> Face | Cut:
    """The points of a domain at which some coordinates have the given values."""
    values = {}
    for name, value in fixed.items():
        if name not in domain.names:
            raise ValueError(
                f"Box.face: unknown coordinate `{name}`. The domain has {checks.listed(domain.names)}."
                + checks.nearest(name, domain.names)
            )
        ends = domain.ends(name)
        value = checks.number("Box.face", name, value)
        end = min(ends, key=lambda end: abs(value - end))
        near = abs(value - end) <= ROUNDING * (ends[1] - ends[0])
        if not near and not ends[0] < value < ends[1]:
            raise ValueError(
                f"Box.face: `{name}` must lie in its interval {ends}, at an end for a part of the boundary, got "
                f"{value}."
            )
        values[name] = end if near else value
    if domain.shape is None or not any(name in domain.shape.names for name in values):
        return Face(domain, tuple(values.items()))
    return Cut(domain, tuple(values.items()))


def share_of(place: AbstractPlace) -> float:
    """How much of its chart a place is."""
    with jax.ensure_compile_time_eval():
        chart = place.chart
        unit = fixed_sobol(max(chart.dimension, 1), int(math.log2(LOOKS)))[:, : chart.dimension]
        return float(np.mean(jax.vmap(place.contains)(chart.from_unit(jnp.asarray(unit)))))


def filtered_grid(place: AbstractPlace, n: int, share: float) -> Float[Array, "n k"]:
    """At most `n` points of a regular grid of the chart that belong to a place: about the finest one."""
    with jax.ensure_compile_time_eval():
        many = max(int(n / share), 1)
        while True:
            w = place.chart.bounding.grid(many)
            found = w[np.asarray(jax.vmap(place.contains)(w))]
            if len(found) <= n or many <= 1:
                return found
            many = min(int(many * 0.97), many - 1)
