"""The laws of a problem on some tiles, as rows of a nonlinear least-squares problem in their coefficients."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._laws import Derivative, Law
from .._places import TIME, Box
from .._problem import AbstractProblem, Term
from .fronts import Rows
from .jets import Along, linearised, orders, seen
from .tiles import Tile, gauss, product

SPARE = 2  # points along a coordinate beyond the number of polynomials

Coefficients = list[np.ndarray]  # of each tile: (unknowns, products of polynomials)
Held = dict[int, float]  # the parameters of a family by their coordinates, at one member of it


class Unsuited(ValueError):
    """A problem that has no such rows, or whose laws see other points than those at hand."""


class Piece(NamedTuple):
    """A law on a part of its place that is a box of some of the coordinates, or that is finitely many points."""

    term: Term
    place: Any

    @property
    def law(self) -> Law:
        return self.term.law


def pieces(problem: AbstractProblem) -> list[Piece]:
    """The laws, on places whose points can be laid out tile by tile."""
    if any(problem.vocabulary.pins):
        raise Unsuited("an unknown of fewer coordinates is looked at elsewhere")
    if getattr(problem, "sought", None):
        raise Unsuited("coefficients are unknown")
    found = []
    for term in problem.terms:
        place = term.law.place
        if term.law.power != 2 or term.separate:
            raise Unsuited(f"`{term.name}` is no sum of squares")
        parts = (place,) if place.finite else place.parts
        if not parts:
            raise Unsuited(f"`{term.name}` lives on a {type(place).__name__}")
        found += [Piece(term, part) for part in parts]
    return found


def differentiated(problem: AbstractProblem, coordinate: int) -> list[int]:
    """The highest derivative of each unknown along a coordinate."""
    highest = [0] * len(problem.unknowns)
    for term in problem.terms:
        for quantity in term.law.residual.asked or ():
            if isinstance(quantity, Derivative):
                highest[quantity.unknown] = max(highest[quantity.unknown], quantity.along.count(coordinate))
    return highest


class Group(NamedTuple):
    """Points of a law that see the same tiles: chart points, the tiles, and all derivatives of their polynomials."""

    piece: Piece
    w: np.ndarray
    tiles: tuple[int, ...]  # of each point that is seen from one
    tables: list[list[np.ndarray]]  # by seen point and derivative: (points, products of polynomials)
    alongs: tuple[Along, ...]
    weights: np.ndarray  # roots of the points' shares of the place


class Fixed(NamedTuple):
    """Linear rows that hold in any case: a matrix for the blocks, and what it has to give."""

    blocks: tuple[int, ...]
    matrix: np.ndarray
    right: np.ndarray


class System(NamedTuple):
    """Rows of all laws on some tiles, and rows that join tiles to each other and to what came before."""

    problem: AbstractProblem
    tiles: list[Tile]
    groups: list[Group]
    fixed: list[Fixed]

    @property
    def sizes(self) -> list[int]:
        return [len(self.problem.unknowns) * len(tile.indices) for tile in self.tiles]

    def rows(self, coefficients: Coefficients) -> "Linear":
        """The rows at some coefficients, each in the size that the unknowns have."""
        unknowns = len(self.problem.unknowns)
        found, values, sizes = [], [], []
        losses: dict[str, list[np.ndarray]] = {group.piece.term.name: [] for group in self.groups}
        for group in self.groups:
            jets = np.stack(
                [
                    np.stack([table @ coefficients[tile].T for table in tables], axis=1)
                    for tile, tables in zip(group.tiles, group.tables, strict=True)
                ],
                axis=1,
            )
            r, slopes = linearised(
                group.piece.law, self.problem.parameters, group.piece.place, group.w, jets, group.alongs
            )
            scale = _scales(slopes, [self.tiles[tile] for tile in group.tiles], group.alongs) / group.weights[:, None]
            blocks: dict[int, Any] = {}
            for k, (tile, tables) in enumerate(zip(group.tiles, group.tables, strict=True)):
                part = np.zeros((*r.shape, unknowns, tables[0].shape[1]))
                for a, table in enumerate(tables):
                    if np.any(slopes[:, :, k, a]):
                        part += slopes[:, :, k, a, :, None] * table[:, None, None, :]
                blocks[tile] = blocks.get(tile, 0.0) + part.reshape(r.size, -1)
            size = np.broadcast_to(scale, r.shape).ravel()
            losses[group.piece.term.name].append(np.sum(r**2, axis=1))
            values.append(r.ravel())
            sizes.append(size)
            names = tuple(sorted(blocks))
            matrix = np.concatenate([blocks[b] for b in names], axis=1)
            found.append(Rows(names, matrix / size[:, None], -r.ravel() / size))
        flat = [c.ravel() for c in coefficients]
        for rows in self.fixed:
            known = rows.matrix @ np.concatenate([flat[b] for b in rows.blocks])
            found.append(Rows(rows.blocks, rows.matrix, rows.right - known))
            values.append(known - rows.right)
            sizes.append(np.ones(len(known)))
        return Linear(
            found,
            np.concatenate(values),
            np.concatenate(sizes),
            {name: np.concatenate(parts) for name, parts in losses.items()},
        )


class Linear(NamedTuple):
    """Rows, with the values of the residuals as they are, and the sizes by which they are divided."""

    rows: list[Rows]
    values: np.ndarray
    sizes: np.ndarray
    losses: dict[str, np.ndarray]  # at the points of each law

    def loudness(self, tiles: int) -> np.ndarray:
        """How large what is left of the rows is on each tile: the largest root mean square of a group of rows."""
        found = np.zeros(tiles)
        for group in self.rows:
            size = math.sqrt(np.mean(group.right**2))
            for tile in group.blocks:
                found[tile] = max(found[tile], size)
        return found

    def norm(self, sizes: np.ndarray) -> float:
        """The root of the sum of squares with given sizes, to compare with that of other rows."""
        if sizes.shape != self.values.shape:
            return float("inf")
        with np.errstate(over="ignore"):  # of a step that went far too far: infinity says so
            return float(np.linalg.norm(self.values / sizes))


def _scales(slopes: np.ndarray, tiles: list[Tile], alongs: tuple[Along, ...]) -> np.ndarray:
    """How large each component is for an unknown of size one that changes by as much over a tile."""
    total = 0.0
    for k, tile in enumerate(tiles):
        rate = np.asarray([np.prod((2 / tile.lengths) ** np.asarray(along)) for along in alongs])
        total = np.maximum(total, np.max(np.abs(slopes[:, :, k]) * rate[None, None, :, None], axis=(0, 2, 3)))
    return np.where(total > 0, total, 1.0)


def system(
    problem: AbstractProblem,
    laws: Iterable[Piece],
    tiles: list[Tile],
    before: Callable[[np.ndarray, Along], np.ndarray] | None,
    step: tuple[int, int] | None,
    held: Held,
    alongs: dict[str, tuple[Along, ...]] | None = None,
) -> System:
    """The rows on tiles. `before` gives what holds at the end of a coordinate from which a solution evolves, `step` the
    coordinate and the end, 0 or 1, of the tiles where they join on; `alongs` are the derivatives that each law sees,
    all up to its order by default."""
    dimension = len(tiles[0].lower)
    alongs = alongs or {piece.term.name: orders(dimension, piece.law.order, held) for piece in laws}
    groups = [g for piece in laws for g in _groups(problem, piece, tiles, alongs[piece.term.name], held)]
    fixed = [f for axis in range(dimension) if step is None or axis != step[0] for f in _joints(problem, tiles, axis)]
    if before is not None and step is not None:
        fixed += _start(problem, tiles, before, *step)
    return System(problem, tiles, groups, fixed)


def _chart_points(place: Any, tile: Tile, names: tuple[str, ...], held: Held) -> np.ndarray | None:
    """Chart points of the part of a place that lies in a tile; None where there is none."""
    if place.finite:
        w = np.asarray(place.grid(0))
        z = np.stack([np.asarray(place.embed(each)) for each in w])
        inside = tile.contains(z) if z.shape[1] == len(names) else np.ones(len(z), bool)
        return w[inside] if np.any(inside) else None
    for name, value in place.constants:
        i = names.index(name)
        slack = 1e-9 * (tile.upper[i] - tile.lower[i])
        if not tile.lower[i] - slack <= value <= tile.upper[i] + slack:
            return None
    columns = []
    for name in place.chart.names:
        i = names.index(name)
        low, high = _stretch(place, tile, name, i)
        if i not in held and low >= high:
            return None
        columns.append(np.asarray([held[i]]) if i in held else gauss(low, high, tile.terms[i] + SPARE))
    return product(columns)


def _stretch(place: Any, tile: Tile, name: str, i: int) -> tuple[float, float]:
    """How far a place, which may be a part of the domain, reaches along a coordinate of a tile."""
    low, high = place.chart.ends(name)
    return max(low, tile.lower[i]), min(high, tile.upper[i])


def _roots(place: Any, tile: Tile, domain: Box, w: np.ndarray, held: Held) -> np.ndarray:
    """The root of each point's share of a place. The points are dense towards the ends of a tile, and small tiles have
    as many as large ones: without it the corner at which conditions contradict each other would decide for all."""
    share = np.ones(len(w))
    for column, name in enumerate(place.chart.names):
        i = domain.names.index(name)
        if i in held:
            continue
        low, high = _stretch(place, tile, name, i)
        x = 2 * (w[:, column] - low) / (high - low) - 1
        share *= math.pi / 2 * np.sqrt(1 - x**2)
        if name != TIME:  # what is wrong at one time is wrong at all later ones
            share *= (high - low) / domain.lengths[i]
    return np.sqrt(share)


def _groups(
    problem: AbstractProblem, piece: Piece, tiles: list[Tile], alongs: tuple[Along, ...], held: Held
) -> list[Group]:
    found = []
    for tile in tiles:
        w = _chart_points(piece.place, tile, problem.domain.names, held)
        if w is None:
            continue
        roots = np.ones(len(w)) if piece.place.finite else _roots(piece.place, tile, problem.domain, w, held)
        points = seen(piece.law, problem.parameters, piece.place, w)
        owners = np.stack([_owner(points[:, k], tiles, tile) for k in range(points.shape[1])], axis=1)
        for which in np.unique(owners, axis=0):
            mine = np.all(owners == which, axis=1)
            if np.any(which < 0):
                raise Unsuited(f"`{piece.term.name}` sees points elsewhere")
            tables = [[tiles[t].basis(points[mine, k], a) for a in alongs] for k, t in enumerate(which)]
            found.append(Group(piece, w[mine], tuple(int(t) for t in which), tables, alongs, roots[mine]))
    return found


def _owner(z: np.ndarray, tiles: list[Tile], own: Tile) -> np.ndarray:
    """The tile of each point: its own where it may be, else the first that has it, else -1."""
    owner = np.full(len(z), -1)
    for number, tile in reversed(list(enumerate(tiles))):
        owner[tile.contains(z)] = number
    owner[own.contains(z)] = tiles.index(own)
    return owner


def _joints(problem: AbstractProblem, tiles: list[Tile], axis: int) -> list[Fixed]:
    """Neighbours along a coordinate agree, with as many derivatives as the equations need."""
    highest = [max(n, 1) for n in differentiated(problem, axis)]
    found = []
    for a, left in enumerate(tiles):
        for b, right in enumerate(tiles):
            apart = [i for i in range(len(left.lower)) if i != axis]
            if left.upper[axis] != right.lower[axis] or any(left.lower[i] != right.lower[i] for i in apart):
                continue
            columns = [
                np.asarray([left.upper[i]])
                if i == axis
                else gauss(left.lower[i], left.upper[i], max(left.terms[i], right.terms[i]))
                for i in range(len(left.lower))
            ]
            z = product(columns)
            half = min(left.lengths[axis], right.lengths[axis]) / 2
            for order in range(max(highest)):
                along = tuple(order if i == axis else 0 for i in range(len(left.lower)))
                own, other = left.basis(z, along) * half**order, right.basis(z, along) * half**order
                for k in (k for k, n in enumerate(highest) if order < n):
                    matrix = np.concatenate(
                        [_of_unknown(own, k, len(highest)), _of_unknown(-other, k, len(highest))], 1
                    )
                    found.append(Fixed((a, b), matrix, np.zeros(len(z))))
    return found


def _of_unknown(table: np.ndarray, k: int, unknowns: int) -> np.ndarray:
    """A table as a matrix for the coefficients of all unknowns, of which it sees number `k`."""
    matrix = np.zeros((len(table), unknowns * table.shape[1]))
    matrix[:, k * table.shape[1] : (k + 1) * table.shape[1]] = table
    return matrix


def _start(
    problem: AbstractProblem, tiles: list[Tile], before: Callable[..., np.ndarray], axis: int, end: int
) -> list[Fixed]:
    """What holds where a slab begins: the values, and as many derivatives as the equations need."""
    highest = differentiated(problem, axis)
    found = []
    for number, tile in enumerate(tiles):
        at = (tile.lower, tile.upper)[end][axis]
        columns = [
            np.asarray([at]) if i == axis else gauss(tile.lower[i], tile.upper[i], tile.terms[i] + SPARE)
            for i in range(len(tile.lower))
        ]
        z, half = product(columns), tile.lengths[axis] / 2
        for order in range(max(highest)):
            along = tuple(order if i == axis else 0 for i in range(len(tile.lower)))
            table, known = tile.basis(z, along) * half**order, before(z, along) * half**order
            found += [
                Fixed((number,), _of_unknown(table, k, len(highest)), known[:, k])
                for k, n in enumerate(highest)
                if order < n
            ]
    return found
