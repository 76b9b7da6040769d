"""Least squares whose rows touch a few blocks of columns each, by QR, block after block.

Nothing is squared: the factor R is that of the whole matrix, whose condition is not that of its Gram matrix.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

NOISE = 5e-15  # of the largest entry: what rounding leaves of a row of zeros
UNDETERMINED = 1e-14  # of the largest pivot: a direction that no row sees


class Rows(NamedTuple):
    """Some rows of a least-squares problem: the blocks that they touch, their matrix, and their right-hand side."""

    blocks: tuple[int, ...]
    matrix: np.ndarray
    right: np.ndarray


class Undetermined(ValueError):
    """The rows leave some unknowns open."""


def least_squares(rows: list[Rows], sizes: list[int]) -> tuple[list[np.ndarray], float]:
    """The x that minimises |A x − b|, by blocks, and that minimum."""
    pending = list(rows)
    factors: list[tuple[tuple[int, ...], np.ndarray]] = []
    rest = 0.0
    for block in range(len(sizes)):
        touching = [group for group in pending if block in group.blocks]
        pending = [group for group in pending if block not in group.blocks]
        others = tuple(sorted({b for group in touching for b in group.blocks} - {block}))
        order = (block, *others)
        triangle = _triangle(touching, order, sizes)
        size = sizes[block]
        pivots = np.abs(np.diagonal(triangle)[:size])
        if len(triangle) < size or not np.all(pivots > UNDETERMINED * np.max(pivots, initial=0.0)):
            raise Undetermined(f"block {block}")
        factors.append((order, triangle[:size]))
        kept, missed = _compressed(triangle[size:, size:], NOISE * np.max(np.abs(triangle[:size, :-1])))
        rest += missed
        if len(kept):
            pending.append(Rows(others, kept[:, :-1], kept[:, -1]))
    found: list[np.ndarray] = [np.zeros(n) for n in sizes]
    for order, triangle in reversed(factors):
        size = sizes[order[0]]
        known = np.concatenate([found[b] for b in order[1:]]) if order[1:] else np.zeros(0)
        right = triangle[:, -1] - triangle[:, size:-1] @ known
        found[order[0]] = scipy.linalg.solve_triangular(triangle[:, :size], right, check_finite=False)
    return found, float(np.sqrt(rest))


def _triangle(groups: list[Rows], order: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    """The triangular factor of some rows with their right-hand side as the last column."""
    starts = dict(zip(order, np.cumsum([0, *(sizes[b] for b in order)]), strict=False))
    width = sum(sizes[b] for b in order)
    matrix = np.zeros((sum(len(g.right) for g in groups), width + 1), order="F")
    at = 0
    for group in groups:
        here = slice(at, at + len(group.right))
        column = 0
        for b in group.blocks:
            matrix[here, starts[b] : starts[b] + sizes[b]] += group.matrix[:, column : column + sizes[b]]
            column += sizes[b]
        matrix[here, -1] = group.right
        at += len(group.right)
    if not len(matrix):
        raise Undetermined("no rows")
    factor: np.ndarray = scipy.linalg.qr(matrix, mode="r", overwrite_a=True, check_finite=False)[0]  # pyright: ignore
    return factor[: width + 1]


def _compressed(rows: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """The same least squares in as few rows as their rank, and the square of what no unknown changes. Few rows touch
    two blocks, so that most of what is left of a front is noise."""
    matrix, right = rows[:, :-1], rows[:, -1]
    if not matrix.size:
        return np.zeros((0, rows.shape[1])), float(np.sum(right**2))
    factors: Any = scipy.linalg.qr(matrix, mode="economic", pivoting=True, check_finite=False)
    q, r, order = factors
    rank = int(np.sum(np.abs(np.diagonal(r)) > noise))
    kept = np.zeros((rank, rows.shape[1]))
    kept[:, order] = r[:rank]
    kept[:, -1] = q[:, :rank].T @ right
    return kept, float(max(np.sum(right**2) - np.sum(kept[:, -1] ** 2), 0.0))
