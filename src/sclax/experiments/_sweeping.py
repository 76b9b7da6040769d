"""`sweep`: many solves over values of arguments and seeds, on any executor, with a directory for each."""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from .._base import checks, digest
from .._problem import AbstractProblem
from .._run import asked_for
from ._building import Posed
from ._gathering import AbstractPool, OnExecutor
from ._reproducing import told
from ._running import Job
from ._tables import NONE, Table, number, with_spread

# What a data set has of each run, and what stands for a number that does not exist.
COLUMNS = {
    "relative_l2": float,
    "objective": float,
    "seconds": float,
    "steps": int,
    "operator_evaluations": int,
    "feasible": bool,
    "converged": bool,
}


class Sweep(NamedTuple):
    """What many solves have found: a data set with a dimension for each argument and one for seeds, a table over seeds,
    the records in the order of the runs, and the directory of each.

    !!! example
        `scl.sweep(scl.zoo.convection, {"beta": [10, 30]}).dataset["relative_l2"]`
    """

    dataset: xr.Dataset
    table: Table
    records: list[dict[str, Any]]
    directories: list[Path]


class Options(NamedTuple):
    """What all solves of a sweep have in common.

    !!! example
        `Options(steps=1000)`
    """

    model: Any = None
    method: Any = None
    steps: int | None = None
    seconds: float | None = None


def sweep(
    build: Callable[..., Any],
    values: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 1,
    executor: Any = None,
    directory: str | os.PathLike[str] = "runs/sweep",
    model: Any = None,
    method: Any = None,
    steps: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
    progress: bool = True,
) -> Sweep:
    """Solves `build(**arguments)` for all combinations of `values`, with `seeds` seeds each.

    Every run has a directory in `directory`, named by a digest of all that its result depends on: one that is finished
    is not run again, one that was killed goes on from its checkpoint, bit for bit.

    **Arguments:**

    - `build`: gives a problem, or a tuple of problem, model, method and steps, the last of which may be left out. For
      workers it must be a function that they can import, or with Dask any function.
    - `values`: the values of each argument.
    - `executor`: anything with `submit`: a `dask.distributed.Client` (extra `cluster`), an executor of
      `concurrent.futures` (processes by "spawn": JAX does not survive a fork) or of submitit; default: one run after
      the other in this process. A run whose worker died is submitted again.
    - `threads`: how many JAX starts in each worker.
    - `model`, `method`, `steps`, `seconds`: as in `solve`.

    !!! example
        `scl.sweep(scl.zoo.convection, {"beta": [10, 30, 50]}, seeds=3, executor=Client()).dataset`
    """
    pool = None if executor is None else OnExecutor(executor, checks.count("sweep", "threads", threads))
    options = Options(model, method, steps, seconds)
    return swept(build, values, seeds, options, Path(directory), pool, progress)


def swept(
    build: Callable[..., Any],
    values: Mapping[str, Sequence[Any]],
    seeds: int,
    options: Options,
    directory: Path,
    pool: AbstractPool | None,
    progress: bool = True,
    keep: bool = False,
) -> Sweep:
    """`sweep` on a pool.

    !!! example
        `with processes(2) as pool: swept(scl.zoo.convection, {"beta": [10, 30]}, 1, Options(), Path("runs"), pool)`
    """
    if not callable(build):
        raise ValueError(f"sweep: `build` must be a function that gives a problem, got {build!r:.80}.")
    seeds = checks.count("sweep", "seeds", seeds)
    asked_for(options.steps, options.seconds, 0, seeds)
    axes = {name: _values(name, given) for name, given in values.items()}
    folder = checks.folder("sweep", "directory", directory)
    combinations = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    jobs = [_job(build, arguments, options, seed) for arguments in combinations for seed in range(seeds)]
    found = told(jobs, folder, pool, progress, keep)
    records = [found[job.name] for job in jobs]
    grouped = [records[k * seeds : (k + 1) * seeds] for k in range(len(combinations))]
    table = _table(combinations, grouped)
    table.write(folder / f"sweep-{digest([job.name for job in jobs])}")
    return Sweep(_dataset(axes, seeds, records), table, records, [folder / job.name for job in jobs])


def _values(name: str, given: Any) -> list[Any]:
    values = [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)
    if not values:
        raise ValueError(f"sweep: `{name}` has no values: give at least one, or leave it out.")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ":".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _job(build: Callable[..., Any], arguments: dict[str, Any], options: Options, seed: int) -> Job:
    words = [f"{name}={_text(value)}" for name, value in arguments.items()]
    # Of names that have no place in a path only the digest tells.
    plain = "-".join([*words, f"seed{seed}"]).replace("/", "_")[:80]
    name = f"{plain}-{digest(build, arguments, options, seed)}"
    about = {"arguments": arguments, "seed": seed, "steps_asked": options.steps, "seconds_asked": options.seconds}
    return Job(name, ", ".join([*words, f"seed {seed}"]), posed_by, (build, arguments, options, seed), about)


def posed_by(build: Callable[..., Any], arguments: dict[str, Any], options: Options, seed: int) -> Posed:
    """What one run of a sweep solves."""
    made: Any = build(**arguments)
    parts: list[Any] = [made] if isinstance(made, AbstractProblem) else list(made)
    problem, model, method, steps = [*parts, None, None, None][:4]
    if not isinstance(problem, AbstractProblem):
        raise ValueError(f"sweep: `build` must give a problem, or problem, model and method, got {made!r:.80}.")
    model = model if options.model is None else options.model
    method = method if options.method is None else options.method
    steps = steps if options.steps is options.seconds is None else options.steps
    return Posed(problem, model, method, steps, options.seconds, seed)


def _dataset(axes: Mapping[str, Sequence[Any]], seeds: int, records: Sequence[Mapping[str, Any]]) -> xr.Dataset:
    names = (*axes, "seed")
    shape = (*map(len, axes.values()), seeds)
    # A range (low, high) is one value of an argument: its words.
    plain = {name: [_text(v) if isinstance(v, tuple | list) else v for v in values] for name, values in axes.items()}
    columns = {}
    for column, kind in COLUMNS.items():
        entries = [record[column] for record in records]
        # There is no error without a reference.
        array = np.asarray([np.nan if entry is None else entry for entry in entries], kind)
        columns[column] = (names, array.reshape(shape))
    return xr.Dataset(columns, {**plain, "seed": np.arange(seeds)})


def _table(combinations: Sequence[Mapping[str, Any]], grouped: Sequence[Sequence[Mapping[str, Any]]]) -> Table:
    """Mean and spread over seeds for each combination."""
    header = (*(combinations[0] or {"problem": ""}), "relative L2", "s", "evaluations", "feasible")
    rows = []
    for arguments, records in zip(combinations, grouped, strict=True):
        errors = [record["relative_l2"] for record in records if record["relative_l2"] is not None]
        error = with_spread(float(np.mean(errors)), float(np.std(errors))) if errors else NONE
        seconds = f"{np.mean([record['seconds'] for record in records]):.1f}"
        evaluations = number(float(np.mean([record["operator_evaluations"] for record in records])))
        feasible = f"{sum(bool(record['feasible']) for record in records)}/{len(records)}"
        named = [_text(value) for value in arguments.values()] or ["–"]
        rows.append((*named, error, seconds, evaluations, feasible))
    return Table(f"{len(combinations)} x {len(grouped[0])} runs", header, tuple(rows))
