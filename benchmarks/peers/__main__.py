"""Packages that users would pick instead:  python -m benchmarks.peers [--only burgers] [--peer deepxde] [--seconds 60]

DeepXDE, jinns, PINA and sclax on five problems, each as its own documentation has it (`_deepxde.py`, `_jinns.py`,
`_pina.py`, `_sclax.py` say how it is trained; `deepxde_burgers.py` and so on state the problems), for the same seconds
of training on the same cores, one process after another. Packages come with the extra `bench`.

Seconds are those of training. Compilation is left out where a package compiles, which jinns and sclax do and tell of
themselves; DeepXDE and PINA run on PyTorch without compilation, so that all of their steps count, by the clock on the
wall. Measuring is left out for all. `wall_seconds` in the record have everything but imports. Errors are measured at an
eighth, a quarter, a half and all of the seconds, for all on the same points against sclax's reference, which no
package sees: relative L2, of Lorenz's system the largest relative error of its three parameters.

Lines are those of the file that states a problem, without blanks, comments and docstrings; training is in none of them.

One record in results/, run by run, joined with what is stored, and a figure. `--table` prints and draws from it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .. import _runner
from . import _errors, _figure, _records


def run_one(peer, problem, seed, seconds, reference):
    """The record of a run in a process of its own, or why there is none, in words."""
    words = [sys.executable, "-m", f"{__package__}._run", peer, problem, str(seed), str(seconds), str(reference)]
    with tempfile.TemporaryDirectory() as folder:  # packages write where they stand
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_runner.ROOT), *sys.path[1:]])}
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no word")
    missing = last.startswith("ModuleNotFoundError")
    return {"reason": "not installed here" if missing else f"its run failed: {last[:200]}"}


def pair(peer, problem, seeds, seconds, reference):
    """The entry of a package and a problem."""
    if (problem, peer) in _records.REASONS:
        return {"reason": _records.REASONS[problem, peer]}
    runs = []
    for seed in range(seeds):
        found = run_one(peer, problem, seed, seconds, reference)
        if "reason" in found:
            return found
        runs.append(found)
        shown = "  ".join(f"{point['seconds']:.3g} s: {_runner.number(point['error'])}" for point in found["curve"])
        print(f"{problem:12}{peer:9} seed {seed}  {shown}", flush=True)
    return _records.summary(peer, problem, seconds, runs)


def show(record):
    found, dashes = _records.rows(record)
    _runner.table(["problem", "package", "error", "seconds", "steps", "lines"], found)
    print(*(f"– {line}" for line in dashes), sep="\n", end="\n" if dashes else "")
    _figure.draw(record, _runner.RESULTS / "peers.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(_records.PROBLEMS), action="append")
    parser.add_argument("--peer", choices=list(_records.PEERS), action="append")
    parser.add_argument("--seconds", type=float, default=60.0, help="of training, for each run")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print and draw from the record, run nothing")
    given = parser.parse_args()
    for problem in [] if given.table else given.only or _records.PROBLEMS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reference.npz"
            reference = getattr(_errors, problem)()
            np.savez(path, **reference)
            for peer in given.peer or _records.PEERS:
                entry = pair(peer, problem, given.seeds, given.seconds, path)
                entry["command"] = (
                    f"python -m benchmarks.peers --only {problem} --peer {peer} "
                    f"--seconds {given.seconds:g} --seeds {given.seeds}"
                )
                entry["reference_error"] = float(reference["own_error"])
                record = _records.joined(_runner.stored("peers"), problem, peer, entry)
                _runner.write("peers", {"command": "python -m benchmarks.peers", "cores": os.cpu_count(), **record})
    if record := _runner.stored("peers"):
        show(record)


if __name__ == "__main__":
    main()
