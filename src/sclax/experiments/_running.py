"""One run in a directory of its own: trained, measured, and written whole, its record last of all.

NAME/checkpoint/     the state of training, from which a killed run goes on
NAME/curve.json      what was measured at the stages that are over
NAME/solution.scl    the solution
NAME/arrays.npz      what figures need: history, errors over parameters and samples, values on a grid
NAME/record.json     the run in numbers: a run that has one is finished
"""

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base import alone, keep_compiled, replaced
from .._result import RESULTS, AbstractSolution
from .._run import solve
from ._building import Posed

RECORD, CURVE, LOG, ARRAYS, SOLUTION = "record.json", "curve.json", "log.txt", "arrays.npz", "solution.scl"
GRID, SHOWN = 96, 3  # points of a figure along a coordinate; samples of each kind


class Job(NamedTuple):
    """A run that any process can make: `make(*arguments)` says what is solved, `about` goes to the record."""

    name: str
    label: str
    make: Callable[..., Posed]
    arguments: tuple[Any, ...]
    about: Mapping[str, Any]


class Outcome(NamedTuple):
    """The record of a run, or why there is none."""

    record: dict[str, Any] | None
    failure: str = ""


def read(path: Path) -> Any:
    """A table that was written before; None where there is none."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None


def write(path: Path, content: Any) -> None:
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n")


def finished(job: Job, folder: Path) -> dict[str, Any] | None:
    """The record of a run that has ended, if it has."""
    return read(folder / job.name / RECORD)


def conduct(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    """The record of a run: the one that there is, or that of a new one, which goes on where a killed one stopped."""
    directory = folder / job.name
    directory.mkdir(parents=True, exist_ok=True)
    # A worker that was given up for dead may still be at it: whoever comes second waits and takes its record.
    with alone(directory / "run", lambda: None):
        found = finished(job, folder)
        return _conduct(job, directory, progress) if found is None else found


def _conduct(job: Job, directory: Path, progress: bool) -> dict[str, Any]:
    posed = job.make(*job.arguments)
    solution, errors, curve = _trained(posed, directory, progress)
    record = {
        "run": job.name,
        "label": job.label,
        **job.about,
        "chosen": repr(solution.method),
        **solution.record(posed.check, errors),
        "curve": curve,
    }
    solution.save(directory / SOLUTION)
    with replaced(directory / ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez(file, **_arrays(solution, errors))  # pyright: ignore[reportArgumentType]
    write(directory / RECORD, record)
    return record


def _trained(posed: Posed, directory: Path, progress: bool) -> tuple[AbstractSolution, Any, list[dict[str, Any]]]:
    """Training in stages, stopped and resumed: the solution, its errors, and what was measured at each end."""
    curve = read(directory / CURVE) or []
    limits = _limits(posed)
    # The last one again, if it was measured already: its solution is needed.
    for k in range(min(len(curve), len(limits) - 1), len(limits)):
        solution = solve(
            posed.problem,
            posed.model,
            posed.method,
            seed=posed.seed,
            **limits[k],
            checkpoint=directory / "checkpoint",
            progress=progress,
        )
        if solution.result is RESULTS.interrupted:
            raise KeyboardInterrupt  # what was learned is in the checkpoint; a record would call it finished
        errors = _errors(solution, posed)
        if k == len(curve):
            curve.append(_point(solution, errors))
            write(directory / CURVE, curve)
    return solution, errors, curve  # pyright: ignore[reportPossiblyUnboundVariable]


def _limits(posed: Posed) -> list[dict[str, Any]]:
    """When to stop in each stage."""
    shares = [(k + 1) / posed.stages for k in range(posed.stages)]
    if posed.steps is not None:
        steps = sorted({max(round(posed.steps * share), 1) for share in shares})
        return [{"steps": stop, "seconds": posed.seconds} for stop in steps]
    return [{"seconds": None if posed.seconds is None else posed.seconds * share} for share in shares]


def _point(solution: AbstractSolution, errors: Any) -> dict[str, Any]:
    return {
        "step": solution.steps,
        "seconds": round(solution.seconds, 3),
        "operator_evaluations": solution.operator_evaluations,
        "relative_l2": None if errors is None or not np.isfinite(errors).all() else float(errors.mean()),
    }


def _errors(solution: AbstractSolution, posed: Posed) -> Any:
    parameters = getattr(posed.problem.domain, "parameters", ()) if posed.problem.pointwise else ()
    few = {} if posed.family is None else dict.fromkeys(parameters, posed.family)
    return solution.error_map(progress=False, **few)


def _arrays(solution: AbstractSolution, errors: Any) -> dict[str, np.ndarray]:
    """What figures are drawn from, by flat names."""
    found = {f"history/{name}": np.asarray(array) for name, array in solution.history.items()}
    if errors is not None and errors.dims:
        found["errors"] = errors.values
        found |= {f"axes/{name}": errors.coords[name].values for name in errors.dims}
    more = _on_a_grid if solution.problem.pointwise else _of_samples
    return found | more(solution)


def _on_a_grid(solution: Any) -> dict[str, np.ndarray]:
    """The coordinates and their ends; and values on a product grid, where there are two and no family."""
    names, domain = solution.problem.domain.names, solution.problem.domain
    about = {"names": np.asarray(names), "ends": np.asarray([domain.ends(name) for name in names], float)}
    if len(names) != 2 or domain.parameters:
        return about
    grid = solution.grid(**dict.fromkeys(names, GRID))
    return about | {f"grid/{name}": grid[name].values for name in (*names, *solution.problem.unknowns)}


def _of_samples(solution: Any) -> dict[str, np.ndarray]:
    """Errors and multipliers of samples, the size of their inputs, and the inputs at both ends of the multipliers."""
    found = {f"errors/{split}": solution.errors(split) for split in ("train", "validation", "test")}
    prices = solution.sample_multipliers
    if prices is not None:
        inputs = np.asarray(solution.problem.train.inputs)[..., 0]
        order = np.argsort(prices)
        found["multipliers"] = prices
        found["sizes"] = np.sqrt(np.mean(inputs.reshape(len(inputs), -1) ** 2, axis=1))
        found["easiest"], found["hardest"] = inputs[order[:SHOWN]], inputs[order[::-1][:SHOWN]]
    return found


# --- in a process of its own ----------------------------------------------------------------------------------------


def in_worker(job: Job, folder: Path, threads: int | None, keep: bool) -> Outcome:
    """`conduct` in a worker: with its share of the cores, what it has to say in a file, and its errors as values, so
    that whatever else is raised is the fault of the worker and not of the run."""
    if threads is not None:  # which JAX reads when it starts; BLAS is limited by `solve` itself
        os.environ.setdefault("NPROC", str(threads))
    if keep:
        keep_compiled()
    try:
        with _log(folder / job.name):
            return Outcome(conduct(job, folder, progress=True))
    except Exception:
        return Outcome(None, traceback.format_exc())


@contextlib.contextmanager
def _log(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOG).open("a") as file, contextlib.redirect_stderr(file):
        yield


def last_line(job: Job, folder: Path) -> str:
    """What a run in another process said last."""
    try:
        with (folder / job.name / LOG).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 1000, 0))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")
