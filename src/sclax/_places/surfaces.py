"""Surfaces that bound shapes, each with a chart: v in [0, 1]^(d-1), in which uniform is uniform by length or area."""

import abc
import functools
from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Scalar, precision

Length = float | str  # a number, or the name of a parameter
At = Mapping[str, Scalar]  # the parameters at which a shape is looked at, by name
Chart = Float[Array, " k"]
Spot = Float[Array, " d"]  # a point of space

ARC = 256  # nodes along an ellipse, between which its arc length is interpolated


def number(length: Length, at: At) -> Scalar:
    """A length, or the value of the parameter that it names."""
    return jnp.asarray(at[length] if isinstance(length, str) else length, jnp.result_type(float))


def plain(length: Length, at: At) -> float:
    """The same on the host, in double precision."""
    return float(at[length]) if isinstance(length, str) else length


class AbstractSurface(eqx.Module):
    """A closed surface of dimension d − 1 in d dimensions (d = 1: two points)."""

    @property
    @abc.abstractmethod
    def columns(self) -> int:
        """How many chart coordinates there are."""

    @abc.abstractmethod
    def embed(self, v: Chart, at: At) -> Spot:
        """The point at chart coordinates `v`."""

    @abc.abstractmethod
    def normal(self, v: Chart, at: At) -> Spot:
        """The unit normal there, pointing out of the shape."""

    @abc.abstractmethod
    def size(self, at: At) -> float:
        """Length or area."""

    def segments(self) -> np.ndarray:
        """The straight edges of a surface in the plane, ends of each: of shape (edges, 2, 2). A round one has none."""
        return np.zeros((0, 2, 2))


class Sphere(AbstractSurface):
    """|x − centre| = radius, in any dimension."""

    centre: tuple[Length, ...] = eqx.field(static=True)
    radius: Length = eqx.field(static=True)

    @property
    def columns(self) -> int:
        return max(len(self.centre) - 1, 1)

    def embed(self, v, at):
        centre = jnp.stack([number(c, at) for c in self.centre])
        return centre + number(self.radius, at) * self.normal(v, at)

    def normal(self, v, at):
        d = len(self.centre)
        if d == 1:
            return jnp.where(v < 0.5, -1.0, 1.0).astype(v.dtype)
        left, parts = jnp.ones((), v.dtype), []
        for j in range(d - 2):  # the cosine of each polar angle, its density (1 − c²)^((m − 1) / 2)
            cosine = jnp.interp(v[j], *(jnp.asarray(a, v.dtype) for a in _cosines(d - 2 - j)))
            parts.append(left * cosine)
            left = left * jnp.sqrt(jnp.maximum(1 - cosine**2, 0.0))
        angle = 2 * jnp.pi * v[d - 2]
        return jnp.stack([*parts, left * jnp.cos(angle), left * jnp.sin(angle)])

    def size(self, at):
        return sphere_area(len(self.centre)) * plain(self.radius, at) ** (len(self.centre) - 1)


@functools.cache
def _cosines(m: int) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of a polar angle's cosine: probabilities, and the cosines that belong to them."""
    if m == 1:
        return np.asarray([0.0, 1.0]), np.asarray([-1.0, 1.0])
    angle = np.linspace(np.pi, 0, 4097)
    density = np.sin(angle) ** m
    probability = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return probability / probability[-1], np.cos(angle)


def sphere_area(d: int) -> float:
    """The area of the unit sphere in d dimensions:  2 π^(d/2) / Γ(d/2)."""
    area = {1: 2.0, 2: 2 * np.pi}
    for k in range(3, d + 1):
        area[k] = area[k - 2] * 2 * np.pi / (k - 2)
    return area[d]


class EllipseArc(AbstractSurface):
    """The curve (a cos s, b sin s) round a centre."""

    centre: tuple[Length, ...] = eqx.field(static=True)
    radii: tuple[Length, ...] = eqx.field(static=True)

    @property
    def columns(self) -> int:
        return 1

    def _angle(self, v: Chart, at: At) -> Scalar:
        a, b = (number(r, at) for r in self.radii)
        angles = jnp.linspace(0, 2 * jnp.pi, ARC + 1)
        speed = jnp.sqrt((a * jnp.sin(angles)) ** 2 + (b * jnp.cos(angles)) ** 2)
        along = jnp.concatenate([jnp.zeros(1), jnp.cumsum((speed[1:] + speed[:-1]) / 2)])
        return jnp.interp(v[0], along / along[-1], angles)

    def embed(self, v, at):
        s = self._angle(v, at)
        turn = jnp.stack([jnp.cos(s), jnp.sin(s)])
        return jnp.stack([number(c, at) for c in self.centre]) + turn * jnp.stack([number(r, at) for r in self.radii])

    def normal(self, v, at):
        s, (a, b) = self._angle(v, at), (number(r, at) for r in self.radii)
        slope = jnp.stack([b * jnp.cos(s), a * jnp.sin(s)])
        return slope / jnp.sqrt(jnp.sum(slope**2))

    def size(self, at):
        a, b = (plain(r, at) for r in self.radii)
        angles = np.arange(4096) * (2 * np.pi / 4096)  # the sum is exact to rounding: the integrand is periodic
        return float(np.mean(np.hypot(a * np.sin(angles), b * np.cos(angles)))) * 2 * np.pi


class BoxFaces(AbstractSurface):
    """The faces of a box, one after the other: those at the lower and upper end of each coordinate."""

    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    @property
    def columns(self) -> int:
        return max(len(self.lower) - 1, 1)

    @property
    def _areas(self) -> np.ndarray:
        lengths = np.asarray(self.upper) - np.asarray(self.lower)
        return np.repeat([np.prod(np.delete(lengths, i)) for i in range(len(lengths))], 2)

    def embed(self, v, at):
        d = len(self.lower)
        face, along = picked(v[0], self._areas)
        lower, upper = jnp.asarray(self.lower, v.dtype), jnp.asarray(self.upper, v.dtype)
        free = jnp.concatenate([along[None], v[1:]])[: d - 1]  # in the order of the coordinates but the face's own
        axis = face // 2
        spread = jnp.stack(
            [jnp.where(i < axis, free[min(i, d - 2)], free[i - 1]) if d > 1 else along for i in range(d)]
        )
        x = lower + spread * (upper - lower)
        return jnp.where(jnp.arange(d) == axis, jnp.where(face % 2 == 0, lower, upper), x)

    def normal(self, v, at):
        face, _ = picked(v[0], self._areas)
        return jnp.where(jnp.arange(len(self.lower)) == face // 2, jnp.where(face % 2 == 0, -1.0, 1.0), 0.0)

    def size(self, at):
        return float(np.sum(self._areas))

    def segments(self):
        (x, y), (high_x, high_y) = self.lower[:2], self.upper[:2]
        corners = np.asarray([(x, y), (high_x, y), (high_x, high_y), (x, high_y)])
        return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


class Edges(AbstractSurface):
    """Straight edges in two dimensions; the shape lies to the left of each."""

    starts: Float[Array, "m 2"]
    ends: Float[Array, "m 2"]
    shares: tuple[float, ...] = eqx.field(static=True)  # the length of each edge

    def __init__(self, starts: np.ndarray, ends: np.ndarray):
        with precision.double():  # whatever the precision of this moment is: a method may solve in a higher one
            self.starts, self.ends = jnp.asarray(starts), jnp.asarray(ends)
        self.shares = tuple(np.linalg.norm(np.asarray(ends) - np.asarray(starts), axis=1).tolist())

    @property
    def columns(self) -> int:
        return 1

    def embed(self, v, at):
        edge, along = picked(v[0], np.asarray(self.shares))
        start, end = self.starts[edge].astype(v.dtype), self.ends[edge].astype(v.dtype)
        return start + along * (end - start)

    def normal(self, v, at):
        edge, _ = picked(v[0], np.asarray(self.shares))
        dx, dy = (self.ends[edge] - self.starts[edge]).astype(v.dtype)
        return jnp.stack([dy, -dx]) / jnp.sqrt(dx**2 + dy**2)

    def size(self, at):
        return float(sum(self.shares))

    def segments(self):
        return np.stack([np.asarray(self.starts), np.asarray(self.ends)], axis=1)


class Triangles(AbstractSurface):
    """Triangles in three dimensions, their corners counterclockwise as seen from outside."""

    corners: Float[Array, "m 3 3"]
    areas: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, corners: np.ndarray):
        corners = np.asarray(corners)
        with precision.double():
            self.corners = jnp.asarray(corners)
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self.areas = tuple((np.linalg.norm(cross, axis=1) / 2).tolist())

    @property
    def columns(self) -> int:
        return 2

    def embed(self, v, at):
        which, along = picked(v[0], np.asarray(self.areas))
        a, b, c = self.corners[which].astype(v.dtype)
        root = jnp.sqrt(along)
        return (1 - root) * a + root * (1 - v[1]) * b + root * v[1] * c

    def normal(self, v, at):
        which, _ = picked(v[0], np.asarray(self.areas))
        a, b, c = self.corners[which].astype(v.dtype)
        n = jnp.cross(b - a, c - a)
        return n / jnp.sqrt(jnp.sum(n**2))

    def size(self, at):
        return float(sum(self.areas))


def picked(v: Scalar, sizes: np.ndarray) -> tuple[Float[Array, ""] | Array, Scalar]:
    """Which of several pieces a chart coordinate in [0, 1] falls on, by their sizes, and how far along."""
    ends = jnp.asarray(np.concatenate([[0.0], np.cumsum(sizes)]) / np.sum(sizes), jnp.result_type(float))
    which = jnp.clip(jnp.searchsorted(ends, v, side="right") - 1, 0, len(sizes) - 1)
    return which, jnp.clip((v - ends[which]) / (ends[which + 1] - ends[which]), 0.0, 1.0)
