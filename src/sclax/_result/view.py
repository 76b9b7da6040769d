"""A solution as a page on this machine: sliders for what a picture holds, the picture, and the verdict there.

Everything is computed in the server, which listens on 127.0.0.1 only, answers only GET, and writes nothing.
"""

from __future__ import annotations

import functools
import json
import threading
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import precision
from .._laws import mathml
from .._places import TIME
from .._problem import lines, math, setting, unknown_words
from . import page
from .abstract import AbstractSolution, figures
from .axes import middle
from .verdict import of_member, percent

if TYPE_CHECKING:
    import http.server

HOST = "127.0.0.1"
MAP = {1: 24, 2: 8}  # members along each parameter of the map of residuals, by the number of parameters
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


class Slider(NamedTuple):
    name: str
    low: float
    high: float
    step: float
    value: float


class OfPoints:
    """What there is to see of a solution at points: a slice of it, and where in a family that lies."""

    def __init__(self, solution: Any):
        self.solution, self.domain = solution, solution.problem.domain
        space = self.domain.space
        across = TIME in self.domain.names and (self.domain.shape is not None or len(space) > 1)
        self.shown = tuple(space[:2]) if across else figures().shown_axes(solution.problem)

    @property
    def sliders(self) -> list[Slider]:
        # Parameters first: they are what a surrogate is for.
        names = sorted((n for n in self.domain.names if n not in self.shown), key=lambda n: n in self.domain.space)
        ends = {name: self.domain.ends(name) for name in names}
        at = {name: middle(self.solution.problem, name) for name in names}
        return [Slider(n, low, high, (high - low) / 200, at[n]) for n, (low, high) in ends.items()]

    @functools.cached_property
    def residuals(self) -> Any:
        family = self.domain.parameters
        if len(family) not in MAP:
            return None
        try:
            return self.solution.residual_map(progress=False, **dict.fromkeys(family, MAP[len(family)]))
        except ValueError:  # no law on the interior
            return None

    def pictures(self, at: Mapping[str, float]) -> list[Any]:
        problem, model = self.solution.problem, self.solution.model
        with precision.of(model):
            drawn = [figures().solution(problem, model, at=at, shown=self.shown)]
            if self.residuals is not None:
                drawn.append(figures().family(None, self.residuals, here=at))
        return drawn

    def verdict(self, at: Mapping[str, float]) -> dict[str, Any]:
        problem, model = self.solution.problem, self.solution.model
        member = {name: at[name] for name in self.domain.parameters}
        found = of_member(problem, model, member)
        rows = [[name, f"{percent(share)} of its size is left"] for name, share in found.relative.items()]
        return {"solved": found.solved, "words": found.words, "rows": rows}


class OfSamples:
    """What there is to see of an operator: its samples, one after the other."""

    def __init__(self, solution: Any):
        self.solution = solution
        self.split = "test" if solution.problem.test is not None else "train"

    @functools.cached_property
    def errors(self) -> np.ndarray:
        return self.solution.errors(self.split)

    @property
    def sliders(self) -> list[Slider]:
        return [Slider("sample", 0.0, float(len(self.errors) - 1), 1.0, 0.0)]

    def pictures(self, at: Mapping[str, float]) -> list[Any]:
        return [self.solution.plot(sample=int(at["sample"]))]

    def verdict(self, at: Mapping[str, float]) -> dict[str, Any]:
        error, every = float(self.errors[int(at["sample"])]), self.errors
        words = f"On {self.split} sample {int(at['sample'])} the relative error is {percent(error)}."
        rows = [["mean of all", percent(float(every.mean()))], ["worst of all", percent(float(every.max()))]]
        return {"solved": bool(error <= 0.1), "words": words, "rows": rows}


def server(solution: AbstractSolution, port: int = 0) -> http.server.ThreadingHTTPServer:
    """A server of the page of a solution, on a port of this machine alone; `serve_forever()` starts it."""
    import http.server

    shown = OfPoints(solution) if solution.problem.pointwise else OfSamples(solution)
    # One picture and one verdict at a time; a verdict takes seconds, which no picture should wait for.
    drawing, judging = threading.Lock(), threading.Lock()

    def first(at: Mapping[str, float]) -> tuple[str, str]:
        problem = solution.problem
        laws = [line._replace(equations=tuple(map(page.safe, line.equations))) for line in lines(problem)]
        about = page.safe(f"{unknown_words(problem)} of {setting(problem)}")
        name = page.title_of(solution)
        label = lambda slider: page.safe(math(mathml.name(slider.name))) if problem.pointwise else slider.name
        sliders = [(slider, label(slider)) for slider in shown.sliders]
        return page.rendered("view.html", title=name, about=about, lines=laws, sliders=sliders), "text/html"

    def picture(at: Mapping[str, float]) -> tuple[str, str]:
        with drawing:
            pieces = [piece._asdict() for figure in shown.pictures(at) for piece in figures().pieces(figure)]
        return json.dumps(pieces), "application/json"

    def verdict(at: Mapping[str, float]) -> tuple[str, str]:
        with judging:
            return json.dumps(shown.verdict(at)), "application/json"

    answers = {"/": first, "/picture": picture, "/verdict": verdict}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            # A page of somebody else that reaches us by a name of its own is not answered.
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if url.path not in answers or host not in (HOST, "localhost"):
                self.send_error(404)
                return
            try:
                at = _position(shown.sliders, dict(urllib.parse.parse_qsl(url.query)))
            except ValueError as error:
                self.send_error(400, str(error))
                return
            text, kind = answers[url.path](at)
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: a moved slider is no news."""

    found = http.server.ThreadingHTTPServer((HOST, port), Handler)
    found.daemon_threads = True
    return found


def _position(sliders: list[Slider], given: Mapping[str, str]) -> dict[str, float]:
    """Where the sliders stand, each within its ends."""
    known = {slider.name: slider for slider in sliders}
    for name in given:
        if name not in known:
            raise ValueError(f"there is no slider {name!r:.40}")
    values = {name: float(given.get(name, slider.value)) for name, slider in known.items()}
    if not all(np.isfinite(value) for value in values.values()):
        raise ValueError("a slider stands at a number")
    return {name: float(np.clip(value, known[name].low, known[name].high)) for name, value in values.items()}
