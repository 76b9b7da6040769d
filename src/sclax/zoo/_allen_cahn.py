"""Phase separation on a ring."""

import jax.numpy as jnp
import numpy as np

from .. import reference
from .._laws import Initial, Periodic
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import checked, recipe, tight


def phase(u, u_t, u_xx, nu):
    return u_t - nu * u_xx - 5 * (u - u**3)


def start(x):
    return x**2 * jnp.cos(jnp.pi * x)


def _solve(nu):
    return reference.allen_cahn(nu, t=np.linspace(0.0, 1.0, 101), points=512).isel(x=slice(None, None, 2))


REFERENCE = Solved(_solve)


@checked
def allen_cahn(nu: float = 1e-4, tolerance: float | None = None) -> Problem:
    """The Allen-Cahn equation:  uₜ = ν uₓₓ + 5 (u − u³),  u(x, 0) = x² cos πx,  periodic in x ∈ [−1, 1].

    Sharp layers of width √ν form. The reference is Fourier collocation on 16384 points with ETDRK4; the start's kink at
    the seam limits it to 1e-6 at t = 0.01, 7e-12 at t = 1 and 1e-8 in relative L2. The default `tolerance` is 1e-14 of
    the residual's scale squared, 5².

    !!! example
        `scl.solve(scl.zoo.allen_cahn(nu=1e-4))`
    """
    return Problem(
        domain=Box(x=(-1.0, 1.0), t=(0.0, 1.0)),
        parameters={"nu": nu},
        objective=average(Initial(start)) + average(Periodic("x", order=1)),
        constraints={"pde": worst_case(phase) <= tight(5.0, tolerance)},
        reference=REFERENCE,
        recipe=recipe("allen_cahn", nu=nu, tolerance=tolerance),
    )
