"""The Helmholtz equation with a manufactured solution."""

import jax.numpy as jnp

from .._laws import Dirichlet
from .._places import Box
from .._problem import Problem, average, worst_case
from ._settings import PaperSettings, Range, checked, even, largest, paper_objective, recipe, tight


def exact(x, y, a1, a2):
    return jnp.sin(jnp.pi * a1 * x) * jnp.sin(jnp.pi * a2 * y)


def helmholtz_law(u, u_xx, u_yy, x, y, a1, a2, k):
    return u_xx + u_yy + k**2 * u - (k**2 - jnp.pi**2 * (a1**2 + a2**2)) * exact(x, y, a1, a2)


def _domain() -> Box:
    return Box(x=(0.0, 1.0), y=(0.0, 1.0))


@checked
def helmholtz(a1: Range = 2.0, a2: Range = 3.0, k: float = 1.0, tolerance: float | None = None) -> Problem:
    """Δu + k² u = τ  on [0, 1]² with the solution  u = sin(πa₁x) sin(πa₂y),  prescribed on the boundary.

    `a1` and `a2` are numbers or ranges `(low, high)` of a family; k = 1 is far from resonance (k² = 2π² is the first
    eigenvalue). The default `tolerance` is 1e-14 of the residual's scale squared, (π²(a₁² + a₂²))².

    !!! example
        `scl.solve(scl.zoo.helmholtz(a1=(1, 2), a2=(1, 2)))`
    """
    scale = float(jnp.pi) ** 2 * (largest(a1) ** 2 + largest(a2) ** 2)
    return Problem(
        domain=_domain(),
        parameters={"a1": a1, "a2": a2, "k": k},
        objective=average(Dirichlet(exact)),
        constraints={"pde": worst_case(helmholtz_law) <= tight(scale, tolerance)},
        reference=exact,
        recipe=recipe("helmholtz", a1=a1, a2=a2, k=k, tolerance=tolerance),
    )


@checked
def paper_settings(a1: Range = (1.0, 2.0), a2: Range = (1.0, 2.0)) -> PaperSettings:
    """The paper's Table 5: (a₁, a₂) ∈ [1, 2]² (used for single pairs too, which the paper does not have) or [1, 3]²."""
    wide = max(largest(a1), largest(a2)) > 2
    scales = tuple((name, 0.2) for name in ("x", "y", "a1", "a2"))
    return PaperSettings(
        tolerance=5.0 if wide else 0.5,
        scales=scales,
        steps=200_000,
        keep=5000 if wide else 2500,
        grids=even(a1 if isinstance(a1, tuple | list) else a2, 3, 5, 6),
    )


@checked
def paper_problem(a1: Range = (1.0, 2.0), a2: Range = (1.0, 2.0)) -> Problem:
    """The problem as the paper poses it, on [0, 1]² as its text says (the authors' code has [−1, 1]²)."""
    settings = paper_settings(a1, a2)
    family = [n for n, v in (("a1", a1), ("a2", a2)) if isinstance(v, tuple | list)]
    return Problem(
        domain=_domain(),
        parameters={"a1": a1, "a2": a2, "k": 1.0},
        objective=paper_objective(settings, family, (Dirichlet(exact), 1024)),
        constraints={
            "pde": worst_case(helmholtz_law, sampler=settings.sampler("x", "y", *family)) <= settings.tolerance
        },
        reference=exact,
        recipe=recipe("helmholtz", a1=a1, a2=a2, tolerance=settings.tolerance),
    )
