"""Problems on shapes and in many dimensions, by the default:  python -m benchmarks.shapes [--only NAME] [--seeds 3]

`solve(problem)` and no more, once for each seed, in processes of their own. One record in results/, as it comes.
References are formulas, a fit by exact solutions (four_disks), or finite elements on two meshes (l_shape, heat), whose
difference is in the record as the error of the reference.
"""

import argparse
import inspect
import json
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import sclax as scl
from sclax.zoo._shapes import kirsch

from . import _references, _runner

TIGHT = 1e-14  # of the residual's scale squared, as in the zoo


class Case(NamedTuple):
    problem: scl.Problem
    measured: object  # from a solution to its relative L2 error
    reference_error: float = 0.0


def relative(found, true):
    return float(np.linalg.norm(np.asarray(found) - true) / np.linalg.norm(true))


def by_points(reference):
    """The error at scattered points with known values."""
    return lambda solution: relative(solution(**reference["at"]), reference["u"])


def disk_with_hole():
    """Δu = f on a disk with a hole off its centre, u = sin(2x + y) exp(xy)."""
    return Case(scl.zoo.disk_with_hole(), lambda solution: solution.error())


def l_shape():
    """−Δu = 1 on an L, u = 0 on its boundary: a corner at which the gradient is infinite."""
    reference = _references.l_shape()
    problem = scl.Problem(
        domain=scl.Polygon({"x": [-1, 1, 1, 0, 0, -1], "y": [-1, -1, 0, 0, 1, 1]}),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda lap_u: lap_u + 1) <= TIGHT},
    )
    return Case(problem, by_points(reference), reference["error"])


def four_disks():
    """Δu = 0 on a square less four disks, u = 1 outside and 0 on the disks."""
    reference = _references.four_disks()
    square = scl.Box(x=(-0.5, 0.5), y=(-0.5, 0.5))
    domain = square
    for i, (x, y) in enumerate(_references.CENTRES):
        domain = domain - scl.Disk(x=x, y=y, radius=_references.RADIUS, name=f"hole{i}")
    holes = [domain.boundary[f"hole{i}"] for i in range(4)]
    problem = scl.Problem(
        domain=domain,
        objective=scl.average(scl.Dirichlet(1.0, on=list(square.boundary.pieces)))
        + scl.average(scl.Dirichlet(0.0, on=holes)),
        constraints={"pde": scl.worst_case(lambda lap_u: lap_u) <= TIGHT * 100},
    )
    return Case(problem, by_points(reference), reference["error"])


def heat():
    """u_t = Δu on [−8, 8] × [−12, 12] less 17 disks, u = 0 at first, Robin walls, t ≤ 3."""
    reference = _references.heat()
    box = scl.Box(x=(-8.0, 8.0), y=(-12.0, 12.0))
    domain = box
    for x, y, radius, _ in _references.DISKS:
        domain = domain - scl.Disk(x=x, y=y, radius=radius, name="warm" if radius > 0.7 else "cool")
    domain = domain * scl.Interval(t=(0.0, 3.0))
    outer = [domain.face(x=-8), domain.face(x=8), domain.face(y=-12), domain.face(y=12)]
    problem = scl.Problem(
        domain=domain,
        objective=scl.average(scl.Initial(0.0))
        + scl.average(scl.Robin(1.0, 1.0, 0.1, on=outer))
        + scl.average(scl.Robin(1.0, 1.0, 5.0, on=domain.boundary["warm"]))
        + scl.average(scl.Robin(1.0, 1.0, 1.0, on=domain.boundary["cool"])),
        constraints={"pde": scl.worst_case(lambda u_t, lap_u: u_t - lap_u) <= TIGHT},
    )
    return Case(problem, by_points(reference), reference["error"])


def by_name(function, names):
    """A function of any number of arguments as one of these names."""
    named = lambda *values: function(*values)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return named


def poisson(dimension):
    names = [f"x{i}" for i in range(dimension)]
    domain = scl.Box(**dict.fromkeys(names, (0.0, 1.0)))
    sines = lambda *point: sum(jnp.sin(jnp.pi * x / 2) for x in point)
    exact = by_name(sines, names)
    law = by_name(lambda lap_u, *point: lap_u + jnp.pi**2 / 4 * sines(*point), ["lap_u", *names])
    problem = scl.Problem(
        domain=domain,
        objective=scl.average(scl.Dirichlet(exact)),
        constraints={"pde": scl.worst_case(law) <= TIGHT},
    )
    points = np.random.default_rng(0).uniform(size=(20_000, dimension))
    at = dict(zip(names, points.T, strict=True))
    return Case(problem, by_points({"at": at, "u": np.sum(np.sin(np.pi * points / 2), axis=1)}))


def poisson5():
    """Δu = −π²/4 Σ sin(π x_i / 2) on [0, 1]⁵, Dirichlet."""
    return poisson(5)


def poisson10():
    """Δu = −π²/4 Σ sin(π x_i / 2) on [0, 1]¹⁰, Dirichlet."""
    return poisson(10)


def plate():
    """A quarter of a plate with a round hole under tension, E = 1, ν = 0.3, plane stress: Kirsch's stresses."""
    problem = scl.zoo.plate_with_hole()
    points = np.asarray(problem.domain.sobol(20_000))
    at = {"x": points[:, 0], "y": points[:, 1]}
    true = np.concatenate(kirsch(**at))
    found = lambda solution: np.concatenate([np.asarray(solution(name, **at)) for name in ("sxx", "sxy", "syy")])
    return Case(problem, lambda solution: relative(found(solution), true))


BARS = {  # the error that is asked for, and the seconds
    disk_with_hole: (1e-5, 60),
    l_shape: (5e-3, 120),
    four_disks: (3e-5, 120),
    heat: (5e-3, 300),
    poisson5: (2e-6, 120),
    poisson10: (1e-4, 300),
    plate: (1e-3, 300),
}
CASES = {case.__name__: case for case in BARS}


def run_one(name, seed, seconds=None):
    case = CASES[name]()
    solution = scl.solve(case.problem, seconds=seconds or BARS[CASES[name]][1], seed=seed, progress=False)
    record = {**_runner.record(solution), "relative_l2": case.measured(solution)}
    print(json.dumps({**record, "reference_error": case.reference_error, "chosen": repr(solution.method)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=list(CASES), action="append")
    parser.add_argument("--run", nargs=2, metavar=("PROBLEM", "SEED"), help="one run in this process")
    arguments = parser.parse_args()
    if arguments.run:
        return run_one(arguments.run[0], int(arguments.run[1]))
    for name in arguments.only or CASES:
        runs, (bar, seconds) = [], BARS[CASES[name]]
        for seed in range(arguments.seeds):
            runs.append(_runner.alone("shapes", name, seed))
            error = _runner.number(runs[-1]["relative_l2"], bar)
            print(f"{name:16} seed {seed}  {error}  {runs[-1]['seconds']:.0f} s", flush=True)
        about = {"problem": CASES[name].__doc__, "bar": bar, "seconds_of_bar": seconds}
        command = f"shapes --only {name} --seeds {arguments.seeds}"
        largest = float(np.max([run["relative_l2"] for run in runs]))
        _runner.write(f"shapes-{name}", _runner.summary(command, about, runs, relative_l2_max=largest))


if __name__ == "__main__":
    main()
