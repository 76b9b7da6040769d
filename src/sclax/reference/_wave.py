"""A string plucked in two modes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .._base import checks
from ._support import namespace

PLUCKED: Mapping[int, float] = MappingProxyType({1: 1.0, 4: 0.5})


def wave(speed: float = 2.0, modes: Mapping[int, float] = PLUCKED) -> Callable[..., Any]:
    """u(x, t) = Σ aₙ cos(nπct) sin(nπx):  uₜₜ = c² uₓₓ,  u = 0 at x = 0 and 1,  at rest at t = 0. Exact.

    `modes` maps n to aₙ; by default u(x, 0) = sin πx + ½ sin 4πx.

    !!! example
        `scl.reference.wave(2.0)(x=0.5, t=0.5)`
    """
    c = checks.positive("wave", "speed", speed)
    terms = [(checks.count("wave", "modes", n), checks.number("wave", "modes", a)) for n, a in modes.items()]

    def solution(x, t):
        xp = namespace(x, t)
        return sum(a * xp.cos(n * np.pi * c * t) * xp.sin(n * np.pi * x) for n, a in terms)

    return solution
