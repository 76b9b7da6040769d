"""What was measured of Lorenz's system: 25 times with 1 % noise, the same for every package."""

import numpy as np
from scipy.integrate import solve_ivp

START = (-8.0, 7.0, 27.0)
TRUTH = {"sigma": 10.0, "rho": 15.0, "beta": 8 / 3}
NOISE = 0.01  # of each component's spread


def lorenz(seed):
    """Times [25], measured x, y, z [25, 3], and the standard deviation of their noise [3]."""
    sigma, rho, beta = TRUTH.values()
    times = np.linspace(0, 3, 26)[1:]
    slopes = lambda t, q: (sigma * (q[1] - q[0]), q[0] * (rho - q[2]) - q[1], q[0] * q[1] - beta * q[2])
    exact = solve_ivp(slopes, (0, 3), START, "DOP853", times, rtol=1e-11, atol=1e-11).y
    noise = NOISE * np.std(exact, axis=1)
    return times, (exact + noise[:, None] * np.random.default_rng(seed).standard_normal(exact.shape)).T, noise
