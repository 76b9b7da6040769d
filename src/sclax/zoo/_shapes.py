"""Problems on shapes with closed-form solutions: a disk with a hole, a plate with a hole, flow round an ellipse."""

import jax
import jax.numpy as jnp

from .._laws import Dirichlet, Operator
from .._places import Box, Disk, Ellipse
from .._problem import Problem, average, worst_case
from ._settings import Range, checked, recipe, tight


def ripple(x, y):
    return jnp.sin(2 * x + y) * jnp.exp(x * y)


def ripple_equation(lap_u, x, y):
    return lap_u - jnp.trace(jax.hessian(lambda z: ripple(*z))(jnp.stack([x, y])))


@checked
def disk_with_hole(tolerance: float | None = None) -> Problem:
    """Poisson's equation on a disk with a hole off its centre:  Δu = f,  u = sin(2x + y) exp(xy)  on both circles.

    The default `tolerance` is 1e-14 of the residual's scale squared, 10².

    !!! example
        `scl.solve(scl.zoo.disk_with_hole())`
    """
    return Problem(
        domain=Disk(x=0, y=0, radius=1, name="rim") - Disk(x=0.3, y=0.2, radius=0.25, name="hole"),
        objective=average(Dirichlet(ripple)),
        constraints={"pde": worst_case(ripple_equation) <= tight(10.0, tolerance)},
        reference=ripple,
        recipe=recipe("disk_with_hole", tolerance=tolerance),
    )


RADIUS, SIDE = 0.5, 2.0  # of the hole, and of a quarter of the plate


def kirsch(x, y):
    """Stresses σxx, σxy, σyy round a hole in a plate that is pulled by 1 along x."""
    square = x**2 + y**2
    a2, c, s = RADIUS**2 / square, (x**2 - y**2) / square, 2 * x * y / square
    c4, s4 = c**2 - s**2, 2 * c * s
    xx = 1 - a2 * (1.5 * c + c4) + 1.5 * a2**2 * c4
    xy = -a2 * (0.5 * s + s4) + 1.5 * a2**2 * s4
    return xx, xy, -a2 * (0.5 * c - c4) - 1.5 * a2**2 * c4


def kirsch_displacement(x, y, nu):
    """How far it moves, with Young's modulus 1 in plane stress."""
    r = jnp.sqrt(x**2 + y**2)
    ratio, kappa, c, s = RADIUS**2 / r**2, (3 - nu) / (1 + nu), (x**2 - y**2) / r**2, 2 * x * y / r**2
    scale = (1 + nu) / 2 * r  # r / 4G
    along = scale * ((kappa - 1) / 2 + c + ratio * (1 + (1 + kappa) * c) - ratio**2 * c)
    across = scale * ((1 - kappa) * ratio - 1 - ratio**2) * s
    return (along * x - across * y) / r, (along * y + across * x) / r


def traction(normal, x, y, sxx, sxy, syy):
    xx, xy, yy = (found - true for found, true in zip((sxx, sxy, syy), kirsch(x, y), strict=True))
    return xx * normal[0] + xy * normal[1], xy * normal[0] + yy * normal[1]


def balance(sxx_x, sxy_y, sxy_x, syy_y):
    return sxx_x + sxy_y, sxy_x + syy_y


STRESSES = {
    "sxx": lambda u_x, v_y, nu: (u_x + nu * v_y) / (1 - nu**2),
    "syy": lambda u_x, v_y, nu: (v_y + nu * u_x) / (1 - nu**2),
    "sxy": lambda u_y, v_x, nu: (u_y + v_x) / (2 * (1 + nu)),
}


def left(u, sxy):
    return u, sxy


def lower(v, sxy):
    return v, sxy


@checked
def plate_with_hole(nu: float = 0.3, tolerance: float | None = None) -> Problem:
    """A plate with a round hole under tension, a quarter of it, in plane stress:  ∇·σ = 0  for the displacement (u, v),
    Young's modulus 1, Poisson's ratio `nu`.

    The hole is free, the outer sides have the tractions of Kirsch's formula, so that it is the solution; `sxx`, `sxy`
    and `syy` are quantities: `solution("sxx", x=0.0, y=0.5)` is 3. The default `tolerance` is 1e-14 of 1².

    !!! example
        `scl.solve(scl.zoo.plate_with_hole())`
    """
    domain = Box(x=(0.0, SIDE), y=(0.0, SIDE)) - Disk(x=0, y=0, radius=RADIUS, name="hole")
    pulled = [domain.face(x=SIDE), domain.face(y=SIDE), domain.boundary["hole"]]
    return Problem(
        domain=domain,
        unknowns=("u", "v"),
        parameters={"nu": nu},
        quantities=STRESSES,
        objective=average(Operator(left, on=domain.face(x=0)))
        + average(Operator(lower, on=domain.face(y=0)))
        + average(Operator(traction, on=pulled)),
        constraints={"balance": worst_case(balance) <= tight(1.0, tolerance)},
        reference=kirsch_displacement,
        recipe=recipe("plate_with_hole", nu=nu, tolerance=tolerance),
    )


def joukowski(x, y, a, b):
    # The flow is symmetric, and in the upper right quarter no branch is cut.
    z, w2 = jax.lax.complex(jnp.abs(x), jnp.abs(y)), a**2 - b**2
    w = (z + jnp.sqrt(z**2 - w2)) / 2
    return jnp.sign(y) * (w + (a + b) ** 2 / 4 / w).imag - y


def harmonic(lap_psi):
    return lap_psi


def blocked(y):
    return -y


@checked
def ellipse_flow(a: Range = 0.8, b: Range = 0.5, tolerance: float | None = None) -> Problem:
    """Potential flow round an ellipse with radii `a` and `b`: the stream function is y + ψ, and the disturbance has
    Δψ = 0,  ψ = −y on the ellipse,  and at the walls of [−2, 2]² that of the whole plane, by Joukowski's map.

    Radii may be intervals, `a=(0.6, 0.9)`: one network for all of them. The default `tolerance` is 1e-14 of 1².

    !!! example
        `scl.solve(scl.zoo.ellipse_flow(a=(0.6, 0.9), b=0.5))`
    """
    domain = Box(x=(-2.0, 2.0), y=(-2.0, 2.0)) - Ellipse(x=0, y=0, radii=("a", "b"), name="body")
    walls = [domain.face(x=-2), domain.face(x=2), domain.face(y=-2), domain.face(y=2)]
    return Problem(
        domain=domain,
        parameters={"a": a, "b": b},
        unknowns="psi",
        objective=average(Dirichlet(joukowski, on=walls)) + average(Dirichlet(blocked, on=domain.boundary["body"])),
        constraints={"pde": worst_case(harmonic) <= tight(1.0, tolerance)},
        reference=joukowski,
        recipe=recipe("ellipse_flow", a=a, b=b, tolerance=tolerance),
    )
