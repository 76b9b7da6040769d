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
from sclax.experiments import Options, _gathering, _running, swept
from sclax.experiments._sweeping import _job

from . import small

METHOD = scl.PrimalDual(primal=optax.sgd(0.05), dual=scl.DualAscent(0.1))
ADAM = scl.PrimalDual(primal=optax.adam(1e-2), dual=scl.DualAscent(0.1))


def bounded(tolerance=1.0):
    """min (u − 2)²  subject to  u² ≤ ε."""
    return small.bounded(tolerance), small.value(), METHOD


def network(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)


def transported(beta, pause=0.4):
    """Convection, by a network; the pause makes it long enough to be killed in."""
    time.sleep(pause)
    return scl.zoo.convection(beta=beta, tolerance=1e-2), network, ADAM


def dies_once(tolerance, marker):
    """A problem whose first worker dies of it."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return bounded(tolerance)


def broken(tolerance):
    raise ValueError(f"there is no problem at {tolerance}")


VALUES = {"beta": [1.0, 2.0, 5.0, 10.0]}
OPTIONS = {"seeds": 3, "steps": 30, "progress": False}


def without_time(record):
    """A record less what depends on the machine and on the clock."""
    bare = {name: value for name, value in record.items() if name != "seconds"}
    return json.dumps({**bare, "curve": [{**point, "seconds": 0} for point in record["curve"]]}, sort_keys=True)


@pytest.fixture(scope="module")
def in_sequence(tmp_path_factory):
    return scl.sweep(transported, VALUES, directory=tmp_path_factory.mktemp("sweep"), **OPTIONS)


def test_a_sweep_finds_the_optimum_of_each(tmp_path):
    """u = √ε where the constraint binds, λ = 2/√ε − 1."""
    tolerances = {"tolerance": [0.25, 1.0]}
    found = scl.sweep(bounded, tolerances, seeds=2, directory=tmp_path, steps=600, progress=False)
    assert dict(found.dataset.sizes) == {"tolerance": 2, "seed": 2}
    for record in found.records:
        price = 2 / np.sqrt(record["arguments"]["tolerance"]) - 1
        assert record["multipliers"]["size"] == pytest.approx(price, rel=0.02)
    assert found.dataset["operator_evaluations"].dtype == int
    assert np.isnan(found.dataset["relative_l2"]).all()  # without a reference
    assert len(found.table.rows) == 2


def test_finished_runs_are_not_run_again(in_sequence, monkeypatch):
    monkeypatch.setattr(_running, "solve", None)
    again = scl.sweep(transported, VALUES, directory=in_sequence.directories[0].parent, **OPTIONS)
    assert again.records == in_sequence.records
    assert len({record["relative_l2"] for record in again.records}) == 12


def test_other_content_is_another_directory(in_sequence):
    names = {path.name for path in in_sequence.directories}
    assert len(names) == 12
    assert _job(transported, {"beta": 1.0}, Options(steps=30), 0).name in names
    for options, arguments, function in (
        (Options(steps=31), {"beta": 1.0}, transported),
        (Options(steps=30), {"beta": 1.1}, transported),
        (Options(steps=30), {"beta": 1.0}, functools.partial(transported, pause=0.3)),
        (Options(steps=30), {"beta": 1.0}, broken),
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
        found = scl.sweep(transported, VALUES, executor=client, directory=tmp_path, **OPTIONS)
    assert len(killed) == 2
    assert [without_time(r) for r in found.records] == [without_time(r) for r in in_sequence.records]


def test_a_process_that_dies_is_replaced(tmp_path):
    tolerances, marker = {"tolerance": [0.25, 1.0, 2.0]}, tmp_path / "died"
    build = functools.partial(dies_once, marker=marker)
    with _gathering.processes(2) as pool:
        found = swept(build, tolerances, 1, Options(steps=20), tmp_path / "runs", pool, progress=False)
    assert marker.exists()
    wanted = scl.sweep(bounded, tolerances, steps=20, directory=tmp_path / "sequence", progress=False)
    assert [r["multipliers"] for r in found.records] == [r["multipliers"] for r in wanted.records]


def test_a_run_that_fails_is_told(tmp_path):
    with pytest.raises(ExceptionGroup) as told:
        scl.sweep(broken, {"tolerance": [3.0]}, directory=tmp_path, progress=False)
    assert "there is no problem at 3.0" in str(told.value.exceptions[0])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(ExceptionGroup) as told:
            scl.sweep(broken, {"tolerance": [3.0]}, directory=tmp_path, executor=pool, progress=False)
        assert "there is no problem at 3.0" in str(told.value.exceptions[0])


def test_what_is_no_executor_or_no_problem_is_said(tmp_path):
    forking = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))  # which forks when it is first used
    with pytest.raises(ValueError, match="forks this process.*get_context"):
        scl.sweep(bounded, {}, executor=forking, directory=tmp_path)
    with pytest.raises(ValueError, match="`executor` must have `submit`"):
        scl.sweep(bounded, {}, executor=3, directory=tmp_path)
    with pytest.raises(ValueError, match="`tolerance` has no values"):
        scl.sweep(bounded, {"tolerance": []}, directory=tmp_path)
    with pytest.raises(ValueError, match="`build` must be a function"):
        scl.sweep(small.bounded(), {}, directory=tmp_path)
