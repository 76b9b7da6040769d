"""Steady flow in a square cavity whose lid moves."""

import functools

import xarray as xr

from .. import reference
from .._laws import Dirichlet
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import checked, recipe, tight


def steady_flow(u, u_x, u_y, u_xx, u_yy, v, v_x, v_y, v_xx, v_yy, p_x, p_y, reynolds):
    return (
        u * u_x + v * u_y + p_x - (u_xx + u_yy) / reynolds,
        u * v_x + v * v_y + p_y - (v_xx + v_yy) / reynolds,
        u_x + v_y,
    )


def parabola(x):
    return 4 * x * (1 - x)


def _solve(parabolic_lid: bool, reynolds: float) -> xr.Dataset:
    return reference.lid_driven_cavity(reynolds, parabolic_lid=parabolic_lid)[["u", "v", "p"]]


# By whether the lid's speed is a parabola.
REFERENCES = {parabolic: Solved(functools.partial(_solve, parabolic)) for parabolic in (False, True)}


@checked
def lid_driven_cavity(reynolds: float = 100.0, tolerance: float | None = None, parabolic_lid: bool = False) -> Problem:
    """The lid-driven cavity:  (u·∇)u = −∇p + Δu/Re,  ∇·u = 0,  a lid that moves with speed 1, three walls at rest.

    The unknowns are `u`, `v` and `p` (zero in the middle of the floor). At the lid's ends the velocity jumps, so no
    network meets all conditions there; with `parabolic_lid=True` the lid moves with 4x(1 − x), and u and v are
    continuous. The reference is a polynomial of degree 48 plus what is not smooth at the lid's ends in closed form, on
    129² points. In u and v its relative L2 error is 9e-9 under the parabola and 3e-6 under speed 1 at Re = 100, 2e-5 at
    Re = 400, and largest at the lid's ends, where p is infinite. The default `tolerance` is 1e-14 of the residual's
    scale squared, 1².

    !!! example
        `scl.solve(scl.zoo.lid_driven_cavity(parabolic_lid=True))`
    """
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    lid, floor = domain.face(y=1), {"x": [0.5], "y": [0.0]}
    walls = [domain.face(x=0), domain.face(x=1), domain.face(y=0)]
    return Problem(
        domain=domain,
        parameters={"reynolds": reynolds},
        unknowns=("u", "v", "p"),
        objective=average(Dirichlet(parabola if parabolic_lid else 1.0, on=lid, unknown="u"))
        + average(Dirichlet(0.0, on=walls, unknown="u"))
        + average(Dirichlet(0.0, unknown="v"))
        + average(Dirichlet(0.0, on=floor, unknown="p")),
        constraints={"pde": worst_case(steady_flow) <= tight(1.0, tolerance)},
        reference=REFERENCES[bool(parabolic_lid)],
        recipe=recipe("lid_driven_cavity", reynolds=reynolds, tolerance=tolerance, parabolic_lid=parabolic_lid),
    )
