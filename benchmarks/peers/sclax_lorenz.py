"""No setting: no network, no points, no weights; the data's noise is told, and that the parameters are positive."""

import sclax as scl

from ._measurements import lorenz


def ode(x, y, z, x_t, y_t, z_t, sigma, rho, beta):
    return x_t - sigma * (y - x), y_t - x * (rho - z) + y, z_t - x * y + beta * z


def state(seed):
    times, measured, noise = lorenz(seed)
    start = {"x": -8.0, "y": 7.0, "z": 27.0}
    x, y, z = (
        scl.average(scl.Observations({"t": times}, {name: measured[:, i]}, noise=float(noise[i])))
        for i, name in enumerate(start)
    )
    return scl.Problem(
        domain=scl.Box(t=(0, 3)),
        unknowns=("x", "y", "z"),
        parameters={name: scl.Unknown(1.0, positive=True) for name in ("sigma", "rho", "beta")},
        objective=x + y + z,
        constraints={
            "ode": scl.worst_case(ode) <= 1e-2,
            **{f"start_{n}": scl.average(scl.Initial(value, unknown=n)) <= 1e-6 for n, value in start.items()},
        },
    )
