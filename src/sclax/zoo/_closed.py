"""Standard problems with closed-form solutions: waves, heat, Poisson, Klein-Gordon."""

import jax.numpy as jnp

from .. import reference
from .._laws import Dirichlet, Initial
from .._places import Box
from .._problem import Problem, average, worst_case
from ._settings import checked, largest, recipe, tight


def string(u_tt, u_xx, c):
    return u_tt - c**2 * u_xx


def plucked(x, t, c):
    return jnp.cos(jnp.pi * c * t) * jnp.sin(jnp.pi * x) + 0.5 * jnp.cos(4 * jnp.pi * c * t) * jnp.sin(4 * jnp.pi * x)


def plucked_start(x):
    return plucked(x, 0.0, 0.0)


@checked
def wave(c: float = 2.0, tolerance: float | None = None) -> Problem:
    """A plucked string:  uₜₜ = c² uₓₓ,  u(x, 0) = sin πx + ½ sin 4πx at rest,  fixed ends.

    The solution is cos πct sin πx + ½ cos 4πct sin 4πx. The default `tolerance` is 1e-14 of the residual's scale
    squared, ((4πc)²/2)².

    !!! example
        `scl.solve(scl.zoo.wave(c=2.0))`
    """
    scale = (4 * float(jnp.pi) * largest(c)) ** 2 / 2
    return Problem(
        domain=Box(x=(0.0, 1.0), t=(0.0, 1.0)),
        parameters={"c": c},
        objective=average(Initial(plucked_start)) + average(Initial(0.0, order=1)) + average(Dirichlet(0.0)),
        constraints={"pde": worst_case(string) <= tight(scale, tolerance)},
        reference=plucked,
        recipe=recipe("wave", c=c, tolerance=tolerance),
    )


def conduction(u_t, u_xx, alpha):
    return u_t - alpha * u_xx


def cooling(x, t, alpha):
    return jnp.exp(-alpha * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)


def cooling_start(x):
    return jnp.sin(jnp.pi * x)


@checked
def heat(alpha: float = 0.1, tolerance: float | None = None) -> Problem:
    """Heat in a rod:  uₜ = α uₓₓ,  u(x, 0) = sin πx,  cold ends.  The solution is exp(−απ²t) sin πx.

    The default `tolerance` is 1e-14 of the residual's scale squared, max(απ², 1)².

    !!! example
        `scl.solve(scl.zoo.heat(alpha=0.1))`
    """
    scale = max(largest(alpha) * float(jnp.pi) ** 2, 1.0)
    return Problem(
        domain=Box(x=(0.0, 1.0), t=(0.0, 1.0)),
        parameters={"alpha": alpha},
        objective=average(Initial(cooling_start)) + average(Dirichlet(0.0)),
        constraints={"pde": worst_case(conduction) <= tight(scale, tolerance)},
        reference=cooling,
        recipe=recipe("heat", alpha=alpha, tolerance=tolerance),
    )


def membrane(u_xx, u_yy, x, y):
    return u_xx + u_yy + reference.poisson().source(x, y)


def poisson_exact(x, y):
    return reference.poisson().solution(x, y)


@checked
def poisson(tolerance: float | None = None) -> Problem:
    """Poisson's equation on a square:  −Δu = 2π² sin πx sin πy,  u = 0 on the boundary;  u = sin πx sin πy.

    The default `tolerance` is 1e-14 of the residual's scale squared, (2π²)².

    !!! example
        `scl.solve(scl.zoo.poisson())`
    """
    return Problem(
        domain=Box(x=(0.0, 1.0), y=(0.0, 1.0)),
        objective=average(Dirichlet(0.0)),
        constraints={"pde": worst_case(membrane) <= tight(2 * float(jnp.pi) ** 2, tolerance)},
        reference=poisson_exact,
        recipe=recipe("poisson", tolerance=tolerance),
    )


def cubic_wave(u, u_tt, u_xx, x, t):
    return u_tt - u_xx + u**3 - reference.klein_gordon().source(x, t)


def klein_gordon_exact(x, t):
    return reference.klein_gordon().solution(x, t)


def klein_gordon_start(x):
    return x


@checked
def klein_gordon(tolerance: float | None = None) -> Problem:
    """The nonlinear Klein-Gordon equation:  uₜₜ − uₓₓ + u³ = f  with the solution  u = x cos 5πt + (xt)³.

    The default `tolerance` is 1e-14 of the residual's scale squared, (25π²)².

    !!! example
        `scl.solve(scl.zoo.klein_gordon())`
    """
    return Problem(
        domain=Box(x=(0.0, 1.0), t=(0.0, 1.0)),
        objective=average(Initial(klein_gordon_start))
        + average(Initial(0.0, order=1))
        + average(Dirichlet(klein_gordon_exact)),
        constraints={"pde": worst_case(cubic_wave) <= tight(25 * float(jnp.pi) ** 2, tolerance)},
        reference=klein_gordon_exact,
        recipe=recipe("klein_gordon", tolerance=tolerance),
    )
