"""Burgers' equation from a sine wave, in closed form up to an integral."""

from collections.abc import Callable

import numpy as np

from .._base import checks

# exp(−48) is lost beside 1 in float64 with room to spare.
DEEP = 48.0
# Nodes within one standard deviation of the narrowest peak: the trapezoidal rule is then exact to round-off.
NODES = 3
BLOCK = 2**21  # values at a time, which bounds memory


def burgers_sine(nu: float, amplitude: float = -1.0, wavenumber: float = np.pi) -> Callable[..., np.ndarray]:
    """u(x, t) of  uₜ + u uₓ = ν uₓₓ,  u(x, 0) = a sin kx  on the line, after Cole and Hopf.

    u is the mean of a sin k(x − η) over η with the density exp(a cos k(x − η)/(2νk) − η²/(4νt)), up to its norm. The
    integrals are taken by the trapezoidal rule, which converges geometrically, and from the largest exponent down, so
    that no ν overflows. Odd and periodic, u solves the problem with u = 0 at x = ±π/k, and the one on a ring, too.

    Measured for −sin πx on x ∈ [−1, 1], t ∈ [0, 1] by doubling the nodes, largest error: 2e-15 at ν = 0.01/π (3e-15
    against Gauss and Hermite's quadrature), 2e-14 at 0.001/π, 3e-13 at 0.0001/π. 256 × 100 points take 0.25 s at
    ν = 0.01/π.

    !!! example
        `burgers_sine(0.01 / np.pi)(np.linspace(-1, 1, 256)[:, None], np.linspace(0, 1, 100))`
    """
    owner = "burgers_sine"
    nu, a = checks.positive(owner, "nu", nu), checks.number(owner, "amplitude", amplitude)
    k = checks.positive(owner, "wavenumber", wavenumber)

    def at_one_time(x: np.ndarray, t: float) -> np.ndarray:
        if t == 0 or a == 0:
            return a * np.sin(k * x)
        # Beyond |a| t no characteristic comes from, and the exponent falls at least as fast as a Gaussian's.
        reach = abs(a) * t + np.sqrt(4 * nu * t * DEEP)
        narrowest = np.sqrt(2 * nu / (k * abs(a) + 1 / t))
        eta = np.linspace(-reach, reach, 2 * int(np.ceil(NODES * reach / narrowest)) + 1)
        blocks = np.array_split(x, max(1, x.size * eta.size // BLOCK))
        return np.concatenate([_mean(k * (block[:, None] - eta), eta**2 / (4 * nu * t)) for block in blocks])

    def _mean(phase: np.ndarray, distance: np.ndarray) -> np.ndarray:
        exponent = a * np.cos(phase) / (2 * nu * k) - distance
        weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return a * np.sum(weights * np.sin(phase), axis=1) / np.sum(weights, axis=1)

    def solution(x, t):
        x, t = np.broadcast_arrays(np.asarray(x, float), np.asarray(t, float))
        if np.any(t < 0):
            raise ValueError(f"{owner}: `t` must not be negative, got {t.min()}: diffusion cannot be run backwards.")
        found = np.empty(x.shape)
        for time in np.unique(t):
            now = t == time
            found[now] = at_one_time(x[now], float(time))
        return found

    return solution
