"""Ctrl-C at every single call of the host: what was learned comes back, the checkpoint is whole, and the resumed run
ends as the one that nobody interrupted."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._base import precision, read_archive
from sclax._run import door, programs
from sclax._run.checkpoint import Checkpoint
from sclax._run.progress import Reporter
from sclax._run.source import Factory
from sclax._run.train import Store

from . import small

SOURCES = str(Path(scl.__file__).parent)
LOOP = [f"{SOURCES}/_run/{name}.py" for name in ("door", "train", "checkpoint")]
METHOD = scl.PrimalDual(scl.GaussNewton(warm_up=2, rows=8), scl.DualAscent(0.3, clip=1.0, cap=2.0))


class Interrupter:
    """Counts the calls of our functions, and those of others from the files that run the loop, and raises
    KeyboardInterrupt at one of them."""

    def __init__(self, at=None):
        self.at, self.calls, self.place = at, 0, None

    def __call__(self, frame, event, argument):
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(SOURCES)
        if not ours and not (event == "c_call" and code.co_filename in LOOP):
            return
        self.calls += 1
        if self.calls == self.at:
            self.place = f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}"
            raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


class Setting:
    """A run that is ready to begin, made once: all of its trials share what is compiled."""

    def __init__(self, problem, build, steps, start=0):
        self.problem, self.steps, self.start = METHOD.prepare(problem), steps, start
        bare, keys = self.problem.bare(), jr.key(0)
        shape = eqx.filter_eval_shape(Factory(build), bare.domain, 1, keys)
        source = Factory(build, jax.tree.structure(shape))
        built, rest = programs.build(scl.Stage().pose(bare), METHOD, source, keys, False)
        self.task = scl.Task(bare, METHOD, source, keys, built, rest, False, METHOD.primal.start.evaluations(bare))
        self.controller = door.default_controller(self.task, None)

    def go(self, path, steps=None):
        clock, steer = scl.Clock(steps=steps or self.steps), lambda task: self.controller
        with contextlib.closing(Checkpoint(path)) as checkpoint:
            store = Store(self.task, checkpoint.belongs_to(door.fingerprint(self.task, 0, None, None)))
            with Interrupter(getattr(self, "at", None)) as self.interrupter:
                return door.conduct(self.task, self.problem, steer, store, clock, Reporter(False), 0)

    def prepared(self, path):
        """A checkpoint of the run before the part that is looked at."""
        if self.start:
            self.go(path, self.start)
        return path


def noisy():
    """A constant fitted to sin 40x on eight fresh points: from step 120 of 140 on steps shrink."""
    return scl.Problem(scl.Box(x=(0.0, np.pi)), objective=scl.average(lambda u, x: u - jnp.sin(40 * x)))


def fading():
    """A network that cannot learn: little progress until step 200, where it starts again along time."""
    return scl.Problem(
        scl.Box(x=(0.0, 1.0), t=(0.0, 1.0)),
        objective=scl.average(scl.Initial(1.0)),
        constraints={"pde": scl.worst_case(lambda u_t, u_x, u: u_t + u_x + u - 1) <= 1e-6},
    )


def constant(domain, outputs, key):
    return small.Value(jr.uniform(key))


class Dead(small.Value):
    def __call__(self, z):
        return 0.0 * self.value[None]


def dead(domain, outputs, key):
    return Dead(jr.uniform(key))


SETTINGS = {
    "begins": lambda: Setting(noisy(), constant, 20),
    "settles": lambda: Setting(noisy(), constant, 150, start=110),
    "starts again": lambda: Setting(fading(), dead, 210, start=190),
}


def same(a, b):
    """Bit for bit, but for how long it took."""
    pairs = zip(jax.tree.leaves(a.model), jax.tree.leaves(b.model), strict=True)
    histories = [(a.history[name], b.history[name]) for name in a.history if name != "seconds"]
    return (
        list(a.history) == list(b.history)
        and all(np.array_equal(x, y) for x, y in (*pairs, *histories))
        and a.multipliers == b.multipliers
        and (a.result, a.converged, a.tempered) == (b.result, b.converged, b.tempered)
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files that an interrupt leaves open
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_ctrl_c_at_every_call_loses_nothing(name, every, tmp_path):
    """All calls take minutes; where there is less time, every fourth."""
    with precision.double():
        setting = SETTINGS[name]()
        start = setting.prepared(tmp_path / "start")
        begun = max((about["step"] for about, _ in contents(start).values()), default=0)
        whole = setting.go(_copy(start, tmp_path / "compiles"))
        assert setting.go(_copy(start, tmp_path / "whole")).steps == setting.steps
        calls, came_back, resumed = setting.interrupter.calls, 0, []
        for at in range(1, calls + 1, every):
            path = _copy(start, tmp_path / "trial")
            setting.at = at
            try:
                found = setting.go(path)
            except KeyboardInterrupt:
                found = None
            setting.at, place = None, setting.interrupter.place
            assert place, at
            if found is None:  # nothing was learned yet: the first network was being made, or a state read
                assert not came_back, place
            elif found.result is not scl.RESULTS.interrupted:  # Python drops what is raised while a generator is closed
                assert same(found, whole), place
            else:
                came_back += 1
                assert {len(column) for column in found.history.looks.values()} <= {found.history.rows}, place
                assert found.steps >= begun, place
                assert np.isfinite(found.objective), place
            left = contents(path)
            if left not in resumed:  # else one like it ended well before
                assert same(setting.go(path), whole), place
                resumed.append(left)
            shutil.rmtree(path)
        assert came_back > 0.5 * calls / every
        assert len(resumed) > 1


def contents(path):
    """What is in a checkpoint, but for times: every file is whole, and there is nothing else."""
    found = {}
    for file in sorted((path / "states").iterdir()) if path.exists() else []:
        about, arrays = read_archive(file)
        numbers = {name: array.tobytes() for name, array in arrays.items() if name != "history/seconds"}
        found[file.name] = ({**about, "seconds": 0.0}, numbers)
    return found


def _copy(start, path):
    return shutil.copytree(start, path) if start.exists() else path


def test_ctrl_c_twice_waits_until_what_was_learned_is_safe(tmp_path, monkeypatch):
    """The second one comes while the checkpoint is written."""
    with precision.double():
        setting = Setting(noisy(), constant, 30)
        whole = setting.go(tmp_path / "whole")
        presses = iter([KeyboardInterrupt, KeyboardInterrupt])
        save = Store.save

        def pressed(self, run, say):
            press = next(presses, None) if run.step == 20 else None
            if press is not None:
                raise press
            save(self, run, say)

        monkeypatch.setattr(Store, "save", pressed)
        monkeypatch.setattr("sclax._run.controller.SAVE_EVERY", -1.0)
        found = setting.go(tmp_path / "run")
        assert (found.steps, found.result) == (20, scl.RESULTS.interrupted)
        monkeypatch.undo()
        assert same(setting.go(tmp_path / "run"), whole)


PROCESS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
import numpy as np
import sclax as scl
from sclax._run import controller
controller.SAVE_EVERY = 0.0
solution = scl.solve(scl.zoo.convection(beta=2.0), steps=60, progress=False, checkpoint=sys.argv[1])
leaves = {f"layer{i}": np.asarray(l.weight) for i, l in enumerate(solution.model.layers)}
np.savez(sys.argv[2], merit=solution.history["merit"], kept=solution.history["kept"], **leaves)
"""


def test_a_real_ctrl_c_is_one(tmp_path):
    """SIGINT to a process in training: it ends by itself, with what it has learned, and resumes."""
    script = PROCESS.replace("steps=60", "steps=100000")
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "run"), str(tmp_path / "a.npz")],
    )
    try:
        states = tmp_path / "run" / "states"
        while not (states.exists() and any(states.glob("*.state"))):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
    assert len(np.load(tmp_path / "a.npz")["merit"]) >= 1
