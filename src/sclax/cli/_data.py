"""`sclax data make` and `sclax data show`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ._saying import console_of, fail

app = typer.Typer(help="Makes and shows data sets of solutions.", no_args_is_help=True)


@app.command("make")
def make_data(
    name: Annotated[str, typer.Argument(help="burgers, navier_stokes or diffusion_sorption.")],
    out: Annotated[Path, typer.Option(help="The netCDF file to write.")],
    scale: Annotated[str, typer.Option(help="tiny (seconds), small (minutes) or paper.")] = "small",
    seed: Annotated[int, typer.Option(help="Of the initial conditions.")] = 0,
    samples: Annotated[int | None, typer.Option(help="How many, if not the scale's.")] = None,
) -> None:
    """Makes a data set of initial conditions and solutions by a classical solver."""
    from rich.progress import Progress

    from .. import data
    from .._base import checks

    console = console_of(stderr=True)
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
        raise fail(str(error)) from None
    console.print(f"written to {out}: {_sizes(made)}", highlight=False, markup=False)


@app.command("show")
def show_data(
    path: Annotated[Path, typer.Argument(help="A file that `sclax data make` wrote.")],
    out: Annotated[Path | None, typer.Option(help="The picture; default: beside the file, as .png.")] = None,
    samples: Annotated[int, typer.Option(help="How many to draw.")] = 3,
) -> None:
    """Says what is in a data set and draws some of its samples."""
    from .. import data

    try:
        shown = data.open_dataset(path)
        picture = path.with_suffix(".png") if out is None else out
        data.show(shown, picture, samples)
    except (ValueError, ImportError, OSError) as error:
        raise fail(str(error)) from None
    console = console_of()
    console.print(_sizes(shown), highlight=False)
    for name, value in shown.attrs.items():
        console.print(f"  {name}: {value}", highlight=False, markup=False)
    console.print(f"drawn to {picture}", highlight=False, markup=False)


def _sizes(dataset: Any) -> str:
    return ", ".join(f"{size} {name}" for name, size in dataset.sizes.items())
