"""How long a user waits:  python -m benchmarks.startup

`sclax --help` and `sclax list` against `import jax`, and the seconds from the start of `sclax solve convection` to its
first line of progress, which is that of step 10: once with an empty cache of compiled code, then three times with what
the first one left there. The record is results/startup.json.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sclax as scl

from ._runner import write

SCLAX = [sys.executable, "-c", "from sclax.cli import app; app()"]


def whole(command):
    """The median of five runs of a command, in seconds."""
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def first_line(directory, cache):
    """Seconds to the first line of progress of ten steps."""
    words = [*SCLAX, "solve", "convection", "--steps", "10", "--out", str(directory)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    began = time.monotonic()
    process = subprocess.Popen(
        words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1
    )
    shown = next(time.monotonic() - began for line in process.stderr or () if line.startswith("step "))
    process.communicate()
    return shown


def main():
    jax = whole([sys.executable, "-c", "import jax"])
    ratios = {name: whole([*SCLAX, name]) / jax for name in ("--help", "list")}
    with tempfile.TemporaryDirectory() as folder:
        runs = [first_line(Path(folder) / f"run{i}", Path(folder) / "cache") for i in range(4)]
    found = {"import_jax": jax, "over_import_jax": ratios, "first_run": runs[0], "later_runs": runs[1:]}
    print(found)
    write("startup", {"command": "python -m benchmarks.startup", **found, "versions": scl.versions()})


if __name__ == "__main__":
    main()
