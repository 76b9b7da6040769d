"""Pages: the report of a run, runs side by side, and the page with sliders, in a real browser."""

import http.client
import re
import signal
import subprocess
import sys
import threading
import time

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import sclax as scl
from sclax import cli
from sclax._laws import mathml
from sclax._problem import headline
from sclax._result import History, server, solution_of

from . import browser, small


def rod(load=1.0):
    """−u'' = load, u = 0 at both ends."""
    return scl.Problem(
        domain=small.unit(),
        parameters={"load": load},
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"ode": scl.worst_case(lambda u_xx, load: u_xx + load) <= 1e-8},
        reference=lambda x, load: load * x * (1 - x) / 2,
    )


class Until(eqx.Module):
    """The wave sin(x − c t), with which the speed grows up to 2 only."""

    def __call__(self, z):
        return jnp.sin(z[0] - jnp.minimum(z[2], 2.0) * z[1])[None]


def family():
    problem = scl.Problem(
        domain=scl.Box(x=(0, 2 * np.pi), t=(0, 1)),
        parameters={"c": (1.0, 3.0)},
        objective=scl.average(scl.Initial(lambda x: jnp.sin(x))) + scl.average(scl.Periodic("x")),
        constraints={"pde": scl.worst_case(lambda u_t, u_x, c: u_t + c * u_x) <= 1e-6},
    )
    return solution_of(problem, Until(), None, {"pde": 0.0}, History.of(["pde"]), scl.RESULTS.converged, 0)


@pytest.fixture(scope="module")
def solved():
    return scl.solve(rod(), progress=False)


@pytest.fixture(scope="module")
def page():
    if None in browser.PROGRAMS:
        pytest.skip("chromium and chromedriver are not installed")
    with browser.opened() as found:
        yield found


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (lambda u_t, u_x, beta: u_t + beta * u_x, "u_t+βu_x"),
        (lambda u, u_xx: u_xx - 5 * (u - u**3), "u_xx−5(u−u^3)"),
        (lambda u_x, x: u_x - jnp.exp(-2 * jnp.pi * x) / 3, "u_x−[exp(−2πx)/3]"),
        (lambda u, x: -(u - x) * 2.5e-7, "−2.5·10^-7(u−x)"),
        (lambda grad_u, u: grad_u @ grad_u + jnp.sqrt(u), "∇u·∇u+√[u]"),
        (lambda u, x: u * jnp.where(x > 0, 1.0, 2.0), "&lt;lambda&gt;(u,x)"),  # which nobody writes in a line
    ],
)
def test_laws_are_written_as_people_write_them(law, text):
    problem = scl.Problem(
        domain=scl.Box(x=(0, 1), t=(0, 1)),
        parameters={"beta": 1.0} if "beta" in law.__code__.co_varnames else {},
        constraints={"law": scl.worst_case(law) <= 1.0},
    )
    (markup,) = problem.terms[0].law.residual.written()
    plain = re.sub(r"<msub><mi>(.*?)</mi><mi>(.*?)</mi></msub>", r"\1_\2", markup)
    plain = re.sub(r"<msup>(.*?)<mn>(.*?)</mn></msup>", r"\1^\2", plain.replace("<mn>10</mn><mn>", "10<mn>"))
    plain = plain.replace("<msqrt>", "√[").replace("</msqrt>", "]").replace("<mfrac><mrow>", "[")
    plain = plain.replace("</mrow><mrow>", "/").replace("</mrow></mfrac>", "]").replace("&#x2061;", "")
    plain = re.sub(r"<[^>]*>", "", plain)
    assert plain == f"{text}=0"
    assert "<math" in problem._repr_html_()
    assert "<svg" in problem._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"), [(2 * np.pi, "2π"), (-np.pi / 4, "−π4"), (0.01 / np.pi, "0.01π"), (1e-6, "1·10-6"), (0.3, "0.3")]
)
def test_numbers(value, text):
    assert re.sub(r"<[^>]*>", "", mathml.number(value)) == text


def test_a_problem_in_a_line_of_text():
    x_and_y = scl.Box(x=(0, 1), y=(0, np.pi))
    problem = scl.Problem(
        domain=x_and_y,
        parameters={"alpha": 0.5},
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda u_x, u_yy, u, alpha: u_x - alpha * u_yy + u**2 / (1 + alpha)) <= 1.0},
    )
    assert headline(problem) == (
        "uₓ − α u_yy + u²/(1 + α) = 0,  u = 0 on the boundary,  x ∈ [0, 1], y ∈ [0, π], α = 0.5"
    )


def test_the_report_has_what_the_run_has(solved, tmp_path):
    checked = solved.check(points=10_000)
    text = solved.report(tmp_path / "report.html", checked=checked, command="make rod").read_text()
    body = text[text.index("<body>") :]
    first = re.sub(r"<[^>]*>", "", body[: body.index("</h1>")]).strip()
    assert first == f"✓ {checked.verdict.words}"
    for finding in checked.findings:
        assert finding.name in body
        assert finding.verdict in body.replace("&#39;", "'")
    assert "make rod" in body
    assert f"jax {scl.versions()['jax']}" in body
    assert "http" not in text.replace("http://www.w3.org/", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]


def test_a_verdict_that_is_bad_says_so(tmp_path):
    wrong = solution_of(rod(), small.value(3.0), None, {"ode": 0.0}, History.of(["ode"]), scl.RESULTS.converged, 0)
    text = wrong.report(tmp_path / "report.html").read_text()
    assert "✗</span> This is NOT a solution" in text
    assert "import sclax as scl" in text


@browser.needs_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_report_in_a_browser(solved, page, tmp_path, width):
    file = solved.report(tmp_path / "report.html", checked=solved.check(points=10_000))
    page.open(file.as_uri(), width)
    assert page.errors() == []
    assert page.requests() == [file.as_uri()]
    assert file.stat().st_size < 3e6
    assert page.run("return document.documentElement.scrollWidth") <= width
    # Nothing is too small to read: letters of the page, and of pictures as they are scaled.
    small_text = """
        return Math.min(...[...document.querySelectorAll('main *')].filter(e => e.textContent.trim())
            .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
    assert page.run(small_text) >= 11
    scales = page.run("return [...document.images].map(i => i.getBoundingClientRect().width / i.naturalWidth)")
    assert len(scales) >= 4
    assert min(scales) * 8 * 150 / 72 >= 8  # of 8 points at 150 dots an inch, in pixels
    heights = page.run("return [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)")
    assert max(heights) > 15  # typeset, with indices below the line


@browser.needs_browser
def test_runs_side_by_side(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, load in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.json").write_text(
            f'{{"problem": "rod", "solved": true, "verdict": "load {load}", "relative_l2": {load / 8}, '
            '"seconds": 1.5, "sup_residual": {"ode": 0.25}, "multipliers": {"ode": [0.5, 2.0]}}'
        )
    result = CliRunner().invoke(cli.app, ["report", "one", "two"])
    assert result.exit_code == 0, result.output
    page.open((tmp_path / "comparison.html").as_uri(), 1280)
    rows = page.run("return [...document.querySelectorAll('.runs tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert rows[0] == ["", "one", "two"]
    assert ["verdict", "load 1.0", "load 2.0"] in rows
    assert ["relative error", "0.125", "0.25"] in rows
    assert ["multiplier of ode", "2", "2"] in rows
    assert page.errors() == []
    assert len(page.requests()) == 1
    refused = CliRunner().invoke(cli.app, ["report", "three"])
    assert refused.exit_code == 2
    assert "three" in refused.output


@pytest.fixture(scope="module")
def served():
    found = server(family())
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def test_only_this_machine_is_answered(served):
    assert served.server_address[0] == "127.0.0.1"
    for path, host, status in (
        ("/picture?c=nan", "127.0.0.1", 400),
        ("/picture?beta=2", "127.0.0.1", 400),
        ("/solution.scl", "127.0.0.1", 404),
        ("/", "elsewhere.example", 404),
        ("/", "127.0.0.1", 200),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=60)
        connection.request("GET", path, headers={"Host": f"{host}:{served.server_port}"})
        assert connection.getresponse().status == status, path
        connection.close()


def waited(page, value):
    """Until picture and verdict are those of a value of the slider."""
    ends = time.monotonic() + 240
    while time.monotonic() < ends:
        parts = "pictures", "verdict"
        if [page.run("return document.getElementById(arguments[0]).dataset.at", p) for p in parts] == [
            f"c={value:g}"
        ] * 2:
            head = page.run("const v = document.getElementById('verdict'); return [v.innerText, v.className]")
            return *head, page.run("return document.images[0].src")
        time.sleep(0.1)
    raise AssertionError(f"no answer for c = {value}")


@browser.needs_browser
def test_moving_a_slider_moves_picture_and_verdict(served, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page.open(f"http://127.0.0.1:{served.server_port}/", 1000)
    move = "const i = document.querySelector('input'); i.value = arguments[0]; i.dispatchEvent(new Event('input'));"
    page.run(move, 1.5)
    words, kind, picture = waited(page, 1.5)
    assert words.startswith("✓ This is a solution")
    assert kind == "verdict"
    assert page.run("return document.querySelector('label math').textContent") == "c"
    page.run(move + "look();", 3)
    assert page.run("return document.getElementById('words').innerText") == "looking"  # no verdict of elsewhere
    after = waited(page, 3)
    assert after[0].startswith("✗ This is NOT a solution")
    assert after[1] == "verdict bad"
    assert after[2] != picture
    titles = page.run("return [...document.images].map(i => i.alt)")
    assert titles == ["u", "|residual| of pde", "rms residual"]
    assert page.errors() == []
    assert all(url.startswith(f"http://127.0.0.1:{served.server_port}/") for url in page.requests()[-4:])
    assert not list(tmp_path.iterdir())  # nothing is written


@browser.needs_browser
def test_a_page_whose_server_has_ended_says_so(page):
    found = server(family())
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    page.open(f"http://127.0.0.1:{found.server_port}/", 1000)
    found.shutdown()
    found.server_close()
    page.run("const i = document.querySelector('input'); i.value = 3; look();")
    words = "return document.getElementById('words').innerText"
    ends = time.monotonic() + 120
    while not page.run(words).startswith("No answer: sclax view has ended"):
        assert time.monotonic() < ends
        time.sleep(0.1)
    page.errors()  # of the connection, which are as they should be


@pytest.mark.slow
def test_the_command_shows_a_run_until_it_is_interrupted(tmp_path):
    scl.solve(scl.zoo.heat(), progress=False).save(tmp_path / "solution.scl")
    words = [sys.executable, "-c", "from sclax.cli import app; app()", "view", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as shown:
        port = int(re.search(r"http://127.0.0.1:(\d+)/", shown.stdout.readline()).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
        for path, part in (("/", b"<math"), ("/picture", b"data:image/png"), ("/verdict", b"This is a solution")):
            connection.request("GET", path)
            assert part in connection.getresponse().read()
            connection.close()
        shown.send_signal(signal.SIGINT)
        assert shown.wait(60) == 0
