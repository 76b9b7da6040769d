"""Given points, and samples of a data set."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, Points, changed, checks
from .box import Box
from .place import AbstractPlace

SAMPLE = "sample"  # the name of the dimension along which a data set has its samples
INDEX = "index"  # the chart coordinate that is the number of a point


def _row(points: Points, w: Float[Array, " k"]) -> Point:
    """The row whose number is the first chart coordinate."""
    return points[jnp.clip(w[0].astype(int), 0, len(points) - 1)]


def _outward(normals: Points | None, w: Float[Array, " k"]) -> Point:
    if normals is None:
        raise ValueError(
            'Given points have no normal: give its components too, as in on={"x": ..., "y": ..., "nx": ..., '
            '"ny": ...}, or use `on=domain.face(...)` or `on=domain.boundary`.'
        )
    return _row(normals, w)


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
        return _row(self.points, w)

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
    """Given points of the domain, perhaps with outward unit normals."""

    points: Points
    normals: Points | None = None

    @property
    def chart(self) -> Box:
        return Box(**{INDEX: (0.0, float(len(self.points)))})

    def normal(self, w: Float[Array, " k"]) -> Point:
        return _outward(self.normals, w)


class SampleSet(AbstractPoints):
    """The samples of a data set, by number."""

    points: Points

    @property
    def chart(self) -> Box:
        return Box(**{SAMPLE: (0.0, float(len(self.points)))})

    def normal(self, w: Float[Array, " k"]) -> Point:
        return _outward(None, w)

    def by_name(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        return {SAMPLE: float(w[0])}


class Lines(AbstractPlace):
    """Given points of some coordinates, space say, at all values of the `others`: time, and parameters of a family. The
    first chart coordinate is the number of a point, its fraction without meaning, the rest are the others."""

    points: Points  # in the domain's order, the columns of `others` without meaning
    others: Box
    names: tuple[str, ...] = eqx.field(static=True)
    normals: Points | None = None

    @property
    def chart(self) -> Box:
        others = self.others
        return changed(
            others,
            names=(INDEX, *others.names),
            lower=(0.0, *others.lower),
            upper=(float(len(self.points)), *others.upper),
        )

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    @property
    def measure(self) -> float:
        return len(self.points) * self.others.measure

    def embed(self, w: Float[Array, " k"]) -> Point:
        given, free = _row(self.points, w), iter(w[1:])
        return jnp.stack([next(free) if n in self.others.names else given[i] for i, n in enumerate(self.names)])

    def normal(self, w: Float[Array, " k"]) -> Point:
        return _outward(self.normals, w)

    def grid(self, n: int) -> Float[Array, "n k"]:
        """All the points, with an equal share of `n` values of the other coordinates."""
        inner = self.others.grid(max(n // len(self.points), 1))
        rows = jnp.repeat(jnp.arange(len(self.points), dtype=inner.dtype), len(inner))
        return jnp.concatenate([rows[:, None], jnp.tile(inner, (len(self.points), 1))], axis=1)

    def within(self, domain: Box) -> AbstractPlace:
        """The same points in a domain without some of the other coordinates."""
        columns = [i for i, name in enumerate(self.names) if name in domain.names]
        gone = set(self.names) - set(domain.names)
        if tuple(self.names[i] for i in columns) != domain.names or not gone <= set(self.others.names):
            raise ValueError(f"Given points are of {checks.listed(self.names)}, not {checks.listed(domain.names)}.")
        kept = lambda rows: rows[:, jnp.asarray(columns)]
        points, normals = kept(self.points), None if self.normals is None else kept(self.normals)
        others = self.others.select(name for name in self.others.names if name not in gone)
        return Lines(points, others, domain.names, normals) if others.names else PointSet(points, normals)
