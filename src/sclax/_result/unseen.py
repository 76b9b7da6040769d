"""May an answer change where no law sees it? Smooth changes by which all linearised laws hardly change."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from .._base import checks
from .._places import TIME
from .._problem import AbstractProblem
from .determined import inside
from .rows import Rows

DEGREES = (30, 16, 12, 7, 5)  # in as many coordinates, and in more of them the last
MOST = 900  # polynomials, times unknowns
LOWER = 0.75  # of the degree: polynomials that show a trend
UNSEEN = 1e-6  # by which laws change, of their sizes, with a change of size one that they do not see
DOUBTFUL = 1e-4  # the same of changes that they may not see: in three dimensions there are too few polynomials
ROUNDING = 1e-10  # less is nothing: the change is a polynomial
TREND = 10.0  # by which more polynomials come nearer to one that is none; laws that merely are weak stay where they are
LOUD = 0.3  # of the largest: where a change that is not seen is large
KEPT = 1e-10  # of the largest: functions that a shape tells from each other
CORNER = 2  # points that conditions on other faces may have at an end
POINTS = 2048


class Unseen(NamedTuple):
    """Unknowns that may change unseen, and the ends of coordinates at which they do most, with no condition there."""

    certain: bool

    unknowns: tuple[str, ...]
    ends: tuple[str, ...]
    named: bool  # whether laws name them at all

    def __str__(self) -> str:
        what = checks.listed(self.unknowns)
        if not self.named:
            return f"No law names {what}, so that it is arbitrary in the answer: state a law for it, or leave it out."
        where = f" They are largest at {' and '.join(self.ends)}, where nothing is prescribed." if self.ends else ""
        verb = "does not determine" if self.certain else "seems not to determine"
        return (
            f"The problem {verb} {what}: smooth changes of the answer keep every law.{where} Add the conditions that "
            "the equations ask for, or observations."
        )


def unseen(problem: AbstractProblem, laws: Sequence[Rows], sizes: np.ndarray, free: tuple[int, ...]) -> list[Unseen]:
    """What no law determines of an answer whose unknowns have the root mean squares `sizes`, beyond the constants (at
    each time and parameter) of those that are `free`; nothing where nobody can tell, or data may stand in for it.

    Over polynomials w, times each unknown's size, the least of  Σ |law′(u) w|² / |law|²  for  ‖w‖ = 1  is of order one
    where a problem is well posed, and falls to nothing with the degree where it has many solutions. Where it is small
    and stays so a problem is stiff, and grows what it is given.
    """
    silent = [u for k, u in enumerate(problem.vocabulary.unknowns) if not any(_names(rows, k) for rows in laws)]
    if any(rows.slopes is None or _stands_in(rows) for rows in laws) or problem.vocabulary.learned:
        return []
    if silent:
        return [Unseen(True, tuple(silent), (), False)]
    if problem.domain.dimension == 1 and _counted(problem, laws):
        return []
    units = np.where(sizes > 0, sizes, np.max(sizes, initial=0.0) or 1.0)
    changes = _Changes.of(problem, DEGREES[min(problem.domain.dimension, len(DEGREES)) - 1])
    least, directions = changes.least(problem, laws, units, free)
    if not np.any(least < DOUBTFUL):
        return []
    fewer, _ = _Changes.of(problem, int(LOWER * changes.degree)).least(problem, laws, units, free)
    # A change must come nearer with the degree, or be a polynomial itself.
    if least[0] > ROUNDING and fewer[0] < TREND * least[0]:
        return []
    coefficients = directions[:, :, least < DOUBTFUL]
    loud = np.sqrt(np.sum(coefficients**2, axis=(1, 2)))
    unknowns = [u for u, size in zip(problem.vocabulary.unknowns, loud, strict=True) if size > LOUD * np.max(loud)]
    return [Unseen(bool(least[0] < UNSEEN), tuple(unknowns), changes.open_ends(problem, laws, coefficients), True)]


def _names(rows: Rows, unknown: int) -> bool:
    return rows.slopes is None or bool(np.any(rows.slopes[..., unknown]))


def _stands_in(rows: Rows) -> bool:
    """Whether a law may stand in for conditions in ways that rows do not show: measurements, many points, bounds."""
    residual, place = rows.term.law.residual, rows.term.law.place
    return residual.measured is not None or residual.one_sided or (place.finite and place.measure > 1)


def _counted(problem: AbstractProblem, laws: Sequence[Rows]) -> bool:
    """Whether ordinary differential equations have as many conditions as derivatives: what grows by many powers of ten
    from its start looks like nothing there, and is determined."""
    asked = given = 0
    for rows in laws:
        if inside(problem, rows):
            used = np.any(rows.slopes, axis=(0, 1, 2))  # (derivatives, unknowns)
            asked += np.max([[along[0]] for along in rows.alongs] * used, axis=0, initial=0)
        elif rows.z is not None:
            given += len(np.unique(rows.z.reshape(len(rows.z), -1), axis=0)) * rows.left.shape[1]
    return bool(np.sum(asked) <= given)


class _Changes(NamedTuple):
    """Products of Legendre polynomials on the box round the domain, up to a degree in all."""

    degree: int
    indices: np.ndarray  # (functions, coordinates)
    lower: np.ndarray
    lengths: np.ndarray

    @staticmethod
    def of(problem: AbstractProblem, degree: int) -> "_Changes":
        domain, unknowns = problem.domain, len(problem.vocabulary.unknowns)
        d, most = domain.dimension, MOST // unknowns
        degree = max((n for n in range(1, degree + 1) if math.comb(n + d, d) <= most), default=1)
        every = itertools.product(range(degree + 1), repeat=d)
        return _Changes(
            degree, np.asarray([i for i in every if sum(i) <= degree]), np.asarray(domain.lower), domain.lengths
        )

    def __call__(self, z: np.ndarray, along: Sequence[int]) -> np.ndarray:
        """A derivative of every function at some points, (points, functions)."""
        unit, found = 2 * (z - self.lower) / self.lengths - 1, np.ones((len(z), len(self.indices)))
        for i, order in enumerate(along):
            sides = np.diag(np.sqrt(2 * np.arange(self.degree + 1) + 1)) * (2 / self.lengths[i]) ** order
            table = legendre.legval(unit[:, i], legendre.legder(sides, order)).T
            found *= table[:, self.indices[:, i]]
        return found

    def least(
        self, problem: AbstractProblem, laws: Sequence[Rows], units: np.ndarray, free: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """By how much the laws change with functions of size one that are orthogonal to each other, least first, and
        their coefficients, (unknowns, functions, changes)."""
        unknowns, many = len(units), len(self.indices)
        matrix = np.concatenate([self._rows(rows, units) for rows in laws])
        values = self(np.asarray(problem.domain.sobol(POINTS), float), (0,) * len(self.lower)) / math.sqrt(POINTS)
        gram = np.kron(np.eye(unknowns), values.T @ values)
        space = [i for i, name in enumerate(problem.domain.names) if name in problem.domain.space]
        constant = ~np.any(self.indices[:, space or slice(None)], axis=1)
        taken = (np.isin(np.arange(unknowns), free)[:, None] & constant).ravel()
        # Functions of the domain without their means: a shape is no box, on which these would be orthogonal.
        means = np.linalg.lstsq(gram[np.ix_(taken, taken)], gram[np.ix_(taken, ~taken)], rcond=None)[0]
        rest = gram[np.ix_(~taken, ~taken)] - gram[np.ix_(~taken, taken)] @ means
        found, vectors = np.linalg.eigh(rest)
        known = found > KEPT * found[-1]
        coefficients = np.zeros((unknowns * many, int(np.sum(known))))
        coefficients[~taken] = vectors[:, known] / np.sqrt(found[known])
        coefficients[taken] = -means @ coefficients[~taken]
        _, least, directions = np.linalg.svd(np.linalg.qr(matrix @ coefficients, mode="r"))
        return least[::-1], (coefficients @ directions[::-1].T).reshape(unknowns, many, -1)

    def _rows(self, rows: Rows, units: np.ndarray) -> np.ndarray:
        """By how much a law changes with each function in each unknown, of the size of its terms for functions of size
        one that change by as much over half of the domain."""
        assert rows.slopes is not None
        assert rows.z is not None
        slopes = np.nan_to_num(rows.slopes) * units
        rates = np.prod((2 / self.lengths) ** np.asarray(rows.alongs).reshape(-1, len(self.lengths)), axis=1)
        terms = np.max(np.abs(slopes) * rates[:, None], axis=(2, 3, 4), initial=0.0)
        scale = np.sqrt(np.mean(terms**2, axis=0)) * math.sqrt(len(slopes))
        table = np.zeros((*slopes.shape[:2], len(units), len(self.indices)))
        for (k, seen), (a, along) in itertools.product(enumerate(np.moveaxis(rows.z, 1, 0)), enumerate(rows.alongs)):
            if np.any(slopes[:, :, k, a]):
                table += slopes[:, :, k, a, :, None] * self(seen, along)[:, None, None]
        return (table / np.where(scale > 0, scale, 1.0)[:, None, None]).reshape(-1, len(units) * len(self.indices))

    def open_ends(self, problem: AbstractProblem, laws: Sequence[Rows], coefficients: np.ndarray) -> tuple[str, ...]:
        """The ends of coordinates at which changes are large and no condition looks; not the one that time goes to."""
        domain, found = problem.domain, {}
        z = np.asarray(domain.bounding.sobol(POINTS), float)
        looked = [rows.z.reshape(-1, z.shape[1]) for rows in laws if rows.z is not None and not inside(problem, rows)]
        corner = 0 if z.shape[1] == 1 else CORNER
        for i, name in enumerate(domain.names if domain.shape is None else ()):
            for end, value in enumerate(domain.ends(name)):
                stated = any(np.sum(np.isclose(points[:, i], value, atol=1e-9)) > corner for points in looked)
                if stated or name in domain.parameters or (name == TIME and problem.direction == (-1, 1)[end]):
                    continue
                at = z.copy()
                at[:, i] = value
                size = np.einsum("pf,ufc->puc", self(at, (0,) * z.shape[1]), coefficients)
                found[f"{name} = {value:.4g}"] = float(np.sqrt(np.mean(size**2)))
        largest = max(found.values(), default=0.0)
        return tuple(where for where, size in found.items() if size > LOUD * largest)
