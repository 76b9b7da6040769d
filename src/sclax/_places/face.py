"""The faces of a box."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Point
from .box import Box
from .place import AbstractPlace


class Face(AbstractPlace):
    """The points of `domain` at which some coordinates are fixed; made by `domain.face(x=0)`."""

    domain: Box
    fixed: tuple[tuple[str, float], ...] = eqx.field(static=True)

    @property
    def constants(self) -> tuple[tuple[str, float], ...]:
        return self.fixed

    @property
    def parts(self) -> tuple[AbstractPlace, ...]:
        at_ends = all(value in self.domain.ends(name) for name, value in self.fixed)
        return (self,) if self.domain.shape is None and at_ends else ()

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.domain.names

    @property
    def chart(self) -> Box:
        fixed = dict(self.fixed)
        return self.domain.select(name for name in self.domain.names if name not in fixed)

    @property
    def measure(self) -> float:
        return self.chart.measure

    @property
    def fullness(self) -> float:
        return self.chart.share

    def within(self, domain: Box) -> AbstractPlace:
        """The same face of a domain with more or fewer coordinates, or of a part of a domain."""
        from .boundary import face_within

        return face_within(self.domain, self.fixed, domain)

    def embed(self, w: Float[Array, " k"]) -> Point:
        fixed, free = dict(self.fixed), iter(range(self.chart.dimension))
        return jnp.stack([jnp.asarray(fixed[n], w.dtype) if n in fixed else w[next(free)] for n in self.domain.names])

    def normal(self, w: Float[Array, " k"]) -> Point:
        if len(self.fixed) != 1 or self.fixed[0][0] not in self.domain.space:
            raise ValueError(f"Face {dict(self.fixed)}: a normal needs exactly one fixed coordinate, and one of space.")
        ((name, value),) = self.fixed
        if value not in self.domain.ends(name):
            raise ValueError(f"Face {dict(self.fixed)}: it lies inside the domain, where there is no outward normal.")
        i = self.domain.names.index(name)
        sign = -1.0 if value == self.domain.lower[i] else 1.0
        return jnp.zeros(self.domain.dimension, w.dtype).at[i].set(sign)
