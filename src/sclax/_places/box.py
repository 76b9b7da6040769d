"""Boxes, their faces, and unions of these."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, changed, checks
from .place import TIME, AbstractPlace
from .sobol import sobol

ROUNDING = 1e-6  # of a side: what single precision does to its ends


class Box(AbstractPlace):
    """A product of named intervals:  D = [a₁, b₁] × … × [a_d, b_d].

    Time is the coordinate named `t`. Parameters of a family join the box as further coordinates (`join`); they
    and time bound no space, so `boundary` leaves them out.

    !!! example
        `Box(x=(0, 1), y=(0, 2), t=(0, 1)).boundary` is the four faces of space, at all times.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)
    periodic: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, **intervals: Any):
        if not intervals:
            raise ValueError("Box: at least one coordinate is needed, for example Box(x=(0, 1), t=(0, 1)).")
        for name in intervals:
            if "_" in name:
                raise ValueError(
                    f"Box: coordinate `{name}` must not contain an underscore, which marks derivatives: "
                    f"rename it, for example to `{name.replace('_', '')}`."
                )
        ends = [checks.interval("Box", name, value) for name, value in intervals.items()]
        self.names = tuple(intervals)
        self.lower = tuple(low for low, _ in ends)
        self.upper = tuple(high for _, high in ends)
        self.parameters = ()
        self.periodic = ()

    def select(self, names: Iterable[str]) -> "Box":
        """The box of some of the coordinates; none of them gives the box of a single point."""
        names = tuple(names)
        index = [self.names.index(name) for name in names]
        return changed(
            self,
            names=names,
            lower=tuple(self.lower[i] for i in index),
            upper=tuple(self.upper[i] for i in index),
            parameters=tuple(name for name in self.parameters if name in names),
            periodic=tuple(name for name in self.periodic if name in names),
        )

    def join(self, parameters: Mapping[str, tuple[float, float]]) -> "Box":
        """The box times the ranges of a family's parameters, which become its last coordinates."""
        if not parameters:
            return self
        ranges = [checks.interval("Problem", name, value) for name, value in parameters.items()]
        return changed(
            self,
            names=self.names + tuple(parameters),
            lower=self.lower + tuple(low for low, _ in ranges),
            upper=self.upper + tuple(high for _, high in ranges),
            parameters=self.parameters + tuple(parameters),
        )

    def wrapping(self, names: Iterable[str]) -> "Box":
        """The same box, whose coordinates `names` are known to be periodic."""
        wanted = set(self.periodic) | set(names)
        return changed(self, periodic=tuple(name for name in self.names if name in wanted))

    def within(self, domain: "Box") -> "Box":
        return domain

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def space(self) -> tuple[str, ...]:
        """Names of the coordinates that are neither time nor a parameter."""
        return tuple(name for name in self.names if name != TIME and name not in self.parameters)

    def ends(self, name: str) -> tuple[float, float]:
        """The interval of one coordinate."""
        i = self.names.index(name)
        return self.lower[i], self.upper[i]

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.upper) - np.asarray(self.lower)

    @property
    def measure(self) -> float:
        return float(np.prod(self.lengths))

    @property
    def chart(self) -> "Box":
        return self

    @property
    def parts(self) -> tuple[AbstractPlace, ...]:
        return (self,)

    def embed(self, w: Float[Array, " k"]) -> Point:
        return w

    def normal(self, w: Float[Array, " k"]) -> Point:
        raise ValueError(
            "Box: the interior has no normal. Give the condition a place: `on=domain.face(...)` or "
            "`on=domain.boundary`."
        )

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        """Whether `w` lies in the closed box."""
        return jnp.all((w >= jnp.asarray(self.lower)) & (w <= jnp.asarray(self.upper)))

    def outside(self, points: np.ndarray) -> np.ndarray:
        """Which coordinates of some points, one a row, lie outside by more than rounding does to the ends."""
        slack = ROUNDING * self.lengths
        return (points < np.asarray(self.lower) - slack) | (points > np.asarray(self.upper) + slack)

    def from_unit(self, unit: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        """Maps [0, 1]^d onto the box."""
        return jnp.asarray(self.lower) + unit * jnp.asarray(self.lengths, dtype=unit.dtype)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return self.from_unit(jr.uniform(key, (n, self.dimension)))

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        """A Sobol sequence; `key` applies a digital shift, which makes the points uniform and keeps them even."""
        if self.dimension == 0:
            return jnp.zeros((n, 0))
        # Powers of two are balanced; a shorter piece is cut off afterwards.
        base = sobol(self.dimension, max(int(n - 1).bit_length(), 0))[:n]
        digits = jnp.asarray(np.floor(base * 2.0**32).astype(np.uint32))
        if key is not None:
            digits = digits ^ jr.bits(key, (1, self.dimension), jnp.uint32)
        return self.from_unit(digits.astype(jnp.result_type(float)) / 2.0**32)

    def grid(self, n: int | Sequence[int]) -> Float[Array, "n k"]:
        """At most `n` points, equally many along each axis, ends included; or the given number along each axis."""
        return jnp.asarray(self._grid(n))

    def _grid(self, n: int | Sequence[int]) -> np.ndarray:
        # On the host, so that a union of faces can put grids together while a training step is traced.
        if isinstance(n, int | np.integer):
            # The tiny excess keeps 1000 ** (1 / 3) from rounding down to 9.
            n = [int(n ** (1 / max(self.dimension, 1)) + 1e-9)] * self.dimension
        axes = [
            np.linspace(low, high, m) if m > 1 else np.asarray([(low + high) / 2])
            for low, high, m in zip(self.lower, self.upper, n, strict=True)
        ]
        mesh = np.meshgrid(*axes, indexing="ij") if axes else [np.zeros(())]
        columns = [axis.ravel() for axis in mesh] if axes else []
        return np.stack(columns, axis=-1) if columns else np.zeros((1, 0))

    def face(self, **fixed: Any) -> "Face":
        """The part of the box where some coordinates are fixed at an end:  `domain.face(x=0)`."""
        if not fixed:
            raise ValueError("Box.face: name a coordinate and one of its ends, for example domain.face(x=0).")
        values = {}
        for name, value in fixed.items():
            if name not in self.names:
                raise ValueError(
                    f"Box.face: unknown coordinate `{name}`. The domain has {checks.listed(self.names)}."
                    + checks.nearest(name, self.names)
                )
            ends = (self.lower[self.names.index(name)], self.upper[self.names.index(name)])
            value = checks.number("Box.face", name, value)
            end = min(ends, key=lambda end: abs(value - end))
            if abs(value - end) > ROUNDING * (ends[1] - ends[0]):
                raise ValueError(f"Box.face: `{name}` must be an end of its interval {ends}, got {value}.")
            values[name] = end
        return Face(self, tuple(values.items()))

    @property
    def boundary(self) -> "Faces":
        """All faces of space, at all times and parameters, with outward normals."""
        if not self.space:
            raise ValueError("Box.boundary: the domain has no space coordinate; use domain.face(t=...).")
        return Faces(
            tuple(
                self.face(**{name: end})
                for name in self.space
                for end in (self.lower[self.names.index(name)], self.upper[self.names.index(name)])
            )
        )


class Face(AbstractPlace):
    """The points of `domain` at which some coordinates are fixed; made by `domain.face(x=0)`."""

    domain: Box
    fixed: tuple[tuple[str, float], ...] = eqx.field(static=True)

    @property
    def constants(self) -> tuple[tuple[str, float], ...]:
        return self.fixed

    @property
    def parts(self) -> tuple[AbstractPlace, ...]:
        return (self,)

    @property
    def chart(self) -> Box:
        fixed = dict(self.fixed)
        return self.domain.select(name for name in self.domain.names if name not in fixed)

    @property
    def measure(self) -> float:
        return self.chart.measure

    def within(self, domain: Box) -> "Face":
        """The same face of a larger domain: one joined by the parameters of a family."""
        return domain.face(**dict(self.fixed))

    def embed(self, w: Float[Array, " k"]) -> Point:
        fixed, free = dict(self.fixed), iter(range(self.chart.dimension))
        return jnp.stack([jnp.asarray(fixed[n], w.dtype) if n in fixed else w[next(free)] for n in self.domain.names])

    def normal(self, w: Float[Array, " k"]) -> Point:
        if len(self.fixed) != 1 or self.fixed[0][0] not in self.domain.space:
            raise ValueError(f"Face {dict(self.fixed)}: a normal needs exactly one fixed coordinate, and one of space.")
        ((name, value),) = self.fixed
        i = self.domain.names.index(name)
        sign = -1.0 if value == self.domain.lower[i] else 1.0
        return jnp.zeros(self.domain.dimension, w.dtype).at[i].set(sign)


class Faces(AbstractPlace):
    """A union of faces, unrolled onto the unit box: its first coordinate runs along the faces one after the other,
    each over a stretch in proportion to its measure, so that uniform in the chart is uniform on the union."""

    pieces: tuple[Face, ...]

    def __check_init__(self):
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
    def parts(self) -> tuple[AbstractPlace, ...]:
        return self.pieces

    @property
    def ends(self) -> np.ndarray:
        """Where each piece's stretch of the first chart coordinate begins and ends."""
        return np.concatenate([[0.0], np.cumsum([piece.measure for piece in self.pieces])]) / self.measure

    @property
    def parameter_columns(self) -> tuple[int, ...]:
        charts = [piece.chart for piece in self.pieces]
        shared = lambda i: all(chart.names[i] in chart.parameters for chart in charts)
        return tuple(i for i in range(1, charts[0].dimension) if shared(i))  # the first runs along the faces

    def within(self, domain: Box) -> "Faces":
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

    def grid(self, n: int) -> Float[Array, "n k"]:
        """A grid on each piece, `n` split by measure, at least one point each."""
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
