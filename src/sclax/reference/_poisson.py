"""Poisson's equation on the unit square."""

import numpy as np

from ._support import Manufactured, namespace


def poisson() -> Manufactured:
    """u = sin πx sin πy and f = 2π² u of  −Δu = f  on [0, 1]²,  u = 0 on the boundary. Exact.

    !!! example
        `scl.reference.poisson().solution(0.5, 0.5)`
    """

    def solution(x, y):
        xp = namespace(x, y)
        return xp.sin(np.pi * x) * xp.sin(np.pi * y)

    return Manufactured(solution, lambda x, y: 2 * np.pi**2 * solution(x, y))
