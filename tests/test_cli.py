"""The command, as a user calls it."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from typer.testing import CliRunner

import sclax as scl
from sclax import cli


@pytest.fixture
def sclax(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sclax._base.keep_compiled", lambda: None)  # which would configure the tests' own JAX
    return lambda *words: CliRunner().invoke(cli.app, list(words))


@pytest.fixture
def quick(monkeypatch):
    """The command with a cheap method, where it is not the method that is tested."""
    method = scl.PrimalDual(primal=optax.adam(1e-3), dual=scl.DualAscent(1e-3))
    monkeypatch.setitem(
        scl.zoo.ROWS, "scl", lambda entry, **arguments: scl.zoo.Row(entry.build(**arguments), None, method)
    )


def test_list_shows_the_equations(sclax):
    shown = sclax("list").stdout
    assert "convection" in shown
    assert "uₜ + β uₓ = 0" in shown


def test_json_is_one_object_with_the_promised_keys(sclax, tmp_path):
    result = sclax("solve", "convection", "--set", "beta=2", "--steps", "20", "--out", "run", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    wanted = {"relative_l2", "sup_residual", "multipliers", "violations", "seconds", "operator_evaluations", "result"}
    assert wanted <= set(found)
    assert found["result"] == "steps_done"
    assert found["operator_evaluations"] >= 1000 * 256 + 20 * 300  # warm-up and steps; line searches add to it
    assert found["multipliers"].keys() == found["violations"].keys() == {"pde"}
    assert found["sup_residual"]["pde"] > 0
    assert json.loads((tmp_path / "run" / "record.json").read_text()) == found
    solution = scl.load(tmp_path / "run" / "solution.scl")
    assert solution.error() == pytest.approx(found["relative_l2"])
    assert solution.parameters == {"beta": 2.0}
    names = {p.name for p in (tmp_path / "run").iterdir()}
    assert {"solution.png", "history.png", "samples.png", "history.npz", "checkpoint"} <= names
    assert np.load(tmp_path / "run" / "history.npz", allow_pickle=False)["step"].tolist() == [10, 20]


def test_help_and_list_do_not_wait_for_jax(tmp_path):
    code = (
        "import sys; from sclax.cli import app; app(sys.argv[1:], standalone_mode=False); print('jax' in sys.modules)"
    )
    for words in (["--help"], ["solve", "--help"], ["list"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "False", words


def test_a_second_process_compiles_nothing(tmp_path):
    """All programs of the second one come from the cache of the first."""
    code = """
import collections, sys
import jax
from sclax.cli import app
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))
app(sys.argv[1:], standalone_mode=False)
print(events["cache_hits"], events["cache_misses"], file=sys.stderr)
"""
    words = ("solve", "convection", "--set", "beta=2", "--steps", "10", "--json", "--out")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    counts = []
    for run in ("first", "second"):
        command = [sys.executable, "-c", code, *words, str(tmp_path / run)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        counts.append(tuple(map(int, done.stderr.split()[-2:])))
    (_, missed), (hits, none) = counts
    assert hits >= missed > 10
    assert none == 0
    numbers = [json.loads((tmp_path / run / "record.json").read_text()) for run in ("first", "second")]
    assert numbers[0]["relative_l2"] == numbers[1]["relative_l2"]


def test_a_run_that_was_cut_short_says_so_and_how_to_go_on(sclax, quick, tmp_path):
    """In its last line, in red, in the record and in the file; the command that it names goes on."""
    words = ("solve", "convection", "--set", "beta=2", "--seed", "3", "--out", "run")
    result = sclax(*words, "--steps", "10")
    last = " ".join(result.stdout.split("written to")[1].split())
    assert "Not converged: All steps were made." in last
    again = last.split("Go on with ")[1]
    assert again == "sclax solve convection --set beta=2 --seed 3 --out run --resume"
    assert json.loads((tmp_path / "run" / "record.json").read_text())["converged"] is False
    assert "ended before it had converged" in str(scl.load(tmp_path / "run" / "solution.scl").check(points=100))
    assert sclax(*again.split()[1:], "--steps", "20").exit_code == 0
    assert json.loads((tmp_path / "run" / "record.json").read_text())["steps"] == 20


def test_the_last_line_is_red(monkeypatch, sclax, quick):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31mNot converged" in sclax("solve", "convection", "--steps", "10").stdout


def test_the_bare_command_ends_by_the_librarys_own_rule(sclax, monkeypatch):
    """No steps and no seconds of the command's own, but for rows of the paper, which have their number of steps."""
    asked = []

    def solve(problem, model, method, **options):
        asked.append((options["steps"], options["seconds"]))
        raise ValueError("enough seen")

    monkeypatch.setattr("sclax._run.solve", solve)
    sclax("solve", "convection")
    sclax("solve", "convection", "--seconds", "7")
    sclax("solve", "convection", "--method", "paper")
    assert asked == [(None, None), (None, 7.0), (175_000, None)]


def test_a_run_resumes_where_it_stopped(sclax, quick):
    base = ("solve", "convection", "--set", "beta=2", "--out", "run", "--json", "--steps")
    assert sclax(*base, "10").exit_code == 0
    refused = sclax(*base, "20")
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr
    resumed = json.loads(sclax(*base, "20", "--resume").stdout)
    assert resumed["steps"] == 20
    other = sclax("solve", "convection", "--set", "beta=3", "--out", "run", "--steps", "20", "--resume")
    assert other.exit_code == 2
    assert "another run" in other.stderr


def test_seeds_are_reported_one_by_one(sclax, quick):
    found = json.loads(sclax("solve", "convection", "--steps", "10", "--seeds", "2", "--json").stdout)
    assert sorted(r["seed"] for r in found["per_seed"]) == [0, 1]
    assert found["relative_l2"] == found["per_seed"][0]["relative_l2"]


@pytest.mark.parametrize(("method", "evaluations"), [("pinn", 1000), ("r3", 1000), ("paper", 6020)])
def test_the_rows_of_the_paper_run(sclax, method, evaluations):
    found = json.loads(sclax("solve", "convection", "--method", method, "--steps", "2", "--json").stdout)
    assert found["operator_evaluations"] == 2 * evaluations


def test_a_pinn_solves_a_family_on_a_grid(sclax):
    words = ("solve", "convection", "--set", "beta=1:30", "--method", "pinn", "--at", "beta=1,30", "--steps", "2")
    assert json.loads(sclax(*words, "--json").stdout)["operator_evaluations"] == 2 * 2 * 1000


def test_a_family_is_a_range(sclax, quick, tmp_path):
    result = sclax("solve", "convection", "--set", "beta=1:3", "--steps", "10", "--out", "family")
    assert result.exit_code == 0
    assert "over the family: median" in result.stdout
    assert {"family.png", "marginals.png"} <= {p.name for p in (tmp_path / "family").iterdir()}
    found = json.loads((tmp_path / "family" / "record.json").read_text())
    solution = scl.load(tmp_path / "family" / "solution.scl")
    mesh = np.meshgrid(np.linspace(0, 2 * np.pi, 256, endpoint=False), np.linspace(0, 1, 100), indexing="ij")
    x, t = (m.ravel() for m in mesh)
    network = jax.jit(lambda beta: jax.vmap(lambda x, t: solution.model(jnp.stack([x, t, beta]))[0])(x, t))
    off = lambda beta: np.linalg.norm(network(beta) - np.sin(x - beta * t)) / np.linalg.norm(np.sin(x - beta * t))
    betas = np.linspace(1, 3, 100)
    errors = [off(beta) for beta in betas]
    assert found["relative_l2"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert found["relative_l2_median"] == pytest.approx(np.median(errors), rel=1e-4)
    assert found["relative_l2_worst"] == pytest.approx(np.max(errors), rel=1e-4)
    assert found["worst_parameters"]["beta"] == pytest.approx(betas[np.argmax(errors)])


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("solve", "convektion"), "Did you mean `convection`"),
        (("solve", "convection", "--set", "beta"), "NAME=NUMBER"),
        (("solve", "convection", "--set", "beta=fast"), "beta=fast"),
        (("solve", "convection", "--set", "beta=5:1"), "low < high"),
        (("solve", "convection", "--set", "betta=1"), "Did you mean `beta`"),
        (("solve", "convection", "--steps", "0"), "`steps`"),
        (("solve", "convection", "--resume"), "--out"),
        (("solve", "convection", "--set", "beta=1:3", "--method", "pinn", "--at", "beta=fast"), "beta=1,10,20,30"),
        (("solve", "convection", "--set", "beta=1:3", "--method", "pinn", "--at", "beta=1,9"), "[1.0, 3.0]"),
        (("solve", "convection", "--set", "beta=1:3", "--at", "beta=1,2"), "--method pinn"),
        (("solve", "convection", "--set", "beta=nan"), "--set: `beta` must be finite, got nan"),
        (("solve", "convection", "--set", f"beta={'9' * 400}"), "--set: `beta` must be finite"),
        (("solve", "convection", "--set", "beta=1", "--set", "beta=2"), "gives `beta` twice"),
        (("solve", "convection", "--set", "beta=1:2:3"), "NAME=LOW:HIGH"),
        (("solve", "convection", "--set", "tolerance=1", "--method", "paper"), "`tolerance` is not for a row"),
        (("solve", "helmholtz", "--set", "a1=1e200"), "`a1` must be at most 1e+15"),
        (("solve", "convection", "--seed", "9223372036854775808"), "`seed` must be at most 4294967295"),
        (("solve", "convection", "--seeds", "1000000000"), "`seeds` must be at most 1000"),
        (("solve", "convection", "--seconds", "1e400"), "`seconds` must be finite"),
        (("solve", "convection", "--out", "a/b/run"), "the folder 'a/b' is missing"),
        (("solve", "convection", "--out", "x" * 300), "`--out` cannot be a path"),
    ],
)
def test_bad_words_are_refused(sclax, tmp_path, words, fragment):
    result = sclax(*words)
    assert result.exit_code == 2
    assert fragment in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_messages_keep_their_brackets_and_files_are_no_directories(sclax, tmp_path):
    (tmp_path / "file[data]").write_text("x")
    result = sclax("solve", "heat", "--out", "file[data]", "--steps", "1")
    assert result.exit_code == 2
    assert "'file[data]' is a file" in " ".join(result.stderr.split())


def test_a_missing_extra_is_named_and_loses_nothing(sclax, quick, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "exponax", None)
    result = sclax("solve", "kdv", "--set", "delta=0.003", "--steps", "2", "--out", "run", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["relative_l2"] is None
    assert "sclax[data]" in result.stderr
    assert (tmp_path / "run" / "solution.scl").exists()


# --- data sets ----------------------------------------------------------------------------------------------------


def test_a_full_disk_at_the_end_is_told_with_what_was_learned(sclax, quick, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sclax._result.abstract.write_archive", full)
    result = sclax("solve", "convection", "--set", "beta=2", "--steps", "2", "--out", "run")
    assert result.exit_code == 2
    assert "pde" in result.stdout  # the table
    assert "not everything could be written to 'run': [Errno 28] No space left" in " ".join(result.stderr.split())


def test_data_are_made_and_shown(sclax, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert sclax("data", "make", "burgers", "--scale", "tiny", "--samples", "3", "--out", "b.nc").exit_code == 0
    made = scl.data.open_dataset(tmp_path / "b.nc")
    assert made["solution"].sizes == {"sample": 3, "t": 11, "x": 32}
    shown = sclax("data", "show", "b.nc")
    assert shown.exit_code == 0
    assert "seed: 0" in shown.stdout
    assert (tmp_path / "b.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("data", "make", "burger", "--out", "b.nc"), "Did you mean `burgers`"),
        (("data", "make", "burgers", "--scale", "huge", "--out", "b.nc"), "`scale`"),
        (("data", "make", "burgers", "--samples", "1000000000", "--out", "b.nc"), "fewer"),
        (("data", "make", "burgers", "--seed", "-1", "--out", "b.nc"), "`seed` must be at least 0"),
        (("data", "make", "burgers", "--out", "a/b.nc"), "the folder 'a' is missing"),
        (("data", "make", "burgers", "--out", "."), "a directory"),
        (("data", "show", "nowhere.nc"), "nowhere.nc"),
    ],
)
def test_bad_words_about_data_are_refused(sclax, words, fragment):
    result = sclax(*words)
    assert result.exit_code == 2
    assert fragment in " ".join(result.stderr.split())
