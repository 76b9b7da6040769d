"""Given points, and samples of a data set."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, Points, checks
from .box import Box
from .place import AbstractPlace

SAMPLE = "sample"  # the name of the dimension along which a data set has its samples


class AbstractPoints(AbstractPlace):
    """Finitely many points; the chart coordinate is the index of a point."""

    points: eqx.AbstractVar[Points]

    @property
    def finite(self) -> bool:
        return True

    @property
    def measure(self) -> float:
        return float(len(self.points))

    def embed(self, w: Float[Array, " k"]) -> Point:
        return self.points[jnp.clip(w[0].astype(int), 0, len(self.points) - 1)]

    def normal(self, w: Float[Array, " k"]) -> Point:
        raise ValueError("Given points have no normal: use `on=domain.face(...)` or `on=domain.boundary`.")

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        return (w[0] >= 0) & (w[0] < len(self.points))

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return jr.randint(key, (n, 1), 0, len(self.points)).astype(jnp.result_type(float))

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return self.grid(n)

    def within(self, domain: Box) -> "AbstractPoints":
        if self.points.shape[1] != domain.dimension:
            raise ValueError(
                f"Given points have {self.points.shape[1]} coordinates; the domain has {checks.listed(domain.names)}."
            )
        return self

    def grid(self, n: int) -> Float[Array, "n k"]:
        """All the points, whatever `n`: given points are honoured."""
        return jnp.arange(len(self.points), dtype=jnp.result_type(float))[:, None]


class PointSet(AbstractPoints):
    """Given points of the domain."""

    points: Points

    @property
    def chart(self) -> Box:
        return Box(index=(0.0, float(len(self.points))))


class SampleSet(AbstractPoints):
    """The samples of a data set, by number."""

    points: Points

    @property
    def chart(self) -> Box:
        return Box(**{SAMPLE: (0.0, float(len(self.points)))})

    def by_name(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        return {SAMPLE: float(w[0])}
