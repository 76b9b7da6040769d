"""The command refuses in words what makes no sense, or runs: arguments that nobody would type on purpose."""

import pytest
from benchmarks import _fault_words


@pytest.fixture
def campaign(monkeypatch, tmp_path):
    monkeypatch.setattr("sclax._base.keep_compiled", lambda: None)  # which would configure the tests' own JAX
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_fault_words, "TRAINED", 10**6)  # a step would take as long as all the others
    monkeypatch.setattr(_fault_words, "BUILT", 25)
    return _fault_words.campaign


def test_a_hundred_odd_calls_are_refused_in_words(campaign):
    found = campaign(100, 0)
    assert found["raw"] == found["slow"] == 0, found["lost"]
    assert found["refused"] + found["ran"] == found["tried"] == 100
    assert found["refused"] > 80


def test_a_call_that_raises_is_found(campaign, monkeypatch):
    def solve(*_, **__):
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr("sclax._run.asked_for", solve)
    assert campaign(100, 0)["raw"] > 0
