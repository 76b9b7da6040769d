"""Polynomials on boxes side by side: what `Spectral` finds."""

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Point
from ._chebyshev import polynomials


class Tiles(eqx.Module):
    """Products of Chebyshev polynomials on each of several boxes:

        u(z) = Σ_a c_a^k T_{a₁}(ẑ₁) ⋯ T_{a_d}(ẑ_d)  on box number k,  which ẑ runs over from −1 to 1.

    On a face that boxes share the first of them counts, outside of all the nearest.

    **Arguments:** `lower` and `upper`, the corners of the boxes, one a row, and their `coefficients`, an array for each
    box: (outputs, polynomials along each side). Their shapes may differ.

    !!! example
        |x| on [−1, 1], of two lines: `Tiles([[-1.0], [0.0]], [[0.0], [1.0]], [[[0.5, -0.5]], [[0.5, 0.5]]])`
    """

    fitted: ClassVar[bool] = True  # to all laws at once, without multipliers

    lower: Float[Array, "k d"]
    upper: Float[Array, "k d"]
    coefficients: Float[Array, "k m *terms"]

    def __init__(self, lower: Sequence, upper: Sequence, coefficients: Sequence):
        corners = np.asarray(lower, float), np.asarray(upper, float)
        parts = [np.asarray(part, float) for part in coefficients]
        if corners[0].ndim != 2 or corners[0].shape != corners[1].shape or len(parts) != len(corners[0]):
            raise ValueError(
                f"Tiles: `lower` and `upper` have a row for each box, got shapes {corners[0].shape} and "
                f"{corners[1].shape} for {len(parts)} arrays of `coefficients`."
            )
        if not np.all(corners[0] < corners[1]):
            raise ValueError("Tiles: every number of `upper` must be above that of `lower`.")
        if len({part.shape[0] for part in parts}) != 1 or {part.ndim for part in parts} != {corners[0].shape[1] + 1}:
            raise ValueError(
                "Tiles: `coefficients` have the shape (outputs, polynomials along each side), with as many outputs on "
                f"every box, got {[part.shape for part in parts][:3]} in {corners[0].shape[1]} dimensions."
            )
        shape = np.max([part.shape for part in parts], axis=0)
        filled = [np.pad(part, [(0, n - m) for n, m in zip(shape, part.shape, strict=True)]) for part in parts]
        self.lower, self.upper = map(jnp.asarray, corners)
        self.coefficients = jnp.asarray(np.stack(filled))

    def __call__(self, z: Point) -> Float[Array, " m"]:
        lower, upper = jax.lax.stop_gradient((self.lower, self.upper))  # corners are no weights
        away = jnp.maximum(jnp.maximum(lower - z, z - upper), 0.0)
        # With one box there is nothing to look up, which would copy its coefficients for every point.
        k = 0 if len(lower) == 1 else jnp.argmin(jnp.sum(jax.lax.stop_gradient(away) ** 2, axis=1))
        values = self.coefficients[k]
        for x, n in reversed(
            list(zip(2 * (z - lower[k]) / (upper[k] - lower[k]) - 1, self.coefficients.shape[2:], strict=True))
        ):
            values = values @ polynomials(x, n)
        return values

    @property
    def looked_up(self) -> int:
        """How many numbers are copied for each of many points."""
        return 0 if len(self.lower) == 1 else int(np.prod(self.coefficients.shape[1:]))
