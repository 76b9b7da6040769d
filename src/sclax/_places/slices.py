"""Places at given values of some coordinates."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Key, Point
from .box import Box
from .place import AbstractPlace


class Pinned(AbstractPlace):
    """A place of the domain without the coordinates `over`, at which those have the given `values`."""

    inner: AbstractPlace
    values: Float[Array, " p"]
    names: tuple[str, ...] = eqx.field(static=True)
    over: tuple[str, ...] = eqx.field(static=True)

    def _interleave(self, inner: Float[Array, " m"], outer: Float[Array, " p"]) -> Point:
        free = iter(inner)
        return jnp.stack([outer[self.over.index(n)] if n in self.over else next(free) for n in self.names])

    @property
    def chart(self) -> Box:
        return self.inner.chart

    @property
    def measure(self) -> float:
        return self.inner.measure

    def embed(self, w: Float[Array, " k"]) -> Point:
        return self._interleave(self.inner.embed(w), self.values)

    def normal(self, w: Float[Array, " k"]) -> Point:
        return self._interleave(self.inner.normal(w), jnp.zeros_like(self.values))


class Discretised(AbstractPlace):
    """A place on which the coordinates `over` take the given `values` only, one row of them at a time, all equally
    often. The last chart coordinate is the number of a row."""

    inner: AbstractPlace
    values: Float[Array, "m p"]
    names: tuple[str, ...] = eqx.field(static=True)
    over: tuple[str, ...] = eqx.field(static=True)

    @property
    def chart(self) -> Box:
        return self.inner.chart.join({"row": (0.0, float(len(self.values)))})

    @property
    def measure(self) -> float:
        return self.inner.measure * len(self.values)

    def _pinned(self, w: Float[Array, " k"]) -> Pinned:
        row = self.values[jnp.clip(w[-1].astype(int), 0, len(self.values) - 1)]
        return Pinned(self.inner, row, self.names, self.over)

    def whole(self, domain: Box) -> AbstractPlace:
        return self.inner.within(domain)

    def embed(self, w: Float[Array, " k"]) -> Point:
        return self._pinned(w).embed(w[:-1])

    def normal(self, w: Float[Array, " k"]) -> Point:
        return self._pinned(w).normal(w[:-1])

    def _share(self, n: int) -> int:
        return max(n // len(self.values), 1)

    def _numbered(self, inner: Float[Array, "n k"]) -> Float[Array, "n l"]:
        """A column with the numbers of the rows, each for a stretch of points."""
        rows = jnp.repeat(jnp.arange(len(self.values)), len(inner) // len(self.values))
        return jnp.concatenate([inner, rows[:, None].astype(inner.dtype)], axis=1)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return self._numbered(self.inner.uniform(self._share(n) * len(self.values), key))

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return self._numbered(self.inner.sobol(self._share(n) * len(self.values), key))

    def grid(self, n: int) -> Float[Array, "n k"]:
        return self._numbered(jnp.tile(self.inner.grid(self._share(n)), (len(self.values), 1)))
