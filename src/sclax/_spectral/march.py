"""Slab after slab along time, each as long and its tiles as fine as the solution wants; all at once without time."""

import math
from collections.abc import Callable, Container, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .. import nn
from .._base import Model
from .._places import TIME
from .._problem import AbstractProblem
from .fronts import Undetermined
from .jets import Along, linearised, needed, orders
from .method import Spectral
from .newton import Newton, newton
from .system import SPARE, Held, Piece, Unsuited, pieces, system
from .tiles import Axis, Solved, Tile, fitted, packed, tiles, unpacked

NUMBERS = ("now", "length", "tail", "newtons", "evaluations", "work")
FIRST_TERMS = 8
FIRST_SLAB = 1 / 8  # of the whole time
SHORTEST = 2.0**-17  # slab, of the whole time
FINEST = 2.0**-15  # interval, of its side
HOPELESS = 1e-2  # last coefficients, of the largest
ENOUGH = 1e-6
LOUD = 1e-5  # rest of a law, of the unknowns, that no rounding explains
MANY_TILES = 32  # by which a layer, of which each halving cuts off a half, would show
TELLING = 14  # coefficients along a whole side
WORST = 0.4  # of the largest of the last coefficients: what is halved first
GAIN = 4.0  # by which more polynomials should reduce the last coefficients, else halves are better
LAST = 3  # coefficients that tell what is missing
MOST_DIMENSIONS = 4
STEP_WORK, ALL_AT_ONCE = 8e9, 5e11  # operations of one step, of a slab and of the whole domain
EARLY_WORK = 5e10  # operations after which there is some sign of convergence
MOST_NUMBERS = 4e8  # in the tables of one attempt, 3 GB
ALL_WORK, ALL_WORK_3D = 2e12, 2e11  # operations of all steps, some minutes and some ten seconds


class Marched(NamedTuple):
    """How far it has come: the parts that are solved, where the next one begins and how long it is to be, its axes, the
    sizes of the unknowns, the largest of the last coefficients, what was spent, and the losses of the last part."""

    parts: tuple[Solved, ...]
    now: float
    length: float
    axes: tuple[Axis, ...]
    scales: np.ndarray
    tail: float = 0.0
    newtons: int = 0
    evaluations: int = 0
    work: float = 0.0
    losses: dict[str, np.ndarray] = {}  # noqa: RUF012 -- never changed

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As plain data and named arrays, for a file."""
        about, arrays = packed(self.parts)
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return {**about, "axes": [list(axis) for axis in self.axes], **numbers}, {**arrays, "scales": self.scales}

    @staticmethod
    def restored(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Marched":
        """What was stored."""
        axes = tuple(Axis(tuple(edges), tuple(terms)) for edges, terms in about["axes"])
        numbers = {name: about[name] for name in NUMBERS}
        return Marched(unpacked(about, arrays), axes=axes, scales=arrays["scales"], **numbers)


class Attempt(NamedTuple):
    """What was found on the tiles of some axes; `tails` are the sizes of the last coefficients, by interval, and `loud`
    what is left of the laws, by tile."""

    solved: Solved
    newton: Newton
    scales: np.ndarray
    tails: list[list[float]]
    loud: np.ndarray
    spent: Marched  # as before, but for what it has spent

    @property
    def tail(self) -> float:
        return max(tail for row in self.tails for tail in row)


class March:
    """The way through a problem, of which `first` is the beginning and `steps` gives all that follows."""

    def __init__(self, problem: AbstractProblem, method: Spectral, held: Held | None = None):
        self.problem, self.method, self.held = problem, method, held or {}
        dimension = problem.domain.dimension - len(self.held)
        if dimension > MOST_DIMENSIONS:
            raise Unsuited(f"products of polynomials are too many in {dimension} dimensions")
        self.laws = pieces(problem)
        self.later = [piece for piece in self.laws if TIME not in dict(piece.place.constants)]
        self.axis = problem.domain.names.index(TIME) if problem.direction else None
        self.forward = problem.direction >= 0
        # A tile of three dimensions has so many polynomials that more and smaller ones cost less.
        flat = dimension < 3
        self.most, self.most_work = (method.terms, ALL_WORK) if flat else (method.terms // 2, ALL_WORK_3D)
        self.flat = flat
        self.alongs: dict[str, tuple[Along, ...]] = {}
        # Raises `Unsuited` where there is no time for a step of so many operations.
        self.patience: Callable[[float], None] = lambda operations: None

    def compile(self) -> None:
        """Compiles what all steps use, by one point of each law."""
        for piece in self.laws:
            w = np.asarray(piece.place.grid(1), float)[:1]
            alongs = orders(self.problem.domain.dimension, piece.law.order, self.held)
            self.alongs[piece.term.name] = alongs
            points = piece.law.residual.seen(self.problem.parameters, piece.place, w[0])
            if points is None:
                raise Unsuited(f"nobody can see where `{piece.term.name}` looks")
            unknowns = len(self.problem.unknowns)
            if not self.flat:
                alongs = needed(piece.law, self.problem.parameters, piece.place, len(points), alongs, unknowns)
                self.alongs[piece.term.name] = alongs
            jets = np.zeros((1, len(points), len(alongs), unknowns))
            linearised(piece.law, self.problem.parameters, piece.place, w, jets, alongs)

    @property
    def first(self) -> Marched:
        """The beginning."""
        domain = self.problem.domain
        ends = list(zip(domain.lower, domain.upper, strict=True))
        axes = tuple(Axis(pair, (1 if i in self.held else FIRST_TERMS,)) for i, pair in enumerate(ends))
        scales = np.zeros(len(self.problem.unknowns))
        if self.axis is None:
            return Marched((), 0.0, 1.0, axes, scales)
        low, high = domain.lower[self.axis], domain.upper[self.axis]
        return Marched((), low if self.forward else high, FIRST_SLAB * (high - low), axes, scales)

    def share(self, marched: Marched) -> float:
        """How much of the way is done."""
        if self.axis is None:
            return float(bool(marched.parts))
        low, high = self.problem.domain.lower[self.axis], self.problem.domain.upper[self.axis]
        return abs(marched.now - (low if self.forward else high)) / (high - low)

    def steps(self, marched: Marched) -> Iterator[Marched]:
        """Every state that follows, to the end."""
        if self.axis is None:
            if not marched.parts:
                yield from self._levels(marched)
            return
        while self.share(marched) < 1:
            marched = self._slab(marched, self.axis)
            if marched.tail > HOPELESS:
                raise Unsuited(f"the last coefficients at t = {marched.now:.3g} stay large")
            yield marched

    def complete(self, marched: Marched) -> bool:
        """Whether there is a solution; at later times than those of the last slab nothing is known."""
        return self.share(marched) >= 1

    def finished(self, marched: Marched) -> Marched:
        """The last state, made ready for use."""
        return marched

    def told(self, marched: Marched) -> str:
        """How far it has come, in words."""
        way = "" if self.axis is None else f"{self.share(marched):.0%} of the time, "
        count = sum(len(part.tiles) for part in marched.parts)
        return f"{way}{count} tile{'s' * (count != 1)}, last coefficients {marched.tail:.0e}"

    def model(self, marched: Marched) -> Model:
        """The tiles as a model: polynomials of the whole domain where there is but one."""
        solved = Solved.joined(marched.parts)
        if len(solved.tiles) > 1:
            return solved.tiled()
        whole = nn.Chebyshev(self.problem.domain, len(self.problem.unknowns), solved.tiles[0].terms)
        return eqx.tree_at(lambda model: model.coefficients, whole, jnp.asarray(solved.arrays()[0]))

    # --- all at once, level by level ---

    def _levels(self, marched: Marched) -> Iterator[Marched]:
        start = lambda z: np.zeros((len(z), len(self.problem.unknowns)))
        failed, seen, left = 0, [], []
        while True:
            found = self._attempt(marched, self.laws, None, start)
            failed = 0 if found.newton.converged else failed + 1
            if failed > 1:
                raise Unsuited("Gauss-Newton steps do not converge")
            seen.append(found.tail)
            # Of laws that contradict each other everywhere as much is left, on however many tiles.
            with np.errstate(over="ignore"):  # infinity says as much
                left.append(max(found.tail, float(np.linalg.norm(found.loud))))
            late = found.spent.work > EARLY_WORK or len(found.solved.tiles) > MANY_TILES
            if found.tail > HOPELESS and late and _stalls(left, 4, 0.5):
                raise Unsuited("the last coefficients, or what is left of the laws, stay large")
            marched = found.spent._replace(parts=(found.solved,), tail=found.tail, losses=found.newton.linear.losses)
            # The coarsest intervals first: the rest of the coefficients is not to be trusted before.
            limit = max(self.method.ambition, 0.01 * found.tail)
            finer = self._finer(marched.axes, found, limit, self._rough(marched.axes, found))
            yield marched
            stalls = found.spent.work > EARLY_WORK and _stalls(seen, 4, 0.4)
            if found.tail <= self.method.ambition or finer == marched.axes or stalls:
                return
            marched = marched._replace(axes=finer)
            start = lambda z, old=found.solved: old(z, (0,) * z.shape[1])

    # --- slab after slab ---

    def _slab(self, marched: Marched, axis: int) -> Marched:
        """The next slab: shorter and finer until its last coefficients are small enough."""
        low, high = self.problem.domain.lower[axis], self.problem.domain.upper[axis]
        end, span = (high if self.forward else low), high - low
        before = marched.parts[-1] if marched.parts else None
        ambition, now = self.method.ambition, marched.now
        start, seen = self._continued(before, axis, now), []
        while True:
            left = abs(end - now)
            length = left if marched.length > 0.8 * left else marched.length
            then = end if length == left else now + (length if self.forward else -length)
            slab = Axis((min(now, then), max(now, then)), (self.method.slab_terms,))
            marched = marched._replace(axes=(*marched.axes[:axis], slab, *marched.axes[axis + 1 :]))
            if marched.work > self.most_work:
                raise Unsuited(f"{self.share(marched):.0%} of the way took {marched.work:.1e} operations")
            found = self._attempt(marched, self.laws if before is None else self.later, before, start)
            marched, solved, tail = found.spent, found.newton.converged, found.tails[axis][0]
            factor = 0.9 * (ambition / max(tail, 1e-300)) ** (1 / self.method.slab_terms)
            shortest = length <= SHORTEST * span
            if shortest and not solved:
                raise Unsuited(f"no slab at t = {now:.3g} is short enough")
            seen.append(max((max(row) for i, row in enumerate(found.tails) if i != axis), default=0.0))
            # At a corner where conditions contradict each other every halving gains the same: enough is enough.
            enough = seen[-1] <= ENOUGH and _stalls(seen, 5, 0.01)
            finer = self._finer(marched.axes, found, ambition) if solved and not enough else marched.axes
            if solved and (tail <= ambition or shortest) and finer == marched.axes:
                break
            shrink = max(min(factor, 0.7), 0.2) if solved else 0.25
            length = length if solved and tail <= ambition else max(shrink * length, SHORTEST * span)
            marched = marched._replace(axes=finer, length=length)
        axes = tuple(
            a if i == axis or i in self.held else a.coarsened(row, 1e-3 * ambition, self.most)
            for i, (a, row) in enumerate(zip(marched.axes, found.tails, strict=True))
        )
        return marched._replace(
            parts=(*marched.parts, found.solved),
            now=then,
            length=length * min(max(factor, 0.5), 2.0),
            axes=axes,
            scales=found.scales,
            tail=max(marched.tail, found.tail),
            losses=found.newton.linear.losses,
        )

    def _continued(self, before: Solved | None, axis: int, now: float) -> Callable[[np.ndarray], np.ndarray]:
        """What a slab begins with: what holds at its beginning, at all of its times."""

        def start(z: np.ndarray) -> np.ndarray:
            if before is None:
                return np.zeros((len(z), len(self.problem.unknowns)))
            z = z.copy()
            z[:, axis] = now
            return before(z, (0,) * z.shape[1])

        return start

    # --- what both need ---

    def _attempt(self, marched: Marched, laws: list[Piece], before: Any, start: Any) -> Attempt:
        """Solves on the tiles of the axes."""
        here = tiles(marched.axes)
        operations = self._work(here)
        # The first attempt is cheap, and made however little time there is.
        patience = (lambda: self.patience(operations)) if marched.newtons else lambda: None
        if self._room(here) > MOST_NUMBERS:
            raise Unsuited("tables of so many polynomials do not fit into memory")
        join = None if self.axis is None else (self.axis, 0 if self.forward else 1)
        try:
            rows = system(self.problem, laws, here, before, join, self.held, self.alongs)
            found = newton(rows, [fitted(tile, start) for tile in here], patience)
        except Undetermined as error:
            raise Unsuited(f"the laws leave the solution open ({error})") from error
        if not all(np.all(np.isfinite(c)) for c in found.coefficients):
            raise Unsuited("a law is not finite")
        points = sum(len(g.w) for g in rows.groups if g.piece.law.order > 0)
        spent = marched._replace(
            newtons=marched.newtons + found.steps,
            evaluations=marched.evaluations + points * (found.steps + 1),
            work=marched.work + found.steps * operations,
        )
        sizes = np.max([np.max(np.abs(c), axis=1) for c in found.coefficients], axis=0)
        scales = np.maximum(marched.scales, sizes)
        scales = np.maximum(scales, 1e-6 * np.max(scales)) + np.finfo(float).tiny
        solved = Solved(here, found.coefficients)
        loud = found.linear.loudness(len(here)) / np.max(scales)
        return Attempt(solved, found, scales, self._tails(marched.axes, solved, scales, loud), loud, spent)

    def _tails(self, axes: tuple[Axis, ...], solved: Solved, scales: np.ndarray, loud: np.ndarray) -> list[list[float]]:
        """The sizes of the last coefficients along each interval of each axis, in those of the unknowns, as the mean
        square over space sees them: what is missing on a small tile counts less. Where laws are violated by more than
        rounding may be, what is left of them counts too: the best polynomials of a layer that is too thin for them have
        small last coefficients, and are wrong."""
        lengths = self.problem.domain.lengths
        space = [i for i in range(len(axes)) if i != self.axis]
        found = [[0.0] * len(axis.terms) for axis in axes]
        for tile, c, rest in zip(solved.tiles, solved.coefficients, loud, strict=True):
            root = math.sqrt(math.prod(tile.lengths[space] / lengths[space]))
            for i, axis in enumerate(axes):
                if i in self.held:
                    continue
                j = axis.edges.index(tile.lower[i])
                last = tile.indices[:, i] >= tile.terms[i] - LAST
                size = root * float(np.max(np.abs(c[:, last]) / scales[:, None], initial=0.0))
                found[i][j] = max(found[i][j], size, float(rest) if rest > LOUD else 0.0)
        return found

    def _work(self, here: list[Tile]) -> float:
        """About how many operations a step takes on some tiles: a QR factor for each, with those that it touches."""
        across = [len({tile.lower[i] for tile in here}) for i in range(len(here[0].lower))]
        fronts = math.prod(sorted(across)[:-1]) * (1 + sum(n > 1 for n in across))
        return sum(4.0 * fronts * (len(self.problem.unknowns) * len(tile.indices)) ** 3 for tile in here)

    def _room(self, here: list[Tile]) -> float:
        """About how many numbers the tables and matrices of the laws have on some tiles."""
        every = max((len(alongs) for alongs in self.alongs.values()), default=1) + 3 * len(self.problem.unknowns) ** 2
        return sum(every * math.prod(n + SPARE for n in tile.terms) * len(tile.indices) for tile in here)

    def _rough(self, axes: tuple[Axis, ...], found: Attempt) -> set[tuple[int, int]]:
        """The intervals on which more polynomials would gain little: where coefficients fall slowly, as they do towards
        a corner at which the solution is singular, halves upon halves converge as fast as polynomials do elsewhere. Of
        a whole side few coefficients tell nothing."""
        rough = set()
        for tile, c in zip(found.solved.tiles, found.solved.coefficients, strict=True):
            sizes = np.max(np.abs(c) / found.scales[:, None], axis=0)
            for i, axis in enumerate(axes):
                j, n = axis.edges.index(tile.lower[i]), tile.terms[i]
                if i in self.held or (len(axis.terms) == 1 and n < TELLING):
                    continue
                along = np.asarray([np.max(sizes[tile.indices[:, i] == k]) for k in range(n)])
                middle, last = np.max(along[n // 2 - 1 : n // 2 + 2]), np.max(along[-LAST:])
                gain = (middle / max(last, 1e-300)) ** (0.4 * n / (n - n // 2 - LAST / 2))
                if gain < GAIN or last < 0.1 * found.tails[i][j]:
                    rough.add((i, j))
        return rough

    def _finer(
        self, axes: tuple[Axis, ...], found: Attempt, limit: float, rough: Container[tuple[int, int]] = ()
    ) -> tuple[Axis, ...]:
        """The axes with finer intervals where the last coefficients are large, as far as that is affordable."""
        most, lengths = self.most, self.problem.domain.lengths
        affordable = min(STEP_WORK if self.axis is not None and self.flat else ALL_AT_ONCE, self.most_work)
        fixed = {self.axis, *self.held}
        wanted = [(tail, i, j) for i, row in enumerate(found.tails) if i not in fixed for j, tail in enumerate(row)]
        chosen: list[tuple[int, int]] = []
        for tail, i, j in sorted(wanted, reverse=True):
            more = axes[i].terms[j] < most and (i, j) not in rough
            whole = more or axes[i].edges[j + 1] - axes[i].edges[j] > FINEST * lengths[i]
            # Of the rough ones the worst: halves of others may turn out not to be rough at all.
            if tail > (max(limit, WORST * found.tail) if (i, j) in rough else limit) and whole:
                trial = tiles(_refined(axes, [*chosen, (i, j)], most, rough))
                if self._work(trial) > affordable or self._room(trial) > MOST_NUMBERS:
                    break
                chosen.append((i, j))
        return _refined(axes, chosen, most, rough)


def _stalls(tails: list[float], attempts: int, fall: float) -> bool:
    """The last of some attempts are not below a share of the first of them."""
    return len(tails) >= attempts and tails[-1] > fall * tails[-attempts]


def _refined(
    axes: tuple[Axis, ...], chosen: list[tuple[int, int]], most: int, rough: Container[tuple[int, int]]
) -> tuple[Axis, ...]:
    for i, j in sorted(chosen, reverse=True):  # from behind, so that numbers stay
        axes = (*axes[:i], axes[i].refined(j, most, (i, j) in rough), *axes[i + 1 :])
    return axes
