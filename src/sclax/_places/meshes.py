"""Shapes that are given by a function, or by triangles."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage
from jaxtyping import Array, Float

from .._base import Scalar, precision, require, signature, told_in_words
from .shapes import AbstractShape, Leaf
from .surfaces import AbstractSurface, Edges, Spot, Triangles

CELLS = {2: 400, 3: 64}  # along the longest side, of the grid on which a function is looked at
AROUND = 16  # cells round a grid: what is beyond them changes a spline on it by less than 1e-9 of its size
NEWTON = 3  # steps from an edge of the grid's contour to the surface


class ImplicitShape(AbstractShape):
    """Where a function of the coordinates is negative."""

    function: Callable[..., Any] = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    contour: AbstractSurface
    name: str | None = eqx.field(static=True, default=None)

    def __init__(self, function, names, lower, upper, name=None):
        self.function, self.names, self.lower, self.upper, self.name = function, names, lower, upper, name
        axes = [np.linspace(a, b, CELLS[len(names)] + 1) for a, b in zip(lower, upper, strict=True)]
        mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = np.asarray(jax.vmap(lambda x: self.value(x))(jnp.asarray(mesh.reshape(-1, len(names)))))
        values = values.reshape(mesh.shape[:-1])
        if not np.all(np.isfinite(values)):
            raise ValueError("Implicit: the function is NaN or infinite somewhere in the box; bound it there.")
        if values.min() >= 0 or values.max() <= 0:
            where = "positive" if values.min() >= 0 else "negative"
            raise ValueError(
                f"Implicit: the function is {where} everywhere on its box, so that it bounds nothing; it must be "
                "negative inside the shape and positive outside, within the intervals given."
            )
        outer = [np.take(values, end, axis=i).min() for i in range(len(names)) for end in (0, -1)]
        if min(outer) < 0:
            raise ValueError(
                "Implicit: the shape reaches the end of its box, where nothing bounds it; widen the intervals, and cut "
                "it by `& Box(...)` where it should end."
            )
        self.contour = _contour(values, axes)

    def value(self, x: Spot) -> Float[Array, ""]:
        point = dict(zip(self.names, x, strict=True))
        with told_in_words("Implicit"):
            found = self.function(*(point[name] for name in signature(self.function, "Implicit", self.names)))
        return jnp.asarray(found, x.dtype)

    def level(self, x, at):
        return self.value(x)

    def bump(self, x, at):
        return -self.value(x)

    def leaves(self):
        return (Leaf(Projected(self.contour, self), self.name),)

    def bounds(self, ranges):
        return self.lower, self.upper

    def volume(self, at):
        return None

    @property
    def parameters(self):
        return ()

    def fixing(self, values):
        return self


class Projected(AbstractSurface):
    """A surface near the zeros of a function, moved onto them."""

    near: AbstractSurface
    shape: ImplicitShape

    @property
    def columns(self) -> int:
        return self.near.columns

    def embed(self, v, at):
        x = self.near.embed(v, at)
        for _ in range(NEWTON):
            value, slope = jax.value_and_grad(self.shape.value)(x)
            x = x - value * slope / jnp.maximum(jnp.sum(slope**2), jnp.finfo(x.dtype).tiny)
        return x

    def normal(self, v, at):
        slope = jax.grad(self.shape.value)(self.embed(v, at))
        return slope / jnp.sqrt(jnp.sum(slope**2))

    def size(self, at):
        return self.near.size(at)


def _contour(values: np.ndarray, axes: list[np.ndarray]) -> AbstractSurface:
    """The zeros of a function on a grid, as straight pieces with the negative values to their left, or inside."""
    if values.ndim == 2:
        from contourpy import contour_generator

        lines = contour_generator(x=axes[0], y=axes[1], z=values.T).lines(0.0)
        pieces = [np.asarray(line) for line in lines]
        starts, ends = (np.concatenate([line[part] for line in pieces]) for part in (slice(None, -1), slice(1, None)))
        keep = np.linalg.norm(ends - starts, axis=1) > 0
        return Edges(starts[keep], ends[keep])
    igl = require("Implicit in three dimensions", "igl", "geometry")
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    flat = np.ascontiguousarray(mesh.transpose(2, 1, 0, 3).reshape(-1, 3))
    found = igl.marching_cubes(np.ascontiguousarray(values.transpose(2, 1, 0).ravel()), flat, *values.shape, 0.0)
    return Triangles(np.asarray(found[0])[np.asarray(found[1])])


class MeshShape(AbstractShape):
    """What is inside a closed surface of triangles; the signed distance to it is interpolated on a grid: linearly for
    draws, and by cubic splines, two times differentiable, where it is differentiated."""

    surface: Triangles
    distances: Float[Array, "i j k"]
    splines: Float[Array, "i+2 j+2 k+2"]  # the coefficients of B-splines that have these values
    names: tuple[str, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    enclosed: float = eqx.field(static=True)
    name: str | None = eqx.field(static=True, default=None)

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, names: tuple[str, ...], name: str | None = None):
        igl = require("Mesh", "igl", "geometry")
        corners = np.asarray(vertices, float)[np.asarray(faces, int)]
        self.surface, self.names, self.name = Triangles(corners), names, name
        flat = np.asarray(vertices, float)
        self.lower, self.upper = tuple(flat.min(axis=0).tolist()), tuple(flat.max(axis=0).tolist())
        self.enclosed = float(np.sum(np.einsum("mi,mi->m", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6)
        margin = 0.05 * (np.asarray(self.upper) - self.lower)
        axes = [np.linspace(a - m, b + m, CELLS[3] + 1) for a, b, m in zip(self.lower, self.upper, margin, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        found = igl.signed_distance(grid, np.ascontiguousarray(flat), np.ascontiguousarray(np.asarray(faces, np.int64)))
        distances = np.asarray(found[0]).reshape([len(axis) for axis in axes])
        with precision.double():
            self.distances = jnp.asarray(distances)
            self.splines = jnp.asarray(_coefficients(distances))

    def _place(self, x: Spot) -> tuple[Spot, Scalar]:
        """Where a point lies in the grid, in cells, and how far it is beyond it."""
        low, high = jnp.asarray(self.lower, x.dtype), jnp.asarray(self.upper, x.dtype)
        margin = 0.05 * (high - low)
        position = (x - low + margin) / (high - low + 2 * margin) * CELLS[3]
        squares = jnp.sum(jnp.maximum(jnp.maximum(low - margin - x, x - high - margin), 0.0) ** 2)
        # The root has no derivative at 0, which is all of the grid.
        return position, jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)

    def level(self, x, at):
        position, beyond = self._place(x)
        distances = self.distances.astype(x.dtype)
        return jax.scipy.ndimage.map_coordinates(distances, list(position), 1, mode="nearest") + beyond

    def bump(self, x, at):
        position, beyond = self._place(x)
        position = jnp.clip(position, 0.0, CELLS[3])
        cell = jnp.clip(jnp.floor(position).astype(int), 0, CELLS[3] - 1)
        near = jax.lax.dynamic_slice(self.splines, tuple(cell), (4, 4, 4)).astype(x.dtype)
        along = [_cubic(part) for part in position - cell]
        return -jnp.einsum("ijk,i,j,k->", near, *along) - beyond

    def leaves(self):
        return (Leaf(self.surface, self.name),)

    def bounds(self, ranges):
        return self.lower, self.upper

    def volume(self, at):
        return self.enclosed

    @property
    def parameters(self):
        return ()

    def fixing(self, values):
        return self


def _coefficients(values: np.ndarray) -> np.ndarray:
    """Those of the cubic B-splines that have given values on a grid, one more of them at each end."""
    # A kink at the end, as the filter's own mirror has one, would be felt on the surface: go on straight instead.
    further = np.pad(values, AROUND, "reflect", reflect_type="odd")
    return scipy.ndimage.spline_filter(further, mode="mirror")[(slice(AROUND - 1, 1 - AROUND),) * values.ndim]


def _cubic(t: Scalar) -> Float[Array, " 4"]:
    """The four cubic B-splines that do not vanish in a cell, at a share t of it."""
    left = 1 - t
    inner = lambda t: 4 - 6 * t**2 + 3 * t**3
    return jnp.stack([left**3, inner(t), inner(left), t**3]) / 6


def closed(faces: np.ndarray) -> bool:
    """Whether every edge of a mesh belongs to two triangles that run along it in opposite directions."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there, back = {tuple(e) for e in edges.tolist()}, {tuple(e) for e in edges[:, ::-1].tolist()}
    return len(there) == len(edges) and there == back
