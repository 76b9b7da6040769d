"""What benchmarks share: runs in processes of their own, training in stages, records under results/, and tables."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sclax as scl

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
ABOVE = "*"  # marks a number above its bar


def record(solution, points=200_000, errors=None):
    """A run in numbers. `errors` is the map of a family's errors, where it is at hand."""
    return {**solution.record(points=points), **over_family(errors)}


def over_family(errors):
    """Mean, median and worst error over the parameters of a family, and where the worst is."""
    if errors is None:
        return {}
    worst = errors.isel(errors.argmax(...))
    return {
        "relative_l2": float(errors.mean()),
        "relative_l2_median": float(errors.median()),
        "relative_l2_worst": float(worst),
        "worst_parameters": {str(name): float(worst.coords[name]) for name in errors.dims},
    }


def alone(benchmark, *words):
    """The record that `python -m benchmarks.<benchmark> --run <words>` prints last, so that seconds include all."""
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", "--run", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def in_stages(problem, model, method, limits, measure, **more):
    """Trains up to each of the limits (of `solve`) that `limits(curve)` gives, stopped and resumed, and so without a
    trace of it; `curve` is what was measured so far. Returns what was trained, and the curve."""
    curve = []
    with tempfile.TemporaryDirectory() as directory:
        checkpoint = Path(directory) / "state"
        for limit in limits(curve):
            found = scl.solve(problem, model, method, checkpoint=checkpoint, progress=False, **limit, **more)
            curve.append(measure(found))
    return found, curve


def summary(command, about, runs, **more):
    """The record of some seeds: mean and spread of their errors, the longest time, and each of them."""
    errors = [run["relative_l2"] for run in runs]
    chosen = {"chosen": runs[0]["chosen"]} if "chosen" in runs[0] else {}
    return {
        "command": f"python -m benchmarks.{command}",
        **about,
        **chosen,
        "relative_l2_mean": float(np.mean(errors)),
        "relative_l2_std": float(np.std(errors)),
        "seconds": float(np.max([run["seconds"] for run in runs])),
        **more,
        "per_seed": [{key: value for key, value in run.items() if key != "chosen"} for run in runs],
        "versions": scl.versions(),
    }


def write(name, record):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def stored(name):
    """A record that was written before, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def picture(name):
    """Where a picture goes: into the repository if a page shows it, else where git does not look."""
    pages = (ROOT / "README.md", ROOT / "docs" / "results.md")
    shown = any(f"results/{name}.png" in page.read_text() for page in pages)
    folder = RESULTS if shown else RESULTS / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.png"


def number(value, bar=None):
    """A number of a table, marked where it is above its bar."""
    return "–" if value is None else f"{value:.1e}" + (ABOVE if bar is not None and value > bar else "")


def table(header, rows):
    """Prints texts in columns, the first of them to the left."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        first, *rest = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]).rstrip())
    if any(text.endswith(ABOVE) for row in rows for text in row):
        print(f"{ABOVE} above its bar")
