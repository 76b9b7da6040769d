"""Burgers' equation between two walls, where a front stands still."""

import math

import jax.numpy as jnp
import numpy as np
import xarray as xr

from .. import reference
from .._laws import Dirichlet, Initial
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._burgers import burgers_law
from ._settings import checked, recipe, tight


def wave(x):
    return -jnp.sin(jnp.pi * x)


def _solve(nu):
    x, t = np.linspace(-1.0, 1.0, 256), np.linspace(0.0, 1.0, 100)
    return xr.DataArray(reference.burgers_sine(nu)(x[:, None], t), {"x": x, "t": t}, ("x", "t"), "u")


REFERENCE = Solved(_solve)


@checked
def burgers_front(nu: float = 0.01 / math.pi, tolerance: float | None = None) -> Problem:
    """Burgers' equation between walls:  uₜ + u uₓ = ν uₓₓ,  u(x, 0) = −sin πx,  u(±1, t) = 0,  x ∈ [−1, 1], t ∈ [0, 1].

    The setting in which most errors are published, with ν = 0.01/π. A front of width about 4ν forms at x = 0 by
    t = 1/π and stands there. The reference is the solution of Cole and Hopf, exact to 1e-13 for ν ≥ 1e-4/π. The default
    `tolerance` is 1e-14 of the residual's scale squared, π².

    !!! example
        `scl.solve(scl.zoo.burgers_front())`
    """
    return Problem(
        domain=Box(x=(-1.0, 1.0), t=(0.0, 1.0)),
        parameters={"nu": nu},
        objective=average(Initial(wave)) + average(Dirichlet(0.0)),
        constraints={"pde": worst_case(burgers_law) <= tight(math.pi, tolerance)},
        reference=REFERENCE,
        recipe=recipe("burgers_front", nu=nu, tolerance=tolerance),
    )
