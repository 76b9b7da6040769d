"""Pages that need nothing but themselves: the report of a solution in one file, and several runs side by side."""

from __future__ import annotations

import base64
import functools
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import checks, replaced
from .._places import svg
from .._problem import lines, setting, unknown_words
from .report import COLUMNS, Finding, Report, cells
from .verdict import percent

if TYPE_CHECKING:
    from .abstract import AbstractSolution

TITLES = {
    "solution": "The solution",
    "member": "Where the family is least reliable",
    "coefficients": "The coefficients",
    "family": "Over the family",
    "history": "How training went",
    "samples": "Where the worst case was",
    "marginals": "Where the worst case was, along each coordinate",
    "multipliers": "Multipliers of the samples",
}
WORDS = {
    "solution": "With the error where the true solution is known, and what is left of each equation. Numbers mark the "
    "point at which each law of the table is worst; other coordinates than those shown are those of the picture.",
    "history": "Objective and constraints over the steps of training, and the multipliers that weigh them.",
    "family": "Relative error where the truth is known, and what is left of the equation, at each parameter.",
}
WIDE = 1000  # pixels of a picture of a run beside others
LEGIBLE = 72  # pixels an inch, with which text of 8 points has 8 pixels


class Law(NamedTuple):
    number: int
    name: str
    cells: Sequence[str]
    holds: bool | None
    words: str


@functools.cache
def _environment() -> Any:
    import jinja2
    import markupsafe

    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, trim_blocks=True
    )
    found.globals["safe"] = markupsafe.Markup
    return found


def safe(markup: str) -> Any:
    """Markup of our own, which is not escaped."""
    return _environment().globals["safe"](markup)


def rendered(template: str, **content: Any) -> str:
    return _environment().get_template(template).render(**content)


def laws(found: Report) -> list[Law]:
    """The rows of the table of laws."""
    holds = lambda f: None if f.violation is None else bool(f.violation <= 0)
    return [
        Law(number, f.name, cells(f, found.relative), holds(f), f.verdict)
        for number, f in enumerate(found.findings, start=1)
    ]


def of_report(found: Report) -> str:
    """The answer of `check()` in a notebook."""
    notes = "".join(f"<p>{note}</p>" for note in map(_escaped, (*found.notes, *found.verdict.notes)))
    table = rendered("laws.html", columns=COLUMNS, laws=laws(found))
    words = "".join(f"<li><b>{_escaped(f.name)}</b>: {_escaped(f.verdict)}</li>" for f in found.findings)
    return f"<p><b>{_escaped(found.verdict.words)}</b> {_escaped(found.head)}</p>{table}<ul>{words}</ul>{notes}"


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def title_of(solution: AbstractSolution) -> str:
    recipe = solution.problem.recipe
    if recipe is not None:
        return recipe.name.replace("_", " ")
    return f"{', '.join(solution.problem.unknowns)} of {', '.join(solution.problem.domain.names)}"


def command_of(solution: AbstractSolution) -> str:
    """How the solution is found again, where it was not by the command."""
    recipe, steps = solution.problem.recipe, ""
    if not solution.converged and solution.result.name == "steps_done":
        steps = f", steps={solution.steps}"
    if recipe is None:
        return f"import sclax as scl\n\nsolution = scl.solve(problem, seed={solution.seed}{steps})"
    arguments = ", ".join(f"{name}={value!r}" for name, value in recipe.arguments)
    return (
        f"import sclax as scl\n\nsolution = scl.solve(scl.zoo.{recipe.name}({arguments}), seed={solution.seed}{steps})"
    )


def _numbers(found: Report, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    shown = lambda value: "–" if value is None else percent(value)
    rows = [("estimated relative error", shown(found.estimated_error))]
    if record.get("relative_l2") is not None:
        rows.insert(0, ("relative error, by the truth", shown(record["relative_l2"])))
    if "relative_l2_worst" in record:
        where = ", ".join(f"{name} = {value:.4g}" for name, value in record["worst_parameters"].items())
        rows.append((f"worst of the family, at {where}", shown(record["relative_l2_worst"])))
    baselines = [name for name in ("nearest_neighbour", "interpolation") if name in record]
    rows += [(f"baseline: {name.replace('_', ' ')}", shown(record[name])) for name in baselines]
    rows += [
        ("constraints", "all hold" if found.holds else "some violated"),
        ("training", f"{record['seconds']:.3g} s, {record['steps']:,} steps"),
        ("evaluations of the operator", f"{record['operator_evaluations']:,}"),
    ]
    return rows


def _estimates(solution: AbstractSolution) -> list[dict[str, str]]:
    found = []
    for name, e in getattr(solution, "estimates", {}).items():
        size = lambda value: f"{float(np.sqrt(np.mean(np.square(value)))):.6g}"
        field = bool(np.ndim(e.value))
        ends = "pointwise" if field else f"[{e.interval[0]:.6g}, {e.interval[1]:.6g}]"
        found.append(
            {
                "name": name,
                "value": f"a field of size {size(e.value)}" if field else f"{e.value:.6g}",
                "deviation": f"{size(e.deviation)} on average" if field else f"{e.deviation:.2g}",
                "interval": ends,
                "determined": "✓ yes" if e.identifiable else f"✗ NOT DETERMINED: {e.note}",
            }
        )
    return found


def of_solution(
    solution: AbstractSolution, found: Report, record: Mapping[str, Any], pictures: Mapping[str, Any], command: str
) -> str:
    """The report of a solution as one page."""
    from . import plot  # whose library is imported when the first figure is drawn

    problem = solution.problem
    sections = [
        {"title": TITLES[name], "words": _words(name, found), "pieces": list(plot.pieces(figure))}
        for name, figure in pictures.items()
    ]
    arguments = {"problem": title_of(solution), "method": repr(solution.method)}
    settings = [
        *arguments.items(),
        ("seed", solution.seed),
        ("ended", f"{solution.result.name}: {solution.result.value}"),
        ("checked on", found.drawn or f"{found.points:,} independent points for each law"),
        ("versions", ", ".join(f"{name} {version}" for name, version in record["versions"].items())),
    ]
    return rendered(
        "report.html",
        title=title_of(solution),
        solved=found.solved,
        verdict=found.verdict.words,
        head=found.head,
        unfinished=found.unfinished,
        numbers=_numbers(found, record),
        domain=safe(svg(problem.domain)) if problem.pointwise else "",
        unknowns=safe(unknown_words(problem)),
        setting=safe(setting(problem)),
        lines=[line._replace(equations=tuple(map(safe, line.equations))) for line in lines(problem)],
        columns=COLUMNS,
        laws=laws(found),
        conflict=" and ".join(found.conflict),
        beside=found.beside,
        sections=sections,
        estimates=_estimates(solution),
        notes=[*found.notes, *found.verdict.notes],
        settings=settings,
        command=command or command_of(solution),
    )


def _words(name: str, found: Report) -> str:
    if name == "member":
        worst = least_reliable(found)
        return (
            "" if worst is None else f"The law {worst.name} is worst at {place_words(worst.where)}: the pictures there."
        )
    if name == "solution" and found.drawn:
        return "Of an unseen sample: what goes in, what comes out, what the network gives, and the difference."
    return WORDS.get(name, "")


def place_words(where: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in where.items())


def least_reliable(found: Report) -> Finding | None:
    """The law of a family that says where its members are worst."""
    known = [f for f in found.findings if f.least_reliable]
    return max(known, key=lambda f: (f.tolerance is not None, f.excess), default=None)


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Writes a page whole or not at all."""
    file = checks.folder("report", "path", path)
    with replaced(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return file


# --- several runs -------------------------------------------------------------------------------------------------


def side_by_side(directories: Sequence[Path]) -> str:
    """Some runs beside each other, from what their directories have: nothing is loaded or evaluated."""
    import json

    runs = []
    for directory in directories:
        file = directory / "record.json"
        try:
            about = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise ValueError(
                f"report: {str(directory)!r} is no directory of a finished run, its record.json cannot be read "
                f"({error}). Give directories that `sclax solve` wrote."
            ) from error
        runs.append(about)
    names = [str(d) if len({d.name for d in directories}) < len(directories) else d.name for d in directories]
    solved = sum(bool(run.get("solved")) for run in runs)
    shown = lambda value: "–" if value is None else f"{value:.3g}" if isinstance(value, float) else f"{value:,}"
    every = lambda key: dict.fromkeys(name for run in runs for name in run.get(key) or {})
    rows = [
        ("verdict", [run.get("verdict") or "–" for run in runs]),
        ("relative error", [shown(run.get("relative_l2")) for run in runs]),
        ("estimated error", [shown(run.get("estimated_error")) for run in runs]),
        ("seconds", [shown(run.get("seconds")) for run in runs]),
        ("steps", [shown(run.get("steps")) for run in runs]),
        ("operator evaluations", [shown(run.get("operator_evaluations")) for run in runs]),
        ("converged", ["yes" if run.get("converged") else "no" for run in runs]),
    ]
    for key, words in (
        ("sup_residual", "max |r| of"),
        ("violations", "violation of"),
        ("multipliers", "multiplier of"),
    ):
        for name in every(key):
            values = [(run.get(key) or {}).get(name) for run in runs]
            values = [max(v, default=None) if isinstance(v, list) else v for v in values]
            rows.append((f"{words} {name}", [shown(v) for v in values]))
    figures = []
    for kind, words in TITLES.items():
        files = [(name, directory / f"{kind}.png") for name, directory in zip(names, directories, strict=True)]
        pictures = [(name, *_shrunk(file)) for name, file in files if file.exists()]
        if pictures:
            figures.append((words, pictures, max(least for _, _, least in pictures)))
    value = lambda v: ":".join(map(str, v)) if isinstance(v, list) else str(v)  # a family's ends, as they were given
    sets = lambda run: "".join(f" --set {name}={value(v)}" for name, v in (run.get("arguments") or {}).items())
    settings = lambda run: (
        f"sclax solve {run.get('problem')}{sets(run)} --method {run.get('method')}: {run.get('chosen')}"
    )
    return rendered(
        "compared.html",
        runs=[{"name": name, "settings": settings(run)} for name, run in zip(names, runs, strict=True)],
        verdict=f"{solved} of {len(runs)} runs ended in a solution.",
        good=solved == len(runs),
        rows=rows,
        figures=figures,
    )


def _shrunk(file: Path) -> tuple[str, int]:
    """A picture of a run, small enough for a page of many, and the least pixels across at which it is legible."""
    from PIL import Image

    with Image.open(file) as image:
        inches = image.width / float(image.info.get("dpi", (180.0,))[0])
        small = image.convert("RGB")
        small.thumbnail((WIDE, WIDE))
    buffer = io.BytesIO()
    small.quantize(192).save(buffer, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}", round(LEGIBLE * inches)
