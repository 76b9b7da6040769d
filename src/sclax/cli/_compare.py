"""`sclax compare`."""

from pathlib import Path
from typing import Annotated

import typer

from ._pool import Cluster, Jobs, pool_of
from ._saying import refusing, tell
from ._words import settings


def compare_methods(
    name: Annotated[str, typer.Argument(help="A problem of `sclax list`, or a Python file that defines `problem`.")],
    methods: Annotated[str, typer.Option(help="Of scl, paper, pinn, r3; for operators of scl, average.")] = "scl,pinn",
    sets: Annotated[list[str] | None, typer.Option("--set", help="beta=50, or beta=1:30 for a family.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of each.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds of training of each; 60 by default.")] = None,
    seeds: Annotated[int, typer.Option(help="How many of each.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Where runs, table and figures go.")] = None,
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Solves one problem by several methods: a table, and figures of error against seconds and evaluations."""
    from .. import experiments, zoo
    from .._base import checks, keep_compiled

    with refusing():
        arguments, asked = settings(sets or []), [word.strip() for word in methods.split(",") if word.strip()]
        for method in asked:
            if method not in zoo.ROWS:
                raise ValueError(
                    f"--methods {method!r}: there are {checks.listed(zoo.ROWS)}." + checks.nearest(method, zoo.ROWS)
                )
        keep_compiled()
        budget = experiments.Budget(steps, 60.0 if steps is seconds is None else seconds)
        folder = Path("runs") / f"compare-{Path(name).stem}" if out is None else out
        folder = checks.folder("compare", "--out", folder) if out is not None else folder
        with pool_of(jobs, cluster) as pool:
            found = experiments.compare(name, asked, arguments, budget, seeds, folder, pool, keep=True)
    tell([found.table.text()], folder, ", ".join(path.name for path in found.files))
