"""Runs that are killed, interrupted, robbed of their disk and run twice: each ends as if nothing had happened.

A job is a process that is started again on the same directory until it ends by itself. At random moments, from its
start to a little after the time that a whole run takes, it gets SIGKILL, or SIGINT as from a keyboard. What it leaves
in the end is compared bit for bit with what a process left that nobody disturbed.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HEARS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
"""
ALL_NUMBERS = """
import sys
import jax
import numpy as np
import sclax as scl
from sclax._base import keep_compiled
from sclax._run import controller
keep_compiled()
controller.SAVE_EVERY = 0.0  # after every chunk

def numbers(solution):
    arrays = {f"leaf{i}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(solution.model)) if hasattr(a, "shape")}
    arrays |= {f"multiplier.{name}": value for name, value in solution.multipliers.items()}
    return arrays | {f"history.{name}": a for name, a in solution.history.items() if name != "seconds"}

def solved(steps, checkpoint, **more):
    found = scl.solve(scl.zoo.convection(beta=2.0), steps=steps, progress=False, checkpoint=checkpoint, **more)
    if found.result is scl.RESULTS.interrupted:
        sys.exit(3)
    return numbers(found)
"""
# The default method with its controller; a loop over seeds; a data set that goes to the cache.
JOBS = {
    "solve": ALL_NUMBERS + "np.savez(sys.argv[2], **solved(60, sys.argv[1]))",
    "sweep": ALL_NUMBERS
    + "for s in range(3): np.savez(f'{sys.argv[2]}.{s}', **solved(20, f'{sys.argv[1]}-{s}', seed=s))\n"
    + "loaded = [np.load(f'{sys.argv[2]}.{s}.npz') for s in range(3)]\n"
    + "np.savez(sys.argv[2], **{f'{s}.{name}': a for s in range(3) for name, a in loaded[s].items()})",
    "data": """
import os, sys
os.environ["XDG_CACHE_HOME"] = sys.argv[1]
import numpy as np
from sclax import data
made = data.burgers("tiny", samples=256)
np.savez(sys.argv[2], input=made["input"], solution=made["solution"])
""",
}
SHARE = {"solve": 0.6, "sweep": 0.2, "data": 0.2}
LEARNED = 3  # the exit code of a process that was interrupted and gave what it had learned


def started(kind, place, cache):
    words = [sys.executable, "-c", HEARS + JOBS[kind], str(place / "state"), str(place / "result.npz")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}  # which all of them share
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)


def ended(process):
    _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a process that nobody disturbed failed:\n{said}")


def same(a, b):
    a, b = (dict(np.load(path, allow_pickle=False)) for path in (a, b))
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


class Disturbed:
    """What remains to be sent, and what became of it. Each worker of the campaign has one."""

    def __init__(self, kills, interrupts, seed, directory, whole, seconds):
        self.left = {"kills": kills, "interrupts": interrupts}
        self.rng, self.directory, self.whole, self.seconds = np.random.default_rng(seed), directory, whole, seconds
        self.found = {kind: dict.fromkeys(("kills", "interrupts", "finished", "identical"), 0) for kind in whole}
        self.kept, self.crashed, self.lost = 0, 0, []

    def run(self):
        number = 0
        while any(self.left.values()):
            shares = np.asarray([SHARE[kind] for kind in self.whole])
            self.job(str(self.rng.choice(list(self.whole), p=shares / shares.sum())), number)
            number += 1
        return self

    def job(self, kind, number):
        """A job, started again until it has ended by itself."""
        place = self.directory / f"{kind}{number}"
        place.mkdir(parents=True)
        sent = 0
        while True:
            process = started(kind, place, self.directory.parent / "cache")
            # A job that was disturbed often enough is left in peace, so that several of them end.
            disturb = any(self.left.values()) and sent < 6
            try:
                process.wait(timeout=self.rng.uniform(0.0, 1.1 * self.seconds[kind]) if disturb else None)
                ended(process)
                break
            except subprocess.TimeoutExpired:
                self.disturb(kind, process)
                sent += 1
        self.found[kind]["finished"] += 1
        alike = same(place / "result.npz", self.whole[kind])
        self.found[kind]["identical"] += alike
        if alike:
            shutil.rmtree(place)
        else:
            self.lost.append(f"{place}: other numbers than {self.whole[kind]}")

    def disturb(self, kind, process):
        how = str(self.rng.choice([name for name, n in self.left.items() if n]))
        self.left[how] -= 1
        self.found[kind][how] += 1
        process.send_signal(signal.SIGKILL if how == "kills" else signal.SIGINT)
        _, said = process.communicate()
        if how == "interrupts":
            if process.returncode == LEARNED:
                self.kept += 1
            # Before Python has begun to listen, the signal ends the process; later it is an exception like no other.
            elif process.returncode not in (0, -signal.SIGINT) and "KeyboardInterrupt" not in said:
                self.lost.append(f"{kind}, SIGINT: exit code {process.returncode}\n{said[-2000:]}")
            self.crashed += process.returncode < 0 and process.returncode != -signal.SIGINT


def undisturbed(directory, jobs):
    """The result of each job that nobody disturbed, and how long it takes when all is compiled."""
    whole, seconds = {}, {}
    for kind in jobs:
        for again in range(2):
            place = directory / f"whole-{kind}{again}"
            place.mkdir(parents=True)
            began = time.monotonic()
            ended(started(kind, place, directory / "cache"))
            whole[kind], seconds[kind] = place / "result.npz", time.monotonic() - began
    return whole, seconds


def campaign(kills, interrupts, seed, directory, workers=2, jobs=tuple(JOBS)):
    """Signals at random moments; how many jobs ended, and how many of them as they should."""
    whole, seconds = undisturbed(directory, jobs)
    share = lambda total, k: total // workers + (k < total % workers)
    disturbed = [
        Disturbed(share(kills, k), share(interrupts, k), [seed, k], directory / f"worker{k}", whole, seconds)
        for k in range(workers)
    ]
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(Disturbed.run, disturbed))
    by_job = {kind: {n: sum(d.found[kind][n] for d in done) for n in done[0].found[kind]} for kind in jobs}
    return {
        **{n: sum(counts[n] for counts in by_job.values()) for n in ("kills", "interrupts", "finished", "identical")},
        "interrupts_that_kept_what_was_learned": sum(d.kept for d in done),
        "interrupts_after_which_the_interpreter_crashed_at_exit": sum(d.crashed for d in done),
        "lost": [line for d in done for line in d.lost],
        "by_job": by_job,
        "seconds_of_a_job": seconds,
    }


# --- disks, and a second process ----------------------------------------------------------------------------------


def on_disk(state, result, cache, meanwhile=None):
    """A run whose checkpoint something happens to; its exit code, and the warnings that it gave."""
    words = [sys.executable, "-W", "always", "-c", JOBS["solve"], state, result]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen([str(w) for w in words], env=environment, stderr=subprocess.PIPE, text=True)
    if meanwhile is not None:
        meanwhile(process)
    _, said = process.communicate()
    return process.returncode, said


@contextlib.contextmanager
def mounted(directory, size):
    """A small file system in memory; None for those who may not mount one."""
    place = Path(tempfile.mkdtemp(dir=directory))
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def disks(directory):
    """A full, a removed, a read-only directory, and two processes: what is learned comes back, and it is said."""
    cache, whole = directory / "cache", directory / "whole-disk.npz"
    code, said = on_disk(directory / "whole-disk", whole, cache)
    assert code == 0, said
    found = {}

    def tried(name, code, said, result, words):
        found[name] = {
            "identical": code == 0 and same(result, whole),
            "said": words in said and "Traceback" not in said,
        }

    with mounted(directory, "24k") as small:
        if small is not None:
            result = directory / "full.npz"
            code, said = on_disk(small / "state", result, cache)
            tried("full_disk", code, said, result, "No space left on device")
            left = [path.name for path in small.rglob("*") if path.is_file()]
            found["full_disk"]["nothing_half_written"] = set(left) <= {"sclax.json", ".lock", ".holder.json"}
    with mounted(directory, "10m") as small:
        if small is not None:
            shutil.copytree(directory / "whole-disk", small / "state")
            (small / "new").mkdir()
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
            result = directory / "read-only.npz"
            code, said = on_disk(small / "state", result, cache)
            again = code == 0 and same(result, whole)
            code, said = on_disk(small / "new", result, cache)
            found["read_only_directory"] = {"resumed": again, "refused": code != 0 and "cannot be written" in said}
    result, state = directory / "removed.npz", directory / "removed"

    def remove(process):
        while process.poll() is None and not list(state.glob("states/*.state")):
            time.sleep(0.01)
        shutil.rmtree(state, ignore_errors=True)

    code, said = on_disk(state, result, cache, meanwhile=remove)
    tried("removed_directory", code, said, result, "was removed during the run; it is made again")
    again = directory / "again.npz"
    code, said = on_disk(state, again, cache)
    found["removed_directory"]["resumed"] = code == 0 and same(again, whole)
    found["two_processes"] = two(directory, cache, whole)
    return found


def two(directory, cache, whole):
    """A second process on one checkpoint is refused with the number of the first, which goes on undisturbed."""
    state, seen = directory / "two", {}

    def second(process):
        while process.poll() is None and not (state / "sclax.json").exists():
            time.sleep(0.01)
        code, said = on_disk(state, directory / "second.npz", cache)
        seen.update(refused=code != 0 and f"is in use by process {process.pid}" in said)

    code, _ = on_disk(state, directory / "first.npz", cache, meanwhile=second)
    return {**seen, "identical": code == 0 and same(directory / "first.npz", whole)}


# --- memory -------------------------------------------------------------------------------------------------------

MEMORY = """
import re, sys
import sclax as scl
problem = {
    "convection 50": lambda: scl.zoo.convection(beta=50.0),
    "a family in four dimensions": lambda: scl.zoo.reaction_diffusion(nu=(1.0, 5.0), rho=(1.0, 5.0)),
}[sys.argv[1]]()
if sys.argv[2] == "train":
    scl.solve(problem, seconds=float(sys.argv[3]), progress=False).save(sys.argv[4])
else:
    scl.load(sys.argv[4]).check(points=1_000_000)
# Not by getrusage, which begins with what the parent had.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024 / 1e9)
"""


def memory(seconds, directory):
    """The largest resident memory in GB, of training by the default method and of a check of a loaded solution."""
    found = {}
    for name in ("convection 50", "a family in four dimensions"):
        for what in ("train", "check"):
            words = [sys.executable, "-c", MEMORY, name, what, str(seconds), str(directory / "memory.scl")]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            found[f"{what}, {name}"] = round(float(json.loads(done.stdout.splitlines()[-1])), 3)
    return found
