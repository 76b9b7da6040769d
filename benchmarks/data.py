"""What a sample costs at the paper's grids:  python -m benchmarks.data [--json]

Milliseconds a sample, compilation excluded: one round first, then the median of some. A round is a number of whole
batches.
"""

import argparse
import json
import statistics
import time

from sclax import data

# Name: generator, samples a round (whole batches), bar in ms.
SETS = {
    "Burgers 128 × 101": (data.burgers, 64, 10.0),
    "diffusion-sorption 1024 × 101": (data.diffusion_sorption, 4, 200.0),
    "Navier-Stokes 64² × 50": (data.navier_stokes, 2, 2000.0),
}


def milliseconds(generate, samples, rounds):
    generate("paper", samples=samples, cache=False)
    times = []
    for seed in range(1, rounds + 1):
        began = time.perf_counter()
        generate("paper", samples=samples, seed=seed, cache=False)
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times) / samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    bars = {name: bar for name, (_, _, bar) in SETS.items()}
    found = {name: milliseconds(generate, n, arguments.rounds) for name, (generate, n, _) in SETS.items()}
    if arguments.json:
        print(json.dumps({"milliseconds": found, "bars": bars, "versions": scl.versions()}, ensure_ascii=False))
        return
    print(f"{'':32}{'ms a sample':>12}{'bar':>9}")
    for name, value in found.items():
        print(f"{name:32}{value:12.1f}{bars[name]:9.0f}{'' if value <= bars[name] else '  over'}")


if __name__ == "__main__":
    main()
