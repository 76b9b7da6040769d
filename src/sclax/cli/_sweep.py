"""`sclax sweep`."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from ._pool import Cluster, Jobs, pool_of
from ._saying import refusing, tell
from ._words import swept_values


def sweep_problem(
    name: Annotated[str, typer.Argument(help="A problem; `sclax list` shows them.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Values of an argument: beta=10,30,50.")] = None,
    method: Annotated[str, typer.Option(help="scl, paper, pinn, r3 or average.")] = "scl",
    seeds: Annotated[int, typer.Option(help="How many for each combination.")] = 1,
    steps: Annotated[int | None, typer.Option(help="Stop each run after so many steps.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop each after so many seconds of training.")] = None,
    out: Annotated[Path, typer.Option(help="Where the runs and the table go.")] = Path("runs/sweep"),
    jobs: Jobs = 1,
    cluster: Cluster = None,
) -> None:
    """Solves a problem for all combinations of some values, and gives one table and a data set.

    Finished runs are not run again. Killed at any moment, the same command goes on.
    """
    from .. import experiments, zoo
    from .._base import checks, keep_compiled, replaced

    with refusing():
        values = swept_values(sets or [])
        if method not in zoo.ROWS:
            raise ValueError(f"--method {method!r}: there are {checks.listed(zoo.ROWS)}.")
        zoo.entry(name)  # what is not known is said before anything is trained
        keep_compiled()
        build = functools.partial(experiments.built, name, method)
        options = experiments.Options(steps=steps, seconds=seconds)
        with pool_of(jobs, cluster) as pool:
            found = experiments.swept(build, values, seeds, options, out, pool, keep=True)
        with replaced(out / "sweep.nc") as temporary:
            # Its format has no truth values.
            numbers = {str(n): v.astype("int8") for n, v in found.dataset.items() if v.dtype == bool}
            found.dataset.assign(numbers).to_netcdf(temporary)
    tell([found.table.text()], out, "a directory for each run, the table, sweep.nc")
