"""Other packages beside ours: what can be checked without them, and a tiny run of each that is installed."""

import ast
import importlib.util
import json
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.peers import _errors, _figure, _measurements, _records, _run, _stages

PAIRS = [(peer, problem) for problem in _records.PROBLEMS for peer in _records.PEERS]
MODULES = {"deepxde": "deepxde", "jinns": "jinns", "pina": "pina", "sclax": "sclax"}


@pytest.mark.parametrize(("peer", "problem"), PAIRS)
def test_every_pair_has_a_statement_or_a_reason(peer, problem):
    path = _records.statement(peer, problem)
    assert path.exists() != ((problem, peer) in _records.REASONS)
    if path.exists():
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree)
        assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)][-1] == "state"


def test_no_statement_is_left_over():
    found = {path.name for path in _records.HERE.glob("[a-z]*_*.py")}
    assert found == {_records.statement(*pair).name for pair in PAIRS if _records.statement(*pair).exists()}


def test_statements_import_one_package_and_nothing_of_another():
    others = {"deepxde", "jinns", "pina", "sclax"}
    for peer, problem in PAIRS:
        if not _records.statement(peer, problem).exists():
            continue
        tree, imported = ast.parse(_records.statement(peer, problem).read_text()), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.split(".")[0])
        assert imported & others == {peer}


def test_lines_are_those_with_code():
    text = '''"""Told.

And more."""

import numpy  # counted

# not counted


def f(a,
      b):
    """Told."""
    # not counted
    return """one
two""", a, b
'''
    assert _records.lines(text) == 5
    assert _records.lines("") == 0


def fake_entry(peer="sclax", problem="burgers", errors=(1e-3, 3e-3), seconds=4.0):
    curve = lambda error: [{"seconds": seconds / k, "steps": 8 // k, "error": error and k * error} for k in (4, 2, 1)]
    runs = [
        {"seed": k, "error": e, "seconds": seconds + k, "steps": 8, "curve": curve(e), "versions": {"sclax": "0"}}
        for k, e in enumerate(errors)
    ]
    return _records.summary(peer, problem, seconds, runs)


def test_a_pair_joins_what_is_stored_and_replaces_itself_only():
    stored = None
    for problem, peer in (("lorenz", "sclax"), ("burgers", "sclax"), ("burgers", "deepxde")):
        stored = json.loads(json.dumps(_records.joined(stored, problem, peer, fake_entry(peer, problem))))
    assert list(stored["runs"]) == ["burgers", "lorenz"]
    assert list(stored["runs"]["burgers"]) == ["deepxde", "sclax"]
    before = json.dumps(stored)
    changed = _records.joined({**stored, "command": "kept"}, "burgers", "sclax", {"reason": "of course"})
    assert json.dumps(stored) == before
    assert changed["command"] == "kept"
    assert changed["runs"]["burgers"].pop("sclax")["reason"] == "of course"
    stored["runs"]["burgers"].pop("sclax")
    assert changed["runs"] == stored["runs"]


def test_all_seeds_count():
    entry = fake_entry()
    assert (entry["error"], entry["error_max"], entry["seconds"]) == (pytest.approx(2e-3), 3e-3, 5.0)
    assert fake_entry(errors=(1e-3, None))["error"] is None


def test_the_table_has_dashes_with_reasons():
    record = _records.joined(None, "burgers", "sclax", fake_entry())
    record = _records.joined(record, "burgers", "pina", {"reason": "not installed here"})
    record = _records.joined(record, "burgers", "jinns", fake_entry("jinns", errors=(None,)))
    rows, dashes = _records.rows(record)
    lines = str(_records.about("sclax", "burgers")["lines"])
    assert [row[1] for row in rows] == ["jinns", "PINA", "sclax"]
    assert rows[2][2:] == ["2.0e-03", "5", "8", lines]
    assert rows[1][2:] == ["–"] * 4
    assert rows[0][2] == "NaN"
    assert dashes == [f"PINA, {_records.PROBLEMS['burgers']}: not installed here"]


def test_the_figure_has_a_curve_for_each_run_and_letters_that_can_be_read(tmp_path):
    record = None
    for peer, problem in PAIRS:
        entry = {"reason": "none"} if (peer, problem) == ("pina", "lorenz") else fake_entry(peer, problem)
        record = _records.joined(record, problem, peer, entry)
    figure = _figure.draw(record, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000
    assert (tmp_path / "peers.svg").exists()
    panels = figure.axes[: len(_records.PROBLEMS)]
    assert [len(panel.lines) for panel in panels] == [8, 8, 8, 8, 6]
    for panel in panels:
        assert panel.get_xscale() == panel.get_yscale() == "log"
        looks = {(line.get_marker(), line.get_linestyle(), line.get_color()) for line in panel.lines}
        assert len({mark for mark, _, _ in looks}) == len(looks)
        letters = [
            panel.title,
            panel.xaxis.label,
            panel.yaxis.label,
            *panel.get_xticklabels(),
            *panel.get_yticklabels(),
        ]
        assert min(text.get_fontsize() for text in letters) >= 8


def test_stages_leave_out_measuring_and_measure_each_share_once(monkeypatch):
    now, seen = [0.0], []
    monkeypatch.setattr(_stages, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def slow(found):
        now[0] += 1000.0
        seen.append(found)
        return 0.5

    stages = _stages.Stages(8.0, slow)
    stages.start()
    for step in range(1, 17):
        now[0] += 0.75
        if stages.tick(step, step):
            break
    assert step == 11  # 11 steps of 0.75 are the first beyond 8 seconds
    assert seen == [2, 3, 6, 11]
    assert [point["seconds"] for point in stages.curve] == [1.5, 2.25, 4.5, 8.25]
    stages.passed(stages.trained, step, "again", ended=True)
    assert len(stages.curve) == 4


def test_errors_are_relative_and_nan_is_none():
    reference = {"points": np.zeros((4, 2)), "values": np.asarray([3.0, 0.0, 0.0, 4.0])}
    assert _errors.error(reference, lambda points: np.asarray([[3.0], [0.0], [0.5], [4.0]])) == pytest.approx(0.1)
    assert _errors.error(reference, lambda points: np.full(4, np.nan)) is None
    close = {"sigma": 10.0, "rho": 15.3, "beta": 8 / 3 * 0.99}
    assert _errors.error(_errors.lorenz(), lambda: close) == pytest.approx(0.02)


def test_references_are_the_solutions():
    convection, helmholtz = _errors.convection(), _errors.helmholtz()
    x, t = convection["points"].T
    assert np.max(np.abs(convection["values"] - np.sin(x - 30 * t))) < 1e-13
    x, y = helmholtz["points"].T
    assert np.max(np.abs(helmholtz["values"] - np.sin(2 * np.pi * x) * np.sin(3 * np.pi * y))) < 1e-14
    burgers = _errors.burgers()
    x, t = burgers["points"].T
    assert np.max(np.abs(burgers["values"][t == 0] + np.sin(np.pi * x[t == 0]))) < 1e-12
    assert np.max(np.abs(burgers["values"][np.abs(x) == 1])) < 1e-12


def test_measurements_are_the_same_for_all_and_noisy_by_a_percent():
    times, measured, noise = _measurements.lorenz(0)
    again, other = _measurements.lorenz(0)[1], _measurements.lorenz(1)[1]
    assert times.shape == (25,)
    assert np.array_equal(measured, again)
    spread = np.std((measured - other) / noise) / np.sqrt(2)
    assert spread == pytest.approx(1, abs=0.25)


def test_the_page_has_the_section_only_with_a_record(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("_results", _records.HERE.parent.parent / "docs" / "_results.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    monkeypatch.setattr(page, "RECORDS", tmp_path)
    assert page.sections() == {"beside": []}
    record = _records.joined(None, "lorenz", "sclax", fake_entry(problem="lorenz"))
    record = _records.joined(record, "lorenz", "jinns", {"reason": "it has no times"})
    (tmp_path / "peers.json").write_text(json.dumps(record))
    text = "\n".join(page.sections()["beside"])
    assert "## Beside other packages" in text
    assert f"| {_records.PROBLEMS['lorenz']} | sclax | 2.0e-03 | 5 | 8 |" in text
    assert f"jinns, {_records.PROBLEMS['lorenz']}: it has no times." in text
    assert "../results/peers.png" in text


@pytest.mark.slow
@pytest.mark.parametrize("peer", list(_records.PEERS))
def test_a_tiny_run_of_each(peer, tmp_path, monkeypatch):
    pytest.importorskip(MODULES[peer])
    monkeypatch.chdir(tmp_path)
    reference = _errors.convection()
    np.savez(tmp_path / "reference.npz", **reference)
    from benchmarks.peers.__main__ import run_one

    found = run_one(peer, "convection", 0, 1.0, tmp_path / "reference.npz")
    assert "reason" not in found, found
    assert found["error"] < 2
    assert found["curve"][-1]["steps"] == found["steps"] >= 1
    assert set(found["versions"]) == set(_run.PACKAGES[peer])


def test_what_is_not_installed_is_a_dash(tmp_path, monkeypatch):
    from benchmarks.peers.__main__ import run_one

    peer = next((peer for peer, module in MODULES.items() if importlib.util.find_spec(module) is None), None)
    if peer is None:
        pytest.skip("all packages are installed")
    np.savez(tmp_path / "reference.npz", **_errors.lorenz())
    assert run_one(peer, "lorenz", 0, 1.0, tmp_path / "reference.npz") == {"reason": "not installed here"}
