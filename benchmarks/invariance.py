"""A symmetry in place of points:  python -m benchmarks.invariance [--mode fast] [--steps 20000] [--seeds 3]

Convection at β = 30 on 100 points that are drawn once, the paper's figure 2: a weighted sum of losses, the equation as
a constraint, and both the equation and its period. `fast` is `solve(problem)` with a network and SOAP for the sum,
`chains` the paper's first-order methods and settings with persistent chains. Every run is a process of its own; a
record for each mode in results/, as it comes, with the bar: at most 1 % with the period, above 50 % without.
"""

import argparse
import json

import numpy as np

import sclax as scl
from sclax.experiments import FIGURES, SCALES, Mode, Run
from sclax.experiments._building import BUILDERS

from . import _runner

STEPS = {"fast": 20_000, "chains": 200_000}
EXPERIMENTS = {experiment.method: experiment for experiment in FIGURES["figure2"].experiments}
GOOD, BAD = 0.01, 0.5


def run_one(mode, method, steps, seed):
    row = BUILDERS["invariance"](Run(EXPERIMENTS[method], Mode(mode), SCALES["paper"], seed))
    return scl.solve(row.problem, row.model, row.method, steps=steps, seed=seed, progress=False)


def met(runs):
    return all(
        run["scl"]["relative_l2"] <= GOOD < BAD < min(run[m]["relative_l2"] for m in run if m != "scl") for run in runs
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=list(STEPS), default="fast")
    parser.add_argument("--steps", type=int, help="default: 20000, of the paper's methods 200000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--run", nargs=4, metavar=("MODE", "METHOD", "STEPS", "SEED"), help="one run in this process")
    arguments = parser.parse_args()
    if arguments.run:
        mode, method, steps, seed = arguments.run
        return print(json.dumps(_runner.record(run_one(mode, method, int(steps), int(seed)))))
    mode, steps, runs = arguments.mode, arguments.steps or STEPS[arguments.mode], []
    for seed in range(arguments.seeds):
        runs.append({})
        for method in EXPERIMENTS:
            found = runs[-1][method] = _runner.alone("invariance", mode, method, steps, seed)
            print(f"{method:10} seed {seed}  {found['relative_l2']:.2%}  {found['seconds']:.0f} s", flush=True)
        record = {
            "command": f"python -m benchmarks.invariance --mode {mode} --steps {steps} --seeds {len(runs)}",
            "problem": "convection, β = 30, 100 fixed points",
            "bar": "at most 1 % with the period, above 50 % without",
            "met": met(runs),
            "relative_l2_mean": {m: float(np.mean([run[m]["relative_l2"] for run in runs])) for m in EXPERIMENTS},
            "per_seed": runs,
            "versions": scl.versions(),
        }
        _runner.write(f"invariance-{mode}", record)


if __name__ == "__main__":
    main()
