"""What data and laws say together:  python -m benchmarks.knowledge [--only diffusion] [--seeds 3]

Unknown coefficients and how sure they are, wrong sensors, and what multipliers promise. Laws are constraints with
tolerances, the misfit of noisy data is the objective, and `solve(problem)` chooses all else. Every run is a process of
its own; one record for each case in results/, as it comes, with its bar.
"""

import argparse
import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate
import scipy.optimize

import sclax as scl

from . import _prices, _runner

SECONDS = 120
NOISE = 0.01
SHORT = 150  # steps, where many runs are compared


# --- what is told of a run ---


def best(curve, truth, measured, noise):
    """What the data themselves allow: the most likely numbers if `curve(*numbers)` is the exact solution at the
    sensors, and their standard deviations. No method is better than this but by luck."""
    misfit = lambda c: (np.asarray(curve(*c)) - measured) / noise
    at = list(truth.values())  # differences are wide, since JAX is in single precision out here
    found = scipy.optimize.least_squares(misfit, at, "3-point", x_scale=at, diff_step=1e-3)
    spread = np.sqrt(np.diagonal(np.linalg.inv(found.jac.T @ found.jac)))
    named = lambda values: dict(zip(truth, map(float, values), strict=True))
    return {"most_likely": named(found.x), "least_deviations": named(spread)}


def told(solution, truth, **more):
    """The record of unknown numbers: found, deviations by the estimate and from the truth, and all of the run."""
    estimates = {name: solution.estimates[name] for name in truth}
    return {
        "truth": truth,
        "found": {name: one.value for name, one in estimates.items()},
        "deviations": {name: one.deviation for name, one in estimates.items()},
        "intervals": {
            name: [end if np.isfinite(end) else None for end in one.interval] for name, one in estimates.items()
        },
        "identifiable": {name: one.identifiable for name, one in estimates.items()},
        "covered": {name: bool(one.interval[0] <= truth[name] <= one.interval[1]) for name, one in estimates.items()},
        "relative_errors": {name: abs(one.value / truth[name] - 1) for name, one in estimates.items()},
        **more,
        **_runner.record(solution),
    }


def worst_error(run):
    return max(run["relative_errors"].values())


# --- unknown numbers ---


def heat(seed, sensors, pde, curve, truth, unknowns):
    """A rod with noisy sensors: what is measured is the objective, what is known are constraints. Also what is best."""
    draw = np.random.default_rng(seed)
    x, t = draw.uniform(size=(2, sensors))
    exact = lambda x, t: curve(x, t, **truth)
    u = np.asarray(exact(x, t)) + NOISE * draw.standard_normal(sensors)
    problem = scl.Problem(
        domain=scl.Box(x=(0, 1), t=(0, 1)),
        parameters=unknowns,
        objective=scl.average(scl.Observations({"x": x, "t": t}, u, noise=NOISE)),
        constraints={
            "pde": pde,
            "start": scl.average(scl.Initial(lambda x: exact(x, 0.0))) <= 1e-6,
            "walls": scl.average(scl.Dirichlet(0.0)) <= 1e-6,
        },
        reference=exact,
    )
    return problem, best(lambda *c: curve(x, t, *c), truth, u, NOISE)


def sourced(x, t, D, s):
    """u_t = D u_xx + s from sin 2πx, as a series."""
    odd = jnp.arange(1, 200, 2)
    waves = 4 / (jnp.pi * odd) ** 3 * jnp.sin(jnp.pi * odd * jnp.asarray(x)[..., None])
    fading = jnp.sum(waves * jnp.exp(-D * (jnp.pi * odd) ** 2 * jnp.asarray(t)[..., None]), axis=-1)
    return jnp.exp(-D * 4 * jnp.pi**2 * t) * jnp.sin(2 * jnp.pi * x) + s / D * (x * (1 - x) / 2 - fading)


def fading(x, t, D):
    """u_t = D u_xx from sin πx."""
    return jnp.exp(-D * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)


def diffusion(seed):
    """Diffusion coefficient and source rate of u_t = D u_xx + s from sin 2πx, by 100 sensors with 1 % noise.

    D = 0.05, s = 1 and this start were chosen so that the data tell both to 0.5 %. From sin πx with D = 0.3 they tell
    them to 2 % and 3 % only: both parts of the solution have one shape, and s/D is almost all that is seen."""
    truth = {"D": 0.05, "s": 1.0}
    pde = scl.worst_case(lambda u_t, u_xx, D, s: u_t - D * u_xx - s) <= 1e-5
    unknowns = {"D": scl.Unknown(1.0, positive=True), "s": scl.Unknown(0.0)}
    problem, limit = heat(seed, 100, pde, sourced, truth, unknowns)
    return told(scl.solve(problem, seconds=SECONDS, seed=seed, progress=False), truth, **limit)


def lorenz(seed):
    """The three parameters of Lorenz's system from 25 times with 1 % noise, t in [0, 3]; as in DeepXDE's example."""
    truth = {"sigma": 10.0, "rho": 15.0, "beta": 8 / 3}
    start, times = {"x": -8.0, "y": 7.0, "z": 27.0}, np.linspace(0, 3, 26)[1:]

    def slopes(x, y, z, sigma, rho, beta):
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    def ode(x, y, z, x_t, y_t, z_t, sigma, rho, beta):
        return tuple(a - b for a, b in zip((x_t, y_t, z_t), slopes(x, y, z, sigma, rho, beta), strict=True))

    def curve(*numbers):
        slope, span = lambda t, q: slopes(*q, *numbers), (0, 3)
        return scipy.integrate.solve_ivp(slope, span, list(start.values()), "DOP853", times, rtol=1e-11, atol=1e-11).y

    draw, exact = np.random.default_rng(seed), curve(*truth.values())
    noise = NOISE * np.std(exact, axis=1)
    measured = exact + noise[:, None] * draw.standard_normal(exact.shape)
    limit = best(lambda *c: curve(*c).ravel(), truth, measured.ravel(), np.repeat(noise, len(times)))
    misfits = [
        scl.average(scl.Observations({"t": times}, {name: values}, noise=float(one)))
        for name, values, one in zip(start, measured, noise, strict=True)
    ]
    problem = scl.Problem(
        domain=scl.Box(t=(0, 3)),
        unknowns=tuple(start),
        parameters={name: scl.Unknown(1.0, positive=True) for name in truth},
        objective=misfits[0] + misfits[1] + misfits[2],
        constraints={
            "ode": scl.worst_case(ode) <= 1e-2,  # slopes are of size 100
            **{f"start_{n}": scl.average(scl.Initial(value, unknown=n)) <= 1e-6 for n, value in start.items()},
        },
    )
    return told(scl.solve(problem, seconds=SECONDS, seed=seed, progress=False), truth, **limit)


def coverage(seed):
    """Is the diffusion coefficient in its 95 % interval? A short run for each seed."""
    truth = {"D": 0.3}
    pde = scl.worst_case(lambda u_t, u_xx, D: u_t - D * u_xx) <= 1e-6
    problem, limit = heat(seed, 50, pde, fading, truth, {"D": scl.Unknown(1.0, positive=True)})
    return told(scl.solve(problem, steps=SHORT, seed=seed, progress=False), truth, **limit)


def product(seed):
    """Two rates that only appear as a product, a b = 0.3: the data determine neither."""
    pde = scl.worst_case(lambda u_t, u_xx, a, b: u_t - a * b * u_xx) <= 1e-6
    unknowns = {name: scl.Unknown(1.0, positive=True) for name in "ab"}
    problem, _ = heat(seed, 50, pde, fading, {"D": 0.3}, unknowns)
    solution = scl.solve(problem, steps=SHORT, seed=seed, progress=False)
    a, b = (solution.estimates[name] for name in "ab")
    more = {"product": a.value * b.value, "notes": [a.note, b.note]}
    return told(solution, {"a": 0.3**0.5, "b": 0.3**0.5}, **more)


# --- an unknown function ---


def field(seed):
    """The coefficient a(x, y) of −div(a grad u) = f from 2500 sensors with 1 % noise."""
    true_a = lambda x, y: 1 + 0.6 * jnp.exp(-15 * ((x - 0.4) ** 2 + (y - 0.6) ** 2))
    true_u = lambda x, y: jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)

    def source(x, y):
        flux = lambda z: true_a(*z) * jax.grad(lambda z: true_u(*z))(z)
        return -jnp.trace(jax.jacfwd(flux)(jnp.stack([x, y])))

    def pde(u_x, u_y, u_xx, u_yy, a, a_x, a_y, x, y):
        return a * (u_xx + u_yy) + a_x * u_x + a_y * u_y + source(x, y)

    draw = np.random.default_rng(seed)
    x, y = draw.uniform(size=(2, 2500))
    u = np.asarray(true_u(x, y)) + NOISE * draw.standard_normal(2500)
    problem = scl.Problem(
        domain=scl.Box(x=(0, 1), y=(0, 1)),
        parameters={"a": scl.UnknownField(("x", "y"), positive=True)},
        objective=scl.average(scl.Observations({"x": x, "y": y}, u, noise=NOISE)),
        constraints={
            "pde": scl.worst_case(pde) <= 1e-3,  # of f², which is about 100
            "walls": scl.average(scl.Dirichlet(0.0)) <= 1e-6,
        },
    )
    solution = scl.solve(problem, seconds=SECONDS, seed=seed, progress=False)
    estimate = solution.estimates["a"]
    inside = estimate.value
    truth = np.asarray(true_a(*np.meshgrid(inside.x, inside.y, indexing="ij")))
    low, high = (np.asarray(end) for end in estimate.interval)
    return {
        "relative_errors": {"a": float(np.linalg.norm(inside - truth) / np.linalg.norm(truth))},
        "share_covered": float(np.mean((low <= truth) & (truth <= high))),
        "identifiable": {"a": estimate.identifiable},
        **_runner.record(solution),
    }


# --- wrong sensors ---


def outliers(seed):
    """Of 50 sensors five are wrong: do they have the five largest multipliers, and what is left after they gave way?

    The start is known. Without it a wrong sensor at an early time contradicts nothing: some start explains it."""
    draw = np.random.default_rng(seed)
    exact = lambda x, t: jnp.exp(-0.1 * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)
    x, t = draw.uniform(0.05, 0.95, size=(2, 50))
    wrong = draw.choice(50, 5, replace=False)
    u = np.array(exact(x, t)) + NOISE * draw.standard_normal(50)
    u[wrong] += draw.choice([-1, 1], 5) * draw.uniform(0.2, 0.4, 5)
    sensors = scl.Observations({"x": x, "t": t}, u)
    pde = scl.worst_case(lambda u_t, u_xx: u_t - 0.1 * u_xx) <= 1e-4
    ends = scl.average(scl.Dirichlet(0.0)) + scl.average(scl.Initial(lambda x: jnp.sin(jnp.pi * x)))

    def solved(objective, relax=False, **constraints):
        problem = scl.Problem(
            domain=scl.Box(x=(0, 1), t=(0, 1)),
            objective=objective,
            constraints={"pde": pde, **constraints},
            reference=exact,
        )
        return scl.solve(problem, steps=SHORT, seed=seed, relax=relax, progress=False)

    fits = scl.each(sensors) <= (4 * NOISE) ** 2
    first, clean = solved(ends, sensors=fits), solved(ends, relax=True, sensors=fits)
    suspects = first.hardest(5).sample.values
    return {
        "wrong": sorted(map(int, wrong)),
        "suspects": sorted(map(int, suspects)),
        "hits": len(set(map(int, wrong)) & set(map(int, suspects))),
        "gave_way": {name: np.flatnonzero(raised).tolist() for name, raised in clean.relaxed.items()},
        "error_contradicted": first.error(),
        "error_least_squares": solved(ends + scl.average(sensors)).error(),
        **_runner.record(clean),
    }


# --- the cases, their bars, and the command ---


class Case(NamedTuple):
    run: object  # from a seed to a record
    seeds: int
    bar: str
    good: object  # whether all runs together meet the bar
    shown: object  # a run in words


def _errors(run):
    return ", ".join(f"{name} off by {error:.2%}" for name, error in run["relative_errors"].items())


CASES = {
    "diffusion": Case(diffusion, 3, "each within 1 %", lambda runs: max(map(worst_error, runs)) < 0.01, _errors),
    "lorenz": Case(lorenz, 3, "each within 0.5 %", lambda runs: max(map(worst_error, runs)) < 0.005, _errors),
    "field": Case(field, 3, "3 % in relative L2", lambda runs: max(map(worst_error, runs)) < 0.03, _errors),
    "coverage": Case(
        coverage,
        20,
        "the truth in 17 of 20 intervals",
        lambda runs: sum(run["covered"]["D"] for run in runs) >= 0.85 * len(runs),
        lambda run: f"{_errors(run)}, covered: {run['covered']['D']}",
    ),
    "product": Case(
        product,
        1,
        "neither is identifiable",
        lambda runs: not any(known for run in runs for known in run["identifiable"].values()),
        lambda run: f"a b = {run['product']:.4f}, identifiable: {run['identifiable']}",
    ),
    "outliers": Case(
        outliers,
        5,
        "the five wrong ones have the five largest multipliers",
        lambda runs: all(run["hits"] == 5 for run in runs),
        lambda run: f"{run['hits']} of 5, error {run['relative_l2']:.2%}, squares {run['error_least_squares']:.2%}",
    ),
    "prices": Case(
        lambda seed: _prices.prices(seed, 4 * SHORT),
        1,
        "predictions off by at most 30 %, on three boundary value problems, on samples and on an inequality",
        lambda runs: all(_prices.good(run) for run in runs),
        _prices.shown,
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="default: as many as the case has")
    parser.add_argument("--only", choices=list(CASES), action="append")
    parser.add_argument("--run", nargs=2, metavar=("CASE", "SEED"), help="one run in this process")
    arguments = parser.parse_args()
    if arguments.run:
        name, seed = arguments.run
        return print(json.dumps(CASES[name].run(int(seed))))
    for name in arguments.only or CASES:
        case, runs = CASES[name], []
        seeds = arguments.seeds or case.seeds
        for seed in range(seeds):
            runs.append(_runner.alone("knowledge", name, seed))
            print(f"{name:10} seed {seed}  {case.shown(runs[-1])}  {runs[-1]['seconds']:.0f} s", flush=True)
        met = bool(case.good(runs))
        print(f"{name:10} {case.bar}: {'met' if met else 'MISSED'}")
        record = {
            "command": f"python -m benchmarks.knowledge --only {name} --seeds {seeds}",
            "problem": case.run.__doc__ or _prices.prices.__doc__,
            "bar": case.bar,
            "met": met,
            "seconds": float(np.max([run["seconds"] for run in runs])),
            "per_seed": runs,
            "versions": scl.versions(),
        }
        _runner.write(f"knowledge-{name}", record)


if __name__ == "__main__":
    main()
