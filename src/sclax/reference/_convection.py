"""Linear transport on a ring."""

from collections.abc import Callable
from typing import Any

from .._base import checks
from ._support import namespace


def convection(beta: float) -> Callable[..., Any]:
    """u(x, t) = sin(x − βt):  uₜ + β uₓ = 0,  u(x, 0) = sin x,  periodic in x ∈ [0, 2π]. Exact.

    !!! example
        `scl.reference.convection(30.0)(x=1.0, t=0.5)`
    """
    beta = checks.number("convection", "beta", beta)
    return lambda x, t: namespace(x, t).sin(x - beta * t)
