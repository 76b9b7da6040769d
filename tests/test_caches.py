"""Compiled code that outlives a process: found again, the same bits, and never in the way."""

import json
import os
import subprocess
import sys

import jax
import pytest

from sclax._base import cache_directory, caches

CODE = """
import json
import jax, jax.numpy as jnp
from sclax._base import keep_compiled

keep_compiled()
hits = []
jax.monitoring.register_event_listener(lambda name, **more: hits.append(name) if name.endswith("cache_hits") else None)
value = jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x).T)(jnp.arange(12.0).reshape(3, 4))
print(json.dumps([value.tolist(), len(hits), jax.config.jax_compilation_cache_dir]))
"""


@pytest.fixture
def run(tmp_path):
    """Values, hits and directory of a process with a cache of its own; nothing may be said on standard error."""

    def run(**more):
        settings = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
        settings |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), **more}
        done = subprocess.run([sys.executable, "-c", CODE], env=settings, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run


def test_a_second_process_finds_what_the_first_compiled(run, tmp_path):
    value, hits, directory = run()
    assert hits == 0
    assert directory.startswith(str(tmp_path / "cache" / "sclax" / "compiled"))
    entries = sorted(p.name for p in (tmp_path / "cache").rglob("*-cache"))
    # Half written, as by a process that was killed: JAX writes the time of use after the entry.
    damaged = next((tmp_path / "cache").rglob("*lambda*-cache"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    next((tmp_path / "cache").rglob("*lambda*-atime")).unlink()
    again, hits, _ = run()
    assert again == value
    assert hits == len(entries) - 1
    again, hits, _ = run()
    assert again == value
    assert hits == len(entries)


def test_the_users_own_directory_stays(run, tmp_path):
    assert run(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "own"))[2] == str(tmp_path / "own")
    assert not (tmp_path / "cache").exists()


def test_a_directory_that_cannot_be_written_only_costs_the_cache(run, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    _, hits, directory = run()
    assert (hits, directory) == (0, None)


def test_a_relative_directory_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == tmp_path / ".cache" / "sclax"


def test_compiled_code_is_let_go_of_before_memory_runs_out(monkeypatch, tmp_path):
    """A process may have 65 530 mappings; beyond many of them nothing that was compiled is kept."""
    maps = tmp_path / "maps"
    monkeypatch.setattr(caches, "MAPS", maps)
    calls = []

    @jax.jit
    def traced(x):
        calls.append(x)
        return x + 1

    for lines, times in ((10, 1), (caches.MANY, 1), (caches.MANY + 1, 2)):
        maps.write_text("a mapping\n" * lines)
        caches.forget_compiled()
        traced(1.0)
        traced(1.0)
        assert len(calls) == times
