"""The Klein-Gordon equation with a cubic term."""

import numpy as np

from ._support import Manufactured, namespace


def klein_gordon() -> Manufactured:
    """u = x cos(5πt) + (xt)³ and f of  uₜₜ − uₓₓ + u³ = f  on x, t ∈ [0, 1]. Exact.

    !!! example
        `scl.reference.klein_gordon().solution(0.5, 0.5)`
    """

    def solution(x, t):
        return x * namespace(x, t).cos(5 * np.pi * t) + (x * t) ** 3

    def source(x, t):
        u_tt = -25 * np.pi**2 * x * namespace(x, t).cos(5 * np.pi * t) + 6 * x**3 * t
        u_xx = 6 * x * t**3
        return u_tt - u_xx + solution(x, t) ** 3

    return Manufactured(solution, source)
