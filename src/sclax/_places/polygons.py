"""Shapes with straight edges in two dimensions."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Scalar
from .shapes import AbstractShape, Leaf
from .surfaces import Edges, Spot


class PolygonShape(AbstractShape):
    """What is inside closed rings of straight edges; an edge has the inside to its left."""

    edges: Edges
    names: tuple[str, ...] = eqx.field(static=True)
    area: float = eqx.field(static=True)
    box: tuple[tuple[float, ...], tuple[float, ...]] = eqx.field(static=True)
    name: str | None = eqx.field(static=True, default=None)

    def __init__(self, rings: list[np.ndarray], names: tuple[str, ...], name: str | None = None):
        starts = np.concatenate(rings)
        ends = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
        self.edges, self.names, self.name = Edges(starts, ends), names, name
        self.area = float(np.sum(starts[:, 0] * ends[:, 1] - ends[:, 0] * starts[:, 1]) / 2)
        self.box = tuple(starts.min(axis=0).tolist()), tuple(starts.max(axis=0).tolist())

    def _edges(self, x: Spot) -> tuple[Float[Array, "m 2"], Float[Array, "m 2"]]:
        """Where edges begin, and the way to where they end."""
        return self.edges.starts.astype(x.dtype), (self.edges.ends - self.edges.starts).astype(x.dtype)

    def level(self, x, at):
        starts, edges = self._edges(x)
        away = x - starts
        along = jnp.clip(jnp.sum(away * edges, axis=1) / jnp.sum(edges**2, axis=1), 0.0, 1.0)
        distance = jnp.sqrt(jnp.min(jnp.sum((away - along[:, None] * edges) ** 2, axis=1)))
        return jnp.where(self.encloses(x, at), -distance, distance)

    def encloses(self, x, at):
        """A ray to the right crosses the edges an odd number of times from inside."""
        starts, edges = self._edges(x)
        above, above_end = starts[:, 1] > x[1], (starts + edges)[:, 1] > x[1]
        safe = jnp.where(edges[:, 1] == 0, 1.0, edges[:, 1])
        right = x[0] < starts[:, 0] + (x[1] - starts[:, 1]) / safe * edges[:, 0]
        return jnp.sum((above != above_end) & right) % 2 == 1

    def bump(self, x, at):
        """All distances to edges at once, each trimmed to its edge and smooth beyond it (Rvachev's functions)."""
        starts, edges = self._edges(x)
        lengths = jnp.sqrt(jnp.sum(edges**2, axis=1))
        away = x - starts
        line = (away[:, 0] * edges[:, 1] - away[:, 1] * edges[:, 0]) / lengths
        middle = x - (starts + edges / 2)
        trim = ((lengths / 2) ** 2 - jnp.sum(middle**2, axis=1)) / lengths
        excess = (jnp.sqrt(trim**2 + line**4 + jnp.finfo(x.dtype).tiny) - trim) / 2
        squares = line**2 + excess**2
        return _sign(self.level(x, at)) / jnp.sqrt(jnp.sum(1 / jnp.maximum(squares, jnp.finfo(x.dtype).tiny)))

    def leaves(self):
        return (Leaf(self.edges, self.name),)

    def bounds(self, ranges):
        return self.box

    def volume(self, at):
        return self.area

    @property
    def parameters(self):
        return ()

    def fixing(self, values):
        return self


def _sign(level: Scalar) -> Spot | Scalar:
    return jnp.where(level <= 0, 1.0, -1.0)


def self_crossing(ring: np.ndarray) -> tuple[int, int] | None:
    """The numbers of two edges of a ring that cross or touch though they are no neighbours; None where none do."""
    count = len(ring)
    ends = np.roll(ring, -1, axis=0)
    cross = lambda o, a, b: (
        (a[..., 0] - o[..., 0]) * (b[..., 1] - o[..., 1]) - (a[..., 1] - o[..., 1]) * (b[..., 0] - o[..., 0])
    )
    for i in range(count):
        others = np.arange(i + 2, count if i else count - 1)
        if not len(others):
            continue
        p, q, r, s = ring[i], ends[i], ring[others], ends[others]
        sides = cross(p, q, r) * cross(p, q, s), cross(r, s, p) * cross(r, s, q)
        crossing = others[(sides[0] < 0) & (sides[1] < 0)]
        if len(crossing):
            return i, int(crossing[0])
    return None
