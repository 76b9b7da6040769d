"""The command: parses arguments and calls the library.

Whatever imports JAX is imported where it is used, so that `sclax --help` and `sclax list` answer at once.
"""

import contextlib
import json
import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ._result import AbstractSolution

app = typer.Typer(
    help="Solves differential equations by science-constrained learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Makes and shows data sets of solutions.", no_args_is_help=True)
app.add_typer(data_app, name="data")


class Method(StrEnum):
    scl = "scl"
    average = "average"
    pinn = "pinn"
    r3 = "r3"
    paper = "paper"


def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr)


def _fail(message: str) -> typer.Exit:
    from rich.markup import escape

    _console(stderr=True).print(f"[red]sclax:[/red] {escape(message)}", highlight=False)
    return typer.Exit(2)


def _plain_number(text: str) -> float:
    """A whole number stays one: seeds and counts take nothing else."""
    return int(text) if text.strip().isdecimal() else float(text)


def _pairs(option: str, pairs: list[str], between: str, form: str) -> dict[str, list[float]]:
    """NAME=NUMBER…, with `between` the numbers, each name once."""
    from ._base import checks

    found: dict[str, list[float]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        name = name.strip()
        try:
            values = [_plain_number(part) for part in text.split(between)]
        except ValueError:
            raise ValueError(f"{option} {pair!r:.60}: write {form}.") from None
        if name in found:
            raise ValueError(f"{option} gives `{name}` twice: leave one of them out.")
        for value in values:
            checks.number(option, name, value)
        found[name] = values
    return found


def _settings(pairs: list[str]) -> dict[str, Any]:
    """`beta=50` as a number, `beta=1:30` as a range."""
    form = "NAME=NUMBER or NAME=LOW:HIGH, for example beta=50 or beta=1:30"
    found = _pairs("--set", pairs, ":", form)
    for name, values in found.items():
        if len(values) > 2:
            raise ValueError(f"--set {name} has {len(values)} numbers: write {form}.")
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def _values(pairs: list[str]) -> dict[str, tuple[float, ...]] | None:
    """`beta=1,10,20,30` as values of a parameter."""
    found = _pairs("--at", pairs, ",", "NAME=NUMBER,NUMBER,…, for example beta=1,10,20,30")
    return {name: tuple(map(float, values)) for name, values in found.items()} or None


@app.command("list")
def list_problems() -> None:
    """Lists the problems that `sclax solve` knows."""
    from rich.markup import escape

    from . import zoo

    console, known = _console(), {**zoo.ENTRIES, **zoo.OPERATORS}
    # A line each for other programs to read; on a screen, equations break where they fit in no line.
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else sys.maxsize
    column = max(map(len, known)) + 2
    beside = all(column + len(entry.equation) <= width for entry in known.values())
    for name, entry in known.items():
        text = f"{name:<{column}}" if beside else f"{name}\n    "
        equation = "\n    ".join(entry.lines(width - 4))
        console.print(f"[bold]{text}[/bold]{escape(equation)}", highlight=False, soft_wrap=True)


@app.command("solve")
def solve_problem(
    name: Annotated[str, typer.Argument(help="A problem; `sclax list` shows them.")],
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

    from . import zoo
    from ._base import checks, keep_compiled, replaced
    from ._result import versions
    from ._run import asked_for, solve

    made: list[Path] = []
    try:
        arguments = _settings(sets or [])
        entry = zoo.entry(name)
        known = inspect.signature(entry.build).parameters
        for argument in arguments:
            if argument not in known:
                raise ValueError(
                    f"--set {argument}: {name} has {checks.listed(known)}." + checks.nearest(argument, known)
                )
        if scale is not None:
            if name not in zoo.OPERATORS:
                raise ValueError(f"--scale is for operators, {checks.listed(zoo.OPERATORS)}; {name} is not one.")
            arguments["scale"] = scale
        values = _values(at or [])
        if values and method is not Method.pinn:
            raise ValueError(f"--at gives the grid of --method pinn; --method {method.value} ranges over the family.")
        asked_for(steps, seconds, seed, seeds)  # before an operator makes its data, which may take minutes
        _check_out(out, resume)
        keep_compiled()
        row = zoo.ROWS[method.value](entry, **({"at": values} if values else {}), **arguments)
        directory = out or _new_directory(name, arguments, method, seed)
        made = _make(directory)
        console = _console(stderr=as_json)
        console.print(f"[bold]{name}[/bold]  {escape(entry.equation)}", highlight=False)
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
        raise _fail(str(error)) from None
    solutions = found if isinstance(found, list) else [found]
    solutions[0].save(directory / "solution.scl")
    try:
        records = [solution.record() for solution in solutions]
    except ImportError as error:  # what was learned counts, with or without a reference to compare with
        console.print(f"no error is given: {error}", highlight=False, markup=False)
        solutions = [solution.without_reference() for solution in solutions]
        records = [solution.record() for solution in solutions]
    best = solutions[0]
    about = {
        "problem": name,
        "arguments": arguments,
        "method": method.value,
        "chosen": repr(best.method),
        "versions": versions(),
        **records[0],
    }
    if seeds is not None:
        about["per_seed"] = records
    with replaced(directory / "record.json") as temporary:
        temporary.write_text(json.dumps(about, indent=1) + "\n")
    _save_history(directory / "history.npz", best)
    best.draw(directory)
    _summary(console, best, records, directory)
    if not all(r["converged"] for r in records):
        longer = 2 * best.seconds if best.result.name == "time_up" else None
        again = _command(name, sets, method, at, scale, seed, seeds, directory, longer)
        # The last line, so that nobody takes a run that was cut short for one that is done.
        console.print(
            f"[red]Not converged: {escape(best.result.value)} Go on with[/red] {escape(again)}", highlight=False
        )
    if as_json:
        json.dump(about, sys.stdout)
        sys.stdout.write("\n")


def _command(
    name: str,
    sets: list[str] | None,
    method: Method,
    at: list[str] | None,
    scale: str | None,
    seed: int,
    seeds: int | None,
    directory: Path,
    longer: float | None,
) -> str:
    """The command that goes on with a run; `longer` seconds where its time was up."""
    words = ["sclax", "solve", name]
    words += [word for pair in sets or [] for word in ("--set", pair)]
    words += [word for pair in at or [] for word in ("--at", pair)]
    words += ["--method", method.value] if method is not Method.scl else []
    words += ["--scale", scale] if scale is not None else []
    words += ["--seed", str(seed)] if seed else []
    words += ["--seeds", str(seeds)] if seeds is not None else []
    words += ["--seconds", f"{max(longer, 60.0):.0f}"] if longer is not None else []
    return shlex.join([*words, "--out", str(directory), "--resume"])


def _check_out(out: Path | None, resume: bool) -> None:
    from ._base import checks

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


def _summary(console: "Console", best: "AbstractSolution", records: list[dict[str, Any]], directory: Path) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, collapse_padding=True)  # which fits into 80 columns
    for column in ("seed", "relative L2", "objective", "constraint", "violation", "multiplier", "max |r|", "seconds"):
        table.add_column(column, justify="left" if column == "constraint" else "right")
    show = lambda value: "–" if value is None else f"{value:.3g}"
    for r in records:
        for i, constraint in enumerate(best.problem.constraints or ("–",)):
            first = (str(r["seed"]), show(r["relative_l2"]), show(r["objective"])) if i == 0 else ("", "", "")
            price = r["multipliers"].get(constraint)
            price = max(price, default=None) if isinstance(price, list) else price
            table.add_row(
                *first,
                constraint,
                show(r["violations"].get(constraint)),
                show(price),
                show(r["sup_residual"].get(constraint)),
                f"{r['seconds']:.1f}" if i == 0 else "",
            )
    console.print(table)
    for r in records:
        if "relative_l2_worst" in r:
            where = ", ".join(f"{name} = {value:.4g}" for name, value in r["worst_parameters"].items())
            console.print(
                f"seed {r['seed']}, over the family: median {show(r['relative_l2_median'])}, "
                f"worst {show(r['relative_l2_worst'])} at {where}",
                highlight=False,
            )
        if "train_errors" in r:
            parts = [f"{part} {show(r[f'{part}_errors']['mean'])}" for part in ("train", "validation", "test")]
            parts += [f"last state {show(r['relative_l2_last'])}"]
            parts += [f"{k.replace('_', ' ')} {show(r[k])}" for k in ("nearest_neighbour", "interpolation") if k in r]
            console.print(f"seed {r['seed']}, mean errors: {', '.join(parts)}", highlight=False)
    console.print(best.result.value, highlight=False, style="dim")
    console.print(
        f"written to {directory}: solution.scl, record.json, history.npz, and figures", highlight=False, markup=False
    )


@data_app.command("make")
def make_data(
    name: Annotated[str, typer.Argument(help="burgers, navier_stokes or diffusion_sorption.")],
    out: Annotated[Path, typer.Option(help="The netCDF file to write.")],
    scale: Annotated[str, typer.Option(help="tiny (seconds), small (minutes) or paper.")] = "small",
    seed: Annotated[int, typer.Option(help="Of the initial conditions.")] = 0,
    samples: Annotated[int | None, typer.Option(help="How many, if not the scale's.")] = None,
) -> None:
    """Makes a data set of initial conditions and solutions by a classical solver."""
    from rich.progress import Progress

    from . import data
    from ._base import checks

    console = _console(stderr=True)
    known = {
        "burgers": data.burgers,
        "navier_stokes": data.navier_stokes,
        "diffusion_sorption": data.diffusion_sorption,
    }
    try:
        if name not in known:
            raise ValueError(
                f"data: there is no data set `{name}`; there are {checks.listed(known)}." + checks.nearest(name, known)
            )
        checks.folder("data make", "--out", out)
        if out.is_dir():
            raise ValueError(f"data make: `--out` is {str(out)!r}, a directory: give the file to write.")
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"{name}, {scale}", total=None)
            made = known[name](
                scale,
                seed=seed,
                samples=samples,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        data.save(made, out)
    except (ValueError, ImportError, OSError) as error:
        raise _fail(str(error)) from None
    console.print(f"written to {out}: {_sizes(made)}", highlight=False, markup=False)


@data_app.command("show")
def show_data(
    path: Annotated[Path, typer.Argument(help="A file that `sclax data make` wrote.")],
    out: Annotated[Path | None, typer.Option(help="The picture; default: beside the file, as .png.")] = None,
    samples: Annotated[int, typer.Option(help="How many to draw.")] = 3,
) -> None:
    """Says what is in a data set and draws some of its samples."""
    from . import data

    try:
        shown = data.open_dataset(path)
        picture = path.with_suffix(".png") if out is None else out
        data.show(shown, picture, samples)
    except (ValueError, ImportError, OSError) as error:
        raise _fail(str(error)) from None
    console = _console()
    console.print(_sizes(shown), highlight=False)
    for name, value in shown.attrs.items():
        console.print(f"  {name}: {value}", highlight=False, markup=False)
    console.print(f"drawn to {picture}", highlight=False, markup=False)


def _sizes(dataset: Any) -> str:
    return ", ".join(f"{size} {name}" for name, size in dataset.sizes.items())
