"""One run of one package in a process of its own:  python -m benchmarks.peers._run PEER PROBLEM SEED SECONDS REFERENCE

Prints its record last. A process imports one package, and sclax only where that is the package.
"""

import importlib
import json
import sys
import time
from importlib import metadata

import numpy as np

from . import _errors, _stages

PACKAGES = {  # whose versions decide what a package does
    "deepxde": ("deepxde", "torch", "numpy", "scipy"),
    "jinns": ("jinns", "jax", "equinox", "optax"),
    "pina": ("pina-mathlab", "torch", "lightning"),
    "sclax": ("sclax", "jax", "equinox"),
}


def run(peer, problem, seed, seconds, reference):
    train = importlib.import_module(f"{__package__}._{peer}").train
    statement = importlib.import_module(f"{__package__}.{peer}_{problem}")
    stages = _stages.Stages(seconds, lambda found: _errors.error(reference, found))
    begin = time.perf_counter()
    chosen = train(statement, seed, stages)
    return {
        "seed": seed,
        "error": stages.curve[-1]["error"],
        "seconds": stages.curve[-1]["seconds"],
        "steps": stages.curve[-1]["steps"],
        "wall_seconds": stages.wall or time.perf_counter() - begin,
        "curve": stages.curve,
        "chosen": chosen,
        "versions": {name: metadata.version(name) for name in PACKAGES[peer]},
    }


def main():
    peer, problem, seed, seconds, path = sys.argv[1:]
    with np.load(path) as stored:
        reference = dict(stored)
    print(json.dumps(run(peer, problem, int(seed), float(seconds), reference)))


if __name__ == "__main__":
    main()
