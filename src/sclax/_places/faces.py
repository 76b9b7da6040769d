"""Unions of faces and other places."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point
from .box import Box
from .parts import filtered_grid
from .place import AbstractPlace
from .rejection import kept


class Faces(AbstractPlace):
    """A union of faces or other places, unrolled onto the unit box: its first coordinate runs along them one after the
    other, each over a stretch in proportion to its measure, so that uniform in the chart is uniform on the union."""

    pieces: tuple[AbstractPlace, ...]

    def __check_init__(self):
        if any(piece.finite for piece in self.pieces):
            raise ValueError("on: given points and other places do not make one; use one condition for each.")
        if len({piece.chart.dimension for piece in self.pieces}) != 1:
            raise ValueError("Faces: all pieces must fix the same number of coordinates; use one condition for each.")

    @property
    def chart(self) -> Box:
        dimension = max(self.pieces[0].chart.dimension, 1)
        return Box(**{f"w{i}": (0.0, 1.0) for i in range(dimension)})

    @property
    def measure(self) -> float:
        return sum(piece.measure for piece in self.pieces)

    @property
    def fullness(self) -> float:
        return self.measure / float(np.sum(self._stretches))

    @property
    def _stretches(self) -> np.ndarray:
        """The measure of each piece's whole chart."""
        return np.asarray([piece.measure / piece.fullness for piece in self.pieces])

    @property
    def parts(self) -> tuple[AbstractPlace, ...]:
        found = tuple(part for piece in self.pieces for part in piece.parts)
        return found if len(found) == len(self.pieces) else ()

    @property
    def ends(self) -> np.ndarray:
        """Where each piece's stretch of the first chart coordinate begins and ends."""
        return np.concatenate([[0.0], np.cumsum(self._stretches)]) / np.sum(self._stretches)

    @property
    def parameter_columns(self) -> tuple[int, ...]:
        charts = [piece.chart for piece in self.pieces]
        shared = lambda i: all(chart.names[i] in chart.parameters for chart in charts)
        return tuple(i for i in range(1, charts[0].dimension) if shared(i))  # the first runs along the faces

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.pieces[0].coordinates

    def __getitem__(self, name: str) -> AbstractPlace:
        raise ValueError(
            f"boundary: no part is named {name!r}: the faces of a box have no names; use domain.face(x=0), or "
            "domain.boundary.where(lambda x, y: ...)."
        )

    def within(self, domain: Box) -> AbstractPlace:
        return Faces(tuple(piece.within(domain) for piece in self.pieces))

    def _locate(self, w: Float[Array, " k"]) -> tuple[Array, list[Float[Array, " m"]]]:
        ends = jnp.asarray(self.ends, w.dtype)
        which = jnp.clip(jnp.searchsorted(ends, w[0], side="right") - 1, 0, len(self.pieces) - 1)
        along = (w[0] - ends[which]) / (ends[which + 1] - ends[which])
        unit = w.at[0].set(along)
        return which, [piece.chart.from_unit(unit[: piece.chart.dimension]) for piece in self.pieces]

    def embed(self, w: Float[Array, " k"]) -> Point:
        which, local = self._locate(w)
        return jnp.stack([piece.embed(v) for piece, v in zip(self.pieces, local, strict=True)])[which]

    def normal(self, w: Float[Array, " k"]) -> Point:
        which, local = self._locate(w)
        return jnp.stack([piece.normal(v) for piece, v in zip(self.pieces, local, strict=True)])[which]

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        if self.fullness == 1:
            return self.chart.contains(w)
        which, local = self._locate(w)
        return (
            self.chart.contains(w) & jnp.stack([p.contains(v) for p, v in zip(self.pieces, local, strict=True)])[which]
        )

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.uniform(m, key), self.contains, n, self.fullness)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.sobol(m, key), self.contains, n, self.fullness)

    def grid(self, n: int) -> Float[Array, "n k"]:
        """A grid on each piece, `n` split by measure, at least one point each."""
        if self.fullness < 1:
            return filtered_grid(self, n, self.fullness)
        charts = []
        # Rounding the ends, not the shares, keeps the total.
        counts = np.maximum(np.diff(np.round(n * self.ends).astype(int)), 1)
        for piece, start, end, share in zip(self.pieces, self.ends[:-1], self.ends[1:], counts, strict=True):
            local = piece.chart._grid(int(share))
            unit = (local - np.asarray(piece.chart.lower)) / piece.chart.lengths
            unit = unit if unit.shape[1] else np.full((1, 1), 0.5)
            # The end of one stretch is the start of the next: stay one floating-point number below it.
            dtype = jnp.result_type(float)
            along = (start + unit[:, 0] * (end - start)).astype(dtype)
            along = np.minimum(along, np.nextafter(np.asarray(end, dtype), np.asarray(0, dtype)))
            charts.append(np.concatenate([along[:, None], unit[:, 1:]], axis=1))
        return jnp.asarray(np.concatenate(charts))
