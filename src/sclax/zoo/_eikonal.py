"""The signed distance to a gear."""

import functools

import jax.numpy as jnp
import numpy as np
import xarray as xr

from .. import reference
from .._laws import Dirichlet, Inequality
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import PaperSettings, checked, recipe, tight


def unit_slope(u_x, u_y):
    # The small number keeps the root differentiable where the gradient vanishes.
    return jnp.sqrt(u_x**2 + u_y**2 + 1e-12) - 1


def unit_slope_squared(u_x, u_y):
    return u_x**2 + u_y**2 - 1


def negative(u):
    return -u


@functools.cache
def outline() -> dict[str, np.ndarray]:
    """2234 points on the gear's rings, equally spaced in arc length."""
    points = reference.gear().boundary(2234)
    return {"x": points[:, 0], "y": points[:, 1]}


def frame() -> dict[str, np.ndarray]:
    """40 points on the boundary of the square, ten on each side, corners doubled, as in the authors' code."""
    side, one = np.linspace(-1, 1, 10), np.ones(10)
    return {"x": np.concatenate([side, side, -one, one]), "y": np.concatenate([-one, one, side, side])}


def _distance() -> xr.Dataset:
    axis = np.linspace(-1.0, 1.0, 384)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    return xr.Dataset({"u": (("x", "y"), reference.gear().distance(x, y))}, {"x": axis, "y": axis})


REFERENCE = Solved(_distance)


def _problem(slope, power: int, limit: float, sampler, tolerance: float | None) -> Problem:
    sign = average(Inequality(negative, on=frame(), power=power))
    return Problem(
        domain=Box(x=(-1.0, 1.0), y=(-1.0, 1.0)),
        objective=average(Dirichlet(0.0, on=outline())),
        constraints={"pde": worst_case(slope, sampler=sampler) <= limit, "sign": sign <= 1e-3**power},
        reference=REFERENCE,
        recipe=recipe("eikonal", tolerance=tolerance),
    )


@checked
def eikonal(tolerance: float | None = None) -> Problem:
    """The signed distance to a gear with a round hole:  |∇u| = 1 on [−1, 1]²,  u = 0 on its outline (2234 points).

    −u solves the same equation; u ≥ 0 on the outer boundary (40 points, tolerance 1e-3 of |u|) says which is meant. The
    reference is the exact distance on 384 × 384 points. The gear stands in for the figure of Daw et al., which is not
    public; the distance is exact for its polygon. On the medial axis u has kinks, where no smooth network has slope 1:
    the default `tolerance`, 1e-14 of 1² as everywhere, cannot be met there, and no other one below 1 can.

    !!! example
        `scl.solve(scl.zoo.eikonal())`
    """
    return _problem(unit_slope, 2, tight(1.0, tolerance), None, tolerance)


def paper_settings() -> PaperSettings:
    """The paper's Tables 3 and 4 for the eikonal equation."""
    return PaperSettings(
        tolerance=0.5,
        scales=(("x", 0.2), ("y", 0.2)),
        steps=60_000,
        weights=(("objective", 500.0), ("pde", 1.0), ("sign", 10.0)),
        width=128,
    )


def paper_problem() -> Problem:
    """The problem as the authors' code poses it: residual |∇u|² − 1, and a linear loss for the sign."""
    settings = paper_settings()
    return _problem(unit_slope_squared, 1, settings.tolerance, settings.sampler(), settings.tolerance)
