"""Laws of random initial conditions. Sample i of a seed is the same function in every set and on every grid."""

import math
from typing import NamedTuple

import numpy as np

from .._base import checks

# The noise is drawn on these many points per axis, and its modes are cut to those of the grid asked for.
FINEST = {1: 1024, 2: 256}


def generator(seed: int, sample: int) -> np.random.Generator:
    """The random numbers of one sample: independent of those of every other, whatever the size of the set."""
    return np.random.default_rng([seed, sample])


class GaussianField(NamedTuple):
    """N(0, σ² (−Δ + τ²)^−γ) on the torus [0, 1]^dims, without its mean:  u = Σ_k c_k exp(2πi k·x),
    E|c_k|² = σ² (4π²|k|² + τ²)^−γ  for k ≠ 0.

    !!! example
        `scl.data.burgers("small", law=GaussianField(7.0, 7.0, 2.5))`
    """

    sigma: float
    tau: float
    gamma: float
    dims: int = 1

    def __str__(self) -> str:
        return f"N(0, {self.sigma:.6g}² (−Δ + {self.tau:g}²)^−{self.gamma:g}), mean 0"

    def energies(self, points: int) -> np.ndarray:
        """E|c_k|² in the layout of numpy's rfftn on a grid of `points` per axis; the highest mode of an even grid is
        left out, for it stands for two."""
        full = np.fft.fftfreq(points, 1 / points)
        half = np.arange(points // 2 + 1.0)
        axes = np.meshgrid(*[full] * (self.dims - 1), half, indexing="ij")
        squares = sum(k**2 for k in axes)
        energies = self.sigma**2 * (4 * np.pi**2 * squares + self.tau**2) ** -self.gamma
        kept = (squares > 0) & np.all([2 * np.abs(k) < points for k in axes], axis=0)
        return np.where(kept, energies, 0.0)

    def deviation(self, points: int | None = None) -> float:
        """The standard deviation of u at a point, on a grid of `points` per axis (by default the finest)."""
        points = points or FINEST[self.dims]
        energies = self.energies(points)
        # Every mode of the half spectrum stands for two, but those of the plane k = 0 are both there.
        return math.sqrt(2 * energies.sum() - energies[..., 0].sum())

    def scaled(self, deviation: float) -> "GaussianField":
        """The law with this standard deviation."""
        deviation = checks.positive("GaussianField", "deviation", deviation)
        return self._replace(sigma=self.sigma * deviation / self.deviation())

    def samples(self, seed: int, begin: int, end: int, points: int) -> np.ndarray:
        """Samples begin, …, end − 1, shape (end − begin, points[, points])."""
        finest = FINEST[self.dims]
        if not 4 <= points <= finest or points % 2:
            raise ValueError(f"GaussianField: `points` must be even, from 4 to {finest}, got {points}.")
        noise = np.stack([generator(seed, i).standard_normal((finest,) * self.dims) for i in range(begin, end)])
        axes = tuple(range(1, self.dims + 1))
        white = np.fft.rfftn(noise, axes=axes) / finest ** (self.dims / 2)
        # The modes of the coarser grid, in the order in which it numbers them.
        for axis in axes[:-1]:
            white = np.take(white, np.fft.fftfreq(points, 1 / points).astype(int), axis)
        white = white[..., : points // 2 + 1]
        spectrum = np.sqrt(self.energies(points)) * white * points**self.dims
        return np.fft.irfftn(spectrum, s=(points,) * self.dims, axes=axes)


# The laws of the public data sets. PINO's is the one of the paper's Burgers data.
PINO = GaussianField(625.0, 5.0, 4.0)
LI_1E3 = GaussianField(49.0, 7.0, 2.5)
LI_VORTICITY = GaussianField(7.0**1.5, 7.0, 2.5, dims=2)
