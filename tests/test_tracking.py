"""What `solve(callback=...)` tells, and the trackers that keep it, each by its own package and without a network."""

import json

import numpy as np
import optax
import pytest

import sclax as scl

from . import small

METHOD = scl.PrimalDual(primal=optax.adam(1e-2), dual=scl.DualAscent(1e-2))


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Trackers that report on themselves would wait for a network that is not there."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("DO_NOT_TRACK", "true")


def solved(callback, steps=40):
    return scl.solve(small.bounded(), small.value(), METHOD, steps=steps, progress=False, callback=callback)


def test_a_record_a_chunk_has_the_numbers_of_the_history():
    records = []
    history = solved(records.append).history
    assert [r["step"] for r in records] == history.step.tolist()
    assert [r["objective"] for r in records] == pytest.approx(history.objective.tolist())
    assert [r["values"]["size"] for r in records] == pytest.approx(history.values["size"].tolist())
    assert [r["violations"]["size"] for r in records] == pytest.approx((history.values["size"] - 1.0).tolist())
    assert [r["multipliers"]["size"] for r in records] == pytest.approx(history.multipliers["size"].tolist())
    assert [r["evaluations"] for r in records] == history.evaluations.tolist()
    assert {r["by"] for r in records} == {"network"}
    assert json.loads(json.dumps(records)) == records  # plain numbers


def test_polynomials_tell_too():
    records = []
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"ode": scl.worst_case(lambda u_xx: u_xx + 1) <= 1e-8},
    )
    solution = scl.solve(problem, callback=records.append, progress=False)
    assert {r["by"] for r in records} == {"polynomials"}
    assert records[-1]["step"] == solution.steps
    assert records[-1]["violations"]["ode"] < 0


def test_several_seeds_tell_one_record_a_chunk():
    records = []
    solutions = scl.solve(
        small.bounded(), scl.nn.MLP, METHOD, steps=20, seeds=2, progress=False, callback=records.append
    )
    assert records[-1]["objective"] == pytest.approx(np.mean([s.history.objective[-1] for s in solutions]))
    assert records[-1]["multipliers"]["size"] == pytest.approx(
        max(s.history.multipliers["size"][-1] for s in solutions)
    )


def test_a_callback_may_stop_the_run():
    def stop(record):
        raise KeyboardInterrupt

    solution = solved(stop, steps=1000)
    assert solution.result is scl.RESULTS.interrupted
    assert 0 < solution.steps < 1000


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="callback"):
        solved("log.txt")


def test_tensorboard(tmp_path):
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import RecordWriter  # noqa: F401  # the format that is read below

    tracker = scl.tracking.TensorBoard(tmp_path)
    history = solved(tracker).history
    tracker.close()
    (file,) = tmp_path.iterdir()
    found, raw = {}, file.read_bytes()
    while raw:  # a record: its length, a checksum, its content, a checksum
        length = int.from_bytes(raw[:8], "little")
        event = Event.FromString(raw[12 : 12 + length])
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
        raw = raw[16 + length :]
    expected = list(zip(history.step.tolist(), history.multipliers["size"].tolist(), strict=True))
    assert found["network/multipliers/size"] == [(s, pytest.approx(v, rel=1e-5)) for s, v in expected]
    assert len(found["network/objective"]) == history.rows


@pytest.mark.filterwarnings("ignore")  # of the tracker's own
def test_weights_and_biases(tmp_path):
    tracker = scl.tracking.WandB(
        project="small", mode="offline", dir=str(tmp_path), settings={"console": "off", "silent": True}
    )
    history = solved(tracker).history
    summary = dict(tracker.run.summary)
    tracker.close()
    assert summary["step"] == history.step[-1]
    assert summary["network/objective"] == pytest.approx(history.objective[-1])
    assert list(tmp_path.rglob("*.wandb"))


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path):
    import mlflow

    mlflow.set_tracking_uri(f"file:{tmp_path / 'runs'}")
    tracker = scl.tracking.MLflow(run_name="small")
    history = solved(tracker).history
    tracker.close()
    kept = mlflow.MlflowClient().get_metric_history(tracker.run.info.run_id, "network/violations/size")
    assert [(m.step, m.value) for m in kept] == [
        (step, pytest.approx(value - 1.0))
        for step, value in zip(history.step.tolist(), history.values["size"].tolist(), strict=True)
    ]
