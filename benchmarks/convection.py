"""Convection at β = 50 by first-order methods, error against steps:  python -m benchmarks.convection

- `persistent`: the paper's settings, multipliers by Adam, with 1000 persistent chains; three seeds by vmap;
- `pinn`, `r3`: the baselines, one seed;
- `paper`: the exact paper mode (chains restarted every step), a shorter run.

Training stops and resumes every few thousand steps to measure the error, which training never sees. One record each in
results/, and a figure. `--only NAME` runs one of them; `--figure` draws the figure from the records.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

import sclax as scl

from . import _runner

BETA = 50.0
EVERY = 2500
RUNS = {"persistent": 100_000, "pinn": 100_000, "r3": 100_000, "paper": 25_000}


def row(name):
    if name != "persistent":
        return scl.zoo.ROWS[name](scl.zoo.entry("convection"), beta=BETA)
    row = scl.zoo.ROWS["paper"](scl.zoo.entry("convection"), beta=BETA)
    return row._replace(problem=row.problem.sampled_by(scl.PersistentChains(1000)))


def run(name, steps, seeds):
    chosen = row(name)
    in_order = lambda solutions: sorted(solutions, key=lambda solution: solution.seed)

    def measure(solutions):
        errors = [solution.error() for solution in in_order(solutions)]
        print(f"{name:12} step {solutions[0].steps:7}  " + "  ".join(f"{e:.4f}" for e in errors), flush=True)
        return {"step": solutions[0].steps, "relative_l2": errors}

    limits = lambda curve: ({"steps": stop} for stop in range(EVERY, steps + 1, EVERY))
    solutions, curve = _runner.in_stages(chosen.problem, chosen.model, chosen.method, limits, measure, seeds=seeds)
    runs = [_runner.record(solution, 1_000_000) for solution in in_order(solutions)]
    about = {
        "problem": "convection",
        "arguments": {"beta": BETA},
        "method": name,
        "settings": repr(scl.zoo.paper_settings("convection", beta=BETA)),
        "steps": steps,
    }
    more = {"operator_evaluations": runs[0]["operator_evaluations"], "curve": curve}
    found = _runner.summary(f"convection --only {name}", about, runs, **more)
    print(_runner.write(f"convection50-{name}", found))


def figure():
    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axis = figure.subplots()
    for name, colour in zip(RUNS, ("#0072b2", "#cc79a7", "#e69f00", "#d55e00"), strict=True):
        found = _runner.stored(f"convection50-{name}")
        if found is None:
            continue
        curve = found["curve"]
        steps, errors = [c["step"] for c in curve], np.asarray([c["relative_l2"] for c in curve])
        axis.semilogy(steps, errors.mean(axis=1), color=colour, lw=1.5, label=name)
        if errors.shape[1] > 1:
            axis.fill_between(steps, errors.min(axis=1), errors.max(axis=1), color=colour, alpha=0.2, lw=0)
    axis.set_xlabel("step")
    axis.set_ylabel("relative $L_2$ error")
    axis.set_title("convection, $\\beta = 50$, first order", fontsize=10)
    axis.legend(frameon=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.savefig(_runner.picture("convection50"), dpi=180)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(RUNS), action="append")
    parser.add_argument("--steps", type=int, help="fewer steps, for a try")
    parser.add_argument("--figure", action="store_true", help="draw the figure from the records, run nothing")
    arguments = parser.parse_args()
    for name in [] if arguments.figure else arguments.only or RUNS:
        run(name, arguments.steps or RUNS[name], 3 if name == "persistent" else 1)
    figure()


if __name__ == "__main__":
    main()
