"""What all solutions are: a trained network with the problem that it solves."""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import lazy_loader
import numpy as np

from .. import nn
from .._base import Model, checks, precision, write_archive
from .._methods import AbstractMethod
from .._problem import AbstractProblem
from . import evaluate, page
from .history import History, Tempered, largest
from .outcome import RESULTS
from .promise import Promised
from .record import number, versions
from .report import Report

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


def figures() -> Any:
    """The figures, whose library is imported when the first one is drawn."""
    from . import plot

    return plot


def moving_pictures() -> Any:
    """The same for those that move."""
    from . import plot_moving

    return plot_moving


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AbstractSolution(abc.ABC):
    """A trained network with the problem that it solves. Two final classes: `Solution` and `OperatorSolution`.

    Attributes: `problem`, `model`, `method`, `multipliers` (by constraint; one per sample for `each`), `parameters`,
    `history` (a `History`), `result` (a member of `RESULTS`), `converged` (whether training came to its own end),
    `seconds` (of training), `steps`, `operator_evaluations`, `seed`, `tempered` (the worst cases that could not be met
    and became averages, with step and place), `unpriced` (the constraints whose multiplier is a fixed weight or sits at
    its cap, and is no price), `failures` (the points, on the charts of their laws, at which NaN ended training),
    `relaxed` (by how much `solve(relax=True)` raised tolerances, by constraint).

    !!! example
        `def best(solutions: list[scl.AbstractSolution]): return min(solutions, key=lambda s: s.objective)`
    """

    problem: Any
    model: Model
    method: AbstractMethod | None
    multipliers: Mapping[str, Any]
    history: History
    result: RESULTS
    seed: int
    tempered: Mapping[str, Tempered] = dataclasses.field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    converged: bool = True
    failures: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    relaxed: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        numbers = {n: float(v) if np.ndim(v) == 0 else np.asarray(v) for n, v in self.multipliers.items()}
        object.__setattr__(self, "multipliers", numbers)

    @abc.abstractmethod
    def check(self, points: int = 1_000_000, seed: int = 1) -> Report:
        """Does every law hold, and where is it worst?"""

    @abc.abstractmethod
    def error_map(self, reference: Any = None, progress: bool = True, **parameters: Any) -> xr.DataArray | None:
        """The relative L2 error, at each parameter of a family where there is one; None without a reference."""

    @abc.abstractmethod
    def pictures(self, checked: Report | None = None) -> dict[str, Any]:
        """Every figure of the solution by name; with the worst points of a report marked, where one is given."""

    @abc.abstractmethod
    def details(self, errors: xr.DataArray | None) -> dict[str, Any]:
        """What `record` has for this kind of solution only."""

    # --- numbers ---

    @property
    def parameters(self) -> dict[str, float]:
        """The values of the fixed parameters, and those that were learned."""
        with precision.of(self.model):
            return {name: float(value) for name, value in self.problem.known(self.model).items()}

    @property
    def seconds(self) -> float:
        """Seconds of training, without compilation."""
        return float(self.history.seconds[-1]) if self.history.rows else 0.0

    @property
    def steps(self) -> int:
        return int(self.history.step[-1]) if self.history.rows else 0

    @property
    def operator_evaluations(self) -> int:
        """Evaluations of differential operators in training, one per point and forward pass; samplers, warm-ups and
        line searches included, the spare draw on which states are compared not."""
        return int(self.history.evaluations[-1]) if self.history.rows else 0

    @property
    def _row(self) -> int:
        """The record of the state that was kept: the last one, or the best on a spare draw."""
        kept = self.history.looks.get("kept")
        if kept is None or not kept[-1]:  # or none was looked at yet
            return -1
        return int(np.searchsorted(self.history.step, kept[-1]))

    @property
    def objective(self) -> float:
        """The objective in training, in the record of the state that was kept; without one, on an even draw."""
        if self.history.rows:
            return float(self.history.objective[self._row])
        with precision.of(self.model):
            return evaluate.objective(self.problem, self.model)

    @property
    def violations(self) -> dict[str, float]:
        """value − tolerance of each constraint in the record of the kept state, of the worst sample for `each`."""
        rows = self.history.values if self.history.rows else {}
        limits = {name: np.asarray(tolerance) for name, tolerance in self.problem.tolerances.items()}
        return {n: largest(rows[n][self._row] - limits[n]) if n in rows else float("nan") for n in limits}

    @property
    def feasible(self) -> bool:
        """Whether every constraint held in training; not where a worst case had to become an average."""
        return not self.tempered and all(violation <= 0 for violation in self.violations.values())

    @property
    def _unfinished(self) -> str:
        """How training ended, where that was before it had converged."""
        if self.converged:
            return ""
        return f"Training ended before it had converged, after {self.steps} steps: {self.result.value}"

    def record(
        self, points: int = 100_000, errors: xr.DataArray | None = None, checked: Report | None = None
    ) -> dict[str, Any]:
        """The solution in numbers that JSON holds; what does not exist or is not finite is None.

        `points` are those of `check`, whose answer is `checked` where it is at hand; `errors` is the map of a family's
        errors, where that is.

        !!! example
            `json.dump(solution.record(), open("record.json", "w"))`
        """
        report = self.check(points=points) if checked is None else checked
        errors = self.error_map(progress=False) if errors is None else errors
        return {
            "relative_l2": None if errors is None else number(float(errors.mean())),
            **self.details(errors),
            "sup_residual": {name: number(value) for name, value in report.sup_residual.items()},
            "multipliers": {name: np.asarray(value).tolist() for name, value in self.multipliers.items()},
            "violations": {f.name: number(f.violation) for f in report.findings if f.violation is not None},
            "feasible": report.holds,
            "converged": self.converged,
            "objective": number(self.objective),
            "seconds": round(self.seconds, 3),
            "steps": self.steps,
            "operator_evaluations": self.operator_evaluations,
            "result": self.result.name,
            "seed": self.seed,
            "versions": versions(),
        }

    def compared_with(self, last: Model) -> Self:
        """The solution with what there is to say of the last state of training beside the one that was kept."""
        return self

    def without_reference(self) -> Self:
        """The same solution, compared with nothing."""
        return dataclasses.replace(self, problem=self.problem.without_reference())

    def plot_history(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of objective, violations and multipliers over training."""
        return figures().history(self.problem, self.history, path=path)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        checked: Report | None = None,
        record: Mapping[str, Any] | None = None,
        command: str = "",
    ) -> Path:
        """Writes one HTML file that needs nothing else, to read or to send: the verdict, the equations, each law and
        where it is worst, all figures, what the multipliers mean, estimates, settings and how to repeat it.

        `checked` is the answer of `check()` and `record` that of `record()`, where they are at hand; `command` is what
        repeats the run.

        !!! example
            `solution.report("report.html")`
        """
        checks.folder("report", "path", path)
        checked = self.check(points=100_000) if checked is None else checked
        record = self.record(checked=checked) if record is None else record
        return page.write_page(path, page.of_solution(self, checked, record, self.pictures(checked), command))

    def draw(
        self,
        directory: str | os.PathLike[str],
        *,
        checked: Report | None = None,
        record: Mapping[str, Any] | None = None,
        command: str = "",
    ) -> list[str]:
        """Writes every figure of the solution and `report.html` to a directory, which may be new; their names."""
        folder = checks.folder("draw", "directory", directory)
        folder.mkdir(exist_ok=True)
        checked = self.check(points=100_000) if checked is None else checked
        record = self.record(checked=checked) if record is None else record
        pictures = self.pictures(checked)
        for name, figure in pictures.items():
            figures().finish(figure, folder / f"{name}.png")
        page.write_page(folder / "report.html", page.of_solution(self, checked, record, pictures, command))
        return sorted([*(f"{name}.png" for name in pictures), "report.html"])

    def _repr_html_(self) -> str:
        """The solution in a notebook: the problem, how training ended, and the first figure."""
        if vars(self)["_problem"].words:
            return f"<pre>{escape(repr(self))}</pre>"
        drawn = "".join(f'<img alt="{p.title}" src="{p.source}" style="width:300px">' for p in self._shown())
        return f"{self.problem._repr_html_()}<p>{escape(repr(self))}</p><div>{drawn}</div>"

    def _shown(self) -> Any:
        """The panels of the first figure, as pictures."""
        return figures().pieces(self.plot())

    @abc.abstractmethod
    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the solution."""

    def __repr__(self) -> str:
        promised = vars(self)["_problem"].words
        if promised:  # printing is no reason to make data
            return f"{type(self).__name__}({promised}; {self.result.name} after {self.steps} steps)"
        values = ", ".join(f"{name} {v:+.2g}" for name, v in self.violations.items())
        return (
            f"{type(self).__name__}({', '.join(self.problem.unknowns)} of {', '.join(self.problem.domain.names)}; "
            f"{self.result.name} after {self.steps} steps, {self.seconds:.1f} s; "
            f"objective {self.objective:.3g}; violations: {values or 'none'})"
        )

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes weights, multipliers and history to one file, atomically and without code; read it with `load`."""
        path = checks.folder("save", "path", path)
        arrays: dict[str, np.ndarray] = {}
        try:
            description = nn.describe(self.model, arrays)
        except ValueError:
            # A model of the user's own: its weights by position; `load` needs the model to pour them into.
            arrays.clear()
            leaves = jax.tree.leaves(eqx.filter(self.model, eqx.is_array))
            arrays.update({f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)})
            description = {"leaves": len(leaves)}
        arrays |= {f"multipliers/{name}": np.asarray(value) for name, value in self.multipliers.items()}
        arrays |= {f"relaxed/{name}": np.asarray(value) for name, value in self.relaxed.items()}
        arrays |= {f"history/{name}": value for name, value in self.history.items()}
        problem: AbstractProblem = self.problem
        recipe = problem.recipe
        about = {
            "problem": problem.identity(),
            "versions": versions(),
            "recipe": None if recipe is None else {"name": recipe.name, "arguments": dict(recipe.arguments)},
            "model": description,
            "result": self.result.name,
            "converged": self.converged,
            "seed": self.seed,
            "unpriced": list(self.unpriced),
            "tempered": {name: tempered._asdict() for name, tempered in self.tempered.items()},
            "failures": {name: list(point) for name, point in self.failures.items()},
        }
        write_archive(path, {**about, **self._stored(arrays)}, arrays)

    def _stored(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """What the file of this kind of solution has besides; its arrays go into `arrays`."""
        return {}


# Not in the class, where a dataclass would take it for a default.
AbstractSolution.problem = Promised("problem")
