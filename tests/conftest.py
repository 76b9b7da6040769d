"""Shapes in annotations are checked at run time, and warnings are errors."""

import gc
import importlib
import os
from pathlib import Path

# Nearly all of the tests' time is compilation of code that runs for milliseconds: leave the optimiser out.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

import jax
import pytest
from jaxtyping import install_import_hook

# Modules that calculate. Where users' arguments come in, the library's own messages are what is tested.
CHECKED = [
    "sclax._laws.fields",
    "sclax._methods.primal",
    "sclax._methods.dual",
    "sclax._methods.method",
    "sclax._result.report",
    "sclax.nn",
]
with install_import_hook(CHECKED, "beartype.beartype"):
    for name in CHECKED:
        importlib.import_module(name)


@pytest.fixture
def x64():
    """Double precision within one test."""
    with jax.enable_x64(True):
        yield


MAPS = Path("/proc/self/maps")
MANY = 20_000  # mappings of memory, of which Linux allows a process 65 530; compiled code takes dozens a function


@pytest.fixture(autouse=True, scope="module")
def few_mappings():
    """Lets go of compiled code before the system refuses memory for more of it, which would end the process."""
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MANY:
        jax.clear_caches()
        gc.collect()
