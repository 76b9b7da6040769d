"""`compare`: several methods on one problem, of the zoo or of a file, with the same budget."""

import functools
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .. import zoo
from .._base import checks, digest
from .._problem import AbstractProblem, Problem
from ..samplers import R3, MetropolisHastings, Uniform
from ..zoo import PaperSettings, Row
from ._building import Posed
from ._catalogue import TABLES
from ._gathering import AbstractPool
from ._records import Experiment
from ._reproducing import told
from ._running import Job
from ._tables import Table, table_of

STAGES = 4  # at which the error of a run is measured
POINTS = 1000  # of the equation in a step, as in the paper


class Compared(NamedTuple):
    """The table, the files that were written, and the records by method.

    !!! example
        `compare("convection", ["scl", "pinn"], {}, Budget(100, None), 1, Path("runs")).table.text()`
    """

    table: Table
    files: list[Path]
    records: dict[str, list[dict[str, Any]]]


# --- problems of files ----------------------------------------------------------------------------------------------


def module_of(path: Path) -> ModuleType:
    """A Python file of the user's, executed as pytest does with tests; it may import what is beside it."""
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is not a file; `sclax new {path.name}` writes one to start from.")
    name = f"sclax_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{str(path)!r} is no Python file: its name must end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module


def problem_of(path: Path) -> AbstractProblem:
    """The `problem` that a Python file defines."""
    found = getattr(module_of(path), "problem", None)
    if not isinstance(found, AbstractProblem):
        raise ValueError(f"{str(path)!r} must define `problem`, an sclax.Problem; it is {found!r:.80}.")
    return found


@functools.cache
def _settings(weights: tuple[tuple[str, float], ...]) -> PaperSettings:
    return PaperSettings(tolerance=1.0, scales=(), steps=200_000, weights=weights)


def _weighted(problem: Problem, sampler: Any) -> Row:
    settings = _settings((("objective", 100.0),))
    return Row(problem.sampled_by(sampler), settings.model, settings.penalty())


def _paper(problem: Problem) -> Row:
    settings = _settings((("objective", 100.0),))
    return Row(problem.sampled_by(MetropolisHastings()), settings.model, settings.method())


# The methods for problems that the paper does not have: its networks, rates and numbers of points.
OWN: dict[str, Callable[[Any], Row]] = {
    "scl": lambda problem: Row(problem),
    "paper": _paper,
    "pinn": lambda problem: _weighted(problem, Uniform(POINTS)),
    "r3": lambda problem: _weighted(problem, R3(POINTS)),
}


def row_of(name: str, method: str, arguments: dict[str, Any]) -> Row:
    """A method on a problem of the zoo by its name, or of a file by its path.

    !!! example
        `row_of("convection", "pinn", {"beta": 50.0}).method`
    """
    if is_file(name):
        if arguments:
            raise ValueError(f"--set {next(iter(arguments))}: {name} is a file; set its numbers there.")
        problem = problem_of(Path(name))
        known = [*OWN] if problem.pointwise else ["scl"]
        if method not in known:
            raise ValueError(f"--method {method}: a file's problem has {checks.listed(known)}.")
        return OWN[method](problem)
    entry = zoo.entry(name)
    if entry.paper_problem is None and name not in zoo.OPERATORS and method in OWN:
        return OWN[method](entry.build(**arguments))
    return zoo.ROWS[method](entry, **arguments)


def is_file(name: str) -> bool:
    """Whether a problem is meant by the path of a Python file.

    !!! example
        `is_file("mine.py")`
    """
    return name.endswith(".py")


# --- several methods ------------------------------------------------------------------------------------------------


class Budget(NamedTuple):
    """What each method may take.

    !!! example
        `Budget(steps=None, seconds=60.0)`
    """

    steps: int | None
    seconds: float | None


def posed_by(name: str, method: str, arguments: dict[str, Any], budget: Budget, seed: int) -> Posed:
    row = row_of(name, method, arguments)
    stages = 1 if row.method is None or not row.problem.pointwise else STAGES
    return Posed(row.problem, row.model, row.method, budget.steps, budget.seconds, seed, stages)


def compare(
    name: str,
    methods: Sequence[str],
    arguments: dict[str, Any],
    budget: Budget,
    seeds: int,
    folder: Path,
    pool: AbstractPool | None = None,
    progress: bool = True,
    keep: bool = False,
) -> Compared:
    """Methods on one problem, each for the same steps or seconds of training: a table, and figures of error against
    seconds and against evaluations of differential operators.

    !!! example
        `compare("convection", ["scl", "pinn"], {}, Budget(100, None), 1, Path("runs")).table.text()`
    """
    from . import plots  # which takes a while to import

    seeds = checks.count("compare", "seeds", seeds)
    for method in methods:
        row_of(name, method, arguments)  # what is not known is said before anything is trained
    content = digest(problem_of(Path(name)).identity()) if is_file(name) else name
    name = str(Path(name).absolute()) if is_file(name) else name
    experiments = [_experiment(name, method, arguments) for method in methods]
    jobs = {e: [_job(name, e, arguments, budget, seed, content) for seed in range(seeds)] for e in experiments}
    found = told([job for own in jobs.values() for job in own], folder, pool, progress, keep)
    records = {e: [found[job.name] for job in own] for e, own in jobs.items()}
    limit = f"{budget.steps} steps" if budget.seconds is None else f"{budget.seconds:g} s"
    table = table_of(f"{experiments[0].label}, {limit}, {seeds} seed(s)", experiments, records)
    files = table.write(folder / "compare")
    figure = plots.compared({e.method: own for e, own in records.items()})
    files += plots.written(figure, folder / "compare")
    return Compared(table, files, {e.method: own for e, own in records.items()})


def _experiment(name: str, method: str, arguments: dict[str, Any]) -> Experiment:
    """The paper's row, where it has one, so that its number stands beside ours."""
    short = Path(name).stem if is_file(name) else name
    label = ", ".join([short, *(f"{argument} = {value}" for argument, value in arguments.items())])
    wanted = "scl" if method == "paper" else method
    for experiment in (e for rows in TABLES.values() for e in rows):
        if (experiment.problem, experiment.method) == (name, wanted) and dict(experiment.arguments) == arguments:
            return Experiment(short, label, name, method, published=experiment.published)
    return Experiment(short, label, name, method)


def _job(name: str, e: Experiment, arguments: dict[str, Any], budget: Budget, seed: int, content: str) -> Job:
    own = digest(content, e.method, arguments, budget, seed)
    about = {"problem": e.row, "arguments": arguments, "method": e.method, "budget": budget._asdict()}
    given = (name, e.method, arguments, budget, seed)
    return Job(f"{e.row}-{e.method}-seed{seed}-{own}", f"{e.label}, {e.method}, seed {seed}", posed_by, given, about)


def built(name: str, method: str, **arguments: Any) -> Row:
    """`row_of` as a function of the arguments, for sweeps.

    !!! example
        `built("convection", "pinn", beta=50.0)`
    """
    return row_of(name, method, arguments)
