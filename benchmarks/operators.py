"""Operators from data, one multiplier for each sample against the average loss:  python -m benchmarks.operators

The same data, network, optimiser, batches and number of steps; only the measure differs. At `small`, three seeds (one
for the smaller viscosities of Navier-Stokes), and for Burgers the equation as a further constraint. With seed 0 a
control: the average loss as one constraint, with one multiplier for all samples, which grows over training as those of
the samples do. What the control gains is not due to telling samples apart. One record for each problem,
results/<problem>-small.json, with figures of validation errors over training and of the multipliers.

`--only NAME` takes one problem, `--method NAME` one of the methods; `--scale tiny` tries it out; `--figures` draws from
the records that exist.
"""

import argparse
import dataclasses
import json
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import sclax as scl
from sclax._base import changed
from sclax._problem import samples
from sclax._result import plot

from . import _runner


class Case(NamedTuple):
    """A problem, its arguments, how many seeds, and the bar for the ratio of test errors."""

    problem: str
    arguments: dict
    seeds: int
    bar: float | None
    paper: float | None


CASES = {
    "burgers_operator": Case("burgers_operator", {}, 3, 0.9, 0.82),
    "diffusion_sorption_operator": Case("diffusion_sorption_operator", {}, 3, 0.9, 0.80),
    "navier_stokes_operator": Case("navier_stokes_operator", {"nu": 1e-3}, 3, 0.95, 0.77),
    "navier_stokes_operator-1e-4": Case("navier_stokes_operator", {"nu": 1e-4}, 1, None, None),
    "navier_stokes_operator-1e-5": Case("navier_stokes_operator", {"nu": 1e-5}, 1, None, None),
}
PHYSICS = 1e-3  # the tolerance of Burgers' equation on the operator's output
COLOURS = {"average": plot.ACCENT, "scl": plot.SECOND, "scl_physics": "#009e73", "control": "#cc79a7"}
LABELS = {
    "average": "average loss",
    "scl": "SCL, a multiplier each",
    "scl_physics": "SCL with the equation",
    "control": "one multiplier for all",
}


def methods(case, scale):
    """The methods of a problem, each with its number of seeds."""
    seeds = case.seeds if scale == "small" else 1
    physics = {"scl_physics": seeds} if case.problem == "burgers_operator" else {}
    return {"average": seeds, "scl": seeds, **physics, **({"control": 1} if case.bar else {})}


def chosen(case, method, scale):
    """What a method trains, and how."""
    entry = scl.zoo.entry(case.problem)
    if method == "scl_physics":
        return scl.zoo.ROWS["scl"](entry, scale=scale, **case.arguments, physics=PHYSICS)
    if method != "control":
        return scl.zoo.ROWS[method](entry, scale=scale, **case.arguments)
    row = scl.zoo.ROWS["average"](entry, scale=scale, **case.arguments)
    (term,) = row.problem.terms
    tolerance = jnp.asarray(row.model.settings.tolerance)
    one = changed(row.problem, terms=(dataclasses.replace(term, owner="data"),), tolerances={"data": tolerance})
    return row._replace(problem=one)


def train(name, method, seed, scale):
    """One run in this process; prints its record."""
    case = CASES[name]
    row = chosen(case, method, scale)
    solution = scl.solve(row.problem, row.model, row.method, seed=seed, steps=row.steps, progress=False)
    splits = {split: solution.errors(split) for split in ("train", "validation", "test")}
    report = solution.check()
    found = {
        "seed": seed,
        "relative_l2": solution.error(),
        "relative_l2_last": solution.last_error,
        **{f"{split}_errors": errors.tolist() for split, errors in splits.items()},
        "validation": solution.history["merit"].tolist(),
        "steps": solution.steps,
        "seconds": solution.seconds,
        "operator_evaluations": solution.operator_evaluations,
        "sup_residual": report.sup_residual,
        "violations": {f.name: f.violation for f in report.findings if f.violation is not None},
        "multipliers_mean": {constraint: float(np.mean(m)) for constraint, m in solution.multipliers.items()},
    }
    if case.problem.startswith("diffusion"):
        problem = row.problem
        found["nearest_neighbour"] = float(samples.nearest_neighbour(problem.train, problem.test).mean())
        found["interpolation"] = float(samples.interpolation(problem.train, problem.test).mean())
    if method == "scl" and seed == 0:
        solution.plot_multipliers(_runner.picture(f"{name}-{scale}-multipliers"))
        solution.plot(_runner.picture(f"{name}-{scale}-solution"))
    print(json.dumps(found))


def run(name, scale, only=None):
    """All methods, or `only` one beside what is recorded of the others."""
    case, found = CASES[name], stored(name, scale)
    runs = found["runs"] if only and found else {}
    # Made once, before anything is timed.
    scl.zoo.entry(case.problem).build(scale=scale, **case.arguments)
    for method, seeds in methods(case, scale).items():
        if only not in (None, method):
            continue
        runs[method] = []
        for seed in range(seeds):
            r = _runner.alone("operators", name, method, seed, scale)
            runs[method].append(r)
            print(
                f"{name:30}{method:12} seed {seed}  test {r['relative_l2']:.3e}  worst {max(r['test_errors']):.2e}  "
                f"last {r['relative_l2_last']:.3e}  {r['seconds']:.0f} s",
                flush=True,
            )
    errors = {method: [r["relative_l2"] for r in found] for method, found in runs.items()}
    mean = {method: float(np.mean(found)) for method, found in errors.items()}
    about = {
        "command": f"python -m benchmarks.operators --only {name}",
        "problem": case.problem,
        "arguments": case.arguments,
        "scale": scale,
        **mean,
        "ratio": mean["scl"] / mean["average"] if {"scl", "average"} <= set(mean) else None,
        "paper_ratio": case.paper,
        "lists": errors,
        "spread": {method: float(np.std(found)) for method, found in errors.items()},
        "runs": runs,
        "versions": scl.versions(),
    }
    _runner.write(f"{name}-{scale}", about)


def stored(name, scale):
    return _runner.stored(f"{name}-{scale}")


def table(scale):
    rows = []
    for name, case in CASES.items():
        found = stored(name, scale)
        if found is None or found["ratio"] is None:
            continue
        worst = {m: np.mean([max(r["test_errors"]) for r in found["runs"][m]]) for m in ("average", "scl")}
        mark = _runner.ABOVE if case.bar is not None and found["ratio"] > case.bar else ""
        bars = [str(bar or "–") for bar in (case.bar, case.paper)]
        errors = [f"{found[method]:.2e}" for method in ("average", "scl")]
        rows.append([name, *errors, f"{found['ratio']:.2f}{mark}", *bars, *(f"{w:.2e}" for w in worst.values())])
        for method in ("scl_physics", "control"):
            if method in found:
                same = found["lists"]["average"][: len(found["lists"][method])]  # of the same seeds
                ratio = found[method] / np.mean(same)
                rows.append([f"  {LABELS[method]}", "", f"{found[method]:.2e}", f"{ratio:.2f}", "", "", "", ""])
    _runner.table(["problem", "average", "scl", "ratio", "bar", "paper", "worst: average", "scl"], rows)


def figures(scale):
    names = [name for name in CASES if stored(name, scale)]
    if not names:
        return
    figure, axes = plot.subplots(len(names), width=3.2, height=2.8)
    for axis, name in zip(axes, names, strict=True):
        for method, runs in stored(name, scale)["runs"].items():
            for k, one in enumerate(runs):
                text = LABELS[method] if k == 0 else None
                axis.semilogy(one["validation"], color=COLOURS[method], lw=1.1, alpha=0.8, label=text)
        axis.set_title(name.replace("_", " "), fontsize=9)
        axis.set_xlabel("epoch", fontsize=9)
    axes[0].set_ylabel("validation error", fontsize=9)
    axes[0].legend(frameon=False, fontsize=8)
    plot.finish(figure, _runner.picture(f"operators-{scale}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--method", choices=LABELS)
    parser.add_argument("--scale", default="small")
    parser.add_argument("--run", nargs=4, metavar=("NAME", "METHOD", "SEED", "SCALE"))
    parser.add_argument("--figures", action="store_true")
    given = parser.parse_args()
    if given.run:
        return train(given.run[0], given.run[1], int(given.run[2]), given.run[3])
    if not given.figures:
        for name in [given.only] if given.only else CASES:
            run(name, given.scale, given.method)
    table(given.scale)
    figures(given.scale)


if __name__ == "__main__":
    main()
