"""Every example runs, and one number of each is as it should be."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PINNED = {"convection": 0.03, "obstacle": 5e-3, "extend": 1e-4, "disk_with_hole": 1e-4}
SLOW = {
    "ball": 1e-5,
    "l_shape": 0.1,
    "heat_on_a_polygon": 0.05,
    "plate_with_hole": 5e-3,
    "ellipses": 5e-3,
    "diffusion_coefficient": 0.02,
    "coefficient_field": 0.1,
    "outliers": 0.02,
    "contradiction": 1e-3,
    "cylinder": 0.05,
    "invariance": 0.01,
    "front": 1e-9,
    "chaos": 1e-9,
    "oscillators": 1e-9,
    "breather": 1e-8,
    "schroedinger": 1e-9,
    "learned_operator": 0.02,
    "monotone": 0.08,
    "eigenvalue": 1e-6,
}
LINES = {"extend": 80}


def test_every_example_is_pinned():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PINNED) | set(SLOW)


@pytest.mark.parametrize("name", [*PINNED, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_the_error_of_an_example_is_small(name, tmp_path):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert 0 <= example.result < {**PINNED, **SLOW}[name]
    example.plot().savefig(tmp_path / "figure.png")
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < LINES.get(name, 60)


def test_no_example_has_the_name_of_a_module_of_python():
    """`python examples/x.py` looks for modules beside it first: an `operator.py` there broke every example."""
    assert not {path.stem for path in EXAMPLES.glob("*.py")} & sys.stdlib_module_names
