"""What goes wrong around a run: constants that change, NaN, full and vanishing disks, a second process."""

import os
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl

from . import small

METHOD = scl.PrimalDual(optax.adam(1e-2), optax.adam(1e-2))
BOX = scl.Box(x=(0, 1), t=(0, 1))


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)


def solve(problem, **options):
    return scl.solve(problem, tiny, METHOD, **{"progress": False, "steps": 20, **options})


# --- constants --------------------------------------------------------------------------------------------------------

SPEED = 3.0
WAVES = 1.0


def law(u_t, u_x):
    return u_t + SPEED * u_x


def transport():
    start = scl.Initial(lambda x: jnp.sin(WAVES * x))
    return scl.Problem(BOX, objective=scl.average(start, n=8), constraints={"pde": scl.worst_case(law, n=8) <= 1e-3})


@pytest.mark.parametrize("name", ["SPEED", "WAVES"])
def test_a_changed_constant_is_another_run(name, tmp_path, monkeypatch):
    solve(transport(), checkpoint=tmp_path / "state")
    assert solve(transport(), checkpoint=tmp_path / "state").steps == 20
    monkeypatch.setattr(f"{__name__}.{name}", 4.0)
    with pytest.raises(ValueError, match="belongs to another run: its equations"):
        solve(transport(), checkpoint=tmp_path / "state")


# --- NaN --------------------------------------------------------------------------------------------------------------


def with_hole(radius):
    """Transport whose residual is NaN in a disk around (0.5, 0.5)."""

    def law(u_t, u_x, x, t):
        return u_t + u_x + jnp.where((x - 0.5) ** 2 + (t - 0.5) ** 2 < radius**2, jnp.nan, 0.0)

    objective = scl.average(scl.Initial(lambda x: jnp.sin(2 * jnp.pi * x)))
    return scl.Problem(BOX, objective=objective, constraints={"pde": scl.worst_case(law) <= 1e-4})


@pytest.mark.parametrize("radius", [0.1, 0.01])
def test_nan_is_blamed_on_the_law_and_the_point(radius, capsys):
    """In the steps that make a network ready too, which would otherwise leave NaN for all laws."""
    solution = scl.solve(with_hole(radius), tiny, steps=300)
    assert solution.result is scl.RESULTS.nonfinite
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(solution.model) if hasattr(leaf, "shape"))
    distance = lambda where: np.hypot(where["x"] - 0.5, where["t"] - 0.5)
    assert np.hypot(*(np.asarray(solution.failures["pde"]) - 0.5)) < radius
    assert "`pde` or its gradient is NaN or infinite at x = 0." in capsys.readouterr().err
    report = solution.check(points=100)  # too few to find the hole
    assert np.isfinite(report["initial"].estimate)
    assert not np.isfinite(report["pde"].estimate)
    assert distance(report["pde"].where) < radius
    assert "NOT A NUMBER" in report["pde"].verdict
    assert not report.holds


def test_a_gradient_that_is_not_finite_is_blamed_too():
    """√|u| at u = 0 has a value and no slope."""
    root = lambda u: jnp.sqrt(jnp.abs(u))
    problem = scl.Problem(small.unit(), objective=scl.average(root, n=4), constraints={})
    solution = scl.solve(problem, small.value(0.0), METHOD, steps=10, progress=False)
    assert solution.result is scl.RESULTS.nonfinite
    assert list(solution.failures) == ["residual"]
    assert "gradient" in str(solution.check(points=10))


def test_a_network_of_nan_is_refused():
    with pytest.raises(ValueError, match="`model` has weights that are NaN"):
        scl.solve(transport(), small.value(np.nan), METHOD, steps=1)


# --- disks ------------------------------------------------------------------------------------------------------------


def identical(a, b):
    arrays = lambda s: [np.asarray(leaf) for leaf in jax.tree.leaves(s.model) if hasattr(leaf, "shape")]
    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


@pytest.fixture
def eager(monkeypatch):
    """A checkpoint before every chunk."""
    monkeypatch.setattr("sclax._run.controller.SAVE_EVERY", -1.0)


def at_chunk(monkeypatch, number, action):
    """Does something in the middle of a run, after a chunk."""
    chunks = []

    def show(*_):
        chunks.append(1)
        if len(chunks) == number:
            action()

    monkeypatch.setattr("sclax._run.progress.Reporter.show", show)


def test_a_checkpoint_that_is_removed_during_a_run_is_made_again(tmp_path, monkeypatch, eager):
    path = tmp_path / "state"
    at_chunk(monkeypatch, 2, lambda: shutil.rmtree(path))
    with pytest.warns(UserWarning, match=f"{str(path)!r}` was removed during the run; it is made again"):
        found = solve(transport(), steps=400, checkpoint=path)
    monkeypatch.undo()
    again = solve(transport(), steps=500, checkpoint=path)
    assert again.steps == 500
    assert identical(again, solve(transport(), steps=500))
    assert found.steps == 400


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_checkpoint_that_became_read_only_costs_nothing(tmp_path, monkeypatch, eager):
    at_chunk(monkeypatch, 1, lambda: (tmp_path / "state" / "states").chmod(0o500))
    with pytest.warns(UserWarning, match="no checkpoint was written at step"):
        found = solve(transport(), steps=400, checkpoint=tmp_path / "state")
    (tmp_path / "state" / "states").chmod(0o700)
    assert identical(found, solve(transport(), steps=400))


def test_every_save_on_a_full_disk_fails_and_leaves_nothing(tmp_path, monkeypatch, eager, capsys):
    """What is written halfway is removed, so that the disk does not fill further."""

    def full(self, name, content, *_):
        self.fp.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zipfile.ZipFile.writestr", full)
    with pytest.warns(UserWarning, match="no checkpoint was written at step 400"):
        found = solve(transport(), steps=400, checkpoint=tmp_path / "state", progress=True)
    assert capsys.readouterr().err.count("No space left on device") >= 2
    assert not list((tmp_path / "state" / "states").iterdir())
    monkeypatch.undo()
    assert identical(found, solve(transport(), steps=400))


# --- a second process -------------------------------------------------------------------------------------------------

HOLDS = """
import sys, time
from sclax._run.checkpoint import Checkpoint
held = Checkpoint(sys.argv[1]).belongs_to({})
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_told_who_has_the_checkpoint(tmp_path):
    path = tmp_path / "state"
    other = subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match=f"is in use by process {other.pid} on .*, since .*Wait"):
            solve(transport(), checkpoint=path)
    finally:
        other.kill()  # after which the directory is free
        other.communicate()
    shutil.rmtree(path)
    assert solve(transport(), checkpoint=path).steps == 20
    assert solve(transport(), checkpoint=path).steps == 20  # and after a run


def test_a_checkpoint_whose_process_was_killed_is_free(tmp_path):
    path = tmp_path / "state"
    other = subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    other.kill()
    other.communicate()
    with pytest.raises(ValueError, match="belongs to another run"):  # which is what the process said
        solve(transport(), checkpoint=path)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, "\xff"])
def test_a_damaged_fingerprint_is_refused(text, tmp_path):
    path = tmp_path / "state"
    solve(transport(), checkpoint=path)
    (path / "sclax.json").write_text(text, encoding="latin1")
    with pytest.raises(ValueError, match="is damaged: sclax.json cannot be read"):
        solve(transport(), checkpoint=path)
