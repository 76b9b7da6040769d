"""Steady flow in a square cavity whose lid moves."""

import xarray as xr

from .. import reference
from .._laws import Dirichlet
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import checked, recipe


def steady_flow(u, u_x, u_y, u_xx, u_yy, v, v_x, v_y, v_xx, v_yy, p_x, p_y, reynolds):
    return (
        u * u_x + v * u_y + p_x - (u_xx + u_yy) / reynolds,
        u * v_x + v * v_y + p_y - (v_xx + v_yy) / reynolds,
        u_x + v_y,
    )


def _solve(reynolds) -> xr.Dataset:
    flow = reference.lid_driven_cavity(reynolds, points=128)
    # The pressure's constant is free: zero in the middle of the floor.
    return flow[["u", "v"]].assign(p=flow["p"] - flow["p"].sel(x=0.5, y=0.0, method="nearest"))


REFERENCE = Solved(_solve)


@checked
def lid_driven_cavity(reynolds: float = 100.0, tolerance: float | None = None) -> Problem:
    """The lid-driven cavity:  (u·∇)u = −∇p + Δu/Re,  ∇·u = 0,  a lid that moves with speed 1, three walls at rest.

    The unknowns are `u`, `v` and `p` (zero in the middle of the floor). At the lid's corners the velocity jumps, so no
    network meets all conditions there. The reference is second-order finite differences on 128² cells, 1e-3 off in u
    and v. The default `tolerance` is 1e-8.
    """
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    lid, floor = domain.face(y=1), {"x": [0.5], "y": [0.0]}
    walls = [domain.face(x=0), domain.face(x=1), domain.face(y=0)]
    return Problem(
        domain=domain,
        parameters={"reynolds": reynolds},
        unknowns=("u", "v", "p"),
        objective=average(Dirichlet(1.0, on=lid, unknown="u"))
        + average(Dirichlet(0.0, on=walls, unknown="u"))
        + average(Dirichlet(0.0, unknown="v"))
        + average(Dirichlet(0.0, on=floor, unknown="p")),
        constraints={"pde": worst_case(steady_flow) <= (1e-8 if tolerance is None else tolerance)},
        reference=REFERENCE,
        recipe=recipe("lid_driven_cavity", reynolds=reynolds, tolerance=tolerance),
    )
