"""Many runs: those that are missing, one after the other or on workers, until each has a record."""

import abc
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from .._base import checks, require
from ._running import Job, Outcome, conduct, finished, in_worker

ATTEMPTS = 5  # of a run whose worker died
POLL = 0.2  # seconds


class Told(Protocol):
    """Who is told how far many runs have come."""

    def begins(self, job: Job) -> None: ...
    def ends(self, job: Job, record: dict[str, Any] | None) -> None: ...
    def waits(self, running: Sequence[Job]) -> None: ...


class Broken(ExceptionGroup):
    """Some runs gave no record; the others have theirs."""


def gathered(
    jobs: Sequence[Job], folder: Path, pool: "AbstractPool", told: Told, keep: bool = False
) -> dict[str, dict[str, Any]]:
    """The records by name, in the order of the jobs. Those that exist are read; all others are made by the pool; where
    some fail, an error says so after all others are done."""
    folder.mkdir(parents=True, exist_ok=True)
    unique = {job.name: job for job in jobs}
    found = {name: finished(job, folder) for name, job in unique.items()}
    missing = [job for name, job in unique.items() if found[name] is None]
    failed = []
    for job, outcome in pool.made(missing, folder, told, keep):
        found[job.name] = outcome.record
        if outcome.record is None:
            failed.append(RuntimeError(f"{job.name}: {outcome.failure}"))
    if failed:
        raise Broken(f"{len(failed)} of {len(unique)} runs failed", failed)
    return {name: record for name, record in found.items() if record is not None}


class AbstractPool(abc.ABC):
    """Where runs are made."""

    @abc.abstractmethod
    def made(self, jobs: Sequence[Job], folder: Path, told: Told, keep: bool) -> Iterator[tuple[Job, Outcome]]:
        """Each job with its record or why there is none, in the order in which they end."""


class InSequence(AbstractPool):
    """One after the other, in this process."""

    def __init__(self, progress: bool = True):
        self._progress = progress

    def made(self, jobs, folder, told, keep):
        for job in jobs:
            told.begins(job)
            try:
                outcome = Outcome(conduct(job, folder, self._progress))
            except Exception as error:
                outcome = Outcome(None, f"{type(error).__name__}: {error}")
            told.ends(job, outcome.record)
            yield job, outcome


class OnExecutor(AbstractPool):
    """On an executor: anything with `submit(function, *arguments)` whose futures have `done()` and `result()`, such as
    those of `concurrent.futures`, `dask.distributed.Client` and submitit.

    A run whose worker dies is submitted again, and goes on from its checkpoint. `renewed` gives another executor in
    place of one that is broken.
    """

    def __init__(self, executor: Any, threads: int | None, renewed: Callable[[], Any] | None = None):
        # Futures of Dask's Client belong to the session; its executor gives those of `concurrent.futures`.
        self._executor = executor.get_executor(pure=False) if hasattr(executor, "get_executor") else executor
        self._threads, self._renewed = threads, renewed
        if not hasattr(self._executor, "submit"):
            raise ValueError(
                f"sweep: `executor` must have `submit`, as those of concurrent.futures have, got {executor!r:.80}."
            )
        context = getattr(executor, "_mp_context", None)
        if context is not None and context.get_start_method() == "fork":
            raise ValueError(
                "sweep: `executor` forks this process, in which JAX has threads, and would hang; give it "
                '`mp_context=multiprocessing.get_context("spawn")`.'
            )

    def made(self, jobs, folder, told, keep):
        folder, attempts = folder.absolute(), dict.fromkeys(jobs_by_name(jobs), 0)
        running: dict[str, tuple[Job, Any]] = {}

        def submit(job: Job) -> None:
            attempts[job.name] += 1
            running[job.name] = (job, self._submitted(in_worker, job, folder, self._threads, keep))

        for job in jobs:
            submit(job)
        while running:
            told.waits([job for job, future in running.values() if not future.done()])
            time.sleep(POLL)
            for name in [name for name, (_, future) in running.items() if future.done()]:
                job, future = running.pop(name)
                try:
                    outcome = future.result()
                except Exception as error:  # not of the run, whose errors are values, but of its worker
                    if attempts[name] < ATTEMPTS:
                        submit(job)
                        continue
                    outcome = Outcome(None, f"its worker died {ATTEMPTS} times, the last time of {error!r}")
                told.ends(job, outcome.record)
                yield job, outcome

    def _submitted(self, *arguments: Any) -> Any:
        try:
            return self._executor.submit(*arguments)
        except BrokenExecutor as error:
            if self._renewed is None:
                raise RuntimeError(
                    "sweep: the executor is broken, a process of it died. Finished runs are kept: call again with a "
                    "new one, and the others go on from their checkpoints."
                ) from error
            self._executor = self._renewed()
            return self._executor.submit(*arguments)


def jobs_by_name(jobs: Sequence[Job]) -> dict[str, Job]:
    return {job.name: job for job in jobs}


# --- pools of this machine, and of a cluster ------------------------------------------------------------------------


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def processes(count: int) -> Iterator[AbstractPool]:
    """So many processes of this machine, which share its cores; with one of them, this process itself.

    !!! example
        `with processes(2) as pool: reproduce("table1", pool=pool)`
    """
    count = checks.count("sweep", "jobs", count)
    if count == 1:
        yield InSequence()
        return
    pools: list[ProcessPoolExecutor] = []

    def new() -> ProcessPoolExecutor:
        # Spawned: a fork of a process in which JAX has started threads would hang.
        pools.append(ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_with_parent))
        return pools[-1]

    try:
        yield OnExecutor(new(), max(cores() // count, 1), new)
    except BaseException:
        for pool in pools:  # which would wait for its runs; what they lose since their checkpoints is little
            for process in (getattr(pool, "_processes", None) or {}).values():
                process.kill()
        raise
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


def _with_parent() -> None:
    """A worker ends with the process that started it, and leaves Ctrl-C to that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def cluster(address: str) -> Iterator[AbstractPool]:
    """Dask: `local:2` starts two workers on this machine, `tcp://host:8786` is a scheduler that runs, whose workers
    see the same files as this process.

    !!! example
        `with cluster("local:2") as pool: reproduce("table1", pool=pool)`
    """
    distributed = require("--cluster", "distributed", "cluster")
    kind, _, number = address.partition(":")
    if kind == "local":
        workers = checks.count("--cluster", "local", int(number) if number.isdecimal() else number or cores())
        threads = max(cores() // workers, 1)
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as here,
            distributed.Client(here) as client,
        ):
            yield OnExecutor(client, threads)
        return
    if "://" not in address:
        raise ValueError(
            f"--cluster {address!r}: write local:2 for two workers here, or tcp://HOST:8786 for a scheduler."
        )
    with distributed.Client(address) as client:
        yield OnExecutor(client, 1)
