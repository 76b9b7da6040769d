"""Does a problem have one solution? What its statement, and its laws about an answer, say of that."""

import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from .._base import checks
from .._places import TIME
from .._problem import AbstractProblem
from .._spectral import linearised, orders, seen
from .rows import Rows

FREE = 1e-7  # by which laws change, of their sizes, along a direction that they leave open
APART = 1e-3  # of the larger of two values that are prescribed for the same
POINTS = 64  # of a face that two laws share


def notes(problem: AbstractProblem, laws: Sequence[Rows], sizes: Sequence[float]) -> list[str]:
    """Why the problem seems to have many solutions, or none."""
    visible = [rows for rows in laws if rows.slopes is not None]
    interior = [rows for rows in visible if inside(problem, rows)]
    outside = [rows for rows in laws if not inside(problem, rows)]
    differential = [rows for rows in interior if rows.term.law.order > 0]
    found = []
    if differential and len(differential) == len(laws):
        found.append(
            "The problem has equations and no conditions: it seems undetermined. Add an Initial, Dirichlet, Neumann or "
            "Periodic condition, or observations."
        )
    else:
        if len(visible) == len(laws):
            found += _open_directions(problem, laws, sizes)
        found += _lacking(problem, differential, outside)
    found += _contradictions(problem, outside)
    if len(visible) == len(laws) and not any(np.any(rows.given) for rows in visible):
        found.append("Nothing but zero is prescribed: zero satisfies every law, and may be the only solution.")
    return found


def inside(problem: AbstractProblem, rows: Rows) -> bool:
    """Whether a law lives in the whole of the domain."""
    place = rows.term.law.place
    return not place.finite and place.chart.names == problem.domain.names and not place.constants


def _faces(rows: Rows) -> list[Any]:
    place = rows.term.law.place
    return list(place.parts) or [place]


def _held(rows: Rows) -> set[str]:
    """The coordinates that have one value on a face of the law."""
    return {name for part in _faces(rows) for name, _ in part.constants}


def _orders(rows: Rows, coordinate: int, unknown: int, at: Any = slice(None)) -> set[int]:
    """How often an unknown is differentiated along a coordinate in a law."""
    assert rows.slopes is not None
    return {along[coordinate] for a, along in enumerate(rows.alongs) if np.any(rows.slopes[:, :, at, a, unknown])}


# --- too few conditions ---


def _open_directions(problem: AbstractProblem, laws: Sequence[Rows], sizes: Sequence[float]) -> list[str]:
    """Constants and linear functions that may be added to the unknowns, since no law changes with them."""
    domain, names = problem.domain, problem.vocabulary.unknowns
    lower, lengths = np.asarray(domain.lower), domain.lengths
    columns = []
    for rows, size in zip(laws, sizes, strict=True):
        assert rows.slopes is not None
        assert rows.z is not None
        known = {along: rows.slopes[:, :, :, a] for a, along in enumerate(rows.alongs)}
        none = np.zeros((*rows.slopes.shape[:3], len(names)))
        zero = known.get((0,) * len(lower), none)
        unit = 2 * (rows.z - lower) / lengths - 1
        parts = [np.sum(zero, axis=2)]
        for i in range(len(lower)):
            first = known.get(tuple(int(i == j) for j in range(len(lower))), none)
            parts.append(np.sum(zero * unit[:, None, :, i, None] + first * 2 / lengths[i], axis=2))
        table = np.stack(parts, axis=2).reshape(rows.left.size, -1)  # (rows, functions · unknowns)
        scale = size if size > 0 else np.max(np.abs(table), initial=0.0) or 1.0
        columns.append(np.nan_to_num(table) / scale / np.sqrt(max(len(table), 1)))
    matrix = np.concatenate(columns)
    matrix = matrix / (np.max(np.linalg.norm(matrix, axis=0), initial=0.0) or 1.0)
    _, singular, directions = np.linalg.svd(np.linalg.qr(matrix, mode="r"))
    free = directions[np.sum(singular > FREE) :]
    if not len(free):
        return []
    constant = np.abs(free[:, : len(names)])
    which = [name for k, name in enumerate(names) if np.max(constant[:, k]) > 0.1]
    only = np.all(np.abs(free[:, len(names) :]) < 1e-3)
    what = f"a constant in {checks.listed(which)}" if only else "linear functions of the coordinates"
    return [
        f"The problem seems undetermined: no law changes with {what}, so that it is arbitrary in the answer. Prescribe "
        "a value at a point, or a mean by Integral."
    ]


def _lacking(problem: AbstractProblem, equations: Sequence[Rows], outside: Sequence[Rows]) -> list[str]:
    """Coordinates along which equations ask for more conditions than there are."""
    domain, found = problem.domain, []
    for i, name in enumerate(domain.names):
        for k, unknown in enumerate(problem.vocabulary.unknowns):
            order = max((n for rows in equations for n in _orders(rows, i, k)), default=0)
            ends = [rows for rows in outside if name in _held(rows)]
            rings = [rows for rows in ends if _ring(rows, i)]
            if order == 0 or any(rows.slopes is None for rows in outside) or _elsewhere(outside):
                continue
            if rings and len(ends) == len(rings):
                matched = {n for rows in rings for n in _orders(rows, i, k, 0)}
                if 0 < len(matched) < order:
                    found.append(
                        f"`{rings[0].term.name}` makes {len(matched)} of {order} derivatives of {unknown} agree, and "
                        f"the equation is of order {order} in {name}: the problem seems undetermined. Use "
                        f"Periodic({name!r}, order={order - 1})."
                    )
            elif name == TIME and problem.direction:
                given = {n for rows in ends for n in _orders(rows, i, k)}
                if len(given) < order:
                    found.append(
                        f"The equation is of order {order} in t for {unknown}, and the start prescribes {len(given)} "
                        f"of {unknown} and its derivatives: the problem seems undetermined. Add "
                        f"Initial(..., order={min(set(range(order)) - given, default=order - 1)})."
                    )
            elif not ends and order > 1 and domain.shape is None and name in domain.space:
                found.append(
                    f"Nothing is said at the ends of {name}, along which the equation is of order {order} in "
                    f"{unknown}: the problem seems undetermined."
                )
    return list(dict.fromkeys(found))


def _ring(rows: Rows, coordinate: int) -> bool:
    """Whether a law compares the two ends of a coordinate."""
    if rows.z is None or rows.z.shape[1] != 2:
        return False
    apart = np.abs(rows.z[:, 0] - rows.z[:, 1]) > 0
    return bool(np.all(apart[:, coordinate]) and not np.any(np.delete(apart, coordinate, axis=1)))


def _elsewhere(outside: Sequence[Rows]) -> bool:
    """Whether data at points or on parts of the domain may stand in for conditions at its ends."""
    return any(not _held(rows) for rows in outside)


# --- too many ---


def _contradictions(problem: AbstractProblem, outside: Sequence[Rows]) -> list[str]:
    """Laws that prescribe two values of the same unknown on the same face."""
    found = []
    values = [rows for rows in outside if rows.slopes is not None and rows.alongs == ((0,) * problem.domain.dimension,)]
    for one, two in itertools.combinations(values, 2):
        for first, second in itertools.product(_faces(one), _faces(two)):
            if first.finite or second.finite or not _same(first, second):
                continue
            w = np.asarray(first.sobol(POINTS), float)
            a, slopes = _prescribed(problem, one, first, w)
            b, others = _prescribed(problem, two, second, w)
            if slopes.shape[1] != 1 or others.shape[1] != 1:
                continue
            for k, unknown in enumerate(problem.vocabulary.unknowns):
                if not (np.any(slopes[..., k]) and np.any(others[..., k])):
                    continue
                size = max(np.max(np.abs(a)), np.max(np.abs(b)))
                if np.max(np.abs(a - b)) > APART * size:
                    fixed = ", ".join(f"{name} = {value:.4g}" for name, value in first.constants)
                    where = fixed or "one part of the boundary"
                    found.append(
                        f"`{one.term.name}` and `{two.term.name}` prescribe two values of {unknown} at {where}, up to "
                        f"{np.max(np.abs(a - b)):.3g} apart: no function has both."
                    )
    return list(dict.fromkeys(found))


def _same(one: Any, other: Any) -> bool:
    """Whether two places are one face: of a box by its coordinates, a curved one as it is."""
    if one.constants or other.constants:
        return one.constants == other.constants and one.chart.names == other.chart.names
    return type(one) is type(other) and bool(eqx.tree_equal(one, other))


def _prescribed(problem: AbstractProblem, rows: Rows, part: Any, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that a law prescribes at points of a face, and its slopes by the unknowns there."""
    law = rows.term.law
    alongs = orders(problem.domain.dimension, law.order)
    z = seen(law, problem.parameters, part, w)
    jets = np.zeros((*z.shape[:2], len(alongs), len(problem.vocabulary.unknowns)))
    left, slopes = linearised(law, problem.parameters, part, w, jets, alongs)
    scale = np.sum(np.abs(slopes), axis=(2, 3, 4))
    return -left / np.where(scale > 0, scale, 1.0), np.sum(slopes, axis=(2, 3))
