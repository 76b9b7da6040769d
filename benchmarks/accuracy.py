"""Accuracy within a budget of seconds of training, on two cores:  python -m benchmarks.accuracy [--seeds 10]

`default` is `solve(problem)` and nothing else, the same for every problem, or with the network that a case names;
`paper`, `pinn` and `r3` are the paper's mode and baselines, one seed each, for the same seconds. Every run is a process
of its own; the error of a network is measured at several times, and training never sees it. One record for each problem
and method in results/, a table of the default against the bars, and a figure of error against seconds.

`--only NAME` takes one problem, `--method NAME` one method; `--table` prints and draws from the records that exist.
"""

import argparse
import json
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import sclax as scl

from . import _runner


class Case(NamedTuple):
    """A row of the table: what is solved, for how long, and the bar for the mean and, if no other, for every seed."""

    problem: str
    arguments: dict
    seconds: float
    bar: float
    paper: float | None = None  # its error, where it solves the problem
    model: str | None = None  # a network in place of the default: "MLP", or "periodic" for one that is by its embedding
    hands_over: bool = False  # polynomials do, to a network, whose curve is worth a look
    worst: float | None = None  # the bar for every seed

    @property
    def seeds(self):
        return 10 if self.seconds <= 60 else 3


CASES = {
    "convection30": Case("convection", {"beta": 30.0}, 20, 1e-9, 9.7e-3),
    "convection50": Case("convection", {"beta": 50.0}, 20, 1e-9, 3.74e-2),
    "convection80": Case("convection", {"beta": 80.0}, 20, 1e-9),
    "convection30_mlp": Case("convection", {"beta": 30.0}, 90, 1e-6, model="MLP"),
    "convection50_mlp": Case("convection", {"beta": 50.0}, 90, 1e-6, model="MLP"),
    "convection80_mlp": Case("convection", {"beta": 80.0}, 180, 1e-6, model="MLP"),
    "convection50_embedded": Case("convection", {"beta": 50.0}, 90, 1e-4, model="periodic"),
    "reaction_diffusion33": Case("reaction_diffusion", {"nu": 3.0, "rho": 3.0}, 60, 1e-5, 1.82e-2),
    "reaction_diffusion35": Case("reaction_diffusion", {"nu": 3.0, "rho": 5.0}, 60, 1e-5, 7.6e-3),
    "helmholtz23": Case("helmholtz", {"a1": 2.0, "a2": 3.0}, 20, 1e-9),
    "wave": Case("wave", {}, 20, 1e-9),
    "klein_gordon": Case("klein_gordon", {}, 20, 1e-9),
    "heat": Case("heat", {}, 20, 1e-9),
    "poisson": Case("poisson", {}, 20, 1e-9),
    "burgers": Case("burgers", {"nu": 0.01 / np.pi}, 120, 2e-6),
    "burgers_front": Case("burgers_front", {}, 120, 2e-6),
    "allen_cahn": Case("allen_cahn", {"nu": 1e-4}, 180, 2e-5),
    "kdv": Case("kdv", {}, 180, 1e-4),
    "cavity100": Case("lid_driven_cavity", {"reynolds": 100.0, "parabolic_lid": True}, 300, 5e-4),
    "cavity400": Case("lid_driven_cavity", {"reynolds": 400.0}, 300, 5e-3),
    "lorenz": Case("lorenz", {}, 120, 1e-4),
    "eikonal": Case("eikonal", {}, 300, 2e-2, 9.95e-2, hands_over=True, worst=3e-2),
}
MODELS = {
    "MLP": scl.nn.MLP,
    "periodic": lambda domain, outputs, key: scl.nn.MLP(
        domain, outputs, embedding=scl.nn.PeriodicEmbedding(domain, "x"), key=key
    ),
}
METHODS = {"default": "scl", "paper": "paper", "pinn": "pinn", "r3": "r3"}
COLOURS = dict(zip(METHODS, ("#0072b2", "#d55e00", "#cc79a7", "#e69f00"), strict=True))
NEAR = 0.05  # the lid's ends, of its length
TIMES = 6  # at which the error of a run is measured
FIRST = 0.25  # the share of the budget that has passed at the first of them


def run_one(name, method, seed):
    """One run in this process, stopped and resumed to measure its error; prints its record."""
    case = CASES[name]
    row = scl.zoo.ROWS[METHODS[method]](scl.zoo.entry(case.problem), **case.arguments)
    model = row.model if case.model is None else MODELS[case.model]
    measure = lambda found: {"seconds": found.seconds, "step": found.steps, "relative_l2": error(case, found)}
    if model is None and row.method is None and not case.hands_over:  # polynomials come to their own end
        solution = scl.solve(row.problem, seconds=case.seconds, seed=seed, progress=False)
        curve = [measure(solution)]
    else:
        shares, spent = np.geomspace(FIRST, 1.0, TIMES), {"polynomials": 0.0}
        note = lambda record: spent.update({record["by"]: record["seconds"]})
        # What polynomials took is the network's loss, also in later stages, which find them finished.
        left = lambda share, curve: share * case.seconds - (spent["polynomials"] if curve else 0.0)
        limits = lambda curve: ({"seconds": left(share, curve)} for share in shares)
        solution, curve = _runner.in_stages(row.problem, model, row.method, limits, measure, seed=seed, callback=note)
    tempered = {name: entry._asdict() for name, entry in solution.tempered.items()}
    more = {"tempered": tempered, "curve": curve, "chosen": repr(solution.method)}
    print(json.dumps({**_runner.record(solution), "relative_l2": curve[-1]["relative_l2"], **more}))


def error(case, solution):
    """The relative L2 error; of a cavity that of the velocity, away from the lid's ends where that jumps."""
    if case.problem != "lid_driven_cavity":
        return solution.error()
    truth = solution.problem.reference.grid({name: float(v) for name, v in solution.problem.parameters.items()}, {})
    away = np.minimum(np.hypot(truth.x, 1 - truth.y), np.hypot(1 - truth.x, 1 - truth.y)) > NEAR
    found = solution.grid(x=truth.x.values, y=truth.y.values)
    both = [
        np.concatenate([np.asarray((d[n] * away).transpose("x", "y")).ravel() for n in "uv"]) for d in (found, truth)
    ]
    return float(np.linalg.norm(both[0] - both[1]) / np.linalg.norm(both[1]))


def run(name, method, seeds):
    case, runs = CASES[name], []
    seeds = seeds or case.seeds
    for seed in range(seeds):
        runs.append(_runner.alone("accuracy", name, method, seed))
        error, seconds = runs[-1]["relative_l2"], runs[-1]["seconds"]
        print(f"{name:24}{method:9} seed {seed}  {error:.2e}  {seconds:.0f} s", flush=True)
    command = f"accuracy --only {name} --method {method} --seeds {seeds}"
    about = {"problem": case.problem, "arguments": case.arguments, "method": method}
    largest = float(np.max([run["relative_l2"] for run in runs]))
    _runner.write(f"accuracy-{name}-{method}", _runner.summary(command, about, runs, relative_l2_max=largest))


def stored(name, method):
    return _runner.stored(f"accuracy-{name}-{method}")


def table():
    rows = []
    for name, case in CASES.items():
        if found := stored(name, "default"):
            mean, worst = found["relative_l2_mean"], found["relative_l2_max"]
            errors = [case.paper, (mean, case.bar), (worst, case.worst or case.bar), case.bar]
            numbers = [_runner.number(*e) if isinstance(e, tuple) else _runner.number(e) for e in errors]
            counts = [str(len(found["per_seed"])), f"{found['seconds']:.0f}", f"{case.seconds:.0f}"]
            rows.append([name, *numbers, *counts])
    _runner.table(["problem", "paper", "mean", "worst", "bar", "seeds", "s", "bar"], rows)


def figure():
    names = [name for name in CASES if stored(name, "default")]
    names = [name for name in names if any(len(one["curve"]) > 1 for one in stored(name, "default")["per_seed"])]
    figure = Figure(figsize=(9.5, 2.6 * -(-len(names) // 3)), layout="constrained")
    axes = figure.subplots(-(-len(names) // 3), 3, squeeze=False).ravel()
    for axis, name in zip(axes, names, strict=False):
        for method, colour in COLOURS.items():
            found = stored(name, method)
            for k, one in enumerate(found["per_seed"] if found else ()):
                times, errors = ([point[key] for point in one["curve"]] for key in ("seconds", "relative_l2"))
                axis.semilogy(times, errors, color=colour, lw=1.4, alpha=0.8, label=method if k == 0 else None)
        axis.set_title(name.replace("_", " "), fontsize=9)
        axis.tick_params(labelsize=8, which="both")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis in axes[-3:]:
        axis.set_xlabel("seconds", fontsize=8)
    for axis in axes[::3]:
        axis.set_ylabel("relative $L_2$ error", fontsize=8)
    # Where all methods have a record.
    fullest = max(axes, key=lambda axis: len(axis.get_legend_handles_labels()[0]))
    fullest.legend(frameon=False, fontsize=8)
    figure.savefig(_runner.picture("accuracy"), dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(CASES), action="append")
    parser.add_argument("--method", choices=list(METHODS), action="append")
    parser.add_argument("--seeds", type=int, help="of the default; left out, its own number of each")
    parser.add_argument("--table", action="store_true", help="print and draw from the records, run nothing")
    parser.add_argument("--run", nargs=3, metavar=("CASE", "METHOD", "SEED"), help="one run in this process")
    arguments = parser.parse_args()
    if arguments.run:
        case, method, seed = arguments.run
        return run_one(case, method, int(seed))
    for method in [] if arguments.table else arguments.method or METHODS:
        for name in arguments.only or CASES:
            if method == "default" or (CASES[name].paper is not None and CASES[name].model is None):
                run(name, method, arguments.seeds if method == "default" else 1)
    table()
    figure()


if __name__ == "__main__":
    main()
