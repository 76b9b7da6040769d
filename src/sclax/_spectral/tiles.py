"""Boxes side by side, with a polynomial on each: where a piecewise solution lives, as plain numpy values."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..nn import Tiles, differentiation

FEWEST = 6  # polynomials along a coordinate
TOTAL = 3  # coordinates from which on degrees are bounded by their sum, since products of all would be too many


class Tile(NamedTuple):
    """A box, and how many polynomials there are along each of its sides."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    terms: tuple[int, ...]

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.upper) - np.asarray(self.lower)

    @property
    def indices(self) -> np.ndarray:
        return indices(self.terms)

    def local(self, z: np.ndarray) -> np.ndarray:
        """Points of the box as points of [−1, 1]^d."""
        return np.clip(2 * (z - np.asarray(self.lower)) / self.lengths - 1, -1.0, 1.0)

    def contains(self, z: np.ndarray) -> np.ndarray:
        slack = 1e-9 * self.lengths
        return np.all((z >= np.asarray(self.lower) - slack) & (z <= np.asarray(self.upper) + slack), axis=-1)

    def basis(self, z: np.ndarray, along: tuple[int, ...]) -> np.ndarray:
        """The derivative of order `along` of every product of polynomials, at points of the box, one a row."""
        chosen, x = self.indices, self.local(z)
        product = np.ones((len(z), len(chosen)))
        for i, order in enumerate(along):
            product *= polynomials(x[:, i], self.terms[i], order)[:, chosen[:, i]] * (2 / self.lengths[i]) ** order
        return product


def _with(values: tuple, i: int, value) -> tuple:
    return (*values[:i], value, *values[i + 1 :])


@functools.lru_cache(maxsize=256)
def indices(terms: tuple[int, ...]) -> np.ndarray:
    """The degrees of each product: all of them in up to two dimensions, in more those of bounded sum. A coordinate with
    one polynomial, a constant, does not count."""
    every = np.asarray(list(itertools.product(*map(range, terms))), int).reshape(-1, len(terms))
    if sum(n > 1 for n in terms) < TOTAL:
        return every
    shares = every / np.maximum(np.asarray(terms) - 1, 1)
    return every[np.sum(shares, axis=1) <= 1.5]


def polynomials(x: np.ndarray, n: int, order: int) -> np.ndarray:
    """The derivatives of order `order` of T₀, …, T_{n−1} at points of [−1, 1], one a row."""
    values = np.cos(np.arange(n) * np.arccos(x)[:, None])
    return values @ np.linalg.matrix_power(differentiation(n).T, order) if order else values


def gauss(lower: float, upper: float, n: int) -> np.ndarray:
    """The n zeros of T_n, on an interval: dense towards its ends."""
    return (lower + upper) / 2 + (upper - lower) / 2 * np.cos((np.arange(n)[::-1] + 0.5) * math.pi / n)


def product(columns: list[np.ndarray]) -> np.ndarray:
    """All combinations of the columns' values, one a row."""
    mesh = np.meshgrid(*columns, indexing="ij") if columns else [np.zeros(())]
    return np.stack([m.ravel() for m in mesh], axis=-1) if columns else np.zeros((1, 0))


class Axis(NamedTuple):
    """Intervals one after the other, each with a number of polynomials."""

    edges: tuple[float, ...]
    terms: tuple[int, ...]

    @property
    def intervals(self) -> list[tuple[float, float, int]]:
        return list(zip(self.edges, self.edges[1:], self.terms, strict=False))

    def refined(self, j: int, most: int, halve: bool = False) -> "Axis":
        """More polynomials on the interval number `j`, or, where there are the most or it is to be halved, two
        intervals."""
        n = self.terms[j]
        if n < most and not halve:
            return Axis(self.edges, _with(self.terms, j, min(max(int(1.4 * n), n + 2), most)))
        middle = (self.edges[j] + self.edges[j + 1]) / 2
        few = min(n, max(int(0.7 * n), 8)) if halve else max(int(0.7 * n), 4)
        return Axis(
            (*self.edges[: j + 1], middle, *self.edges[j + 1 :]), (*self.terms[:j], few, few, *self.terms[j + 1 :])
        )

    def coarsened(self, tails: list[float], limit: float, most: int) -> "Axis":
        """Fewer polynomials where the last are not needed, and one interval in place of two that have few."""
        terms = [max(int(0.9 * n), FEWEST) if tail < limit else n for n, tail in zip(self.terms, tails, strict=True)]
        edges, kept = [self.edges[0]], []
        j = 0
        while j < len(terms):
            two = j + 1 < len(terms) and terms[j] + terms[j + 1] <= most and max(tails[j : j + 2]) < limit
            kept.append(terms[j] + terms[j + 1] if two else terms[j])
            j += 1 + two
            edges.append(self.edges[j])
        return Axis(tuple(edges), tuple(kept))


def tiles(axes: tuple[Axis, ...]) -> list[Tile]:
    """All combinations of the axes' intervals."""
    return [
        Tile(tuple(a for a, _, _ in part), tuple(b for _, b, _ in part), tuple(n for _, _, n in part))
        for part in itertools.product(*(axis.intervals for axis in axes))
    ]


def fitted(tile: Tile, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The coefficients of the polynomials through a function's values at the zeros of T_n, (unknowns, products)."""
    z = product([gauss(a, b, n) for a, b, n in zip(tile.lower, tile.upper, tile.terms, strict=True)])
    values = function(z).T.reshape(-1, *tile.terms)
    for i, n in enumerate(tile.terms):
        inverse = 2 / n * polynomials(gauss(-1.0, 1.0, n), n, 0).T
        inverse[0] /= 2
        values = np.moveaxis(np.tensordot(inverse, values, axes=(1, i + 1)), 0, i + 1)
    return values[(slice(None), *tile.indices.T)]


class Solved(NamedTuple):
    """Tiles, and the coefficients on each: (unknowns, products of polynomials)."""

    tiles: list[Tile]
    coefficients: list[np.ndarray]

    @staticmethod
    def joined(parts: Iterable["Solved"]) -> "Solved":
        """Some of them as one."""
        parts = tuple(parts)
        return Solved([t for part in parts for t in part.tiles], [c for part in parts for c in part.coefficients])

    def arrays(self) -> list[np.ndarray]:
        """The coefficients of each tile by the degrees along its sides: (unknowns, polynomials along each side)."""
        found = []
        for tile, c in zip(self.tiles, self.coefficients, strict=True):
            array = np.zeros((len(c), *tile.terms))
            array[(slice(None), *tile.indices.T)] = c
            found.append(array)
        return found

    def tiled(self) -> Tiles:
        """As a model."""
        return Tiles([tile.lower for tile in self.tiles], [tile.upper for tile in self.tiles], self.arrays())

    def __call__(self, z: np.ndarray, along: tuple[int, ...]) -> np.ndarray:
        """A derivative at points, (points, unknowns)."""
        found = np.zeros((len(z), len(self.coefficients[0])))
        todo = np.ones(len(z), bool)
        for tile, c in zip(self.tiles, self.coefficients, strict=True):
            here = todo & tile.contains(z)
            if np.any(here):
                found[here] = tile.basis(z[here], along) @ c.T
                todo &= ~here
        return found

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """The lengths of the tile of each point."""
        found = np.ones(z.shape)
        for tile in reversed(self.tiles):
            found[tile.contains(z)] = tile.lengths
        return found


def laid_out(function: Callable[[np.ndarray], np.ndarray], box: Tile, limit: float, most: int) -> tuple[Solved, float]:
    """A function as polynomials on halves of halves of a box, `most` at most, and the size of the last coefficients, as
    the mean square sees them. The half with the largest is halved next."""
    whole = float(np.prod(box.lengths))

    def fit(tile: Tile) -> tuple[float, int, Tile, np.ndarray]:
        c = fitted(tile, function)
        root = math.sqrt(float(np.prod(tile.lengths)) / whole)
        last = [tile.indices[:, i] >= n - 2 if n > 1 else np.zeros(c.shape[1], bool) for i, n in enumerate(tile.terms)]
        tails = [root * float(np.max(np.abs(c[:, chosen]), initial=0.0)) for chosen in last]
        worst = int(np.argmax(tails))
        return tails[worst], worst, tile, c

    parts = [fit(box)]
    while len(parts) < most and (largest := max(parts, key=lambda part: part[0]))[0] > limit:
        parts.remove(largest)
        _, i, tile, _ = largest
        middle = (tile.lower[i] + tile.upper[i]) / 2
        parts.append(fit(Tile(tile.lower, _with(tile.upper, i, middle), tile.terms)))
        parts.append(fit(Tile(_with(tile.lower, i, middle), tile.upper, tile.terms)))
    return Solved([part[2] for part in parts], [part[3] for part in parts]), max(part[0] for part in parts)


def packed(parts: Iterable[Solved]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Plain data and named arrays, for a file."""
    parts = tuple(parts)
    every = Solved.joined(parts)
    about = {
        "parts": [len(part.tiles) for part in parts],
        "rows": [len(part.coefficients[0]) for part in parts],
        "terms": [tile.terms for tile in every.tiles],
    }
    flat = [c.ravel() for c in every.coefficients]
    return about, {
        "lower": np.asarray([end for tile in every.tiles for end in tile.lower]),
        "upper": np.asarray([end for tile in every.tiles for end in tile.upper]),
        "coefficients": np.concatenate(flat) if flat else np.zeros(0),
    }


def unpacked(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Solved, ...]:
    """What was packed."""
    ends = [np.split(arrays[name], np.cumsum([len(n) for n in about["terms"]])[:-1]) for name in ("lower", "upper")]
    here = [Tile(tuple(a.tolist()), tuple(b.tolist()), tuple(n)) for a, b, n in zip(*ends, about["terms"], strict=True)]
    at, parts = 0, []
    for count, rows in zip(about["parts"], about["rows"], strict=True):
        mine, here = here[:count], here[count:]
        found = []
        for tile in mine:
            size = rows * len(tile.indices)
            found.append(arrays["coefficients"][at : at + size].reshape(rows, -1))
            at += size
        parts.append(Solved(mine, found))
    return tuple(parts)
