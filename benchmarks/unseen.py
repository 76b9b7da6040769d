"""Six problems of six kinds that no choice was made on:  python -m benchmarks.unseen [--seeds 3]

A front, a system, a long time, an oscillation, second order in time, four dimensions: `solve(problem)` and no more,
once for each seed, in processes of their own. One record in results/, as it comes.
"""

import argparse
import json

import jax.numpy as jnp
import numpy as np
import scipy.integrate
import xarray as xr

import sclax as scl

from . import _runner

SECONDS = 120
TIGHT = 1e-14  # of the residual's scale squared, as in the zoo


def front():
    """A wave of combustion: u_t = D u_xx + k u² (1 − u), a front of width 0.0045 that travels."""
    diffusion, rate = 1e-3, 100.0
    speed, steepness = np.sqrt(diffusion * rate / 2), np.sqrt(rate / (2 * diffusion))
    exact = lambda x, t: 0.5 * (1 - jnp.tanh(steepness * (x - speed * t) / 2))
    return scl.Problem(
        domain=scl.Box(x=(-1.0, 1.0), t=(0.0, 2.0)),
        objective=scl.average(scl.Initial(lambda x: exact(x, 0.0))) + scl.average(scl.Dirichlet(exact)),
        constraints={
            "pde": scl.worst_case(lambda u, u_t, u_xx: u_t - diffusion * u_xx - rate * u**2 * (1 - u))
            <= TIGHT * rate**2
        },
        reference=exact,
    )


def system():
    """Taylor and Green's vortices, which fade: u, v and p of x, y and t."""
    nu = 0.1
    fade = lambda t, n: jnp.exp(-n * nu * t)
    u = lambda x, y, t: -jnp.cos(x) * jnp.sin(y) * fade(t, 2)
    v = lambda x, y, t: jnp.sin(x) * jnp.cos(y) * fade(t, 2)
    p = lambda x, y, t: -0.25 * (jnp.cos(2 * x) + jnp.cos(2 * y)) * fade(t, 4)
    domain = scl.Box(x=(0.0, 3.0), y=(0.0, 3.0), t=(0.0, 1.0))

    def flow(u, u_t, u_x, u_y, u_xx, u_yy, v, v_t, v_x, v_y, v_xx, v_yy, p_x, p_y):
        return (
            u_t + u * u_x + v * u_y + p_x - nu * (u_xx + u_yy),
            v_t + u * v_x + v * v_y + p_y - nu * (v_xx + v_yy),
            u_x + v_y,
        )

    start = [
        scl.average(scl.Initial(lambda x, y: u(x, y, 0.0), unknown="u")),
        scl.average(scl.Initial(lambda x, y: v(x, y, 0.0), unknown="v")),
    ]
    walls = [scl.average(scl.Dirichlet(f, unknown=n)) for n, f in (("u", u), ("v", v), ("p", p))]
    return scl.Problem(
        domain=domain,
        unknowns=("u", "v", "p"),
        objective=start[0] + start[1] + walls[0] + walls[1] + walls[2],
        constraints={"flow": scl.worst_case(flow) <= TIGHT},
        reference=lambda x, y, t: (u(x, y, t), v(x, y, t), p(x, y, t)),
    )


def long_time():
    """Van der Pol's oscillator with μ = 5 to t = 60, five relaxations; against DOP853 at 1e-13."""
    mu, end = 5.0, 60.0
    times = np.linspace(0.0, end, 2001)
    field = lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]
    found = scipy.integrate.solve_ivp(field, (0, end), [2.0, 0.0], "DOP853", times, rtol=1e-13, atol=1e-13)
    return scl.Problem(
        domain=scl.Box(t=(0.0, end)),
        objective=scl.average(scl.Initial(2.0)) + scl.average(scl.Initial(0.0, order=1)),
        constraints={"ode": scl.worst_case(lambda u, u_t, u_tt: u_tt - mu * (1 - u**2) * u_t + u) <= TIGHT * 100},
        reference=xr.Dataset({"u": ("t", found.y[0])}, coords={"t": times}),
    )


def oscillation():
    """A plane wave across a square: u_xx + u_yy + 50² u = 0."""
    wave = 50.0
    exact = lambda x, y: jnp.sin(wave * (0.6 * x + 0.8 * y))
    return scl.Problem(
        domain=scl.Box(x=(0.0, 1.0), y=(0.0, 1.0)),
        objective=scl.average(scl.Dirichlet(exact)),
        constraints={"pde": scl.worst_case(lambda u, u_xx, u_yy: u_xx + u_yy + wave**2 * u) <= TIGHT * wave**4},
        reference=exact,
    )


def second_order_in_time():
    """The breather of the sine-Gordon equation: u_tt = u_xx − sin u."""
    omega = 0.6
    width = float(np.sqrt(1 - omega**2))
    exact = lambda x, t: 4 * jnp.arctan(width / omega * jnp.cos(omega * t) / jnp.cosh(width * x))
    return scl.Problem(
        domain=scl.Box(x=(-12.0, 12.0), t=(0.0, 20.0)),
        objective=scl.average(scl.Initial(lambda x: exact(x, 0.0)))
        + scl.average(scl.Initial(0.0, order=1))
        + scl.average(scl.Dirichlet(exact)),
        constraints={"pde": scl.worst_case(lambda u, u_tt, u_xx: u_tt - u_xx + jnp.sin(u)) <= TIGHT},
        reference=exact,
    )


def four_dimensions():
    """Heat in a cube: u_t = 0.05 Δu, u = exp(−0.15 π² t) sin πx sin πy sin πz."""
    exact = lambda x, y, z, t: (
        jnp.exp(-0.15 * jnp.pi**2 * t) * jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y) * jnp.sin(jnp.pi * z)
    )
    return scl.Problem(
        domain=scl.Box(x=(0.0, 1.0), y=(0.0, 1.0), z=(0.0, 1.0), t=(0.0, 1.0)),
        objective=scl.average(scl.Initial(lambda x, y, z: exact(x, y, z, 0.0))) + scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda u_t, u_xx, u_yy, u_zz: u_t - 0.05 * (u_xx + u_yy + u_zz)) <= TIGHT},
        reference=exact,
    )


PROBLEMS = {f.__name__: f for f in (front, system, long_time, oscillation, second_order_in_time, four_dimensions)}


def run_one(name, seed):
    solution = scl.solve(PROBLEMS[name](), seconds=SECONDS, seed=seed, progress=False)
    print(json.dumps({**_runner.record(solution), "chosen": repr(solution.method)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=list(PROBLEMS), action="append")
    parser.add_argument("--run", nargs=2, metavar=("PROBLEM", "SEED"), help="one run in this process")
    arguments = parser.parse_args()
    if arguments.run:
        return run_one(arguments.run[0], int(arguments.run[1]))
    for name in arguments.only or PROBLEMS:
        runs = []
        for seed in range(arguments.seeds):
            runs.append(_runner.alone("unseen", name, seed))
            print(f"{name:24} seed {seed}  {runs[-1]['relative_l2']:.2e}  {runs[-1]['seconds']:.0f} s", flush=True)
        about = {"problem": PROBLEMS[name].__doc__}
        command = f"unseen --only {name} --seeds {arguments.seeds}"
        _runner.write(f"unseen-{name}", _runner.summary(command, about, runs))


if __name__ == "__main__":
    main()
