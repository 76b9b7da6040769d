"""Linear transport on a ring."""

import jax.numpy as jnp

from .._laws import Initial, Periodic
from .._places import Box
from .._problem import Problem, average, worst_case
from ._settings import PaperSettings, Range, checked, even, largest, paper_objective, recipe, tight


def transport(u_t, u_x, beta):
    return u_t + beta * u_x


def wave(x):
    return jnp.sin(x)


def exact(x, t, beta):
    return jnp.sin(x - beta * t)


def _domain() -> Box:
    return Box(x=(0.0, 2 * jnp.pi), t=(0.0, 1.0))


@checked
def convection(beta: Range = 30.0, tolerance: float | None = None) -> Problem:
    """Linear transport on a ring:  uₜ + β uₓ = 0,  u(x, 0) = sin x,  periodic in x ∈ [0, 2π], t ∈ [0, 1].

    The exact solution is sin(x − βt). `beta` is the speed, or a range `(low, high)` for a family. Plain PINNs fail
    from β = 30 on. The default `tolerance` is 1e-14 of the residual's scale squared, max(β, 1)².

    !!! example
        `scl.solve(scl.zoo.convection(beta=30)).error()`
    """
    return Problem(
        domain=_domain(),
        parameters={"beta": beta},
        objective=average(Initial(wave)) + average(Periodic("x")),
        constraints={"pde": worst_case(transport) <= tight(max(largest(beta), 1.0), tolerance)},
        reference=exact,
        recipe=recipe("convection", beta=beta, tolerance=tolerance),
    )


@checked
def paper_settings(beta: Range = 30.0) -> PaperSettings:
    """The paper's Tables 3 to 6 for convection: β = 30, β = 50 (used for every other number), or a family."""
    if isinstance(beta, tuple | list):
        grids = even(beta, 4, 7, 30)
        if tuple(beta) == (1.0, 30.0):
            grids = ((1.0, 10.0, 20.0, 30.0), (1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0), *even(beta, 30))
        scales = (("x", 0.5), ("t", 0.1), ("beta", 3.0))
        return PaperSettings(tolerance=1e-3, scales=scales, steps=200_000, keep=2500, grids=grids)
    if beta <= 30:
        return PaperSettings(tolerance=1e-3, scales=(("x", 0.5), ("t", 0.1)), steps=175_000)
    return PaperSettings(tolerance=5e-3, scales=(("x", 0.5), ("t", 0.1)), steps=200_000)


@checked
def paper_problem(beta: Range = 30.0) -> Problem:
    """The problem as the paper poses it: its tolerance, points and sampler."""
    settings = paper_settings(beta)
    family = ["beta"] if isinstance(beta, tuple | list) else []
    return Problem(
        domain=_domain(),
        parameters={"beta": beta},
        objective=paper_objective(settings, family, (Initial(wave), 256), (Periodic("x"), 100)),
        constraints={"pde": worst_case(transport, sampler=settings.sampler()) <= settings.tolerance},
        reference=exact,
        recipe=recipe("convection", beta=beta, tolerance=settings.tolerance),
    )
