"""SIGKILL at random moments:  python -m benchmarks.kills [--kills 50] [--seed 0]

A process solves convection with the default method, the controller on and a checkpoint after every chunk. It is killed
at a random moment, from its start to a little after the time that a whole run takes, and started again on the same
checkpoint, until it ends by itself; then another run begins. Every run that ends is compared with one that nobody
killed: weights, multipliers and history, bit for bit. The record is results/kills.json.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import sclax as scl

from ._runner import write

STEPS = 60
SCRIPT = f"""
import sys
import jax
import numpy as np
import sclax as scl
from sclax._base import keep_compiled
from sclax._run import controller
keep_compiled()
controller.SAVE_EVERY = 0.0  # after every chunk
solution = scl.solve(scl.zoo.convection(beta=2.0), steps={STEPS}, progress=False, checkpoint=sys.argv[1])
arrays = {{f"leaf{{i}}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(solution.model)) if hasattr(a, "shape")}}
arrays |= {{f"multiplier.{{name}}": value for name, value in solution.multipliers.items()}}
arrays |= {{f"history.{{name}}": a for name, a in solution.history.items() if name != "seconds"}}
np.savez(sys.argv[2], **arrays)
"""


def started(checkpoint, result, cache):
    words = [sys.executable, "-c", SCRIPT, str(checkpoint), str(result)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}  # which all of them share
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)


def finished(process):
    _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a run that nobody killed failed:\n{said}")


def same(a, b):
    a, b = (dict(np.load(path, allow_pickle=False)) for path in (a, b))
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def campaign(kills, seed, directory):
    """Kills and resumes until `kills` processes were killed; what became of the runs."""
    rng, cache = np.random.default_rng(seed), directory / "cache"
    whole = directory / "whole.npz"
    finished(started(directory / "compiles", directory / "compiles.npz", cache))
    began = time.monotonic()
    finished(started(directory / "whole", whole, cache))
    longest = 1.1 * (time.monotonic() - began)
    found = {"kills": 0, "finished": 0, "identical": 0, "states_before_kills": [], "run_seconds": longest / 1.1}
    run = 0
    while found["kills"] < kills:
        checkpoint, result = directory / f"run{run}", directory / f"run{run}.npz"
        process = started(checkpoint, result, cache)
        try:
            process.wait(timeout=rng.uniform(0.0, longest))
            finished(process)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            found["kills"] += 1
            states = sorted(checkpoint.glob("states/*.state"))
            found["states_before_kills"].append(int(states[-1].stem) if states else 0)
            if found["kills"] < kills:
                continue
            finished(started(checkpoint, result, cache))
        found["finished"] += 1
        found["identical"] += same(result, whole)
        run += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = campaign(arguments.kills, arguments.seed, Path(directory))
    command = f"python -m benchmarks.kills --kills {arguments.kills} --seed {arguments.seed}"
    print(
        f"{found['kills']} kills, {found['finished']} runs that ended, {found['identical']} of them bit for bit alike"
    )
    write("kills", {"command": command, "seed": arguments.seed, "steps": STEPS, **found, "versions": scl.versions()})


if __name__ == "__main__":
    main()
