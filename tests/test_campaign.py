"""The campaign of faults in its short form, and that it finds what it looks for: `python -m benchmarks.faults`."""

import numpy as np
import pytest
from benchmarks import _fault_files, _fault_nan, _fault_runs


def test_damaged_files_of_every_format_are_refused_or_read_as_they_were(tmp_path):
    found = _fault_files.campaign(520, seed=0, directory=tmp_path)
    assert found["tried"] == 520
    assert not found["lost"]
    assert found["refused"] > 260
    for name in ("solution", "state", "cache", "netcdf of save"):
        assert found["formats"][name]["different"] == 0
        assert found["formats"][name]["tried"] == 40


def believing(path):
    """A reader of the library's own files that looks at no checksum."""
    raw = path.read_bytes()
    if len(raw) < 100:
        raise ValueError(f"read: {path.name} is short")
    if raw[50] == 0:
        raise KeyError("a raw exception")
    return {"sum": np.frombuffer(raw, np.uint8).sum()}


def test_a_reader_that_believes_is_found(tmp_path, monkeypatch):
    whole = bytes(range(1, 200)) * 3
    naive = _fault_files.Format(lambda path, seed: path.write_bytes(whole[seed:]), believing, own=True)
    monkeypatch.setattr(_fault_files, "FORMATS", {"naive": naive})
    # In this process: the worker would know the formats of the module only.
    monkeypatch.setattr(_fault_files.Reader, "ask", lambda self, kind, path: _fault_files._judged(kind, path))
    found = _fault_files.campaign(100, seed=0, directory=tmp_path)
    assert found["different"] > 50
    assert len(found["lost"]) == found["different"] + found["raw"]


def test_nan_of_every_kind_is_caught():
    found = _fault_nan.campaign(4, seed=0)
    assert found["tried"] == found["caught"] == 10, found["lost"]


@pytest.mark.slow
def test_a_run_that_is_killed_and_interrupted_ends_as_if_nothing_had_happened(tmp_path):
    found = _fault_runs.campaign(1, 1, seed=0, directory=tmp_path, workers=1, jobs=("solve",))
    assert (found["kills"], found["interrupts"]) == (1, 1)
    assert not found["lost"]
    assert found["identical"] == found["finished"] >= 1


@pytest.mark.slow
def test_all_jobs_that_are_killed_and_interrupted_end_as_if_nothing_had_happened(tmp_path):
    found = _fault_runs.campaign(40, 20, seed=1, directory=tmp_path)
    assert not found["lost"]
    assert found["identical"] == found["finished"] >= 10
