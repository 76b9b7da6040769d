"""The rooms of the design: imports point down, private files are their own, and every public name is documented."""

import ast
import builtins
import dis
import importlib
import inspect
from pathlib import Path

import pytest

import sclax as scl

ROOT = Path(scl.__file__).parent

# One row may import from the rows above it only, and of another package only what the package itself offers.
TABLE = (
    {
        "_version": "",
        "_base": """caches checks digests extras files functions modules precision signatures typing words zips""",
    },
    {
        "_places": """boundary box corners drawn face faces forms held holes later meshes parts place points polygons
            reading rejection shapes sides slices sobol subdomains surfaces""",
    },
    {
        "tracking": "",
        "samplers": "_base _baselines _chains _drawn _points",
        "nn": "_chebyshev _embeddings _hard _learned _mlp _modes _operators _store _tiles",
        "reference": """_allen_cahn _burgers _burgers_sine _convection _corners _diffusion_sorption _four_disks
            _gear _heat _helmholtz _kdv _klein_gordon _lid_driven_cavity _lorenz _navier_stokes _plate_with_disks
            _poisson _reaction_diffusion _support _wave""",
    },
    {
        "_laws": """conditions derived equations fields integrals laplacian law losses mathml nearby observations
            smoothed structure tables unknowns words""",
        "data": """_cache _files _formats _generators _hdf5 _matlab _pickles _plot _random_fields _readers _seals
            _stored _tensors""",
    },
    {"_problem": "courses grids measures operator pointwise problem samples shown term truth"},
    {
        "_methods": """dual eigenbasis first_order gauss_newton gram march method penalty primal primal_dual
            warm_start""",
        "_spectral": "correction family fronts jets march members method newton system tiles",
    },
    {
        "_result": """abstract axes conflicts constraints defect determined estimates evaluate features folds history
            operator_solution outcome page plot plot_moving plot_style plot_training plot_volume prices promise
            quantities record report rows sizes solution storage unseen verdict view volumes""",
    },
    {
        "_run": """best checkpoint controller door failure polynomials programs progress relax rules run source
            spare_draw stage train""",
    },
    {
        "zoo": """_allen_cahn _burgers _burgers_front _closed _convection _diffusion_sorption _eikonal _helmholtz _kdv
            _lid_driven_cavity _load _lorenz _navier_stokes _operators _reaction_diffusion _registry _rows _settings
            _shapes""",
    },
    {
        "experiments": """_building _catalogue _comparing _gathering _paper _records _reproducing _running _suite
            _sweeping _tables _telling pinnacle plots""",
    },
    {"cli": "_compare _data _list _new _pool _report _reproduce _saying _solve _summary _sweep _view _words"},
)
ROW = {package: number for number, row in enumerate(TABLE) for package in row}
FILES = {package: set(files.split()) for row in TABLE for package, files in row.items()}


def imports(source, package):
    """What a file of `package` (a tuple of names below the root) imports of ours: paths of names below the root."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            path = (*base, *(node.module or "").split(".")) if node.module else base
            yield from ((*path, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            module = getattr(node, "module", None)
            names = [f"{module}.{a.name}" if module else f"{a.name}.*" for a in node.names]
            yield from (tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == "sclax")


def faults(source, here):
    """Why a file of ours at `here` (the parts of its path below the root) may not import what it does."""
    package = here[0] if len(here) > 1 else here[0].removesuffix(".py")
    if package not in ROW or (
        len(here) > 1 and here[1] not in {f"{f}.py" for f in FILES[package]} | {"__init__.py", "__init__.pyi"}
    ):
        return [f"{'/'.join(here)} is not in the table"]
    found = []
    for target, *rest in imports(source, here[:-1]):
        if target == package:
            if rest[0] not in FILES[package] and here[-1] != "__init__.py" and len(here) > 1:
                found.append(f"{package} imports `{rest[0]}` through its own front door")
        elif target not in ROW:
            found.append(f"`{target}` is not in the table")
        elif ROW[target] >= ROW[package]:
            found.append(f"{package} may not import {target}")
        elif len(rest) > 1:
            found.append(f"{'.'.join((target, *rest))} is a private file of {target}")
    return found


SOURCES = sorted(p for end in ("py", "pyi") for p in ROOT.rglob(f"*.{end}") if p.parent != ROOT or p.stem != "__init__")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down_and_only_at_front_doors(path):
    assert not faults(path.read_text(), path.relative_to(ROOT).parts)


@pytest.mark.parametrize(
    ("here", "source"),
    [
        (("_places", "box.py"), "from .._laws import Law"),  # up
        (("samplers", "_base.py"), "from ..nn import MLP"),  # sideways
        (("_methods", "dual.py"), "from .._problem.term import Term"),  # a private file
        (("_methods", "dual.py"), "import sclax._problem.term"),
        (("_run", "door.py"), "from ..zoo import convection"),
        (("_run", "unheard.py"), ""),  # a file that the table does not know
        (("unheard.py",), ""),
        (("cli", "_solve.py"), "from .unheard import x"),
    ],
)
def test_what_the_table_forbids_is_found(here, source):
    assert faults(source, here)


def test_the_table_has_no_more_than_there_is():
    for package, files in FILES.items():
        assert all((ROOT / package / f"{file}.py").exists() for file in files), package


def test_only_plots_know_matplotlib():
    for path in ROOT.rglob("*.py"):
        if not path.name.lstrip("_").startswith("plot"):
            assert "matplotlib" not in path.read_text(), path


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".py"], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_global_name_exists(path):
    """Shapes in annotations look like names to linters, which therefore do not look for undefined ones."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    known = {*vars(module), *vars(builtins)}
    for code in codes(compile(path.read_text(), str(path), "exec")):
        used = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        assert used <= known, (code.co_name, used - known)


def test_no_file_is_too_long():
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path


PUBLIC = [name for name in dir(scl) if not name.startswith("_") and not inspect.ismodule(getattr(scl, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    assert inspect.getdoc(getattr(scl, name)), name


FIXED = """
Box Problem Initial Dirichlet Neumann Robin Periodic Operator Invariance Inequality Integral Observations field_residual
average worst_case each MeanSquare RelativeL2 MetropolisHastings PersistentChains ImportanceWeights Langevin R3 RAD
Drawn Uniform Sobol Grid PrimalDual Penalty DualAscent NuPI AugmentedLagrangian solve Solution load RESULTS nn zoo
"""


@pytest.mark.parametrize("name", FIXED.split())
def test_the_names_of_the_design_exist(name):
    assert hasattr(scl, name)


# Where classes of ours are told apart all the same: words that users write are read, and what they give is checked.
READ = {
    # The other operand of `a - b` or `a * b` may be anything.
    "Box": {"_places/box.py", "_places/reading.py", "_problem/pointwise.py", "nn/_chebyshev.py", "nn/_mlp.py"},
    "Sum": {"_problem/measures.py", "_problem/problem.py"},
    "Constraint": {"_problem/problem.py"},
    "PaperSettings": {"zoo/_rows.py"},
    "FunctionResidual": {"_laws/equations.py"},
    "Promise": {"_result/promise.py"},
    "Spectral": {"_run/door.py"},
    "Traced": {"_base/functions.py"},
    "GaussianField": {"data/_generators.py"},
    # What the unpickler makes of a file's own objects.
    "Name": {"data/_pickles.py"},
    "Pending": {"data/_pickles.py", "data/_tensors.py"},
    "_Storage": {"data/_tensors.py"},
    "Coordinate": {"_laws/integrals.py"},
    # A name in a signature stands for one of six kinds of quantity, and for nothing else.
    "Parameter": {"_laws/fields.py"},
    "Derivative": {
        "_laws/fields.py",
        "_laws/structure.py",
        "_laws/words.py",
        "_problem/grids.py",
        "_problem/pointwise.py",
        "_spectral/system.py",
    },
    "Gradient": {"_laws/fields.py"},
    "Laplacian": {"_laws/fields.py"},
    "Normal": {"_laws/fields.py"},
}


def test_no_code_is_chosen_by_the_class_of_our_own_objects():
    """Final classes answer for themselves; `isinstance` is for what comes from outside."""
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}
    classes = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    final = {name for name in classes if not name.startswith("Abstract")}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "isinstance":
                for name in {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)} & final:
                    assert path in READ.get(name, set()), f"{path}:{node.lineno} asks for {name}"
