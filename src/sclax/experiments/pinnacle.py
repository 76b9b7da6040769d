"""Cases of PINNacle (Hao et al., NeurIPS 2024, arXiv 2306.08827) in the public language, with references of our own.

The metric is the root of the mean square error over that of the reference, all unknowns together. There is no setting
per case: each is `solve(problem)`.

    from sclax.experiments import pinnacle

    scl.solve(pinnacle.poisson_2d_c()).error()
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import reference, zoo
from .._laws import Dirichlet, Initial, Robin
from .._places import Box, Disk, Interval
from .._problem import Problem, average, worst_case
from ._suite import CASES as CASES

TIGHT = 1e-14  # of the residual's scale squared, as in the zoo


def burgers_1d_c(quick: bool = False) -> Problem:
    """uₜ + u uₓ = (0.01/π) uₓₓ on [−1, 1] × [0, 1],  u(x, 0) = −sin πx,  u(±1, t) = 0; exact by Cole and Hopf. The
    published reference is itself 1.3 % off."""
    return zoo.burgers_front()


def wave_1d_c(quick: bool = False) -> Problem:
    """uₜₜ = 4 uₓₓ on [0, 1]²,  u(x, 0) = sin πx + ½ sin 4πx at rest,  fixed ends; exact."""
    return zoo.wave(c=2.0)


def cooled(u_t, u_xx, u_yy):
    return u_t - u_xx / (500 * jnp.pi) ** 2 - u_yy / jnp.pi**2


def cooling(x, y, t):
    return jnp.exp(-(1 + (20 / 500) ** 2) * t) * jnp.sin(20 * jnp.pi * x) * jnp.sin(jnp.pi * y)


def ripples(x, y):
    return cooling(x, y, 0.0)


def heat_2d_ms(quick: bool = False) -> Problem:
    """uₜ = uₓₓ/(500π)² + u_yy/π² on [0, 1]² × [0, 5],  u(x, y, 0) = sin 20πx sin πy,  u = 0 on the boundary; exact."""
    return Problem(
        domain=Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 5.0)),
        objective=average(Initial(ripples)) + average(Dirichlet(0.0)),
        constraints={"pde": worst_case(cooled) <= TIGHT},
        reference=cooling,
    )


def steady_flow(u, u_x, u_y, u_xx, u_yy, v, v_x, v_y, v_xx, v_yy, p_x, p_y):
    return (
        u * u_x + v * u_y + p_x - 0.01 * (u_xx + u_yy),
        u * v_x + v * v_y + p_y - 0.01 * (v_xx + v_yy),
        u_x + v_y,
    )


def lid(x):
    return 4 * x * (1 - x)


@functools.cache
def _cavity() -> dict[str, np.ndarray]:
    """The cavity's flow at the points of its grid, less the lid's ends, where the pressure is infinite."""
    found = reference.lid_driven_cavity(100.0, parabolic_lid=True)[["u", "v", "p"]].transpose("x", "y")
    found["p"] = found["p"] - found["p"].sel(x=0.0, y=0.0)
    x, y = (axis.ravel() for axis in np.meshgrid(found.x.values, found.y.values, indexing="ij"))
    kept = ~((y == 1) & ((x == 0) | (x == 1)))
    return {"x": x[kept], "y": y[kept], **{name: found[name].values.ravel()[kept] for name in ("u", "v", "p")}}


def ns_2d_c(quick: bool = False) -> Problem:
    """Steady flow in a cavity, ν = 0.01, whose lid moves with 4x(1 − x),  p(0, 0) = 0; against a polynomial of degree
    48, whose relative L2 error is 9e-9 in u and v."""
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    walls = [domain.face(x=0), domain.face(x=1), domain.face(y=0)]
    return Problem(
        domain=domain,
        unknowns=("u", "v", "p"),
        objective=average(Dirichlet(lid, on=domain.face(y=1), unknown="u"))
        + average(Dirichlet(0.0, on=walls, unknown="u"))
        + average(Dirichlet(0.0, unknown="v"))
        + average(Dirichlet(0.0, on={"x": [0.0], "y": [0.0]}, unknown="p")),
        constraints={"pde": worst_case(steady_flow) <= TIGHT},
        reference=_cavity(),
    )


def harmonic(lap_u):
    return lap_u


def _columns(dataset: Any) -> dict[str, np.ndarray]:
    return {name: dataset[name].values for name in (*map(str, dataset.coords), "u")}


@functools.cache
def _four_disks(quick: bool) -> dict[str, np.ndarray]:
    return _columns(reference.four_disks(3, 6) if quick else reference.four_disks())


def poisson_2d_c(quick: bool = False) -> Problem:
    """Δu = 0 on a square less four disks,  u = 1 on the square and 0 on the disks; against a fit by harmonic functions,
    good to 1e-11 (`reference.four_disks().attrs["error"]`). `quick` takes few."""
    square = Box(x=(-0.5, 0.5), y=(-0.5, 0.5))
    domain: Any = square
    for i, (x, y) in enumerate(reference.FOUR_CENTRES):
        domain = domain - Disk(x=x, y=y, radius=reference.FOUR_RADIUS, name=f"hole{i}")
    holes = [domain.boundary[f"hole{i}"] for i in range(4)]
    outer = [square.face(x=-0.5), square.face(x=0.5), square.face(y=-0.5), square.face(y=0.5)]
    return Problem(
        domain=domain,
        objective=average(Dirichlet(1.0, on=outer)) + average(Dirichlet(0.0, on=holes)),
        constraints={"pde": worst_case(harmonic) <= TIGHT * 100},
        reference=_four_disks(quick),
    )


def conducted(u_t, lap_u):
    return u_t - lap_u


@functools.cache
def _plate(quick: bool) -> dict[str, np.ndarray]:
    return _columns(reference.plate_with_disks(3.2, 24) if quick else reference.plate_with_disks())


def heat_2d_cg(quick: bool = False) -> Problem:
    """uₜ = Δu on [−8, 8] × [−12, 12] less 17 disks,  u = 0 at first,  Robin walls,  t ≤ 3; against finite elements on
    two meshes, whose difference is `reference.plate_with_disks().attrs["error"]`. `quick` takes coarse ones."""
    domain: Any = Box(x=(-8.0, 8.0), y=(-12.0, 12.0))
    for x, y, radius, _ in reference.PLATE_DISKS:
        domain = domain - Disk(x=x, y=y, radius=radius, name="warm" if radius > 0.7 else "cool")
    domain = domain * Interval(t=(0.0, 3.0))
    outer = [domain.face(x=-8), domain.face(x=8), domain.face(y=-12), domain.face(y=12)]
    return Problem(
        domain=domain,
        objective=average(Initial(0.0))
        + average(Robin(1.0, 1.0, 0.1, on=outer))
        + average(Robin(1.0, 1.0, 5.0, on=domain.boundary["warm"]))
        + average(Robin(1.0, 1.0, 1.0, on=domain.boundary["cool"])),
        constraints={"pde": worst_case(conducted) <= TIGHT},
        reference=_plate(quick),
    )


def _by_name(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """A function of any number of arguments as one of these names."""

    def named(*values):
        return function(*values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # pyright: ignore
    return named


def poisson_nd(quick: bool = False, dimension: int = 5) -> Problem:
    """Δu = −π²/4 Σ sin(πxᵢ/2) on [0, 1]⁵,  u = Σ sin(πxᵢ/2) on the boundary; exact."""
    names = [f"x{i}" for i in range(dimension)]

    def sines(*point):
        return sum(jnp.sin(jnp.pi * x / 2) for x in point)

    def law(lap_u, *point):
        return lap_u + jnp.pi**2 / 4 * sines(*point)

    points = np.random.default_rng(0).uniform(size=(20_000, dimension))
    at = dict(zip(names, points.T, strict=True))
    return Problem(
        domain=Box(**dict.fromkeys(names, (0.0, 1.0))),
        objective=average(Dirichlet(_by_name(sines, names))),
        constraints={"pde": worst_case(_by_name(law, ["lap_u", *names])) <= TIGHT},
        reference={**at, "u": np.sum(np.sin(np.pi * points / 2), axis=1)},
    )


BUILD: dict[str, Callable[[bool], Problem]] = {
    "burgers_1d_c": burgers_1d_c,
    "wave_1d_c": wave_1d_c,
    "heat_2d_ms": heat_2d_ms,
    "ns_2d_c": ns_2d_c,
    "poisson_2d_c": poisson_2d_c,
    "heat_2d_cg": heat_2d_cg,
    "poisson_nd": poisson_nd,
}
