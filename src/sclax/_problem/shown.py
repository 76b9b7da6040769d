"""A problem as people read it: its laws typeset, and its domain drawn."""

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._laws import mathml
from .._places import AbstractPlace, svg
from .term import Term

if TYPE_CHECKING:
    from .problem import AbstractProblem


class Line(NamedTuple):
    """A law: its name, its equations in MathML, where it holds, and how strongly."""

    name: str
    equations: tuple[str, ...]
    where: str
    strength: str


def math(markup: str) -> str:
    return f'<math display="inline">{markup}</math>'


def lines(problem: "AbstractProblem") -> list[Line]:
    """What is known of the solution, equations before conditions."""
    found = []
    for term in problem.terms:
        whole = term.law.place.chart.names == problem.domain.names
        line = Line(term.name, tuple(map(math, term.law.residual.written())), _where(problem, term), _strength(term))
        found.append((not whole, line))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def _where(problem: "AbstractProblem", term: Term) -> str:
    place: AbstractPlace = term.law.place
    if not problem.pointwise:
        return "on the samples"
    if place.finite:
        return f"at {int(place.measure):,} points" if place.measure > 1 else "at a point"
    if place.constants:
        return "at " + ", ".join(f"{name} = {value:.4g}" for name, value in place.constants)
    if place.chart.names == problem.domain.names:
        return "everywhere"
    inside = set(place.chart.names) <= set(problem.domain.names)
    return f"for all {', '.join(place.chart.names)}" if inside else "on the boundary"


def _strength(term: Term) -> str:
    measure = "each sample" if term.separate else "worst case" if term.worst else "average"
    return measure if term.owner is not None else "objective"


def setting(problem: "AbstractProblem") -> str:
    """The domain and the parameters in one line of MathML."""
    return ",&ensp; ".join(map(math, _setting(problem)))


def headline(problem: "AbstractProblem") -> str:
    """A problem in one line of text: its laws, each with where it holds, and its domain."""
    laws = [
        mathml.plain(equation) + ("" if line.where == "everywhere" else f" {line.where}")
        for line in lines(problem)
        for equation in line.equations
    ]
    return ",  ".join([*laws, ", ".join(map(mathml.plain, _setting(problem)))])


def _setting(problem: "AbstractProblem") -> list[str]:
    interval = lambda ends: f"<mo>[</mo>{mathml.number(ends[0])}<mo>,</mo>{mathml.number(ends[1])}<mo>]</mo>"
    domain = problem.domain
    parts = [f"{mathml.name(name)}<mo>∈</mo>{interval(domain.ends(name))}" for name in domain.names]
    sought: Any = getattr(problem, "sought", {})
    for name, value in problem.parameters.items():
        if name not in sought:
            parts.append(f"{mathml.name(name)}<mo>=</mo>{mathml.number(float(value))}")
    return parts


def unknown_words(problem: "AbstractProblem") -> str:
    """The coefficients that are sought, and the unknowns, of which the coordinates are told next."""
    sought: Any = getattr(problem, "sought", {})
    found = "sought " + ", ".join(math(mathml.name(c)) for c in sought) + "; " if sought else ""
    return found + "unknown " + ", ".join(math(mathml.name(u)) for u in problem.unknowns)


def html(problem: "AbstractProblem") -> str:
    """A problem in a notebook."""
    rows = []
    for line in lines(problem):
        tolerance = problem.tolerances.get(line.name)
        limit = "" if tolerance is None else f" ≤ {float(np.max(np.asarray(tolerance))):.3g}"
        equations = "".join(f'<div style="margin:.3em 0">{equation}</div>' for equation in line.equations) or "–"
        cells = (f"<b>{escape(line.name)}</b>", equations, escape(line.where), escape(line.strength) + limit)
        rows.append("<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>")
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:center">'
        f"<div>{svg(problem.domain)}</div><div><div>{unknown_words(problem)} of {setting(problem)}</div>"
        f"<table>{''.join(rows)}</table></div></div>"
    )
