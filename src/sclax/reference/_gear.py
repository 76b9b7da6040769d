"""A gear with a round hole and its exact signed distance, for the eikonal equation |∇u| = 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base import checks, require


@dataclass(frozen=True)
class Gear:
    """A polygon bounded by rings of vertices, each (n, 2) and open: the outline first, then the hole.

    Build it with `gear()`.

    !!! example
        `scl.reference.gear().distance(np.array([0.0]), np.array([0.9]))`
    """

    rings: tuple[np.ndarray, ...]

    @property
    def segments(self) -> tuple[np.ndarray, np.ndarray]:
        """Start and end of every edge, each (m, 2)."""
        starts = np.concatenate(self.rings)
        return starts, np.concatenate([np.roll(ring, -1, axis=0) for ring in self.rings])

    @property
    def perimeter(self) -> float:
        start, end = self.segments
        return float(np.linalg.norm(end - start, axis=1).sum())

    @property
    def area(self) -> float:
        """Of the material, without the hole."""
        areas = [abs(np.sum(_cross(ring, np.roll(ring, -1, axis=0)))) / 2 for ring in self.rings]
        return float(areas[0] - sum(areas[1:]))

    def distance(self, x: Any, y: Any) -> np.ndarray:
        """Exact signed distance to the boundary, negative inside the material, by shapely.

        384 × 384 points take 1 s.
        """
        shapely = require("Gear.distance", "shapely", "geometry")
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        shape = shapely.Polygon(self.rings[0], self.rings[1:])
        edge = shape.boundary
        shapely.prepare(shape)
        shapely.prepare(edge)
        length = shapely.distance(edge, shapely.points(x, y))
        return np.where(shapely.contains_xy(shape, x, y), -length, length)

    def distance_by_segments(self, x: Any, y: Any) -> np.ndarray:
        """`distance` in plain numpy, without an extra and 8 times slower: the check of the other."""
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        points = np.stack([x.ravel(), y.ravel()], axis=-1)
        # Blocks of points, so that memory does not grow with points times segments.
        blocks = np.array_split(points, max(1, len(points) // 4096))
        return np.concatenate([self._block(block) for block in blocks]).reshape(x.shape)

    def _block(self, points: np.ndarray) -> np.ndarray:
        start, end = self.segments
        edge, arm = end - start, points[:, None] - start
        along = np.clip(np.sum(arm * edge, axis=-1) / np.sum(edge * edge, axis=-1), 0.0, 1.0)
        nearest = np.linalg.norm(arm - along[..., None] * edge, axis=-1).min(axis=-1)
        # Even-odd rule: a ray to the right crosses the rings an odd number of times from inside.
        straddles = (start[:, 1] > points[:, None, 1]) != (end[:, 1] > points[:, None, 1])
        right = (_cross(edge, arm) > 0) == (edge[:, 1] > 0)
        inside = np.count_nonzero(straddles & right, axis=-1) % 2 == 1
        return np.where(inside, -nearest, nearest)

    def boundary(self, n: int = 2234) -> np.ndarray:
        """`n` points (n, 2) on the rings, equispaced in arc length; each ring has its share."""
        n = checks.count("Gear.boundary", "n", n, at_least=len(self.rings))
        lengths = np.array([_lengths(ring).sum() for ring in self.rings])
        upto = np.rint(n * np.cumsum(lengths) / lengths.sum()).astype(int)
        shares = np.maximum(np.diff(upto, prepend=0), 1)
        shares[0] = n - shares[1:].sum()
        return np.concatenate([_along(ring, m) for ring, m in zip(self.rings, shares, strict=True)])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _lengths(ring: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.roll(ring, -1, axis=0) - ring, axis=1)


def _along(ring: np.ndarray, n: int) -> np.ndarray:
    closed = np.concatenate([ring, ring[:1]])
    position = np.concatenate([[0.0], np.cumsum(_lengths(ring))])
    where = position[-1] * np.arange(n) / n
    return np.stack([np.interp(where, position, closed[:, i]) for i in range(2)], axis=-1)


def gear(
    teeth: int = 12,
    tip: float = 0.80,
    root: float = 0.58,
    hole: float = 0.25,
    tip_share: float = 0.22,
    root_share: float = 0.34,
    arc: int = 12,
) -> Gear:
    """A gear in [−1, 1]² with a round hole: radii `hole` < `root` < `tip`, straight flanks.

    Tip and root arcs take `tip_share` and `root_share` of a pitch, each drawn with `arc` segments; the hole
    has `teeth * arc`. The distance is exact for the polygon, which lies within 1e-3 of the round gear. It
    stands in for the figure of Daw et al. (2023), which is not public: the same class of shape, not a copy.

    !!! example
        `gear().distance(x, y)`
    """
    teeth, arc = checks.count("gear", "teeth", teeth, at_least=3), checks.count("gear", "arc", arc)
    if not 0 < hole < root < tip < 1:
        raise ValueError(f"gear: needs 0 < hole < root < tip < 1, got hole={hole}, root={root}, tip={tip}.")
    if not (tip_share > 0 and root_share > 0 and tip_share + root_share < 1):
        raise ValueError(
            f"gear: `tip_share` and `root_share` must be positive with a sum below 1, got {tip_share} and "
            f"{root_share}: the rest of the pitch is the flanks."
        )
    sweep = np.linspace(-0.5, 0.5, arc + 1)
    angle = np.concatenate([tip_share * sweep, 0.5 + root_share * sweep])
    radius = np.repeat([tip, root], arc + 1)
    turn = 2 * np.pi / teeth * (np.arange(teeth)[:, None] + angle)
    outline = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=-1).reshape(-1, 2)
    around = 2 * np.pi * np.arange(teeth * arc) / (teeth * arc)
    return Gear((outline, hole * np.stack([np.cos(around), np.sin(around)], axis=-1)))
