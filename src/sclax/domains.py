"""Places: where points live. A place is a chart (a box of intrinsic coordinates) and a map from it to points.

The interior of a box is its own chart. A face of the box has one coordinate less. A union of faces is unrolled onto a
unit box, so that every sampler works on every place, in any dimension, without knowing which it is.
"""

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.stats import qmc

from . import _checks
from ._typing import Array, Bool, Float, Key, Point, Points

TIME = "t"


class AbstractPlace(eqx.Module):
    """A set of points of the domain, parametrised by a `chart`.

    Points are drawn in the chart, where uniform is uniform on the place. A place that fills only a part of its chart
    gives `contains` and `uniform` of its own: so curved shapes join.
    """

    @property
    @abc.abstractmethod
    def chart(self) -> "Box":
        """The box of intrinsic coordinates."""

    @abc.abstractmethod
    def embed(self, w: Float[Array, " k"]) -> Point:
        """The point of the domain at chart coordinates `w`."""

    @abc.abstractmethod
    def normal(self, w: Float[Array, " k"]) -> Point:
        """The outward unit normal at chart coordinates `w`."""

    @property
    @abc.abstractmethod
    def measure(self) -> float:
        """Volume, area or length: what shares are divided by."""

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        """Whether chart coordinates `w` belong to the place."""
        return self.chart.contains(w)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        """`n` chart points, uniform on the place."""
        return self.chart.uniform(n, key)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        """`n` chart points of low discrepancy, shifted at random if there is a `key`."""
        return self.chart.sobol(n, key)

    def grid(self, n: int) -> Float[Array, "n k"]:
        """At most `n` chart points on a regular grid."""
        return self.chart.grid(n)

    def where(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        """The point at chart coordinates `w` by name, for people; `names` are the domain's coordinates."""
        z = np.asarray(self.embed(jnp.asarray(w)))
        return dict(zip(names if len(z) == len(names) else self.chart.names, map(float, z), strict=True))

    @property
    def parameter_columns(self) -> tuple[int, ...]:
        """The chart coordinates that are parameters of a family."""
        return tuple(map(self.chart.names.index, self.chart.parameters))

    def within(self, domain: "Box") -> "AbstractPlace":
        """The same place of a domain with more or fewer coordinates: one joined by the parameters of a family, say."""
        raise ValueError(f"{type(self).__name__}: this place belongs to one domain only.")


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
        ends = [_checks.interval("Box", name, value) for name, value in intervals.items()]
        self.names = tuple(intervals)
        self.lower = tuple(low for low, _ in ends)
        self.upper = tuple(high for _, high in ends)
        self.parameters = ()
        self.periodic = ()

    def select(self, names: Iterable[str]) -> "Box":
        """The box of some of the coordinates; none of them gives the box of a single point."""
        names = tuple(names)
        index = [self.names.index(name) for name in names]
        return self._with(
            names=names,
            lower=tuple(self.lower[i] for i in index),
            upper=tuple(self.upper[i] for i in index),
            parameters=tuple(name for name in self.parameters if name in names),
            periodic=tuple(name for name in self.periodic if name in names),
        )

    def _with(self, **changes: Any) -> "Box":
        box = object.__new__(Box)
        for field in ("names", "lower", "upper", "parameters", "periodic"):
            object.__setattr__(box, field, changes.get(field, getattr(self, field)))
        return box

    def join(self, parameters: Mapping[str, tuple[float, float]]) -> "Box":
        """The box times the ranges of a family's parameters, which become its last coordinates."""
        if not parameters:
            return self
        ranges = [_checks.interval("Problem", name, value) for name, value in parameters.items()]
        return self._with(
            names=self.names + tuple(parameters),
            lower=self.lower + tuple(low for low, _ in ranges),
            upper=self.upper + tuple(high for _, high in ranges),
            parameters=self.parameters + tuple(parameters),
        )

    def wrapping(self, names: Iterable[str]) -> "Box":
        """The same box, whose coordinates `names` are known to be periodic."""
        wanted = set(self.periodic) | set(names)
        return self._with(periodic=tuple(name for name in self.names if name in wanted))

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
        base = qmc.Sobol(self.dimension, scramble=False).random_base2(max(int(n - 1).bit_length(), 0))[:n]
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
                    f"Box.face: unknown coordinate `{name}`. The domain has {_checks.listed(self.names)}."
                    + _checks.nearest(name, self.names)
                )
            ends = (self.lower[self.names.index(name)], self.upper[self.names.index(name)])
            value = _checks.number("Box.face", name, value)
            end = min(ends, key=lambda end: abs(value - end))
            if abs(value - end) > 1e-6 * (ends[1] - ends[0]):
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


Where = AbstractPlace | Sequence[AbstractPlace] | Mapping[str, Any] | None


def locate(owner: str, on: Where, domain: Box, default: str) -> AbstractPlace:
    """The place that `on=` means: a face, a list of faces, points by name, or the `default` ("interior"/"boundary")."""
    if on is None:
        return domain if default == "interior" else domain.boundary
    if isinstance(on, Box | Face | Faces):
        return on.within(domain)
    if isinstance(on, AbstractPlace):
        return on
    if isinstance(on, Mapping):
        return PointSet(columns(owner, on, domain).reshape(-1, domain.dimension))
    if isinstance(on, Sequence) and on:
        faces = tuple(face.within(domain) for face in on if isinstance(face, Face))
        if len(faces) == len(on):
            return Faces(faces)
    raise ValueError(
        f"{owner}: `on` must be a face, a list of faces, `domain.boundary` or a dict of point arrays, got {on!r}."
    )


def columns(owner: str, points: Mapping[str, Any], domain: Box) -> Float[Array, "*shape d"]:
    """A dict of arrays, one for each coordinate, as rows in the domain's order; a single point makes one row."""
    names = [str(name) for name in points]
    for name in domain.names:
        if name not in names:
            raise ValueError(
                f"{owner}: the points lack coordinate `{name}`; the domain has {_checks.listed(domain.names)}, "
                f"the points have {_checks.listed(names)}."
            )
    for name in names:
        if name not in domain.names:
            raise ValueError(
                f"{owner}: the points have `{name}`, which is no coordinate of the domain "
                f"({_checks.listed(domain.names)})." + _checks.nearest(name, domain.names)
            )
    arrays = {name: _checks.finite_array(owner, name, points[name]) for name in domain.names}
    try:
        rows = np.stack(np.broadcast_arrays(*arrays.values()), axis=-1)
    except ValueError:
        shapes = {name: array.shape for name, array in arrays.items()}
        raise ValueError(f"{owner}: the coordinate arrays must have one shape, got {shapes}.") from None
    if rows.size == 0:
        raise ValueError(f"{owner}: the points are empty.")
    return jnp.asarray(np.atleast_2d(rows))


def embed_all(place: AbstractPlace, w: Float[Array, "n k"]) -> Points:
    """All chart points `w` as points of the domain."""
    return jax.vmap(place.embed)(w)
