"""Boxes, alone or with a shape in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, changed, checks
from .corners import Corner, reentrant
from .holes import Hole, holes
from .place import TIME, AbstractPlace
from .rejection import kept, spread
from .shapes import COUNT, AbstractShape, BoxShape, Combined
from .sides import lies_beyond, size_of
from .sobol import fixed_sobol, sobol

if TYPE_CHECKING:
    from .boundary import Boundary
    from .face import Face
    from .faces import Faces
    from .parts import Cut

ROUNDING = 1e-6  # of a side: what single precision does to its ends
OUTLINE = 1e-3  # of a shape's size: how far a given point may be outside, as those of a coarse outline are


class Box(AbstractPlace):
    """A product of named intervals:  D = [a₁, b₁] × … × [a_d, b_d].

    Time is the coordinate named `t`. Parameters of a family join the box as further coordinates (`join`); they
    and time bound no space, so `boundary` leaves them out.

    With a `shape` it is the part of the box in which that lies: `Disk(...)` and the other shapes give such boxes, and
    `a | b`, `a & b`, `a - b` and `shape * Interval(t=(0, 1))` combine them.

    !!! example
        `Box(x=(0, 1), y=(0, 2), t=(0, 1)).boundary` is the four faces of space, at all times;
        `Box(x=(-1, 1), y=(-1, 1)) - Disk(x=0, y=0, radius=0.2, name="hole")` a plate with a hole, which may be a
        `Box(x=(-0.2, 0.2), y=(-0.1, 0.1), name="hole")`.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)
    periodic: tuple[str, ...] = eqx.field(static=True)
    shape: AbstractShape | None
    share: float = eqx.field(static=True)  # of the box, which the shape fills
    corners: tuple[Corner, ...] = eqx.field(static=True)  # that point into the shape, where somebody has looked
    holes: tuple[Hole, ...] = eqx.field(static=True)  # of the shape, likewise
    label: str | None = eqx.field(static=True)

    def __init__(self, **intervals: Any):
        # A coordinate may be called `name` too: it has an interval.
        self.label = intervals.pop("name") if isinstance(intervals.get("name"), str) else None
        if not intervals:
            raise ValueError("Box: at least one coordinate is needed, for example Box(x=(0, 1), t=(0, 1)).")
        for name in intervals:
            if "_" in name:
                raise ValueError(
                    f"Box: coordinate `{name}` must not contain an underscore, which marks derivatives: "
                    f"rename it, for example to `{name.replace('_', '')}`."
                )
        ends = [checks.interval("Box", name, value) for name, value in intervals.items()]
        self.names, self.parameters, self.periodic = tuple(intervals), (), ()
        self.lower, self.upper = (tuple(side) for side in zip(*ends, strict=True))
        self.shape, self.share, self.corners, self.holes = None, 1.0, (), ()

    def select(self, names: Iterable[str]) -> "Box":
        """The box of some of the coordinates; none of them gives the box of a single point."""
        names = tuple(names)
        index = [self.names.index(name) for name in names]
        kept_shape = self.shape is not None and set(self.shape.names + self.shape.parameters) <= set(names)
        if self.shape is not None and not kept_shape and set(self.shape.names) <= set(names):
            open_ones = [name for name in self.shape.parameters if name not in names]
            raise ValueError(f"Box: the shape depends on {checks.listed(open_ones)}, which cannot be left out.")
        return changed(
            self,
            shape=self.shape if kept_shape else None,
            share=self.share if kept_shape else 1.0,
            corners=self.corners if kept_shape else (),
            holes=self.holes if kept_shape else (),
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
        joined = changed(
            self,
            names=self.names + tuple(parameters),
            lower=self.lower + tuple(low for low, _ in ranges),
            upper=self.upper + tuple(high for _, high in ranges),
            parameters=self.parameters + tuple(parameters),
        )
        return joined if self.shape is None else joined.around(self.shape)

    def fixing(self, parameters: Mapping[str, float]) -> "Box":
        """The box whose shape has given values of parameters."""
        return self if self.shape is None else self.around(self.shape.fixing(parameters))

    def at(self, values: Mapping[str, float]) -> "Box":
        """The box of the other coordinates where some parameters have given values."""
        return self.fixing(values).select(name for name in self.names if name not in values)

    def around(self, shape: AbstractShape) -> "Box":
        """The box with a shape in it, its coordinates of space those of the smallest box round the shape."""
        ranges = {name: self.ends(name) for name in self.names if name not in shape.names}
        if not set(shape.parameters) <= set(ranges):  # until a problem says what they are, there are places for `later`
            pairs = zip(self.names, self.lower, strict=True)
            nowhere = tuple(float("nan") if name in shape.names else low for name, low in pairs)
            return changed(self, lower=nowhere, upper=nowhere, shape=shape, share=float("nan"))
        low, high = (dict(zip(shape.names, side, strict=True)) for side in shape.bounds(ranges))
        lower = tuple(low.get(name, value) for name, value in zip(self.names, self.lower, strict=True))
        upper = tuple(high.get(name, value) for name, value in zip(self.names, self.upper, strict=True))
        empty = any(a >= b for a, b in zip(lower, upper, strict=True))
        box = changed(self, lower=lower, upper=upper, shape=shape, share=1.0)
        share = 0.0 if empty else box._filled()
        if share == 0:
            raise ValueError(
                "Box: the shape is empty: no point is in it. Look at where its parts lie, and what is taken from what."
            )
        return changed(box, share=share)

    @property
    def _open(self) -> bool:
        """Whether its shape depends on parameters that nobody has given yet."""
        return self.shape is not None and not set(self.shape.parameters) <= set(self.parameters)

    def _later(self, of: Callable[["Box"], AbstractPlace]) -> Any:
        from .later import Later

        assert self.shape is not None
        return Later(self, of)

    def explored(self) -> "Box":
        """The same box, which knows the corners that point into its shape, and its holes: a problem's domain does."""
        shape = self.shape
        return self if shape is None else changed(self, corners=reentrant(shape), holes=holes(shape))

    def _filled(self) -> float:
        """How much of the box the shape fills, by a formula where there is one."""
        assert self.shape is not None
        if not self.shape.parameters:
            volume = self.shape.volume({})
            if volume is not None:
                return volume / float(np.prod([high - low for low, high in map(self.ends, self.shape.names)]))
        with jax.ensure_compile_time_eval():
            points = self.from_unit(jnp.asarray(fixed_sobol(self.dimension, COUNT.bit_length() - 1)))
            return float(np.mean(jax.vmap(self.contains)(points)))

    @property
    def bounding(self) -> "Box":
        """The box without its shape."""
        return changed(self, shape=None, share=1.0, corners=(), holes=())

    @property
    def beyond_space(self) -> "Box":
        """The box of time and parameters alone."""
        return self.select(name for name in self.names if name not in self.space)

    @property
    def middle(self) -> dict[str, Array]:
        """The middle of the ranges of time and parameters, by name."""
        return {name: jnp.asarray(sum(self.ends(name)) / 2) for name in self.names if name not in self.space}

    def times(self, other: "Box") -> "Box":
        """The product with a box of other coordinates."""
        shared = [name for name in self.names if name in other.names]
        if shared:
            raise ValueError(f"Box: both factors of a product have {checks.listed(shared)}; rename it in one.")
        if self.shape is not None and other.shape is not None:
            raise ValueError("Box: of a product only one factor may be a shape; the other is a Box or an Interval.")
        product = changed(
            self,
            names=self.names + other.names,
            lower=self.lower + other.lower,
            upper=self.upper + other.upper,
            parameters=self.parameters + other.parameters,
            periodic=self.periodic + other.periodic,
        )
        of = self if self.shape is not None else other
        if of.shape is None or set(product.space) == set(of.shape.names):
            return changed(product, shape=of.shape, share=of.share, corners=of.corners, holes=of.holes)
        raise ValueError(
            "Box: a shape may be multiplied by time, Interval(t=(0, 1)), and not by another coordinate of space, got "
            f"{checks.listed(other.names if self.shape is not None else self.names)}."
        )

    def __mul__(self, other: "Box") -> "Box":
        return self.times(other) if isinstance(other, Box) else NotImplemented

    def __or__(self, other: "Box") -> "Box":
        return self._combined(other, (-1, -1, -1), "|")

    def __and__(self, other: "Box") -> "Box":
        return self._combined(other, (1, 1, 1), "&")

    def __sub__(self, other: "Box") -> "Box":
        return self._combined(other, (1, -1, 1), "-")

    def _combined(self, other: Any, signs: tuple[int, int, int], sign: str) -> "Box":
        if not isinstance(other, Box):
            return NotImplemented
        if self.space != other.space or len(self.space) < 2:
            raise ValueError(
                f"Box: `a {sign} b` needs shapes with the same coordinates of space, two or more, in one order, got "
                f"{checks.listed(self.space)} and {checks.listed(other.space)}."
            )
        if other.beyond_space.names and other.beyond_space != self.beyond_space:
            raise ValueError(
                f"Box: in `a {sign} b` time belongs to `a`: multiply by Interval(t=...) at the end, (a {sign} b) * "
                "Interval(t=(0, 1))."
            )
        return self.around(Combined(self.as_shape(), other.as_shape(), signs))

    def as_shape(self) -> AbstractShape:
        """The shape in the box, or the box of space as one."""
        if self.shape is not None:
            return self.shape
        ends = [self.ends(name) for name in self.space]
        return BoxShape(self.space, tuple(low for low, _ in ends), tuple(high for _, high in ends), self.label)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.names

    def distance(self, z: Point) -> Float[Array, ""]:
        """A smooth function that is positive inside and vanishes on the boundary of space like the distance to it."""
        at = dict(zip(self.names, z, strict=True))
        return self.as_shape().bump(jnp.stack([at[name] for name in self.space]), at)

    def wrapping(self, names: Iterable[str]) -> "Box":
        """The same box, whose coordinates `names` are known to be periodic."""
        wanted = set(self.periodic) | set(names)
        return changed(self, periodic=tuple(name for name in self.names if name in wanted))

    def within(self, domain: "Box") -> "Box":
        """The part of a domain that this box or shape is, all of it perhaps."""
        from .subdomains import part_of

        return part_of(self, domain)

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
        return float(np.prod(self.lengths)) * self.share

    @property
    def fullness(self) -> float:
        return self.share

    @property
    def chart(self) -> "Box":
        return self

    @property
    def parts(self) -> tuple[AbstractPlace, ...]:
        return (self,) if self.shape is None else ()

    def embed(self, w: Float[Array, " k"]) -> Point:
        return w

    def normal(self, w: Float[Array, " k"]) -> Point:
        raise ValueError(
            "Box: the interior has no normal. Give the condition a place: `on=domain.face(...)` or "
            "`on=domain.boundary`."
        )

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        """Whether `w` lies in the closed box, and in its shape."""
        in_box = jnp.all((w >= jnp.asarray(self.lower)) & (w <= jnp.asarray(self.upper)))
        if self.shape is None:
            return in_box
        return in_box & (self.shape.level(*self.shape.located(self.names, w)) <= 0)

    def outside(self, points: np.ndarray) -> np.ndarray:
        """Which coordinates of some points, one a row, lie outside by more than rounding does to the ends."""
        slack = ROUNDING * self.lengths
        return (points < np.asarray(self.lower) - slack) | (points > np.asarray(self.upper) + slack)

    def beyond_shape(self, points: np.ndarray) -> np.ndarray:
        """Which of some points of the box lie outside the shape, by more than an outline of straight pieces does."""
        if self.shape is None:
            return np.zeros(points.shape[:-1], bool)
        shape, slack = self.shape, OUTLINE * size_of(self.shape, self.middle)

        outside = lambda z: lies_beyond(shape, *shape.located(self.names, z), slack)
        with jax.ensure_compile_time_eval():
            found = jax.vmap(outside)(jnp.asarray(points.reshape(-1, self.dimension), jnp.result_type(float)))
        return np.asarray(found).reshape(points.shape[:-1])

    def from_unit(self, unit: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        """Maps [0, 1]^d onto the box."""
        return jnp.asarray(self.lower) + unit * jnp.asarray(self.lengths, dtype=unit.dtype)

    def _in_shape(self, n: int, draw: Callable[["Box", int], Array]) -> Float[Array, "n k"]:
        shape = self.shape
        assert shape is not None
        if shape.spreads:
            return spread(self, shape, draw, n)
        inside = lambda w: shape.encloses(*shape.located(self.names, w))
        return kept(lambda m: draw(self.bounding, m), inside, n, self.share)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        if self.shape is not None:
            return self._in_shape(n, lambda box, m: box.uniform(m, key))
        return self.from_unit(jr.uniform(key, (n, self.dimension)))

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        """A Sobol sequence; `key` applies a digital shift, which makes the points uniform and keeps them even."""
        if self.shape is not None:
            return self._in_shape(n, lambda box, m: box.sobol(m, key))
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
        if self.shape is not None and isinstance(n, int | np.integer):
            from .parts import filtered_grid

            return filtered_grid(self, int(n), self.share)
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

    def face(self, **fixed: Any) -> "Face | Cut":
        """The part of the domain where some coordinates are fixed:  `domain.face(x=0)`. Fixed at an end it is a part of
        the boundary, with an outward normal, elsewhere an inner line or surface."""
        if not fixed:
            raise ValueError("Box.face: name a coordinate and one of its ends, for example domain.face(x=0).")
        if self._open:
            return self._later(lambda domain: domain.face(**fixed))
        from .parts import face_of

        return face_of(self, fixed)

    @property
    def boundary(self) -> "Faces | Boundary":
        """All that bounds space, at all times and parameters, with outward normals."""
        if not self.space:
            raise ValueError("Box.boundary: the domain has no space coordinate; use domain.face(t=...).")
        if self._open:
            return self._later(lambda domain: domain.boundary)
        if self.shape is not None:
            from .boundary import Boundary

            return Boundary(self)
        from .face import Face
        from .faces import Faces

        return Faces(tuple(Face(self, ((name, end),)) for name in self.space for end in self.ends(name)))
