"""The history of a run: one row a chunk of iterations, and the worst-case points at some of them."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

COLUMNS = ("step", "seconds", "evaluations", "objective", "share", "snapshot_step")
GROUPS = ("values", "multipliers", "acceptance", "sample_size", "snapshot", "snapshot_weights", "looks", "more")
PLAIN = ("looks", "more")  # groups whose entries have names of their own
SHARED = ("step", "seconds", "share", "snapshot_step")  # which all seeds have in common


class Tempered(NamedTuple):
    """A worst case that became an average: at which step, and where the residual was largest then."""

    step: int
    where: dict[str, float]


class Row(NamedTuple):
    """A chunk of iterations in numbers: means over its steps, multipliers and worst-case points at its end."""

    step: int
    seconds: float
    evaluations: Any
    objective: Any
    share: float  # of a step's length that its steps went
    values: Mapping[str, Any]  # by constraint
    multipliers: Mapping[str, Any]
    acceptance: Mapping[str, Any]  # by law
    sample_size: Mapping[str, Any]
    points: Mapping[str, Any]  # of worst cases, by law
    weights: Mapping[str, Any]
    looks: Mapping[str, Any]  # what the controller saw


def _none() -> np.ndarray:
    return np.zeros((0,))


@dataclasses.dataclass(frozen=True)
class History:
    """The numbers of a run, one row a chunk of iterations.

    `step`, `seconds` (of training), `evaluations` (of differential operators), `objective` and `share` (of a step's
    length) are arrays; `values` and `multipliers` have one by constraint, `acceptance` and `sample_size` one by law of
    a worst case. `looks` has what the controller saw: `merit` on a spare draw; of each worst case there the largest
    loss (`peak.law`) and the share of the points that carries the weight (`carried.law`); the step of the state that is
    `kept`; the `reach` in time. At rows 1, 2, 4, 8, … (`snapshot_step`) the points of ψ_α are in `snapshot`, their
    weights in `snapshot_weights`. By flat names, as in files: `history["values.pde"]`, `history["merit"]`.

    !!! example
        `plt.semilogy(solution.history.step, solution.history.values["pde"])`
    """

    step: np.ndarray = dataclasses.field(default_factory=_none)
    seconds: np.ndarray = dataclasses.field(default_factory=_none)
    evaluations: np.ndarray = dataclasses.field(default_factory=_none)
    objective: np.ndarray = dataclasses.field(default_factory=_none)
    share: np.ndarray = dataclasses.field(default_factory=_none)
    snapshot_step: np.ndarray = dataclasses.field(default_factory=_none)
    values: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    multipliers: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    acceptance: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    sample_size: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    snapshot: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    snapshot_weights: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    looks: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    more: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)  # that has no rows

    @staticmethod
    def of(constraints: Iterable[str]) -> "History":
        """The history of a run that has not begun."""
        empty = {name: _none() for name in constraints}
        return History(values=empty, multipliers=empty)

    @property
    def rows(self) -> int:
        return len(self.step)

    def after(self, row: Row) -> "History":
        """The history with one more row."""
        new: dict[str, Any] = {name: _joined(getattr(self, name), getattr(row, name)) for name in COLUMNS[:5]}
        for group in ("values", "multipliers", "acceptance", "sample_size", "looks"):
            new[group] = _all_joined(getattr(self, group), getattr(row, group))
        count = self.rows + 1
        if count & (count - 1) == 0 and row.points:
            new["snapshot_step"] = _joined(self.snapshot_step, row.step)
            new["snapshot"] = _all_joined(self.snapshot, row.points)
            new["snapshot_weights"] = _all_joined(self.snapshot_weights, row.weights)
        return dataclasses.replace(self, **new)

    def since(self, row: int) -> "History":
        """The rows from number `row` on."""
        return self._cut(slice(row, None))

    def until(self, row: int) -> "History":
        """The rows before number `row`."""
        return self._cut(slice(None, row))

    def _cut(self, rows: slice) -> "History":
        cut: dict[str, Any] = {name: getattr(self, name)[rows] for name in COLUMNS[:5]}
        for group in ("values", "multipliers", "acceptance", "sample_size", "looks"):
            cut[group] = {name: array[rows] for name, array in getattr(self, group).items()}
        return dataclasses.replace(self, **cut)

    def keeping(self, kept: Any) -> "History":
        """The history of a run whose result is the state of step `kept`."""
        if "kept" not in self.looks:
            return self
        column = np.concatenate([self.looks["kept"][:-1], np.asarray(kept)[None]])
        return dataclasses.replace(self, looks={**self.looks, "kept": column})

    def of_seed(self, k: int) -> "History":
        """The history of one of several seeds."""
        return History.unflattened({n: a if n in SHARED or not len(a) else a[:, k] for n, a in self.items()})

    # --- flat names ---

    def flattened(self) -> dict[str, np.ndarray]:
        """All arrays by flat name, as files have them."""
        flat = {name: getattr(self, name) for name in COLUMNS if name != "snapshot_step" or len(self.snapshot_step)}
        for group in GROUPS:
            flat |= {name if group in PLAIN else f"{group}.{name}": a for name, a in getattr(self, group).items()}
        return flat

    @staticmethod
    def unflattened(flat: Mapping[str, Any]) -> "History":
        """The history whose arrays `flattened` gave."""
        new: dict[str, Any] = {group: {} for group in GROUPS}
        for name, array in flat.items():
            group, _, entry = name.partition(".")
            if name in COLUMNS:
                new[name] = np.asarray(array)
            elif entry and group in GROUPS:
                new[group][entry] = np.asarray(array)
            else:
                new["more" if name == "last_errors" else "looks"][name] = np.asarray(array)
        return History(**new)

    def checked(self) -> "History":
        """The history, if it has numbers only, and as many rows in each column."""
        named = [*COLUMNS[:5], *(g for g in GROUPS if g not in ("snapshot", "snapshot_weights", "more"))]
        columns = [getattr(self, name) for name in named]
        rows = [a for column in columns for a in (column.values() if isinstance(column, Mapping) else (column,))]
        if any(len(column) != self.rows for column in rows) or any(a.dtype.kind not in "biuf" for _, a in self.items()):
            raise ValueError("the columns of its history are not numbers, or not of one length")
        return self

    def __getitem__(self, name: str) -> np.ndarray:
        return self.flattened()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.flattened()

    def __iter__(self) -> Iterator[str]:
        return iter(self.flattened())

    def __len__(self) -> int:
        return len(self.flattened())

    def keys(self) -> Iterable[str]:
        return self.flattened().keys()

    def items(self) -> Iterable[tuple[str, np.ndarray]]:
        return self.flattened().items()

    def get(self, name: str, default: Any = None) -> Any:
        return self.flattened().get(name, default)


def _joined(column: np.ndarray, entry: Any) -> np.ndarray:
    entry = np.asarray(entry)[None]
    return np.concatenate([column, entry]) if len(column) else entry


def _all_joined(columns: Mapping[str, np.ndarray], entries: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: _joined(columns.get(name, _none()), entry) for name, entry in entries.items()}


def largest(values: Any) -> float:
    """The largest entry that is known; NaN stands for samples that no batch contained."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")
