"""`sclax reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from ._pool import Cluster, Jobs, pool_of
from ._saying import console_of, refusing, tell


def reproduce_tables(
    what: Annotated[list[str], typer.Argument(help="table1, figure2, pinnacle, …, or all; `list` shows them.")],
    mode: Annotated[str, typer.Option(help="paper (restarted chains), chains (persistent ones) or fast.")] = "fast",
    scale: Annotated[str, typer.Option(help="tiny (minutes), small (hours) or paper.")] = "small",
    seeds: Annotated[int | None, typer.Option(help="How many, if not the scale's.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="A row, such as convection-50 or convection-50/pinn.")] = None,
    out: Annotated[Path, typer.Option(help="Where runs, tables and figures go.")] = Path("runs/reproduce"),
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Runs what is missing of the paper's tables and figures, ours beside the published numbers.

    Finished runs are not run again. Killed at any moment, the same command goes on.
    """
    from .. import experiments
    from .._base import keep_compiled

    if what == ["list"]:
        console = console_of()
        for name, rows in experiments.TABLES.items():
            console.print(f"{name:<10}{', '.join(dict.fromkeys(e.row for e in rows))}", highlight=False, soft_wrap=True)
        for name, figure in experiments.FIGURES.items():
            console.print(f"{name:<10}{figure.title}", highlight=False, soft_wrap=True)
        return
    with refusing():
        keep_compiled()
        with pool_of(jobs, cluster) as pool:
            found = experiments.reproduce(
                *what, mode=mode, scale=scale, seeds=seeds, only=only or (), out=out, pool=pool, keep=True
            )
    tell((table.text() for table in found.tables.values()), out, ", ".join(path.name for path in found.files))
