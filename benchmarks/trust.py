"""Whether check() can be trusted:  python -m benchmarks.trust [--only default:poisson] [--only wrong:zero-poisson]

Twenty answers that are wrong on purpose, each of which has to be called unsolved, and the default answer of every
problem of the zoo: those whose error is below 1 % have to be called solved, and the estimated error is compared with
the true one. Each in a process of its own; one record in results/, as it comes.
"""

import argparse
import dataclasses
import json
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import sclax as scl

from . import _runner

SECONDS = 300
FACTOR, NEVER, GOOD = 3.0, 0.1, 1e-2
ARGUMENTS = {"lid_driven_cavity": {"parabolic_lid": True}}  # under speed 1 the pressure is infinite at the lid's ends


# --- answers that are wrong ---


class Changed(eqx.Module):
    """A function of a model's values and the point."""

    model: eqx.Module
    change: object = eqx.field(static=True)

    def __call__(self, z):
        return self.change(jnp.atleast_1d(self.model(z)), z)


class Constant(eqx.Module):
    value: jax.Array

    def __call__(self, z):
        return self.value


class Table(eqx.Module):
    """Values on a grid of [−1, 1]², linear in between."""

    values: jax.Array

    def __call__(self, z):
        at = (z + 1) / 2 * (self.values.shape[0] - 1)
        return jax.scipy.ndimage.map_coordinates(self.values, list(at), order=1)[None]


def held(problem, model):
    """A solution with a given model, without training."""
    problem = problem.completed()
    multipliers = {name: jnp.zeros_like(t) for name, t in problem.tolerances.items()}
    history = scl.History.of(problem.constraints)
    return scl.Solution(problem, model, None, multipliers, history, scl.RESULTS.steps_done, 0)


def constant(name, value):
    problem = getattr(scl.zoo, name)()
    return held(problem, Constant(jnp.full(len(problem.unknowns), value)))


def changed(name, change):
    solution = scl.solve(getattr(scl.zoo, name)(), seconds=SECONDS, progress=False)
    return dataclasses.replace(solution, model=Changed(solution.model, change))


def faded(name):
    """The solution times exp(−t), t over the whole of the time."""
    domain = getattr(scl.zoo, name)().domain
    i, (low, high) = domain.names.index("t"), domain.ends("t")
    return changed(name, lambda u, z: u * jnp.exp(-(z[i] - low) / (high - low)))


def cut(name):
    return scl.solve(getattr(scl.zoo, name)(), scl.nn.MLP, steps=20, progress=False)


def mistaken(name, **arguments):
    """The solution of another problem of the same kind."""
    other = scl.solve(getattr(scl.zoo, name)(**arguments), seconds=SECONDS, progress=False)
    return dataclasses.replace(other, problem=getattr(scl.zoo, name)().completed())


def branch(change):
    """The distance to the gear, on a grid, changed."""
    problem = scl.zoo.eikonal()
    axis = np.linspace(-1.0, 1.0, 1025)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    return held(problem, Table(jnp.asarray(change(scl.reference.gear().distance(x, y)))))


WRONG = {
    **{f"zero-{n}": lambda n=n: constant(n, 0.0) for n in ("convection", "helmholtz", "burgers", "poisson", "eikonal")},
    **{f"constant-{n}": lambda n=n: constant(n, 0.5) for n in ("convection", "allen_cahn", "disk_with_hole", "lorenz")},
    **{f"cut-{n}": lambda n=n: cut(n) for n in ("convection", "kdv", "eikonal")},
    **{f"faded-{n}": lambda n=n: faded(n) for n in ("convection", "wave", "reaction_diffusion")},
    "coefficient-convection": lambda: mistaken("convection", beta=29.0),
    "coefficient-heat": lambda: mistaken("heat", alpha=0.15),
    "coefficient-burgers": lambda: mistaken("burgers", nu=0.02),
    "branch-minus": lambda: branch(lambda u: -u),
    "branch-fold": lambda: branch(np.abs),
}
ENTRIES = """convection reaction_diffusion eikonal helmholtz burgers diffusion_sorption navier_stokes allen_cahn wave
    klein_gordon poisson heat kdv lid_driven_cavity burgers_front lorenz disk_with_hole plate_with_hole ellipse_flow"""
DEFAULTS = tuple(ENTRIES.split())


# --- what is found ---


def default(name):
    problem = getattr(scl.zoo, name)(**ARGUMENTS.get(name, {}))
    return scl.solve(problem, seconds=SECONDS, progress=False)


def run_one(kind, name):
    solution = default(name) if kind == "default" else WRONG[name]()
    report = solution.check(points=100_000)
    began = time.monotonic()
    first = report.verdict.words
    print(
        json.dumps(
            {
                "relative_l2": solution.error(),
                "estimated_error": report.estimated_error,
                "error_factor": report.error_factor,
                "solved": report.solved,
                "holds": report.holds,
                "says": first,
                "relative": report.relative,
                "seconds_of_the_verdict": round(time.monotonic() - began, 1),
            }
        )
    )


def summary(wrong, defaults):
    """The bars in numbers."""
    known = {n: r for n, r in defaults.items() if r["relative_l2"] is not None}
    ratios = {n: r["estimated_error"] / r["relative_l2"] for n, r in known.items() if r["estimated_error"] is not None}
    good = [n for n, r in known.items() if r["relative_l2"] < GOOD]
    return {
        "wrong": len(wrong),
        "wrong_called_solved": [n for n, r in wrong.items() if r["solved"]],
        "good": len(good),
        "good_called_unsolved": [n for n in good if not known[n]["solved"]],
        "estimated": len(ratios),
        "within_a_factor_of_3": sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios.values()),
        "below_a_tenth": [n for n, ratio in ratios.items() if ratio < NEVER],
    }


def show(wrong, defaults):
    rows = [
        (name, _runner.number(r["relative_l2"]), _runner.number(r["estimated_error"]), str(r["solved"]))
        for name, r in {**wrong, **defaults}.items()
    ]
    _runner.table(("answer", "error", "estimated", "solved"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="KIND:NAME", help="wrong:zero-poisson, default:poisson, …")
    parser.add_argument("--run", nargs=2, metavar=("KIND", "NAME"), help="one answer in this process")
    arguments = parser.parse_args()
    if arguments.run:
        return run_one(*arguments.run)
    asked = arguments.only or [*(f"wrong:{n}" for n in WRONG), *(f"default:{n}" for n in DEFAULTS)]
    before = _runner.stored("trust") or {}
    # A part of it joins what was found before.
    found = {kind: dict(before.get(kind, {})) if arguments.only else {} for kind in ("wrong", "default")}
    for kind, name in (word.split(":", 1) for word in asked):
        found[kind][name] = _runner.alone("trust", kind, name)
        print(f"{kind}:{name}  {found[kind][name]['says']}", flush=True)
        record = {"command": "python -m benchmarks.trust", "summary": summary(found["wrong"], found["default"])}
        _runner.write("trust", {**record, **found, "versions": scl.versions()})
    show(found["wrong"], found["default"])


if __name__ == "__main__":
    main()
