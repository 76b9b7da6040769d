"""The command: parses arguments and calls the library."""

import importlib.metadata
import inspect
import json
import platform
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import xarray as xr
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from . import data, zoo
from ._base import checks
from ._problem import samples
from ._result import RESULTS, OperatorSolution, Solution, result_name
from ._run import solve

app = typer.Typer(
    help="Solves differential equations by science-constrained learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


data_app = typer.Typer(help="Makes and shows data sets of solutions.", no_args_is_help=True)
app.add_typer(data_app, name="data")

DATA_SETS = {
    "burgers": data.burgers,
    "navier_stokes": data.navier_stokes,
    "diffusion_sorption": data.diffusion_sorption,
}


class Method(StrEnum):
    scl = "scl"
    average = "average"
    pinn = "pinn"
    r3 = "r3"
    paper = "paper"


def _fail(message: str) -> typer.Exit:
    Console(stderr=True).print(f"[red]sclax:[/red] {escape(message)}", highlight=False)
    return typer.Exit(2)


def _plain_number(text: str) -> float:
    """A whole number stays one: seeds and counts take nothing else."""
    return int(text) if text.strip().isdecimal() else float(text)


def _settings(pairs: list[str]) -> dict[str, Any]:
    """`beta=50` as a number, `beta=1:30` as a range."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            values = [_plain_number(part) for part in text.split(":")]
        except ValueError:
            values = []
        if not equals or len(values) not in (1, 2):
            raise ValueError(f"--set {pair!r}: write NAME=NUMBER or NAME=LOW:HIGH, for example beta=50 or beta=1:30.")
        found[name.strip()] = values[0] if len(values) == 1 else tuple(values)
    return found


def _values(pairs: list[str]) -> dict[str, tuple[float, ...]] | None:
    """`beta=1,10,20,30` as values of a parameter."""
    found: dict[str, tuple[float, ...]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            found[name.strip()] = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise ValueError(f"--at {pair!r}: write NAME=NUMBER,NUMBER,…, for example beta=1,10,20,30.") from None
    return found or None


def versions() -> dict[str, str]:
    """What ran: for records that can be compared later."""
    packages = ("sclax", "jax", "equinox", "optax", "numpy")
    return {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}}


def record(solution: Solution, points: int, errors: xr.DataArray | None = None) -> dict[str, Any]:
    """A run in numbers, as the command's JSON has it. What does not exist or is not finite is null. `errors` is the map
    of a family's errors, where it is at hand."""
    report = solution.check(points=points)
    errors = solution.error_map(progress=False) if errors is None else errors
    return {
        "relative_l2": None if errors is None else _number(float(errors.mean())),
        **_spread(errors),
        **(_of_samples(solution) if isinstance(solution, OperatorSolution) else {}),
        "sup_residual": {name: _number(value) for name, value in report.sup_residual.items()},
        "multipliers": {name: _plain(value) for name, value in solution.multipliers.items()},
        "violations": {f.name: _number(f.violation) for f in report.findings if f.violation is not None},
        "feasible": report.holds,
        "objective": _number(solution.objective),
        "seconds": round(solution.seconds, 3),
        "steps": solution.steps,
        "operator_evaluations": solution.operator_evaluations,
        "result": result_name(solution.result),
        "seed": solution.seed,
    }


def _spread(errors: xr.DataArray | None) -> dict[str, Any]:
    """Median and worst error over the parameters of a family, and where the worst is."""
    if errors is None or not errors.dims:
        return {}
    worst = errors.isel(errors.argmax(...))
    return {
        "relative_l2_median": _number(float(errors.median())),
        "relative_l2_worst": _number(float(worst)),
        "worst_parameters": {str(name): float(worst.coords[name]) for name in errors.dims},
    }


def _of_samples(solution: OperatorSolution) -> dict[str, Any]:
    """The errors of an operator on each part of its data, of the last state, and of baselines without a network."""
    problem = solution.problem
    found: dict[str, Any] = {"relative_l2_last": solution.last_error}
    for split in ("train", "validation", "test"):
        if getattr(problem, split) is not None:
            errors = solution.errors(split)
            found[f"{split}_errors"] = {"mean": float(errors.mean()), "worst": float(errors.max())}
    if problem.test is not None:
        found["nearest_neighbour"] = float(samples.nearest_neighbour(problem.train, problem.test).mean())
        between = samples.interpolation(problem.train, problem.test)
        if between is not None:
            found["interpolation"] = float(between.mean())
    return found


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


@app.command("list")
def list_problems() -> None:
    """Lists the problems that `sclax solve` knows."""
    table = Table(box=None, pad_edge=False)
    table.add_column("problem", style="bold")
    table.add_column("equation")
    for name, entry in {**zoo.ENTRIES, **zoo.OPERATORS}.items():
        table.add_row(name, entry.equation)
    Console().print(table)


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
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    seed: Annotated[int, typer.Option(help="Of the weights and all draws.")] = 0,
    seeds: Annotated[int | None, typer.Option(help="Train so many seeds at once.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory; default: a new one in runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run in --out stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Solves a problem and writes model, history, settings and figures to a run directory."""
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
        row = zoo.ROWS[method.value](entry, **({"at": values} if values else {}), **arguments)
        if resume and out is None:
            raise ValueError("--resume needs --out DIR, the directory of the run to go on with.")
        directory = _directory(out, name, arguments, method, seed, resume)
        if steps is None and seconds is None:
            # The bare command shows something within a minute. By steps where it can: they do not depend on how long
            # this machine takes to compile.
            steps, seconds = (row.steps, None) if row.steps is not None else (400, 45.0)
        console = Console(stderr=as_json)
        console.print(f"[bold]{name}[/bold]  {escape(entry.equation)}", highlight=False)
        found = solve(
            row.problem,
            row.model,
            row.method,
            seed=seed,
            steps=steps,
            seconds=seconds,
            seeds=seeds,
            checkpoint=directory / "checkpoint",
        )
    except (ValueError, TypeError, ImportError, OSError) as error:
        raise _fail(str(error)) from None
    solutions = found if isinstance(found, list) else [found]
    solutions[0].save(directory / "solution.scl")
    try:
        records = [record(s, 100_000) for s in solutions]
    except ImportError as error:  # what was learned counts, with or without a reference to compare with
        console.print(f"no error is given: {error}", highlight=False, markup=False)
        for solution in solutions:
            solution.problem = solution.problem.without_reference()
        records = [record(s, 100_000) for s in solutions]
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
    _write(directory, best, about)
    _summary(console, best, records, directory)
    if as_json:
        json.dump(about, sys.stdout)
        sys.stdout.write("\n")


def _directory(out: Path | None, name: str, arguments: dict[str, Any], method: Method, seed: int, resume: bool) -> Path:
    """The run's directory: as asked for, or a new one that names the run."""
    if out is not None:
        if out.is_file():
            raise ValueError(f"--out {str(out)!r} is a file: give a directory.")
        if not resume and out.exists() and any(out.iterdir()):
            raise ValueError(
                f"--out {str(out)!r} is not empty: give a new directory, or --resume to go on with its run."
            )
        return out
    text = lambda value: value if isinstance(value, str) else ":".join(f"{x:g}" for x in np.atleast_1d(value))
    parts = [name, *(f"{k}={text(v)}" for k, v in arguments.items()), method.value]
    stem = "-".join([*parts, f"seed{seed}"])
    directory, n = Path("runs") / stem, 1
    while directory.exists():
        n += 1
        directory = Path("runs") / f"{stem}-{n}"
    return directory


def _write(directory: Path, solution: Solution, about: dict[str, Any]) -> None:
    (directory / "record.json").write_text(json.dumps(about, indent=1) + "\n")
    np.savez(directory / "history.npz", **solution.history)
    solution.plot(directory / "solution.png")
    solution.plot_history(directory / "history.png")
    if isinstance(solution, OperatorSolution):
        solution.plot_multipliers(directory / "multipliers.png")
        return
    solution.plot_samples(directory / "samples.png")
    if 0 < len(solution.problem.domain.parameters) <= 2:
        solution.plot_family(directory / "family.png")
        solution.plot_marginals(directory / "marginals.png")


def _summary(console: Console, best: Solution, records: list[dict[str, Any]], directory: Path) -> None:
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
    console.print(RESULTS[best.result], highlight=False, style="dim")
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
    console = Console(stderr=True)
    try:
        if name not in DATA_SETS:
            raise ValueError(
                f"data: there is no data set `{name}`; there are {checks.listed(DATA_SETS)}."
                + checks.nearest(name, DATA_SETS)
            )
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"{name}, {scale}", total=None)
            made = DATA_SETS[name](
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
    try:
        shown = data.open_dataset(path)
        picture = path.with_suffix(".png") if out is None else out
        data.show(shown, picture, samples)
    except (ValueError, ImportError, OSError) as error:
        raise _fail(str(error)) from None
    console = Console()
    console.print(_sizes(shown), highlight=False)
    for name, value in shown.attrs.items():
        console.print(f"  {name}: {value}", highlight=False, markup=False)
    console.print(f"drawn to {picture}", highlight=False, markup=False)


def _sizes(dataset: Any) -> str:
    return ", ".join(f"{size} {name}" for name, size in dataset.sizes.items())
