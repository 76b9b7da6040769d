"""One mode of the heat equation."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base import checks
from ._support import namespace


def heat(alpha: float = 0.1, mode: int = 1) -> Callable[..., Any]:
    """u(x, t) = exp(−α(nπ)²t) sin(nπx):  uₜ = α uₓₓ,  u = 0 at x = 0 and 1. Exact; `mode` is n.

    !!! example
        `scl.reference.heat(alpha=0.1)(x=0.5, t=0.5)`
    """
    alpha, n = checks.positive("heat", "alpha", alpha), checks.count("heat", "mode", mode)

    def solution(x, t):
        xp = namespace(x, t)
        return xp.exp(-alpha * (n * np.pi) ** 2 * t) * xp.sin(n * np.pi * x)

    return solution
