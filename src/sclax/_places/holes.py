"""Holes of a shape, round which solutions vary as fast as the holes are small."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._base import precision
from .shapes import LOOKS, AbstractShape, Leaf
from .sobol import fixed_sobol

AWAY = 0.2  # of a hole's radius: how far from the shape its middle has to be at least
BEYOND = 1e-3  # of it: how far beyond a hole's surface one looks for the shape
AROUND = 2 / 3  # of a surface: how much of it the shape has to surround, which is half at a notch


class Hole(NamedTuple):
    """What a closed surface has in its middle where the shape is not: the middle, and its mean distance to it."""

    middle: tuple[float, ...]
    radius: float


def holes(shape: AbstractShape) -> tuple[Hole, ...]:
    """The holes of a shape in two or more dimensions that depends on no parameter."""
    if len(shape.names) < 2 or shape.parameters:
        return ()
    with jax.ensure_compile_time_eval(), precision.double():
        loops = np.stack([spots for leaf in shape.leaves() for spots in _loops(leaf, len(shape.names))])
        found = [_hole(spots) for spots in loops]
        middles, radii = np.asarray([hole.middle for hole in found]), np.asarray([hole.radius for hole in found])
        beyond = middles[:, None] + (1 + BEYOND) * (loops - middles[:, None])
        looks = jnp.asarray(np.concatenate([middles[:, None], beyond], axis=1))
        levels = np.asarray(jax.vmap(jax.vmap(lambda z: shape.level(z, {})))(looks))
    outside = levels[:, 0] > AWAY * radii
    around = np.mean(levels[:, 1:] < 0, axis=1) > AROUND
    return tuple(hole for hole, is_one in zip(found, outside & around, strict=True) if is_one)


def _hole(spots: np.ndarray) -> Hole:
    """What points on a closed surface have in their middle."""
    middle = np.mean(spots, axis=0)
    return Hole(tuple(middle.tolist()), float(np.mean(np.linalg.norm(spots - middle, axis=1))))


def _loops(leaf: Leaf, dimension: int) -> list[np.ndarray]:
    """Points on each closed part of a surface, evenly spread."""
    segments = leaf.surface.segments()
    if dimension > 2 or not len(segments):
        charts = jnp.asarray(fixed_sobol(leaf.surface.columns, LOOKS.bit_length() - 1))
        return [np.asarray(jax.vmap(lambda v: leaf.surface.embed(v, {}))(charts))]
    breaks = np.flatnonzero(np.any(segments[1:, 0] != segments[:-1, 1], axis=1)) + 1
    return [_along(loop) for loop in np.split(segments, breaks)]


def _along(loop: np.ndarray) -> np.ndarray:
    """Points at equal distances along straight edges, (edges, 2, 2)."""
    lengths = np.linalg.norm(loop[:, 1] - loop[:, 0], axis=1)
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    at = (np.arange(LOOKS) + 0.5) / LOOKS * ends[-1]
    corners = np.concatenate([loop[:, 0], loop[-1:, 1]])
    return np.stack([np.interp(at, ends, corners[:, i]) for i in range(2)], axis=1)
