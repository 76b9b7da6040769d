"""Diffusion through a porous medium that binds what passes."""

import jax
import numpy as np

from .. import reference
from .._laws import Dirichlet, Initial, Operator
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import OperatorSettings, checked, recipe, tight

DIFFUSIVITY, POROSITY, DENSITY, SORPTION, EXPONENT = 5e-4, 0.29, 2880.0, 3.5e-4, 0.874


def retardation(u):
    """R(u) = 1 + (1 − φ)/φ ρₛ k n uⁿ⁻¹; a network may be negative for a while, where the power is not defined."""
    return 1 + (1 - POROSITY) / POROSITY * DENSITY * SORPTION * EXPONENT * (jax.nn.relu(u) + 1e-6) ** (EXPONENT - 1)


def sorption(u, u_t, u_xx):
    return retardation(u) * u_t - DIFFUSIVITY * u_xx


def outlet_of_the_generator(u, u_x):
    return u + DIFFUSIVITY * u_x


def outlet_of_the_text(u, u_x):
    return u - DIFFUSIVITY * u_x


def start(c0):
    return c0


def _solve(c0):
    return reference.diffusion_sorption(c0, t=np.linspace(0.0, 500.0, 100))


REFERENCE = Solved(_solve)


@checked
def diffusion_sorption(c0: float = 0.1, tolerance: float | None = None, text_outlet: bool = False) -> Problem:
    """Diffusion with sorption:  R(u) uₜ = D uₓₓ,  u(x, 0) = c₀,  u(0, t) = 1,  u(1, t) = −D uₓ(1, t),  D = 5e-4.

    `c0` is the initial concentration. `text_outlet=True` has the paper's text, u(1, t) = +D uₓ(1, t), in place of the
    sign of the code that made its data. That problem has no bounded solution (a mode exp((x − 1)/D) grows at the rate
    1/(D R), about 500 per unit of time), hence no reference. The default reference is a method of lines on 1024 cells,
    converged to 5e-5 early and 5e-7 late. The default `tolerance` is 1e-14 of the residual's scale squared,
    (D uₓₓ)² with uₓₓ about 100.

    !!! example
        `scl.solve(scl.zoo.diffusion_sorption(c0=0.1))`
    """
    outlet = outlet_of_the_text if text_outlet else outlet_of_the_generator
    domain = Box(x=(0.0, 1.0), t=(0.0, 500.0))
    return Problem(
        domain=domain,
        parameters={"c0": c0},
        objective=average(Initial(start))
        + average(Dirichlet(1.0, on=domain.face(x=0)))
        + average(Operator(outlet, on=domain.face(x=1))),
        constraints={"pde": worst_case(sorption) <= tight(100 * DIFFUSIVITY, tolerance)},
        reference=None if text_outlet else REFERENCE,
        recipe=recipe("diffusion_sorption", c0=c0, tolerance=tolerance, text_outlet=text_outlet),
    )


def paper_settings() -> OperatorSettings:
    """The paper's Table 6 for diffusion-sorption, which it solves by an operator from data."""
    return OperatorSettings(tolerance=1e-3, train=1000, validation=500, test=500, modes=8, layers=5)
