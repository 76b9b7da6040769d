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
    """The numbers of two edges of a ring that cross, in a corner of it too, or run along each other; None where none
    do. Edges may touch: what is inside is told apart from what is outside all the same."""
    befores, afters = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
    for i, (p, q) in enumerate(zip(ring, afters, strict=True)):
        others = np.arange(i + 1, len(ring))
        r, s = ring[others], afters[others]
        across = (_turn(p, q, r) * _turn(p, q, s) < 0) & (_turn(r, s, p) * _turn(r, s, q) < 0)
        if np.any(across):
            return i, int(others[across][0])
        # Other corners on this edge, its end left out: there the next edge begins.
        on = (_turn(p, q, ring) == 0) & (np.sum((ring - p) * (ring - q), axis=1) <= 0) & np.any(ring != q, axis=1)
        for j in np.flatnonzero(on & (np.arange(len(ring)) != i)):
            back = befores[i] if np.all(ring[j] == p) else p
            if _interlaced(*(np.stack([back, q, befores[j], afters[j]]) - ring[j])):
                return i, int(j)
    return None


def _turn(o: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Twice the area of triangles, positive where o, a, b go counterclockwise."""
    return (a[..., 0] - o[..., 0]) * (b[..., 1] - o[..., 1]) - (a[..., 1] - o[..., 1]) * (b[..., 0] - o[..., 0])


def _same_way(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(a[0] * b[1] == a[1] * b[0] and np.dot(a, b) > 0)


def _interlaced(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    """Whether of directions from one point c and d are to different sides of a and b, or one is the same as one."""
    if any(_same_way(one, other) for one in (a, b) for other in (c, d)):
        return True
    turns = np.arctan2(*np.stack([a, b, c, d]).T[::-1])
    b_turn, c_turn, d_turn = (turns[1:] - turns[0]) % (2 * np.pi)
    return bool((c_turn < b_turn) != (d_turn < b_turn))
