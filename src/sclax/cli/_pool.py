"""Where many runs are made: `--jobs 2`, or `--cluster local:2`."""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

import typer

Jobs = Annotated[int, typer.Option(help="So many processes at once, which share the cores.")]
Cluster = Annotated[str | None, typer.Option(help="Dask: local:2 for two workers here, or tcp://HOST:8786.")]


@contextlib.contextmanager
def pool_of(jobs: int, cluster: str | None) -> Iterator[Any]:
    """The pool of these options; None for one run after the other in this process."""
    from .. import experiments

    if cluster is not None:
        if jobs != 1:
            raise ValueError("--jobs is for processes of this machine; leave it out with --cluster.")
        with experiments.cluster(cluster) as pool:
            yield pool
    elif jobs == 1:
        yield None
    else:
        with experiments.processes(jobs) as pool:
            yield pool
