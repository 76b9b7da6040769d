"""Every block of Python in README and docs runs, page by page, and the reference has every public name."""

import importlib.util
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "howto").glob("*.md"))]
PYTHON = Sybil(parsers=[PythonCodeBlockParser()])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # a page may write what it likes
    for example in PYTHON.parse(path).examples():
        example.evaluate()


def test_pages_with_code_were_looked_at():
    """Were the parser to find nothing, all pages would pass."""
    assert sum(len(list(PYTHON.parse(path).examples())) for path in PAGES) > 40


def beside_the_site(name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_public_name_with_an_example(tmp_path, monkeypatch):
    import sclax

    pages = beside_the_site("_pages", monkeypatch)
    pages.write(tmp_path)
    text = "\n".join(path.read_text() for path in (tmp_path / "api").glob("*.md"))
    rooms = {"data", "nn", "reference", "samplers", "zoo", "experiments", "tracking"}
    for name in set(sclax.__all__) - rooms - {"__version__"}:
        assert f"`scl.{name}`" in text or f".{name}`" in text, name
    assert len(pages.names()) > 150
    assert not pages.lacking()


def test_numbers_of_the_readme_are_those_of_the_records(monkeypatch):
    tables = beside_the_site("_results", monkeypatch).tables()
    cells = lambda line: [cell.strip() for cell in line.strip("|").split("|")]
    header = {name: cells(lines[0]) for name, lines in tables.items()}
    recorded = {}
    for name, lines in tables.items():
        for line in lines[2:]:
            row = dict(zip(header[name], cells(line), strict=False))
            error = next((row[key] for key in ("relative L2", "mean ± spread", "mean") if key in row), None)
            recorded.setdefault(cells(line)[0], []).append((row.get("paper", "–"), error, row.get("seconds")))
    shown = [cells(line) for line in (ROOT / "README.md").read_text().splitlines() if "`python -m benchmarks." in line]
    assert len(shown) >= 8
    for title, paper, error, seconds, command in shown:
        assert (paper, error, seconds) in recorded[title], title
        module = command.strip("`").split()[2].removeprefix("benchmarks.")
        assert (ROOT / "benchmarks" / f"{module}.py").exists()


def test_every_picture_of_a_page_is_in_the_repository():
    for page in PAGES:
        for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / path).exists(), f"{page.name}: {path}"


class Links(HTMLParser):
    """What a page of the site asks for, and the places in it that others may ask for."""

    def __init__(self, page):
        super().__init__()
        self.asked, self.scripts, self.places = set(), set(), set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        address = found.get("href" if tag in ("a", "link") else "src")
        if address:
            (self.asked if tag == "a" else self.scripts).add(address)


def dangling(site):
    """Links of a built site that lead nowhere, and things which are fetched from elsewhere."""
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    for page, found in pages.items():
        for address in found.asked | found.scripts:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in found.scripts and parts.scheme != "data":
                    yield page.name, address
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages.get(target)
            if not target.exists() or (parts.fragment and known and unquote(parts.fragment) not in known.places):
                yield page.name, address


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    """Without its examples, which tests of their own run."""
    docs = shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "gallery", "api"))
    for name in ("examples", "results", "CHANGELOG.md", "CITATION.cff"):
        (tmp_path / name).symlink_to(ROOT / name)
    words = ["-W", "-q", "-b", "html", "-D", "plot_gallery=0", str(docs), str(tmp_path / "site")]
    done = subprocess.run([sys.executable, "-m", "sphinx", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in ("index", "results", "api/problem", "howto/pde", "gallery/front"):
        assert (tmp_path / "site" / f"{page}.html").exists()
    assert set(dangling(tmp_path / "site")) == set()
    theory = (tmp_path / "site" / "theory.html").read_text()
    assert theory.count("<math") > 20  # which needs no script
    assert "mathjax" not in theory.lower()
