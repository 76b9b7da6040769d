"""Solitons on a ring."""

import jax.numpy as jnp
import numpy as np

from .. import reference
from .._laws import Initial, Periodic
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import checked, recipe, tight


def dispersion(u, u_t, u_x, u_xxx, delta):
    return u_t + u * u_x + delta * u_xxx


def start(x):
    return jnp.cos(jnp.pi * x)


def _solve(delta):
    return reference.kdv(delta, t=np.linspace(0.0, 1.0, 101), points=256)


REFERENCE = Solved(_solve)


@checked
def kdv(delta: float = 0.0025, tolerance: float | None = None) -> Problem:
    """The Korteweg-de Vries equation:  uₜ + u uₓ + δ uₓₓₓ = 0,  u(x, 0) = cos πx,  periodic in x ∈ [−1, 1].

    The wave breaks into a train of solitons. The reference is Fourier collocation with ETDRK4, converged to 5e-9. The
    default `tolerance` is 1e-14 of the residual's scale squared, about 30².

    !!! example
        `scl.solve(scl.zoo.kdv())`
    """
    return Problem(
        domain=Box(x=(-1.0, 1.0), t=(0.0, 1.0)),
        parameters={"delta": delta},
        objective=average(Initial(start)) + average(Periodic("x", order=2)),
        constraints={"pde": worst_case(dispersion) <= tight(30.0, tolerance)},
        reference=REFERENCE,
        recipe=recipe("kdv", delta=delta, tolerance=tolerance),
    )
