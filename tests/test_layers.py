"""Imports point down the table of the design, and every public name is documented."""

import ast
import inspect
from pathlib import Path

import pytest

import sclax as scl

ROOT = Path(scl.__file__).parent
LAYERS = (
    "_typing _checks _digest _precision _atomic",
    "domains fields reference _gram samples",
    "nn",
    "laws samplers data",
    "conditions observations",
    "measures",
    "problem",
    "operators",
    "primal dual",
    "gauss_newton soap",
    "methods",
    "maps",
    "report _build _archive _checkpoint _progress _records",
    "_guide",
    "plot",
    "solution",
    "operator_solution",
    "loading",
    "solve",
    "zoo",
    "cli",
)
RANK = {module: rank for rank, row in enumerate(LAYERS) for module in row.split()}


def imports(path):
    """The modules of the package that a file imports."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module or "").split(".")) if node.module else base
            if parts:
                yield parts[0]
            else:
                yield from (alias.name for alias in node.names)


def test_every_module_has_its_place():
    modules = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")} - {"__init__"}
    assert modules == set(RANK)


@pytest.mark.parametrize("path", [p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py"], ids=str)
def test_imports_point_down(path):
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for target in imports(path):
        if target != here and target in RANK:
            assert RANK[target] < RANK[here], f"{here} may not import {target}"


def test_only_plot_knows_matplotlib():
    for path in ROOT.rglob("*.py"):
        if path.name != "plot.py":
            assert "matplotlib" not in path.read_text(), path


PUBLIC = [name for name in dir(scl) if not name.startswith("_") and not inspect.ismodule(getattr(scl, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    assert inspect.getdoc(getattr(scl, name)), name


FIXED = """
Box Problem Initial Dirichlet Neumann Robin Periodic Operator Invariance Inequality Observations field_residual
average worst_case each MeanSquare RelativeL2 MetropolisHastings PersistentChains ImportanceWeights Langevin R3 RAD
Uniform Sobol Grid PrimalDual Penalty DualAscent NuPI AugmentedLagrangian solve Solution load RESULTS nn zoo
"""


@pytest.mark.parametrize("name", FIXED.split())
def test_the_names_of_the_design_exist(name):
    assert hasattr(scl, name)
