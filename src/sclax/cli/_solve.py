"""`sclax solve`."""

import contextlib
import json
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._saying import console_of, fail
from ._summary import summary
from ._words import settings, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._result import AbstractSolution


POINTS = 100_000  # of each law, on which a run is checked


class Method(StrEnum):
    scl = "scl"
    average = "average"
    pinn = "pinn"
    r3 = "r3"
    paper = "paper"


def solve_problem(
    name: Annotated[str, typer.Argument(help="A problem of `sclax list`, or a Python file that defines `problem`.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="beta=50, or beta=1:30 for a family.")] = None,
    method: Annotated[Method, typer.Option(help="The default, a baseline, or the paper's exact mode.")] = Method.scl,
    at: Annotated[
        list[str] | None, typer.Option(help="Values of a family's parameter for --method pinn: beta=1,10,20,30.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="Of an operator: tiny (seconds), small (minutes) or paper.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after so many steps.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds of training.")] = None,
    seed: Annotated[int, typer.Option(help="Of the weights and all draws.")] = 0,
    seeds: Annotated[int | None, typer.Option(help="Train so many seeds at once.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory; default: a new one in runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run in --out stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Solves a problem and writes model, history, settings and figures to a run directory.

    Without --steps or --seconds it ends when the run has converged, after 5 minutes of training at the latest.
    """
    import inspect

    from rich.markup import escape

    from .. import experiments, zoo
    from .._base import checks, keep_compiled, replaced
    from .._problem import headline
    from .._result import versions
    from .._run import asked_for, solve

    made: list[Path] = []
    try:
        arguments = settings(sets or [])
        of_file = experiments.is_file(name)
        entry = None if of_file else zoo.entry(name)
        known = {} if entry is None else inspect.signature(entry.build).parameters
        for argument in arguments:
            if entry is not None and argument not in known:
                raise ValueError(
                    f"--set {argument}: {name} has {checks.listed(known)}." + checks.nearest(argument, known)
                )
        if scale is not None:
            if name not in zoo.OPERATORS:
                raise ValueError(f"--scale is for operators, {checks.listed(zoo.OPERATORS)}; {name} is not one.")
            arguments["scale"] = scale
        values = values_of(at or [])
        if values and method is not Method.pinn:
            raise ValueError(f"--at gives the grid of --method pinn; --method {method.value} ranges over the family.")
        asked_for(steps, seconds, seed, seeds)  # before an operator makes its data, which may take minutes
        _check_out(out, resume)
        keep_compiled()
        if entry is None:
            row = experiments.row_of(name, method.value, arguments)
        else:
            row = zoo.ROWS[method.value](entry, **({"at": values} if values else {}), **arguments)
        directory = out or _new_directory(Path(name).stem, arguments, method, seed)
        made = _make(directory)
        console = console_of(stderr=as_json)
        about_it = headline(row.problem) if entry is None else entry.equation
        console.print(f"[bold]{escape(name)}[/bold]  {escape(about_it)}", highlight=False)
        found = solve(
            row.problem,
            row.model,
            row.method,
            seed=seed,
            # A row of the paper has its own number of steps; everything else ends by itself.
            steps=row.steps if steps is None and seconds is None else steps,
            seconds=seconds,
            seeds=seeds,
            checkpoint=directory / "checkpoint",
        )
    except (ValueError, TypeError, ImportError, OSError) as error:
        for folder in made:  # which are empty where a run was refused
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise fail(str(error)) from None
    solutions = found if isinstance(found, list) else [found]
    unwritten = _written(lambda: solutions[0].save(directory / "solution.scl"), directory)
    checked = solutions[0].check(points=POINTS)
    tell = lambda: [s.record(POINTS, checked=checked if s is solutions[0] else None) for s in solutions]
    try:
        records = tell()
    except ImportError as error:  # what was learned counts, with or without a reference to compare with
        console.print(f"no error is given: {error}", highlight=False, markup=False)
        solutions = [solution.without_reference() for solution in solutions]
        records = tell()
    best = solutions[0]
    about = {
        "problem": name,
        "arguments": arguments,
        "method": method.value,
        "chosen": repr(best.method),
        "versions": versions(),
        "verdict": checked.verdict.words,
        "solved": checked.solved,
        "estimated_error": checked.estimated_error,
        **records[0],
    }
    if seeds is not None:
        about["per_seed"] = records

    def write() -> None:
        with replaced(directory / "record.json") as temporary:
            temporary.write_text(json.dumps(about, indent=1) + "\n")
        _save_history(directory / "history.npz", best)
        command = _command(name, sets, method, at, scale, steps, seconds, seed, seeds)
        best.draw(directory, checked=checked, record=records[0], command=shlex.join(command))

    unwritten = unwritten or _written(write, directory)
    summary(console, best, checked, records, directory)
    if unwritten is not None:  # on a disk that is full, say: what was learned is at least told
        raise fail(f"not everything could be written to {str(directory)!r}: {unwritten}")
    if not all(r["converged"] for r in records):
        longer = max(2 * best.seconds, 60.0) if best.result.name == "time_up" else None
        words = _command(name, sets, method, at, scale, None, longer, seed, seeds)
        again = shlex.join([*words, "--out", str(directory), "--resume"])
        # The last line, so that nobody takes a run that was cut short for one that is done.
        console.print(
            f"[red]Not converged: {escape(best.result.value)} Go on with[/red] {escape(again)}", highlight=False
        )
    if as_json:
        json.dump(about, sys.stdout)
        sys.stdout.write("\n")


def _written(write: "Callable[[], Any]", directory: Path) -> OSError | None:
    """Writes to the run's directory, which may have been removed meanwhile; what went wrong, if anything did."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        return error
    return None


def _command(
    name: str,
    sets: list[str] | None,
    method: Method,
    at: list[str] | None,
    scale: str | None,
    steps: int | None,
    seconds: float | None,
    seed: int,
    seeds: int | None,
) -> list[str]:
    """The words of the command that makes a run."""
    words = ["sclax", "solve", name]
    words += [word for pair in sets or [] for word in ("--set", pair)]
    words += [word for pair in at or [] for word in ("--at", pair)]
    words += ["--method", method.value] if method is not Method.scl else []
    words += ["--scale", scale] if scale is not None else []
    words += ["--seed", str(seed)] if seed else []
    words += ["--seeds", str(seeds)] if seeds is not None else []
    words += ["--steps", str(steps)] if steps is not None else []
    words += ["--seconds", f"{seconds:.0f}" if seconds >= 10 else f"{seconds:g}"] if seconds is not None else []
    return words


def _check_out(out: Path | None, resume: bool) -> None:
    from .._base import checks

    if out is None:
        if resume:
            raise ValueError("--resume needs --out DIR, the directory of the run to go on with.")
        return
    checks.folder("solve", "--out", out)
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {str(out)!r} is a file: give a directory.")
    if not resume and out.exists() and any(out.iterdir()):
        raise ValueError(f"--out {str(out)!r} is not empty: give a new directory, or --resume to go on with its run.")


def _new_directory(name: str, arguments: dict[str, Any], method: Method, seed: int) -> Path:
    """A directory that does not exist yet, in runs/, whose name tells the run."""
    numbers = lambda value: value if isinstance(value, tuple) else (value,)
    text = lambda value: value if isinstance(value, str) else ":".join(f"{x:g}" for x in numbers(value))
    parts = [name, *(f"{k}={text(v)}" for k, v in arguments.items()), method.value]
    stem = "-".join([*parts, f"seed{seed}"])
    directory, n = Path("runs") / stem, 1
    while directory.exists():
        n += 1
        directory = Path("runs") / f"{stem}-{n}"
    return directory


def _make(directory: Path) -> list[Path]:
    """Makes the run's directory; gives those that were not there, the innermost first."""
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    return made


def _save_history(path: Path, solution: "AbstractSolution") -> None:
    import numpy as np

    np.savez(path, **solution.history.flattened())  # pyright: ignore[reportArgumentType]
