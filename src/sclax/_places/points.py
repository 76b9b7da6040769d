"""Given points, and samples of a data set."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, Points
from .box import Box
from .place import AbstractPlace

SAMPLE = "sample"  # the name of the dimension along which a data set has its samples


class PointSet(AbstractPlace):
    """Finitely many given points; the chart coordinate is the index of a point."""

    points: Points

    @property
    def chart(self) -> Box:
        return Box(index=(0.0, float(len(self.points))))

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

    def grid(self, n: int) -> Float[Array, "n k"]:
        """All the points, whatever `n`: given points are honoured."""
        return jnp.arange(len(self.points), dtype=jnp.result_type(float))[:, None]


class SampleSet(PointSet):
    """The samples of a data set, by number."""

    @property
    def chart(self) -> Box:
        return Box(sample=(0.0, float(len(self.points))))

    def where(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        return {SAMPLE: float(w[0])}
