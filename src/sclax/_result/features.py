"""Waves in random directions and of random lengths, a basis for functions on any place in any dimension.

φ_j(z) = sin(w_j · z + b_j),   ∂^α φ_j = w_j^α sin(w_j · z + b_j + |α| π/2)
"""

from typing import NamedTuple

import numpy as np

from .._spectral import Along
from .rows import Rows

LONGEST, SHORTEST = 0.25, 16.0  # waves, of the solution's own wave numbers


class Waves(NamedTuple):
    """Wave vectors, one a row, and phases."""

    vectors: np.ndarray
    phases: np.ndarray

    def __call__(self, z: np.ndarray, along: Along) -> np.ndarray:
        """A derivative of every wave at some points, (points, waves)."""
        angles = z @ self.vectors.T + self.phases + sum(along) * np.pi / 2
        return np.sin(angles) * np.prod(self.vectors ** np.asarray(along), axis=1)

    def table(self, rows: Rows) -> np.ndarray:
        """By how much a law changes with each wave in each unknown: (points · components, unknowns · waves)."""
        assert rows.slopes is not None
        assert rows.z is not None
        points, components, many, _, unknowns = rows.slopes.shape
        powers = np.stack([np.prod(self.vectors ** np.asarray(along), axis=1) for along in rows.alongs])
        quarters = np.asarray([sum(along) % 4 for along in rows.alongs])
        total = np.zeros((points, components, unknowns, len(self.phases)))
        for k in range(many):
            angles = rows.z[:, k] @ self.vectors.T + self.phases
            turned = np.sin(angles), np.cos(angles), -np.sin(angles), -np.cos(angles)
            for quarter in np.unique(quarters):
                mine = quarters == quarter
                factors = np.einsum("pcau,aw->pcuw", rows.slopes[:, :, k, mine], powers[mine], optimize=True)
                total += factors * turned[quarter][:, None, None]
        return total.reshape(points * components, -1)


def waves(numbers: np.ndarray, middle: np.ndarray, count: int, seed: int) -> Waves:
    """Waves of many lengths along each coordinate, about those that a solution with the wave numbers `numbers` has."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.uniform(np.log(LONGEST), np.log(SHORTEST), (count, len(numbers))))
    vectors = rng.normal(size=(count, len(numbers))) * scales * numbers
    # Phases are those at the middle of the domain, so that it does not matter where the origin is.
    return Waves(vectors, rng.uniform(0, 2 * np.pi, count) - vectors @ middle)
