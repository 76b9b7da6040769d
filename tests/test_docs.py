"""Every block of Python in README and docs runs, page by page, and the reference has every public name."""

import importlib.util
import sys
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "howto").glob("*.md")])
PYTHON = Sybil(parsers=[PythonCodeBlockParser()])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # a page may write what it likes
    for example in PYTHON.parse(path).examples():
        example.evaluate()


def test_pages_with_code_were_looked_at():
    """Were the parser to find nothing, all pages would pass."""
    assert sum(len(list(PYTHON.parse(path).examples())) for path in PAGES) > 40


@pytest.fixture
def pages(monkeypatch):
    spec = importlib.util.spec_from_file_location("_pages", ROOT / "docs" / "_pages.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "_pages", module)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_public_name_with_an_example(pages, tmp_path):
    import sclax

    pages.write(tmp_path)
    text = "\n".join(path.read_text() for path in (tmp_path / "api").glob("*.md"))
    rooms = {"data", "nn", "reference", "samplers", "zoo", "experiments", "tracking"}
    for name in set(sclax.__all__) - rooms - {"__version__"}:
        assert f"`scl.{name}`" in text or f".{name}`" in text, name
    for path, thing in pages.names().items():
        if callable(thing) and not isinstance(thing, type(pages)):
            assert thing.__doc__, path
