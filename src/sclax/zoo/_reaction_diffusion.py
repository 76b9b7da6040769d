"""Fisher's equation on a ring."""

import jax.numpy as jnp

from .. import reference
from .._laws import Initial, Periodic
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import PaperSettings, Range, checked, even, largest, paper_objective, recipe, tight


def fisher(u, u_t, u_xx, nu, rho):
    return u_t - nu * u_xx - rho * u * (1 - u)


def bump(x):
    return jnp.exp(-(((x - jnp.pi) / (jnp.pi / 4)) ** 2) / 2)


def value_and_slope(u, u_x, nu):
    """What agrees at both ends of the ring. Without diffusion slopes do not: the bump has a kink there, which grows."""
    return u, jnp.minimum(nu, 1.0) * u_x


def _domain() -> Box:
    return Box(x=(0.0, 2 * jnp.pi), t=(0.0, 1.0))


REFERENCE = Solved(reference.reaction_diffusion)


@checked
def reaction_diffusion(nu: Range = 3.0, rho: Range = 5.0, tolerance: float | None = None) -> Problem:
    """Fisher's equation:  uₜ = ν uₓₓ + ρ u (1 − u),  a Gaussian of width π/4 at t = 0,  periodic in x ∈ [0, 2π].

    `nu` and `rho` are numbers or ranges `(low, high)` of a family. The reference is Strang splitting extrapolated to
    order 4, with a relative L2 error of 1e-9 at (3, 5) and at most 1e-8 in the paper's families;
    `sclax.reference.reaction_diffusion_paper` is the authors', 0.7 % off. The slope is periodic too: with the value
    alone, as in the paper, a second-order equation has many solutions. The default `tolerance` is 1e-14
    of the residual's scale squared, max(ν, ρ, 1)².

    !!! example
        `scl.solve(scl.zoo.reaction_diffusion(nu=3.0, rho=5.0))`
    """
    scale = max(largest(nu), largest(rho), 1.0)
    return Problem(
        domain=_domain(),
        parameters={"nu": nu, "rho": rho},
        objective=average(Initial(bump)) + average(Periodic("x", of=value_and_slope)),
        constraints={"pde": worst_case(fisher) <= tight(scale, tolerance)},
        reference=REFERENCE,
        recipe=recipe("reaction_diffusion", nu=nu, rho=rho, tolerance=tolerance),
    )


@checked
def paper_settings(nu: Range = 3.0, rho: Range = 5.0) -> PaperSettings:
    """The paper's Tables 3 to 5: (3, 3), (3, 5) (used for every other pair), or a family by its largest coefficient."""
    top = max(largest(nu), largest(rho))
    if isinstance(nu, tuple | list) or isinstance(rho, tuple | list):
        scales = (("x", 0.5), ("t", 0.1), ("nu", 1.0), ("rho", 1.0))
        tolerance = 5e-3 if top <= 5 else 1e-2 if top <= 10 else 1e-1
        wide = nu if isinstance(nu, tuple | list) else rho
        grids = even(wide, 3, 4, 5, 6) if top <= 5 else even(wide, 3, 5, 6)
        if wide in ((1.0, 20.0), [1.0, 20.0]):
            grids = ((1.0, 10.0, 20.0), (1.0, 5.0, 10.0, 15.0, 20.0))
        return PaperSettings(tolerance=tolerance, scales=scales, steps=200_000, decay=1.0, keep=2500, grids=grids)
    tolerance = 1e-2 if (nu, rho) == (3.0, 3.0) else 5e-3
    return PaperSettings(tolerance=tolerance, scales=(("x", 0.5), ("t", 0.1)), steps=200_000, decay=1.0)


@checked
def paper_problem(nu: Range = 3.0, rho: Range = 5.0) -> Problem:
    """The problem as the paper poses it: periodic in value only, with its tolerance, points and sampler."""
    settings = paper_settings(nu, rho)
    family = [n for n, v in (("nu", nu), ("rho", rho)) if isinstance(v, tuple | list)]
    return Problem(
        domain=_domain(),
        parameters={"nu": nu, "rho": rho},
        objective=paper_objective(settings, family, (Initial(bump), 256), (Periodic("x"), 100)),
        constraints={"pde": worst_case(fisher, sampler=settings.sampler()) <= settings.tolerance},
        reference=REFERENCE,
        recipe=recipe("reaction_diffusion", nu=nu, rho=rho, tolerance=settings.tolerance),
    )
