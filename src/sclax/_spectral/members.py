"""Some members of a family, and the combination of them that fits the laws of any other.

    u(z; p) ≈ Σ_k c_k(p) φ_k(z),   c(p) = argmin of the sum of squares of all laws at p,

where the modes φ span the members that were solved. There are few modes, so that a member more costs milliseconds, and
what is left of its laws says whether they span it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._places import TIME
from .._problem import AbstractProblem
from .jets import Along, linearised, orders, seen
from .system import Piece
from .tiles import Solved

POINTS = 1500  # of a law of two free coordinates; of one a quarter
STEPS = 10
RATES = (0.0, 2.0, 4.0, 8.0)  # at which later times may count less, over the whole time
FEW = 3  # members that say little about rates
LENGTHS = (1.0, 0.5, 0.2, 0.05)  # of a step, tried from the longest down

Member = tuple[float, ...]  # the values of a family's parameters


class Looks(NamedTuple):
    """Points of a law, and where it looks from there."""

    piece: Piece
    w: np.ndarray  # chart points
    columns: list[tuple[int, int]]  # of the chart points that hold parameters, and the numbers of these
    alongs: tuple[Along, ...]

    def at(self, member: Member) -> np.ndarray:
        w = self.w.copy()
        for column, number in self.columns:
            w[:, column] = member[number]
        return w


class Fit(NamedTuple):
    """A member as a combination of modes, and the root mean square of what is left of its laws, each in its size."""

    c: np.ndarray
    rest: float
    evaluations: int = 0  # of laws that are differential equations


def looks(problem: AbstractProblem, pieces: Sequence[Piece]) -> list[Looks]:
    """Even points for each law."""
    domain, found = problem.domain, []
    first = domain.dimension - len(domain.parameters)
    for piece in pieces:
        names = piece.place.chart.names
        columns = [(i, domain.parameters.index(n)) for i, n in enumerate(names) if n in domain.parameters]
        free = len(names) - len(columns)
        n = (1, POINTS // 4, POINTS)[min(free, 2)]
        w = np.asarray(piece.place.grid(0) if piece.place.finite else piece.place.sobol(n), float)
        alongs = orders(domain.dimension, piece.law.order, range(first, domain.dimension))
        found.append(Looks(piece, w, columns, alongs))
    return found


class Span:
    """What members span: `jets`, the derivatives of each at the points of each law, and `modes`, how combinations of
    members make functions that are orthogonal, the largest first."""

    def __init__(self, problem: AbstractProblem, laws: Sequence[Piece], noise: float):
        domain = problem.domain
        self.problem, self.noise = problem, noise
        middle = tuple(sum(domain.ends(name)) / 2 for name in domain.parameters)
        self.looks = looks(problem, laws)
        self.seen = [seen(look.piece.law, problem.parameters, look.piece.place, look.at(middle)) for look in self.looks]
        self.points = np.array(domain.sobol(POINTS), float)
        self.points[:, domain.dimension - len(middle) :] = middle
        self.jets: list[list[np.ndarray]] = [[] for _ in self.looks]
        self.fine = [np.full((len(z), z.shape[-1]), np.inf) for z in self.seen]  # the smallest tiles of all members
        self.every = max((look.alongs for look in self.looks), key=len)
        self.values: list[np.ndarray] = []  # of each member: (derivatives, points, unknowns)
        self.modes, self.sizes, self.rate = np.zeros((0, 0)), np.zeros(0), 0.0
        self.ages = [self._age(z[:, 0]) for z in self.seen]

    def _age(self, z: np.ndarray) -> np.ndarray:
        """How late points are, from 0 to 1; 0 where nothing evolves."""
        domain, direction = self.problem.domain, self.problem.direction
        if not direction:
            return np.zeros(len(z))
        low, high = domain.ends(TIME)
        passed = (z[:, domain.names.index(TIME)] - low) / (high - low)
        return passed if direction > 0 else 1 - passed

    def add(self, solved: Solved) -> None:
        """One member more."""
        for look, z, found in zip(self.looks, self.seen, self.jets, strict=True):
            flat = z.reshape(-1, z.shape[-1])
            jets = np.stack([solved(flat, along) for along in look.alongs], axis=1)
            found.append(jets.reshape(*z.shape[:2], *jets.shape[1:]))
        for z, fine in zip(self.seen, self.fine, strict=True):
            np.minimum(fine, solved.lengths(z[:, 0]), out=fine)
        self.values.append(np.stack([solved(self.points, along) for along in self.every]))

    def orthogonalise(self) -> None:
        """Modes in place of members; what is no larger than the members' errors is no mode."""
        values = np.stack(self.values, axis=-1)  # (derivatives, points, unknowns, members)
        self.typical = np.sqrt(np.mean(values**2, axis=(1, 3)))
        zeroth = self.every.index((0,) * self.points.shape[1])
        here, self.typical0 = values[zeroth], self.typical[zeroth]
        scales = np.max(np.abs(here), axis=(0, 2))
        table = (here / np.maximum(scales, 1e-6 * np.max(scales))[:, None]).reshape(-1, here.shape[-1])
        norms = np.linalg.norm(table, axis=0)
        norms = np.maximum(norms, 1e-6 * np.max(norms))  # a small member is as much a member as a large one
        _, sizes, rows = np.linalg.svd(table / norms, full_matrices=False)
        kept = sizes > self.noise * sizes[0] / math.sqrt(values.shape[-1])
        self.sizes, self.modes = sizes[kept], rows[kept].T / norms[:, None]  # (members, modes)
        self.of_members = rows[kept] * norms  # (modes, members)
        self.seen_by_modes = [np.stack(jets, axis=-1) @ self.modes for jets in self.jets]

    def _shares(self, number: int) -> np.ndarray:
        """How much each point of a law counts, in the mean square 1."""
        shares = np.exp(-self.rate * self.ages[number])
        return shares / math.sqrt(np.mean(shares**2))

    def weigh(self, members: Sequence[tuple[Member, Solved, np.ndarray]]) -> float:
        """How wrong the combinations are for members that are solved and not yet in the span, each with the combination
        to begin with: the largest relative error. It chooses how much less later times count: where errors grow, what
        is left of the laws early is worth more."""
        zeroth = self.every.index((0,) * self.points.shape[1])
        every = np.stack([values[zeroth] for values in self.values], axis=-1) @ self.modes
        truths = [solved(self.points, self.every[zeroth]) for _, solved, _ in members]
        rates = RATES if self.problem.direction and len(members) >= FEW else (self.rate,)
        errors = np.zeros((len(rates), len(members)))
        for i, self.rate in enumerate(rates):
            for j, ((member, _, start), truth) in enumerate(zip(members, truths, strict=True)):
                found = every @ self.fit(member, start).c
                errors[i, j] = np.linalg.norm(found - truth) / (np.linalg.norm(truth) or 1.0)
        best = int(np.argmin(np.sum(np.log(errors + 1e-300), axis=1)))
        self.rate = rates[best]
        return float(np.max(errors[best]))

    def of_member(self, k: int) -> np.ndarray:
        """The combination of modes that is one of the members."""
        return self.of_members[:, k]

    def fit(self, member: Member, start: np.ndarray) -> Fit:
        """The combination that fits all laws best, by Gauss-Newton steps."""
        c = start
        matrix, right, scale = self._rows(member, c, None)
        looked = 1
        for _ in range(STEPS):
            before = np.linalg.norm(right)
            q, r = np.linalg.qr(matrix)
            change = np.linalg.lstsq(r, q.T @ right, rcond=1e-14)[0]
            predicted = np.linalg.norm(right - matrix @ change)
            for length in LENGTHS:
                tried = c + length * change / self.sizes
                there = self._rows(member, tried, scale)
                looked += 1
                if (after := np.linalg.norm(there[1])) < before:
                    break
            else:
                break
            c = tried
            done = length == 1.0 and abs(after - predicted) <= 1e-3 * predicted + 1e-15 * math.sqrt(len(right))
            if done or np.max(np.abs(change)) <= 1e-12:
                right = there[1]
                break
            matrix, right, scale = self._rows(member, c, None)
        points = sum(len(look.w) for look in self.looks if look.piece.law.order > 0)
        return Fit(c, float(np.linalg.norm(right)), points * looked)

    def _rows(self, member: Member, c: np.ndarray, scale: list[np.ndarray] | None):
        """The rows of all laws by changes of the modes in units of their sizes, and what they have to give. Each law in
        the size that it would have, were there no cancellation, and divided by the root of the number of its points."""
        matrices, rights, sizes = [], [], []
        for number, (look, modes) in enumerate(zip(self.looks, self.seen_by_modes, strict=True)):
            law = look.piece.law
            w, place = look.at(member), look.piece.place
            r, slopes = linearised(law, self.problem.parameters, place, w, modes @ c, look.alongs)
            matrix = slopes.reshape(*r.shape, -1) @ modes.reshape(len(w), -1, len(c))  # (points, components, modes)
            if scale is None:
                typical = np.stack([self.typical[self.every.index(along)] for along in look.alongs])
                largest = np.sum(np.abs(slopes) * typical, axis=(2, 3, 4))
                rate = np.prod((2 / self.fine[number][:, None, :]) ** np.asarray(look.alongs), axis=2)
                local = np.sum(np.abs(slopes) * rate[:, None, None, :, None] * self.typical0, axis=(2, 3, 4))
                size = np.sqrt(len(w) * (np.mean(largest**2, axis=0) + local**2))
                size = np.where(size > 0, size, 1.0) / self._shares(number)[:, None]
            else:
                size = scale[number]
            sizes.append(size)
            matrices.append((matrix / self.sizes / size[..., None]).reshape(-1, len(c)))
            rights.append((-r / size).ravel())
        return np.concatenate(matrices), np.concatenate(rights), sizes
