"""Many solves on workers: the same records as in sequence, whatever dies meanwhile."""

import functools
import json
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import distributed
import numpy as np
import optax
import pytest

import sclax as scl
from sclax.experiments import _gathering, _running

from . import small

METHOD = scl.PrimalDual(primal=optax.sgd(0.05), dual=scl.DualAscent(0.1))


def bounded(tolerance=1.0, pause=0.0):
    """min (u − 2)²  subject to  u² ≤ ε; `pause` makes it long enough to be killed in."""
    time.sleep(pause)
    return small.bounded(tolerance), small.value(), METHOD


def broken(tolerance):
    raise ValueError(f"there is no problem at {tolerance}")


VALUES = {"tolerance": [0.25, 0.5, 1.0, 2.0]}


def without_time(record):
    """A record less what depends on the machine and on the clock."""
    bare = {name: value for name, value in record.items() if name != "seconds"}
    return json.dumps({**bare, "curve": [{**point, "seconds": 0} for point in record["curve"]]}, sort_keys=True)


@pytest.fixture(scope="module")
def in_sequence(tmp_path_factory):
    return scl.sweep(
        functools.partial(bounded, pause=0.4),
        VALUES,
        seeds=3,
        directory=tmp_path_factory.mktemp("sweep"),
        steps=600,
        progress=False,
    )


def test_a_sweep_finds_the_optimum_of_each(in_sequence):
    """u = √ε where the constraint binds, λ = 2/√ε − 1."""
    assert dict(in_sequence.dataset.sizes) == {"tolerance": 4, "seed": 3}
    for record in in_sequence.records:
        price = max(2 / np.sqrt(record["arguments"]["tolerance"]) - 1, 0.0)
        assert record["multipliers"]["size"] == pytest.approx(price, rel=0.02)
    assert in_sequence.dataset["operator_evaluations"].dtype == int
    assert len(in_sequence.table.rows) == 4


def test_finished_runs_are_not_run_again(in_sequence, monkeypatch):
    monkeypatch.setattr(_running, "solve", None)
    folder = in_sequence.directories[0].parent
    build = functools.partial(bounded, pause=0.4)
    again = scl.sweep(build, VALUES, seeds=3, directory=folder, steps=600, progress=False)
    assert again.records == in_sequence.records


def test_other_content_is_another_directory(in_sequence):
    names = {path.name for path in in_sequence.directories}
    assert len(names) == 12
    other = _gathering.jobs_by_name([])
    assert not other
    from sclax.experiments._sweeping import Options, _job

    build = functools.partial(bounded, pause=0.4)
    same = _job(build, {"tolerance": 0.25}, Options(steps=600), 0).name
    assert same in names
    for options, arguments, function in (
        (Options(steps=601), {"tolerance": 0.25}, build),
        (Options(steps=600), {"tolerance": 0.26}, build),
        (Options(steps=600), {"tolerance": 0.25}, functools.partial(bounded, pause=0.3)),
        (Options(steps=600), {"tolerance": 0.25}, broken),
    ):
        assert _job(function, arguments, options, 0).name not in names


def test_two_dask_workers_of_which_two_are_killed_give_the_same_records(in_sequence, tmp_path):
    killed = []

    def kill(cluster):
        """SIGKILL to a worker that is at a run, twice."""
        while len(killed) < 2:
            begun = [path for path in tmp_path.iterdir() if not (path / "record.json").exists()]
            pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid not in (None, *killed)]
            if begun and pids:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])
                time.sleep(3.0)
            time.sleep(0.05)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = threading.Thread(target=kill, args=(cluster,), daemon=True)
        killer.start()
        found = scl.sweep(
            functools.partial(bounded, pause=0.4),
            VALUES,
            seeds=3,
            executor=client,
            directory=tmp_path,
            steps=600,
            progress=False,
        )
    assert len(killed) == 2
    assert [without_time(r) for r in found.records] == [without_time(r) for r in in_sequence.records]


def test_a_broken_pool_is_replaced_and_failures_are_told(tmp_path):
    """Processes of our own, one of which is killed; and a run that cannot be made, which costs none of the others."""
    with pytest.raises(ExceptionGroup) as told:
        scl.sweep(broken, {"tolerance": [3.0]}, directory=tmp_path, progress=False)
    assert "there is no problem at 3.0" in str(told.value.exceptions[0])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(ExceptionGroup) as told:
            scl.sweep(broken, {"tolerance": [3.0]}, directory=tmp_path, executor=pool, progress=False)
        assert "there is no problem at 3.0" in str(told.value.exceptions[0])


def test_what_is_no_executor_or_no_problem_is_said(tmp_path):
    with pytest.raises(ValueError, match="`executor` must have `submit`"):
        scl.sweep(bounded, {}, executor=3, directory=tmp_path)
    with pytest.raises(ValueError, match="`tolerance` has no values"):
        scl.sweep(bounded, {"tolerance": []}, directory=tmp_path)
    with pytest.raises(ValueError, match="`build` must be a function"):
        scl.sweep(small.bounded(), {}, directory=tmp_path)
