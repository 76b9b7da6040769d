"""Families of equations, one network for every parameter:  python -m benchmarks.families

For each family the default (`solve(problem)` and nothing else), and beside it a PINN on a grid of parameters: the same
network, the same primal step and as many rows, for the same seconds or the same number of operator evaluations,
whichever is more, with the paper's weights and its grids. Every run is a process of its own, whose seconds include
compilation. Errors are over 100 or 20 x 20 parameters, against converged references; training never sees them. One
record for each family and method in results/, a table, and figures: error over the parameters, marginals of the worst
case over training, and error against steps and against operator evaluations.

`--paper EPOCHS` runs the paper's own comparison on convection: Adam, its sampler and its grid, equal epochs. `--fem`
compares with finite elements. `--dense` evaluates on the paper's dense grids. `--only NAME` and `--method NAME` take
one of each; `--figures` draws and prints from the records that exist.
"""

import argparse
import functools
import json
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

import sclax as scl
from sclax._base import replaced
from sclax._result.evaluate import default_axes

from . import _family_figures, _runner


class Case(NamedTuple):
    """A family: what is solved, the bar for its mean error, the paper's error, and the values of its dense grid."""

    problem: str
    arguments: dict
    bar: float
    paper: float
    dense: int
    seeds: int = 3
    seconds: float = 300.0  # of a run


CASES = {
    "convection": Case("convection", {"beta": (1.0, 30.0)}, 2e-6, 1.10e-2, 1000),
    "reaction_diffusion5": Case("reaction_diffusion", {"nu": (0.0, 5.0), "rho": (0.0, 5.0)}, 5e-5, 1.26e-2, 100),
    "reaction_diffusion10": Case("reaction_diffusion", {"nu": (0.0, 10.0), "rho": (0.0, 10.0)}, 3e-4, 1.33e-2, 100),
    "reaction_diffusion20": Case("reaction_diffusion", {"nu": (1.0, 20.0), "rho": (1.0, 20.0)}, 2e-4, 2.04e-2, 100),
    "helmholtz2": Case("helmholtz", {"a1": (1.0, 2.0), "a2": (1.0, 2.0)}, 2e-6, 1.25e-2, 100),
    "helmholtz3": Case("helmholtz", {"a1": (1.0, 3.0), "a2": (1.0, 3.0)}, 2e-5, 5.49e-2, 100),
}
# Two steps of the solver between frames are within 2e-7 of the converged solution, far below any bar.
QUICK = functools.partial(scl.reference.reaction_diffusion, substeps=2)
START_UP = 5.0  # seconds that importing and evaluating take
TIMES = 3  # at which the error of a run is measured
# The default, and PINNs on the paper's grids of parameters, by their place from coarse to fine.
GRIDS = {"coarse": 0, "middle": 1, "fine": -1}


def family(case):
    return scl.zoo.entry(case.problem).build(**case.arguments)


def rival(case, grid):
    """The family on a grid of parameters, with as many rows of the equation as the default draws."""
    problem = family(case)
    values = scl.zoo.paper_settings(case.problem, **case.arguments).grids[GRIDS[grid]]
    at = dict.fromkeys(problem.domain.parameters, values)
    primal = scl.GaussNewton()
    rows = primal.rows * problem.domain.dimension
    share = max(rows // len(values) ** len(at), 1)
    return problem.discretised(at, n=share), scl.Penalty(primal, weights={"objective": 100.0, "pde": 1.0})


def references(name):
    """The solutions at the parameters of the test grid, where they take a solver: made once, for all runs."""
    problem = family(CASES[name])
    if not isinstance(problem.reference, scl.Solved):
        return None
    axes = default_axes(problem)
    axes = {parameter: axes[parameter] for parameter in problem.domain.parameters}
    ends = "-".join(f"{end:g}" for axis in axes.values() for end in (axis[0], axis[-1], len(axis)))
    path = Path("runs") / f"family-{CASES[name].problem}-{ends}.npz"
    if not path.exists():
        pairs = np.stack([axis.ravel() for axis in np.meshgrid(*axes.values(), indexing="ij")], axis=-1)
        solved = [QUICK(**dict(zip(axes, map(float, pair), strict=True))) for pair in pairs]
        inner = {str(n): np.asarray(solved[0].coords[n]) for n in solved[0].dims}
        path.parent.mkdir(exist_ok=True)
        with replaced(path) as temporary, temporary.open("wb") as file:
            np.savez(file, u=np.stack([one.values for one in solved]), **inner)
    stored = dict(np.load(path))
    u = stored.pop("u")
    u = u.reshape(*(len(axis) for axis in axes.values()), *u.shape[1:])
    return xr.DataArray(u, {**axes, **stored}, (*axes, *stored), name=problem.unknowns[0])


def train(name, method, seed, keep):
    """One run in this process, stopped and resumed to measure its error; prints its record."""
    case = CASES[name]
    problem, how = (family(case), None) if method == "default" else rival(case, method)
    target = 0
    if method != "default":
        found = stored(name, "default")
        target = found["per_seed"][0]["operator_evaluations"] if found else 0
    names = problem.domain.parameters
    # The curve is measured at few parameters, the result at all.
    few, full, reference = dict.fromkeys(names, 20 if len(names) == 1 else 5), {}, references(name)
    if reference is not None:
        spread = lambda n: np.linspace(0, reference.sizes[n] - 1, few[n]).round().astype(int)
        few, full = {"reference": reference.isel({n: spread(n) for n in names})}, {"reference": reference}
        problem = problem.without_reference()  # else it is solved again for the record

    def limits(curve):
        for share in np.linspace(1 / 3, 1.0, TIMES):
            yield {"seconds": share * (case.seconds - START_UP)}
        while (done := curve[-1]["operator_evaluations"]) < target:
            rate = done / curve[-1]["step"]
            yield {"steps": curve[-1]["step"] + int(np.ceil((target - done) / rate))}

    def measure(solution):
        errors = solution.error_map(progress=False, **few)
        return {"seconds": solution.seconds, **point(solution, errors), "relative_l2_worst": float(errors.max())}

    if method == "default":  # polynomials come to their own end, and a network after them to its
        solution = scl.solve(problem, seconds=case.seconds, seed=seed, progress=False)
        curve = [measure(solution)]
    else:
        solution, curve = _runner.in_stages(problem, None, how, limits, measure, seed=seed)
    Path(keep).parent.mkdir(exist_ok=True)
    solution.save(keep)
    errors = solution.error_map(progress=False, **full)
    residuals = solution.residual_map(progress=False)["rms"].values.tolist()
    more = {"residuals": residuals, "curve": curve, "chosen": repr(solution.method)}
    print(json.dumps({**_runner.record(solution, errors=errors), **as_lists(errors), **more}))


def point(solution, errors):
    """A point of a curve of errors over training."""
    evaluations = solution.operator_evaluations
    return {"step": solution.steps, "operator_evaluations": evaluations, "relative_l2": float(errors.mean())}


def as_lists(errors):
    """The errors over the parameters, for a record."""
    return {"errors": errors.values.tolist(), "parameters": {n: errors.coords[n].values.tolist() for n in errors.dims}}


def run(name, method, seeds):
    case, runs = CASES[name], []
    references(name)
    for seed in range(seeds):
        r = _runner.alone("families", name, method, seed, solution_file(name, method, seed))
        runs.append(r)
        print(
            f"{name:22}{method:9} seed {seed}  mean {r['relative_l2']:.2e}  worst {r['relative_l2_worst']:.2e}  "
            f"{r['seconds']:.0f} s  {r['operator_evaluations']:.2e} evaluations",
            flush=True,
        )
    about = {"problem": case.problem, "arguments": case.arguments, "method": method}
    worst = float(np.max([r["relative_l2_worst"] for r in runs]))
    found = _runner.summary(
        f"families --only {name} --method {method} --seeds {seeds}", about, runs, relative_l2_worst=worst
    )
    _runner.write(f"family-{name}-{method}", found)


def solution_file(name, method, seed=0):
    return Path("runs") / f"family-{name}-{method}-seed{seed}.scl"


def stored(name, method):
    return _runner.stored(f"family-{name}-{method}")


def table():
    rows = []
    for name, case in CASES.items():
        for method in ("default", *GRIDS):
            if found := stored(name, method):
                paper, bar = (case.paper, case.bar) if method == "default" else (None, None)
                mean, worst = _runner.number(found["relative_l2_mean"], bar), f"{found['relative_l2_worst']:.1e}"
                counts = [str(len(found["per_seed"])), f"{found['seconds']:.0f}"]
                evaluations = f"{found['per_seed'][0]['operator_evaluations']:.1e}"
                bars = [_runner.number(paper), mean, _runner.number(bar)]
                rows.append([name, method, *bars, worst, *counts, evaluations])
    _runner.table(["family", "method", "paper", "mean", "bar", "worst", "seeds", "s", "evaluations"], rows)


def figures():
    for name in CASES:
        found = {method: one for method in ("default", *GRIDS) if (one := stored(name, method))}
        if "default" in found:
            _family_figures.errors(name, found)
            _family_figures.curves(name, found)
            if solution_file(name, "default").exists():
                picture = _runner.picture(f"family-{name}-marginals")
                scl.load(solution_file(name, "default")).plot_marginals(picture)


# --- the paper's dense grids, its own comparison, and finite elements -----------------------------------------------


def dense(name):
    """The error of the default on the paper's dense grid, in bounded memory; needs the run's solution in runs/."""
    case = CASES[name]
    solution = scl.load(solution_file(name, "default"))
    counts = dict.fromkeys(solution.problem.domain.parameters, case.dense)
    start = time.perf_counter()
    errors = solution.error_map(reference=scl.Solved(QUICK) if case.problem == "reaction_diffusion" else None, **counts)
    about = {
        "command": f"python -m benchmarks.families --dense --only {name}",
        "parameters": counts,
        "relative_l2_mean": float(errors.mean()),
        "relative_l2_median": float(errors.median()),
        "relative_l2_worst": float(errors.max()),
        "seconds": time.perf_counter() - start,
        "peak_memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "versions": scl.versions(),
    }
    print(json.dumps(about))
    _runner.write(f"family-{name}-dense", about)


def paper(epochs):
    """The paper's comparison on convection: its sampler and multipliers against its PINNs, equal epochs of Adam."""
    case = CASES["convection"]
    entry = scl.zoo.entry(case.problem)
    rows = {"paper": scl.zoo.ROWS["paper"](entry, **case.arguments)}
    for grid, place in GRIDS.items():
        values = scl.zoo.paper_settings(case.problem, **case.arguments).grids[place]
        rows[grid] = scl.zoo.ROWS["pinn"](entry, at={"beta": values}, **case.arguments)
    found = {}
    for method, row in rows.items():
        solution, curve = _runner.in_stages(
            row.problem,
            row.model,
            row.method,
            lambda curve: ({"steps": int(share * epochs)} for share in np.linspace(0.25, 1.0, 4)),
            lambda solution: point(solution, solution.error_map(progress=False)),
        )
        errors, evaluations = solution.error_map(progress=False), solution.operator_evaluations
        found[method] = {
            "relative_l2_mean": float(errors.mean()),
            "relative_l2_worst": float(errors.max()),
            "operator_evaluations": evaluations,
            "seconds": solution.seconds,
            "curve": curve,
            **as_lists(errors),
        }
        print(f"{method:8} mean {errors.mean():.2e} worst {errors.max():.2e} {evaluations:.2e} evaluations", flush=True)
    about = {"command": f"python -m benchmarks.families --paper {epochs}", "epochs": epochs, "seed": 0}
    _runner.write("family-convection-paper", {**about, **found, "versions": scl.versions()})
    _family_figures.paper(found, epochs)


def fem():
    """Helmholtz on [1, 2]²: after how many parameters has training paid off against finite elements as accurate?"""
    found = stored("helmholtz2", "default")
    target, training = found["relative_l2_mean"], found["seconds"]
    pairs = [tuple(pair) for pair in np.random.default_rng(0).uniform(1, 2, (8, 2))]
    table = {}
    for order in (1, 2, 3):
        for cells in (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256):
            errors = [scl.reference.helmholtz_fem(a1, a2, cells, order).attrs["error"] for a1, a2 in pairs]
            if np.mean(errors) <= target:
                start = time.perf_counter()
                for a1, a2 in pairs:
                    scl.reference.helmholtz_fem(a1, a2, cells, order)
                seconds = (time.perf_counter() - start) / len(pairs)
                table[order] = {"cells": cells, "relative_l2": float(np.mean(errors)), "seconds": seconds}
                break
    best = min(table, key=lambda order: table[order]["seconds"])
    solution = scl.load(solution_file("helmholtz2", "default"))
    cells = table[best]["cells"]
    axis = np.linspace(0, 1, cells + 1)
    surrogate = lambda a1, a2: solution(x=axis[:, None], y=axis[None, :], a1=a1, a2=a2).block_until_ready()
    surrogate(1.5, 1.5)
    start = time.perf_counter()
    for a1, a2 in pairs:
        surrogate(a1, a2)
    seconds = (time.perf_counter() - start) / len(pairs)
    saved = table[best]["seconds"] - seconds
    even = float(training / saved) if saved > 0 else None
    about = {
        "command": "python -m benchmarks.families --fem",
        "training_seconds": training,
        "surrogate_relative_l2": target,
        "surrogate_seconds": seconds,
        "fem": table,
        "fastest_order": best,
        "pays_off_after": even,
        "versions": scl.versions(),
    }
    print(json.dumps(about, indent=1))
    _runner.write("family-helmholtz2-fem", about)
    _family_figures.fem(about)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--method", choices=("default", *GRIDS))
    parser.add_argument("--seeds", type=int, help="of the default; left out, its own number of each")
    parser.add_argument("--run", nargs=4, metavar=("NAME", "METHOD", "SEED", "FILE"))
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--paper", type=int, metavar="EPOCHS")
    parser.add_argument("--fem", action="store_true")
    given = parser.parse_args()
    if given.run:
        return train(given.run[0], given.run[1], int(given.run[2]), given.run[3])
    if given.paper:
        return paper(given.paper)
    if given.fem:
        return fem()
    for name in [given.only] if given.only else CASES:
        if given.dense:
            dense(name)
            continue
        for method in [given.method] if given.method else ("default", "fine"):
            if not given.figures:
                run(name, method, given.seeds or CASES[name].seeds if method == "default" else 1)
    if not given.dense:
        table()
        figures()


if __name__ == "__main__":
    main()
