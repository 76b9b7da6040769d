"""Names are imported on first use, so that a list of problems does not wait for JAX; one stub says which there are."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import sclax as scl

SLOW = "jax jaxlib numpy equinox optax xarray matplotlib scipy pandas"


def python(code, **more):
    """What a process of its own prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, **more).stdout


def test_names_and_equations_are_there_before_jax():
    code = f"""
import sys
import sclax, sclax.zoo
known = {{**sclax.zoo.ENTRIES, **sclax.zoo.OPERATORS}}
assert all(entry.name == name and entry.equation for name, entry in known.items())
assert sclax.zoo.entry("wave") is known["wave"]
assert sclax.__version__ and "solve" in dir(sclax) and "convection" in dir(sclax.zoo)
print(len(known), [name for name in "{SLOW}".split() if name in sys.modules])
"""
    assert python(code) == "22 []\n"


def listed(package):
    """The names of a package's stub, with the file that each comes from."""
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    return {alias.asname: node.module for node in tree.body for alias in node.names if alias.asname == alias.name}


@pytest.mark.parametrize("package", [scl, scl.zoo], ids=["sclax", "zoo"])
def test_the_stub_and_the_package_agree(package):
    names = listed(package)
    assert sorted(names) == sorted(dir(package)) == sorted(package.__all__)
    for name, module in names.items():
        found = getattr(package, name)
        if module is None:
            assert found is importlib.import_module(f"{package.__name__}.{name}")
        else:
            assert found is getattr(importlib.import_module(f"{package.__name__}.{module}"), name)


def test_the_stub_takes_names_at_front_doors_only():
    assert not [module for module in listed(scl).values() if module and "." in module]


def test_a_first_name_can_be_any():
    """Each of them alone finds what it needs, whatever else was imported before."""
    for name in ("load", "zoo.ROWS", "samplers.Uniform"):
        head, _, last = f"sclax.{name}".rpartition(".")
        assert python(f"from {head} import {last} as found; print(found)")


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="Bax"):
        _ = scl.Bax
    with pytest.raises(ImportError, match="Bax"):
        from sclax import Bax  # noqa: F401


@pytest.mark.parametrize("name", [*scl.zoo.ENTRIES, *scl.zoo.OPERATORS])
def test_entries_find_their_functions(name):
    entry = scl.zoo.entry(name)
    assert entry.build is getattr(scl.zoo, name)
    assert (entry.training is None) == (name in scl.zoo.ENTRIES)
    paper = {"convection", "reaction_diffusion", "eikonal", "helmholtz"}
    assert (entry.paper_problem is not None) == (name in paper)
    assert (entry.paper_settings is not None) == (name in paper | {"burgers", "diffusion_sorption", "navier_stokes"})
