"""What may go wrong around a run, tried on purpose:  python -m benchmarks.faults [--minutes 60] [--only PART]

- `runs`: SIGKILL and SIGINT at random moments of solving, of a loop over seeds and of making data;
- `disks`: a full disk, a removed and a read-only directory, two processes on one checkpoint;
- `files`: damaged and hostile files for every reader;
- `nan`: NaN and infinity in residuals, gradients, conditions, data and weights;
- `words`: arguments of the command that nobody would type on purpose;
- `memory`: the largest resident memory of training and checking.

In an hour, all that the record in results/faults.json has; in fewer minutes, a part of it. What was lost is counted and
described; the exit code is the number of parts with a loss.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import sclax as scl

from . import _fault_nan, _runner

FULL = {"kills": 200, "interrupts": 100, "files": 20_000, "nan": 80, "words": 2000, "memory_seconds": 60.0}
MOST = {"train": 1.5, "check": 1.0}  # GB


def runs(share, seed, directory):
    from . import _fault_runs

    count = lambda name: max(1, round(share * FULL[name]))
    return _fault_runs.campaign(count("kills"), count("interrupts"), seed, directory)


def disks(share, seed, directory):
    from . import _fault_runs

    found = _fault_runs.disks(directory)
    bad = [f"{name}: not {what}" for name, parts in found.items() for what, holds in parts.items() if not holds]
    return {**found, "lost": bad}


def files(share, seed, directory):
    from . import _fault_files

    return _fault_files.campaign(max(20, round(share * FULL["files"])), seed, directory)


def nan(share, seed, directory):
    return _fault_nan.campaign(max(4, round(share * FULL["nan"])), seed)


def words(share, seed, directory):
    from . import _fault_words

    return _fault_words.campaign(max(20, round(share * FULL["words"])), seed)


def memory(share, seed, directory):
    from . import _fault_runs

    found = _fault_runs.memory(max(1.0, share * FULL["memory_seconds"]), directory)
    over = [f"{name}: {gb} GB" for name, gb in found.items() if gb > MOST[name.partition(",")[0]]]
    return {"gigabytes": found, "lost": over}


PARTS = {f.__name__: f for f in (runs, disks, files, nan, words, memory)}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    share = min(1.0, given.minutes / 60.0)
    command = f"python -m benchmarks.faults --minutes {given.minutes:g} --seed {given.seed}"
    # A part that is tried alone replaces its part of the record.
    record = _runner.stored("faults") or {} if given.only or share == 1.0 else {}
    lossy = 0
    for name in given.only or PARTS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            found = PARTS[name](share, given.seed, Path(directory))
        about = {"command": f"{command} --only {name}", "seconds": round(time.monotonic() - began, 1)}
        record[name] = {**about, **found, "versions": scl.versions()}
        lossy += bool(found["lost"])
        short = {key: value for key, value in found.items() if not isinstance(value, list | dict)}
        print(f"{name}, {about['seconds']} s: {json.dumps(short)}", *found["lost"], sep="\n", flush=True)
        if share == 1.0:
            _runner.write("faults", record)
    return lossy


if __name__ == "__main__":
    sys.exit(main())
