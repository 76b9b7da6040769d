"""Corners that point into a plane domain, at which solutions are not smooth."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .shapes import AbstractShape
from .sides import size_of

ROUND = 7200  # points of a small circle by which an angle is measured
NEAR = 1e-4  # of the shape's size: the circle's radius
BLUNT = math.radians(3)  # beyond a straight angle: less is no corner


class Corner(NamedTuple):
    """A corner of the boundary: where it is, the angle of the domain there, and the direction of its middle."""

    x: float
    y: float
    angle: float
    middle: float


def reentrant(shape: AbstractShape) -> tuple[Corner, ...]:
    """The corners of straight edges at which a plane shape has an angle of more than π."""
    if len(shape.names) != 2 or shape.parameters:
        return ()
    with jax.ensure_compile_time_eval():
        segments = np.concatenate([leaf.surface.segments() for leaf in shape.leaves()])
        turns = 2 * np.pi * (np.arange(ROUND) + 0.5) / ROUND
        circle = NEAR * size_of(shape, {}) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
        level = jax.jit(jax.vmap(lambda x: shape.level(x, {})))
        found = []
        for spot in _candidates(segments, NEAR * size_of(shape, {})):
            inside = np.asarray(level(jnp.asarray(spot + circle))) < 0
            changes = np.flatnonzero(inside != np.roll(inside, 1))
            angle = 2 * np.pi * np.mean(inside)
            if len(changes) == 2 and angle > np.pi + BLUNT:
                middle = np.angle(np.sum(np.exp(1j * turns[inside])))
                found.append(Corner(*map(float, (*spot, angle, middle))))
        return tuple(found)


def _candidates(segments: np.ndarray, near: float) -> list[np.ndarray]:
    """Ends of straight edges, and where they cross, each once."""
    spots = [*segments[:, 0], *segments[:, 1]]
    for i, (p, q) in enumerate(segments):
        for r, s in segments[i + 1 :]:
            d, e = q - p, s - r
            cross = d[0] * e[1] - d[1] * e[0]
            if abs(cross) > 1e-12:
                gap = r - p
                along = (gap[0] * e[1] - gap[1] * e[0]) / cross
                other = (gap[0] * d[1] - gap[1] * d[0]) / cross
                if 0 <= along <= 1 and 0 <= other <= 1:
                    spots.append(p + along * d)
    kept: list[np.ndarray] = []
    for spot in spots:
        if all(np.hypot(*(spot - other)) > near for other in kept):
            kept.append(spot)
    return kept
