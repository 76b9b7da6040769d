"""`sclax new`, `compare`, `sweep`, and problems of files, as a user calls them."""

import csv
import json

import pytest
import xarray as xr
from typer.testing import CliRunner

import sclax as scl
from sclax import cli


@pytest.fixture
def sclax(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sclax._base.keep_compiled", lambda: None)  # which would configure the tests' own JAX
    return lambda *words: CliRunner().invoke(cli.app, list(words))


def test_a_new_file_is_solved_as_it_is(sclax, tmp_path):
    assert sclax("new", "mine.py").exit_code == 0
    again = sclax("new", "mine.py")
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert "must end with .py" in sclax("new", "mine.txt").stderr
    result = sclax("solve", "mine.py", "--json", "--out", "run")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("mine.py  uₜ − ν uₓₓ − exp(−t) sin(π x)")
    found = json.loads(result.stdout)
    assert found["relative_l2"] < 1e-6
    assert found["feasible"]
    assert found["problem"] == "mine.py"
    assert {"solution.png", "record.json", "solution.scl"} <= {p.name for p in (tmp_path / "run").iterdir()}
    assert "--set nu: mine.py is a file" in sclax("solve", "mine.py", "--set", "nu=1").stderr


def test_a_file_without_a_problem_is_told(sclax, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    assert "must define `problem`" in sclax("solve", "empty.py").stderr
    assert "is not a file" in sclax("solve", "missing.py").stderr


def test_methods_on_a_problem_of_a_file_are_compared(sclax, tmp_path):
    (tmp_path / "laws.py").write_text("def law(u_x, u):\n    return u_x + u\n")
    (tmp_path / "decay.py").write_text(
        "import jax.numpy as jnp\nimport sclax as scl\nfrom laws import law\n"
        "problem = scl.Problem(scl.Box(x=(0, 1)), objective=scl.average(scl.Dirichlet(1.0, on={'x': [0.0]})),\n"
        "    constraints={'ode': scl.worst_case(law) <= 1e-6}, reference=lambda x: jnp.exp(-x))\n"
    )
    result = sclax("compare", "decay.py", "--methods", "scl,pinn", "--steps", "12", "--out", "out")
    assert result.exit_code == 0, result.output
    table = (tmp_path / "out" / "compare.csv").read_text()
    rows = {row["method"]: row for row in csv.DictReader(table.splitlines())}
    assert [*rows] == ["scl", "pinn"]
    assert float(rows["scl"]["ours"].split()[0]) < 1e-2 < float(rows["pinn"]["ours"].split()[0])
    assert (tmp_path / "out" / "compare.pdf").exists()
    curves = [json.loads(p.read_text())["curve"] for p in sorted((tmp_path / "out").glob("*pinn*/record.json"))]
    assert [point["step"] for point in curves[0]] == [3, 6, 9, 12]


def test_the_published_number_stands_beside_a_problem_of_the_paper(sclax, tmp_path):
    result = sclax("compare", "convection", "--set", "beta=50", "--methods", "pinn", "--steps", "2", "--out", "out")
    assert result.exit_code == 0, result.output
    assert "5.65e-01 ± 2.0e-01" in result.stdout
    assert "there are `scl`" in sclax("compare", "convection", "--methods", "adam").stderr


def test_a_sweep_of_the_command(sclax, tmp_path):
    words = ("sweep", "convection", "--set", "beta=1,2", "--seeds", "2", "--steps", "2", "--out", "out")
    result = sclax(*words)
    assert result.exit_code == 0, result.output
    with xr.open_dataset(tmp_path / "out" / "sweep.nc") as found:
        assert found.sizes == {"beta": 2, "seed": 2}
        errors = found["relative_l2"].values
    assert len({*errors.ravel()}) == 4
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*/record.json")}
    assert len(times) == 4
    sclax(*words)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert "leave it out with --cluster" in sclax(*words, "--jobs", "2", "--cluster", "local:1").stderr
    assert "write local:2" in sclax(*words, "--cluster", "here").stderr
    assert "there is no problem `convektion`" in sclax("sweep", "convektion").stderr


def test_the_list_of_what_can_be_reproduced(sclax):
    shown = sclax("reproduce", "list").stdout
    assert "convection-50" in shown
    assert "figure17" in shown
    assert sclax("reproduce", "table99").exit_code == 2


def test_public_names_exist():
    assert scl.sweep is scl.experiments.sweep
