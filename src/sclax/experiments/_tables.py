"""Tables of records: published, ours over seeds, their ratio, and what it took; as text, Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base import replaced
from ._records import Experiment

NONE = "–"


class Table(NamedTuple):
    """A title, the names of the columns, and texts in rows.

    !!! example
        `Table("errors", ("problem", "error"), (("heat", "1e-14"),)).text()`
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Columns for a terminal, the first of them to the left."""
        cells = [self.header, *self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:], widths[1:], strict=True))])
            for row in cells
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines)]) + "\n"

    def markdown(self) -> str:
        line = lambda cells: "| " + " | ".join(cells) + " |"
        ruler = line(["---", *["---:"] * (len(self.header) - 1)])
        return "\n".join([f"**{self.title}**", "", line(self.header), ruler, *map(line, self.rows)]) + "\n"

    def csv(self) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return buffer.getvalue()

    def latex(self) -> str:
        """A `tabular`, for `booktabs`."""
        line = lambda cells: " & ".join(map(_escaped, cells)) + r" \\"
        body = [line(self.header), r"\midrule", *map(line, self.rows)]
        columns = "l" + "r" * (len(self.header) - 1)
        return "\n".join(
            [
                f"% {self.title}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def write(self, stem: Path) -> list[Path]:
        """All four forms beside each other."""
        forms = {".txt": self.text, ".md": self.markdown, ".csv": self.csv, ".tex": self.latex}
        for ending, form in forms.items():
            with replaced(stem.with_name(stem.name + ending)) as temporary:
                temporary.write_text(form())
        return [stem.with_name(stem.name + ending) for ending in forms]


_LATEX = {
    **{c: f"\\{c}" for c in "%&#_${}"},
    **{"±": r"$\pm$", "–": "--", "β": r"$\beta$", "ν": r"$\nu$", "ρ": r"$\rho$", "∈": r"$\in$", "²": "$^2$"},
    **{"₁": "$_1$", "₂": "$_2$", "λ": r"$\lambda$", "\\": r"\textbackslash{}"},
}


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def number(value: float | None) -> str:
    return NONE if value is None or not np.isfinite(value) else f"{value:.2e}"


def with_spread(value: float | None, spread: float | None) -> str:
    return number(value) if spread is None or value is None else f"{number(value)} ± {spread:.1e}"


def _mean(records: Sequence[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], float | None]) -> float | None:
    known = [value for record in records if (value := of(record)) is not None]
    return float(np.mean(known)) if known else None


HEADER = ("experiment", "method", "published", "ours", "ratio", "s", "evaluations", "success")


def table_of(
    title: str, experiments: Sequence[Experiment], records: Mapping[Experiment, Sequence[Mapping[str, Any]]]
) -> Table:
    """A row for each experiment. `success`: seeds whose error is at most the published one plus its spread."""
    rows = []
    for experiment in experiments:
        own, published = records[experiment], experiment.published
        errors = [record["relative_l2"] for record in own if record["relative_l2"] is not None]
        mean, spread = (float(np.mean(errors)), float(np.std(errors))) if errors else (None, None)
        ratio = NONE if published is None or mean is None else f"{mean / published.value:.2g}"
        succeeded = NONE
        if published is not None:
            limit = published.value + (published.spread or 0.0)
            succeeded = f"{sum(error <= limit for error in errors)}/{len(own)}"
        rows.append(
            (
                experiment.label,
                experiment.method,
                NONE if published is None else with_spread(published.value, published.spread),
                with_spread(mean, spread),
                ratio,
                _seconds(_mean(own, lambda record: record["seconds"])),
                number(_mean(own, lambda record: record["operator_evaluations"])),
                succeeded,
            )
        )
        rows += _beside(experiment, own)
    return Table(title, HEADER, tuple(rows))


def _beside(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """What needs no network, beside an operator that does: the nearest training sample, and interpolation."""
    if experiment.method != "scl":
        return []
    rows = []
    for name in ("nearest_neighbour", "interpolation"):
        value = _mean(records, lambda record, name=name: record.get(name))
        if value is not None:
            rows.append((experiment.label, name.replace("_", " "), NONE, number(value), NONE, NONE, NONE, NONE))
    return rows


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f}"
