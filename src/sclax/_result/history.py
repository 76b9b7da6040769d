"""The history of a run as it grows."""

from typing import Any, NamedTuple

import numpy as np

from .._methods import State
from .._problem import Problem


class Summary(NamedTuple):
    """A chunk of iterations in numbers: means over its steps, multipliers and weights of points at its end."""

    objective: Any
    values: dict[str, Any]
    multipliers: dict[str, Any]
    acceptance: tuple[Any, ...]
    sample_size: tuple[Any, ...]
    weights: tuple[Any, ...]
    evaluations: Any
    finite: Any


class Tempered(NamedTuple):
    """A worst case that became an average: at which step, and where the residual was largest then."""

    step: int
    where: dict[str, float]


def largest(values: Any) -> float:
    """The largest entry that is known; NaN stands for samples that no batch contained."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")


class Records:
    """History as it grows: one row a chunk, and the worst-case points at chunks 1, 2, 4, 8, …"""

    def __init__(self, problem: Problem, evaluations: int = 0):
        self._problem = problem
        self._evaluations = evaluations  # that no row counts yet
        names = ["step", "seconds", "evaluations", "objective"]
        names += [f"{what}.{name}" for what in ("values", "multipliers") for name in problem.tolerances]
        self.rows: dict[str, list[Any]] = {name: [] for name in names}
        self.worst = [i for i, t in enumerate(problem.terms) if t.worst]
        self.points: dict[str, int] = {}  # how many each term has

    def add(self, step: int, seconds: float, summary: Summary, state: State) -> None:
        rows = self.rows
        before = rows["evaluations"][-1] if rows["evaluations"] else np.zeros_like(summary.evaluations, np.int64)
        before, self._evaluations = before + self._evaluations, 0
        new = {
            "step": step,
            "seconds": seconds,
            "evaluations": before + np.asarray(summary.evaluations, np.int64),
            "objective": summary.objective,
        }
        for name in summary.values:
            new[f"values.{name}"] = summary.values[name]
            new[f"multipliers.{name}"] = summary.multipliers[name]
        for term, a, n in zip(self._problem.terms, summary.acceptance, summary.sample_size, strict=True):
            if term.worst:
                new[f"acceptance.{term.name}"] = a
                new[f"sample_size.{term.name}"] = n
        self.points = {t.name: state.samplers[i].points.shape[-2] for i, t in enumerate(self._problem.terms)}
        count = len(rows["step"]) + 1
        if count & (count - 1) == 0 and self.worst:
            rows.setdefault("snapshot_step", []).append(np.asarray(step))
            for i in self.worst:
                name = self._problem.terms[i].name
                rows.setdefault(f"snapshot.{name}", []).append(np.asarray(state.samplers[i].points))
                rows.setdefault(f"snapshot_weights.{name}", []).append(np.asarray(summary.weights[i]))
        for name, value in new.items():
            rows.setdefault(name, []).append(np.asarray(value))

    def spend(self, evaluations: int) -> None:
        """Evaluations between two rows."""
        self._evaluations += evaluations

    def extend(self, **columns: Any) -> None:
        """More columns of the last row."""
        for name, value in columns.items():
            self.rows.setdefault(name, []).append(np.asarray(value))

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.stack(rows) if rows else np.zeros((0,)) for name, rows in self.rows.items()}

    def restore(self, arrays: dict[str, Any]) -> None:
        self._evaluations = 0
        self.rows = {**self.rows, **{name: list(np.asarray(rows)) for name, rows in arrays.items()}}

    def of_seed(self, k: int | None) -> dict[str, np.ndarray]:
        shared = ("step", "seconds", "snapshot_step")
        return {n: a if k is None or n in shared or not len(a) else a[:, k] for n, a in self.arrays().items()}

    def flat_and_feasible(self) -> bool:
        """Every constraint held in the last quarter of the run, and the objective fell by less than 2 % in it."""
        count = len(self.rows["step"])
        window = max(10, count // 4)
        if count < 2 * window:
            return False
        if np.any(np.asarray(self.rows.get("reach", [1.0])[-window:]) < 1):  # not of the whole domain
            return False
        for name, tolerance in self._problem.tolerances.items():
            if np.any(np.stack(self.rows[f"values.{name}"][-window:]) > np.asarray(tolerance)):
                return False
        recent = np.mean(self.rows["objective"][-window:], axis=0)
        before = np.mean(self.rows["objective"][-2 * window : -window], axis=0)
        return bool(np.all(recent >= 0.98 * before))
