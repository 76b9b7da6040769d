"""A law as a function of the values and derivatives that it sees: linearised once, whatever the model.

At a point a residual depends on the unknowns through finitely many derivatives c_α = ∂^α u only. It is evaluated at the
Taylor polynomial that has them, so that code is compiled once for a law, not once for each size of a model.
"""

import itertools
import math
from collections.abc import Container
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Point
from .._laws import Law

BLOCK = 512  # points that are evaluated at once
PROBES = 64  # points that show what a law sees

Along = tuple[int, ...]  # how often along each coordinate


def orders(dimension: int, order: int, held: Container[int] = ()) -> tuple[Along, ...]:
    """All derivatives up to an order, but for those along coordinates that are held."""
    every = itertools.product(*(range(1 if i in held else order + 1) for i in range(dimension)))
    return tuple(along for along in every if sum(along) <= order)


class Germ(eqx.Module):
    """The Taylor polynomials with given derivatives at some points; at any other point that of the nearest."""

    centres: Float[Array, "k d"]
    jets: Float[Array, "k a m"]
    alongs: tuple[Along, ...] = eqx.field(static=True)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        k = jnp.argmin(jnp.sum((jax.lax.stop_gradient(z) - self.centres) ** 2, axis=1))
        s = z - self.centres[k]
        monomials = [
            math.prod([s[i] ** n / math.factorial(n) for i, n in enumerate(along)], start=jnp.ones(()))
            for along in self.alongs
        ]
        return jnp.stack(monomials) @ self.jets[k]


@eqx.filter_jit
def _seen(law: Law, parameters: Any, place: Any, w: Array) -> Any:
    return jax.vmap(lambda w: law.residual.seen(parameters, place, w))(w)


@eqx.filter_jit
def _linearised(law: Law, parameters: Any, place: Any, w: Array, jets: Array, alongs: tuple[Along, ...]) -> Any:
    def one(w, jets):
        def residual(jets):
            centres: Any = law.residual.seen(parameters, place, w)
            found = law.residual(Germ(centres, jets, alongs), parameters, place, w)
            return found, found

        return jax.jacrev(residual, has_aux=True)(jets)

    slopes, values = jax.vmap(one)(w, jets)
    return values, slopes


def seen(law: Law, parameters: Any, place: Any, w: np.ndarray) -> np.ndarray:
    """The points that the law sees from each of some points of its place: (points, of each, coordinates)."""
    return in_blocks(lambda w: (_seen(law, parameters, place, w),), w)[0]


def linearised(
    law: Law, parameters: Any, place: Any, w: np.ndarray, jets: np.ndarray, alongs: tuple[Along, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The residual at points of a place, (points, components), and its derivatives by every number of the jets."""
    values, slopes = in_blocks(lambda w, jets: _linearised(law, parameters, place, w, jets, alongs), w, jets)
    return values, slopes


def needed(law: Law, parameters: Any, place: Any, points: int, alongs: tuple[Along, ...], unknowns: int) -> Any:
    """The derivatives that a law sees, by what it changes with at random ones: tables of all would fill the memory in
    more than two dimensions. The value itself is always among them."""
    random = np.random.default_rng(0)
    w = np.asarray(place.grid(PROBES) if place.finite else place.sobol(PROBES), float)[:PROBES]
    jets = random.normal(size=(len(w), points, len(alongs), unknowns))
    _, slopes = linearised(law.uncut, parameters, place, w, jets, alongs)
    seen = np.any(slopes != 0, axis=(0, 1, 2, 4))
    return tuple(along for along, one in zip(alongs, seen, strict=True) if one or not any(along))


def in_blocks(function: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """All that a function of points gives, always of as many points at once, so that it is compiled once."""
    n = len(arrays[0])
    parts = []
    for start in range(0, n, BLOCK):
        given = [a[start : start + BLOCK] for a in arrays]
        filled = [np.concatenate([a, np.repeat(a[-1:], BLOCK - len(a), axis=0)]) for a in given]
        found = function(*(jnp.asarray(a) for a in filled))
        count = len(given[0])
        parts.append([np.asarray(leaf)[:count] for leaf in found])
    return [np.concatenate(leaves) for leaves in zip(*parts, strict=True)]
