"""Two-dimensional flow on a torus, in vorticity and stream function."""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from .. import reference
from .._laws import Dirichlet, Initial, Periodic
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import OperatorSettings, checked, recipe, tight


def vorticity(w, w_t, w_x, w_y, w_xx, w_yy, psi_x, psi_y, psi_xx, psi_yy, x, y, nu):
    force = 0.1 * (jnp.sin(2 * jnp.pi * (x + y)) + jnp.cos(2 * jnp.pi * (x + y)))
    return (
        w_t + psi_y * w_x - psi_x * w_y - nu * (w_xx + w_yy) - force,
        psi_xx + psi_yy + w,
    )


def eddies(x, y):
    """Four eddies, two of them stronger."""
    return jnp.sin(2 * jnp.pi * x) * jnp.sin(2 * jnp.pi * y) + 0.5 * jnp.cos(2 * jnp.pi * (x + 2 * y))


def stream_function(w: np.ndarray) -> np.ndarray:
    """ψ with −Δψ = w on the last two axes, zero at the origin."""
    k = np.fft.fftfreq(w.shape[-1], 1 / w.shape[-1])
    square = (2 * np.pi) ** 2 * np.add.outer(k**2, k**2)
    square[0, 0] = 1.0
    psi = np.fft.ifft2(np.fft.fft2(w) / square).real
    return psi - psi[..., :1, :1]


def _solve(nu):
    start = lambda x, y: np.asarray(eddies(x, y), float)
    w = reference.navier_stokes(start, nu, t=np.linspace(0.0, 1.0, 21), points=64)
    return xr.Dataset({"w": w, "psi": (w.dims, stream_function(w.values))})


REFERENCE = Solved(_solve)


@checked
def navier_stokes(nu: float = 1e-3, tolerance: float | None = None) -> Problem:
    """Navier-Stokes on a torus:  wₜ + u·∇w = ν Δw + f,  u = (ψ_y, −ψₓ),  −Δψ = w,  f = 0.1 (sin + cos) 2π(x + y).

    The unknowns are the vorticity `w`, which starts from four eddies, and the stream function `psi`, zero at the
    origin. The reference is Fourier collocation on 64² points with ETDRK4. The default `tolerance` is 1e-14
    of the residual's scale squared, 1².

    !!! example
        `scl.solve(scl.zoo.navier_stokes(nu=1e-3))`
    """
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))
    return Problem(
        domain=domain,
        parameters={"nu": nu},
        unknowns=("w", "psi"),
        objective=average(Initial(eddies, unknown="w"))
        + average(Periodic("x", order=1))
        + average(Periodic("y", order=1))
        + average(Dirichlet(0.0, on=domain.face(x=0, y=0), unknown="psi")),
        constraints={"pde": worst_case(vorticity) <= tight(1.0, tolerance)},
        reference=REFERENCE,
        recipe=recipe("navier_stokes", nu=nu, tolerance=tolerance),
    )


def paper_settings(nu: float = 1e-3) -> OperatorSettings:
    """The paper's Table 6 for the three viscosities, which it solves by an operator from data."""
    if nu < 1e-4:  # whose data set is smaller
        return OperatorSettings(tolerance=1e-2, train=800, validation=200, test=200, modes=8, layers=8)
    return OperatorSettings(
        tolerance=5e-2 if nu == 1e-4 else 1e-2, train=1000, validation=500, test=500, modes=8, layers=8
    )
