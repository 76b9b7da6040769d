"""One step of Newton's on tiles with more polynomials: what is wrong with an answer, seen from a richer space."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._problem import AbstractProblem
from .fronts import Undetermined, least_squares
from .march import March
from .method import Spectral
from .system import Held, Unsuited, system
from .tiles import Axis, Solved, Tile, tiles

LOST = 1.0  # an error of the size of the answer, after which a step of Newton's means nothing


class Corrected(NamedTuple):
    """The root mean squares of the correction and of the corrected answer, and the share of the points that was looked
    at."""

    change: float
    size: float
    share: float = 1.0


def slabs(tiled: Solved, axis: int | None, forward: bool) -> list[Solved]:
    """The tiles in the order in which they follow from each other."""
    if axis is None:
        return [tiled]
    starts = sorted({tile.lower[axis] for tile in tiled.tiles}, reverse=not forward)
    found = []
    for start in starts:
        mine = [k for k, tile in enumerate(tiled.tiles) if tile.lower[axis] == start]
        found.append(Solved([tiled.tiles[k] for k in mine], [tiled.coefficients[k] for k in mine]))
    return found


def _axes(part: Solved) -> tuple[Axis, ...]:
    """The axes whose intervals make the tiles."""
    axes = []
    for i in range(len(part.tiles[0].lower)):
        ends: dict[tuple[float, float], int] = {}
        for tile in part.tiles:
            pair = (tile.lower[i], tile.upper[i])
            ends[pair] = max(ends.get(pair, 1), tile.terms[i])
        chosen = sorted(ends)
        if any(one[1] != two[0] for one, two in itertools.pairwise(chosen)):
            raise Unsuited("the tiles are no product of intervals")
        axes.append(Axis((chosen[0][0], *(pair[1] for pair in chosen)), tuple(ends[pair] for pair in chosen)))
    if math.prod(len(axis.terms) for axis in axes) != len(part.tiles):
        raise Unsuited("the tiles are no product of intervals")
    return tuple(axes)


def _richer(axes: tuple[Axis, ...], more: float, held: Held) -> tuple[Axis, ...]:
    """A share more of polynomials along each side, two at least."""
    grow = lambda n: max(n + 2, math.ceil(n * (1 + more)))
    return tuple(a if i in held else Axis(a.edges, tuple(map(grow, a.terms))) for i, a in enumerate(axes))


def _padded(part: Solved, here: list[Tile]) -> list[np.ndarray]:
    """The coefficients of the same functions on tiles with more polynomials."""
    arrays = {tile.lower: array for tile, array in zip(part.tiles, part.arrays(), strict=True)}
    found = []
    for tile in here:
        old = arrays[tile.lower]
        array = np.zeros((len(old), *tile.terms))
        array[tuple(map(slice, old.shape))] = old
        found.append(array[(slice(None), *tile.indices.T)])
    return found


def work(problem: AbstractProblem, tiled: Solved, more: float, held: Held) -> float:
    """About how many operations the correction takes."""
    march = March(problem, Spectral(), held)
    parts = slabs(tiled, march.axis, march.forward)
    return sum(march._work(tiles(_richer(_axes(part), more, held))) for part in parts)


def corrected(
    problem: AbstractProblem, tiled: Solved, points: np.ndarray, more: float, held: Held | None = None
) -> Corrected:
    """The correction of an answer at some points, on tiles with a share `more` of polynomials along each side, slab
    after slab, each from the corrected one before. Raises `Unsuited` where the problem or the tiles are not of that
    kind."""
    change = size = 0.0
    todo = np.ones(len(points), bool)
    for tile, old, new in _steps(problem, tiled, more, held or {}):
        here = todo & tile.contains(points)
        if not np.any(here):
            continue
        todo &= ~here
        table = tile.basis(points[here], (0,) * len(tile.lower))
        wrong, right = float(np.sum((table @ (new - old).T) ** 2)), float(np.sum((table @ new.T) ** 2))
        change, size = change + wrong, size + right
        if not np.isfinite(wrong) or wrong > LOST * right:
            break  # what follows would start from nothing
    seen = max(int(np.sum(~todo)), 1)
    return Corrected(math.sqrt(change / seen), math.sqrt(size / seen), seen / len(points))


def _steps(
    problem: AbstractProblem, tiled: Solved, more: float, held: Held
) -> Iterator[tuple[Tile, np.ndarray, np.ndarray]]:
    """The coefficients on each of the richer tiles, as they are and corrected."""
    march = March(problem, Spectral(), held)
    join = None if march.axis is None else (march.axis, 0 if march.forward else 1)
    before: Solved | None = None
    for part in slabs(tiled, march.axis, march.forward):
        here = tiles(_richer(_axes(part), more, held))
        old = _padded(part, here)
        laws = march.laws if before is None else march.later
        rows = system(problem, laws, here, before, join, held)
        try:
            step, _ = least_squares(rows.rows(old).rows, rows.sizes)
        except Undetermined as error:
            raise Unsuited(f"the laws leave the solution open ({error})") from error
        new = [c + d.reshape(c.shape) for c, d in zip(old, step, strict=True)]
        before = Solved(here, new)
        yield from zip(here, old, new, strict=True)
