"""Burgers' equation on a ring."""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from .. import reference
from .._laws import Initial, Periodic
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import OperatorSettings, checked, recipe, tight


def burgers_law(u, u_t, u_x, u_xx, nu):
    return u_t + u * u_x - nu * u_xx


def sine(x):
    return jnp.sin(2 * jnp.pi * x)


def _solve(nu):
    x, t = reference.periodic_grid(0.0, 1.0, 256), np.linspace(0.0, 1.0, 100)
    u = reference.burgers_sine(nu, amplitude=1.0, wavenumber=2 * np.pi)(x[:, None], t)
    return xr.DataArray(u, {"x": x, "t": t}, ("x", "t"), "u")


REFERENCE = Solved(_solve)


@checked
def burgers(nu: float = 0.01, tolerance: float | None = None) -> Problem:
    """Burgers' equation:  uₜ + u uₓ = ν uₓₓ,  u(x, 0) = sin 2πx,  periodic in x ∈ [0, 1], t ∈ [0, 1].

    A front of width about 4ν forms at x = ½. The reference is the solution of Cole and Hopf, whose integrals are exact
    to 1e-13. The default `tolerance` is 1e-14 of the residual's scale squared, (2π)².

    !!! example
        `scl.solve(scl.zoo.burgers(nu=0.01))`
    """
    return Problem(
        domain=Box(x=(0.0, 1.0), t=(0.0, 1.0)),
        parameters={"nu": nu},
        objective=average(Initial(sine)) + average(Periodic("x", order=1)),
        constraints={"pde": worst_case(burgers_law) <= tight(2 * np.pi, tolerance)},
        reference=REFERENCE,
        recipe=recipe("burgers", nu=nu, tolerance=tolerance),
    )


def paper_settings() -> OperatorSettings:
    """The paper's Table 6 for Burgers' equation, which it solves by an operator from data."""
    return OperatorSettings(tolerance=1e-3, train=800, validation=200, test=200, modes=16, layers=4)
