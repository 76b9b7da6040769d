"""Shapes in annotations are checked at run time, and warnings are errors."""

import importlib
import importlib.metadata
import os

# Nearly all of the tests' time is compilation of code that runs for milliseconds: leave out the optimiser, threads
# that would take turns with the other worker's, and emitters that take more than half of what is left. A jaxlib ends
# at a flag that it does not know.
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_cpu_parallel_codegen_split_count=1",
        "--xla_cpu_use_fusion_emitters=false" if importlib.metadata.version("jaxlib").startswith("0.10.") else "",
    ]
).strip()

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

from sclax._base import forget_compiled  # noqa: E402 -- after the hook
from sclax._methods import gram  # noqa: E402

gram.TILE = 10_000  # one tile: a third less to compile, and as fast at the sizes of tests


@pytest.fixture
def x64():
    """Double precision within one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def few_mappings():
    yield
    forget_compiled()
