"""Records of runs, committed under results/."""

import importlib.metadata
import json
import platform
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "results"


def versions():
    packages = ("sclax", "jax", "equinox", "optax", "numpy")
    return {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}}


def write(name, record):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path
