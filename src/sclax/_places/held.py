"""A place at fixed values of some coordinates."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._base import Key, Point
from .box import Box
from .place import AbstractPlace


class Held(AbstractPlace):
    """A place of the domain without the coordinates that are `fixed`, at which those have given values: a part of space
    at the first time."""

    inner: AbstractPlace
    fixed: tuple[tuple[str, float], ...] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)

    def _completed(self, inner: Point, values: dict[str, Any]) -> Point:
        free = iter(inner)
        return jnp.stack([jnp.asarray(values[n], inner.dtype) if n in values else next(free) for n in self.names])

    @property
    def chart(self) -> Box:
        return self.inner.chart

    @property
    def constants(self) -> tuple[tuple[str, float], ...]:
        return self.inner.constants + self.fixed

    @property
    def finite(self) -> bool:
        return self.inner.finite

    @property
    def fullness(self) -> float:
        return self.inner.fullness

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    @property
    def measure(self) -> float:
        return self.inner.measure

    def embed(self, w: Float[Array, " k"]) -> Point:
        return self._completed(self.inner.embed(w), dict(self.fixed))

    def normal(self, w: Float[Array, " k"]) -> Point:
        return self._completed(self.inner.normal(w), dict.fromkeys(dict(self.fixed), 0.0))

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        return self.inner.contains(w)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return self.inner.uniform(n, key)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return self.inner.sobol(n, key)

    def grid(self, n: int) -> Float[Array, "n k"]:
        return self.inner.grid(n)

    def within(self, domain: Box) -> "Held":
        """The same part in a domain with fewer coordinates."""
        fixed = dict(self.fixed)
        free = domain.select(name for name in domain.names if name not in fixed)
        return Held(self.inner.within(free), self.fixed, domain.names)
