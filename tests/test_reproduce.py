"""`sclax reproduce all --scale tiny`, in parts that cover it: every experiment and every figure runs."""

import json

import pytest
from typer.testing import CliRunner

from sclax import cli
from sclax.experiments._reproducing import asked

# Figures stand beside the table whose runs they show.
PARTS = {
    "table1": [],
    "table2": ["figure3", *(f"figure{n}" for n in range(11, 18))],
    "table7": ["figure1a", "figure1b", "figure4"],
    "table8": ["figure5", "figure6", "figure7a", "figure7b"],
    "table9": ["figure8", "figure9a", "figure9b", "figure10"],
    "pinnacle": ["figure2"],
}


def test_the_parts_are_all_that_there_is():
    tables, figures = asked(["all"])
    assert [*PARTS] == [*tables]
    assert {figure for part in PARTS.values() for figure in part} == {*figures}


@pytest.fixture
def sclax(monkeypatch):
    monkeypatch.setattr("sclax._base.keep_compiled", lambda: None)  # which would configure the tests' own JAX
    return lambda *words: CliRunner().invoke(cli.app, list(words))


@pytest.mark.parametrize("table", PARTS)
def test_every_experiment_runs(table, sclax, tmp_path):
    result = sclax("reproduce", table, *PARTS[table], "--scale", "tiny", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    tables, figures = asked([table, *PARTS[table]])
    for experiment in (e for rows in tables.values() for e in rows):
        (path,) = tmp_path.glob(f"{experiment.name.replace('/', '-')}-*/record.json")
        record = json.loads(path.read_text())
        assert record["relative_l2"] > 0
        assert record["steps"] > 0
        assert (record["operator_evaluations"] > 0) == (experiment.kind != "operator" or experiment.method == "physics")
    for form in ("txt", "md", "csv", "tex"):
        assert (tmp_path / f"{table}-fast-tiny.{form}").stat().st_size > 100
    for figure in figures:
        assert (tmp_path / f"{figure}-fast-tiny.pdf").read_bytes().startswith(b"%PDF")
        assert "</svg>" in (tmp_path / f"{figure}-fast-tiny.svg").read_text()


@pytest.mark.parametrize("mode", ["paper", "chains"])
def test_the_other_modes_run(mode, sclax, tmp_path):
    """A problem, a family and a symmetry: wherever there are chains."""
    only = [word for row in ("convection-30/scl", "convection-family/scl") for word in ("--only", row)]
    words = ("reproduce", "table1", "table7", "--mode", mode, "--scale", "tiny", "--out", str(tmp_path), *only)
    result = sclax(*words)
    assert result.exit_code == 0, result.output
    result = sclax("reproduce", "figure2", "--only", "invariance/scl", *words[3:9])
    assert result.exit_code == 0, result.output
    records = [json.loads(path.read_text()) for path in tmp_path.glob("*/record.json")]
    assert len(records) == 3
    # Two stages of four steps, at each of which the error was measured.
    assert [[point["step"] for point in record["curve"]] for record in records] == [[2, 4]] * 3
