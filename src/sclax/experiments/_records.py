"""Experiments as values: what is solved, how, for how long, and what was published; a run is one with a seed."""

import dataclasses
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """How rows of science-constrained learning are trained: by the paper's algorithm with restarted chains, by the same
    with persistent chains, or by the default of `solve`.

    !!! example
        `reproduce("table1", mode="fast")`
    """

    paper = "paper"
    chains = "chains"
    fast = "fast"


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much a run may cost, in steps wherever a result must not depend on the machine.

    `steps` are those of first-order methods and `second_order` those of the default; None leaves them open: to the
    paper's own number, and to `seconds` of training. `check` are the points of a check, `family` the values of each
    parameter at which a family is compared with its reference (None: those of the test grid), `stages` how often the
    error of a run is measured.

    !!! example
        `scl.experiments.SCALES["tiny"].seeds`
    """

    name: str
    seeds: int
    steps: int | None
    second_order: int | None
    seconds: float | None
    check: int
    family: int | None
    stages: int
    reduced: bool = False  # networks, chains and points of a size that is good for nothing but to try everything


SCALES = {
    scale.name: scale
    for scale in (
        Scale("tiny", 1, 4, 2, None, 512, 2, 2, reduced=True),
        Scale("small", 3, 10_000, None, 120.0, 100_000, 10, 5),
        Scale("paper", 10, None, None, 300.0, 1_000_000, None, 10),
    )
}


@dataclasses.dataclass(frozen=True)
class Published:
    """A number of a publication: a relative L2 error, its spread over seeds, and where it stands.

    !!! example
        `Published(3.74e-2, "table 1", 0.87e-2)`
    """

    value: float
    where: str
    spread: float | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A row of a table or a panel of a figure: a problem, a method, and what was published.

    `problem` is one of the zoo, of the suite or of the figures, `arguments` are pairs of a name and a value, and
    `method` is `scl` (which a mode decides on), or a baseline: `pinn`, `r3`, `average`, … `at` is the grid of
    parameters of a discretised PINN. `row` groups the methods of one problem.

    !!! example
        `scl.experiments.TABLES["table1"][0].published.value`
    """

    row: str
    label: str
    problem: str
    method: str = "scl"
    arguments: tuple[tuple[str, Any], ...] = ()
    at: tuple[float, ...] = ()
    published: Published | None = None
    kind: str = "bvp"  # how it is built: see `_building.BUILDERS`

    @property
    def name(self) -> str:
        """`convection-50/pinn`."""
        return f"{self.row}/{self.method}"

    @property
    def fixed(self) -> bool:
        """Whether it is trained the same way in every mode: the paper's baselines, operators, which have no chains, and
        suites, which are for the default."""
        return self.kind in ("operator", "suite") or (self.kind == "bvp" and self.method != "scl")


@dataclasses.dataclass(frozen=True)
class Run:
    """One training: an experiment in a mode, at a scale, with a seed. Everything that its result depends on but the
    code.

    !!! example
        `Run(scl.experiments.TABLES["table1"][0], Mode.fast, scl.experiments.SCALES["tiny"], 0)`
    """

    experiment: Experiment
    mode: Mode
    scale: Scale
    seed: int

    @property
    def name(self) -> str:
        """The name of its directory: words for people, a digest of the content for the rest."""
        from .._base import digest  # which imports JAX

        content = self.content()
        words = "-".join([self.experiment.name.replace("/", "-"), self.content()["mode"], f"seed{self.seed}"])
        return f"{words}-{digest(json.dumps(content, sort_keys=True))}"

    def content(self) -> dict[str, Any]:
        """What the result depends on, for a record: labels and published numbers are left out."""
        experiment = dataclasses.asdict(self.experiment)
        kept = {name: experiment[name] for name in ("problem", "kind", "method", "arguments", "at")}
        mode = "any" if self.experiment.fixed else self.mode.value
        return {**kept, "mode": mode, "scale": dataclasses.asdict(self.scale), "seed": self.seed}


def chosen(experiments: Mapping[str, tuple[Experiment, ...]], only: list[str] | None) -> dict[str, list[Experiment]]:
    """The experiments by table whose row, method or name is one of `only`; all without it."""
    from .._base import checks

    if not only:
        return {table: list(rows) for table, rows in experiments.items()}
    known = {word for rows in experiments.values() for e in rows for word in (e.row, e.name)}
    for word in only:
        if word not in known:
            raise ValueError(
                f"--only {word}: there is no such experiment; there are {checks.listed(sorted(known))}."
                + checks.nearest(word, known)
            )
    found = {t: [e for e in rows if e.row in only or e.name in only] for t, rows in experiments.items()}
    return {table: rows for table, rows in found.items() if rows}
