"""All members of a family by some of them: those whose laws the others fail most, until they span every member."""

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import nn
from .._base import Model, changed
from .._places import Box
from .._problem import AbstractProblem
from .march import HOPELESS, March, Marched
from .members import Member, Span
from .method import Spectral
from .system import Unsuited, differentiated, pieces
from .tiles import Solved, Tile, laid_out, packed, unpacked

NUMBERS = ("ambition", "tail", "newtons", "evaluations", "work", "rate", "made")
MOST_PARAMETERS = 3
MOST_MEMBERS = 128
MOST_WORK = 1e12  # operations
CANDIDATES = 64  # members of a round that are fitted, not solved
AT_ONCE = 8  # members of a round that are solved
FAILURES = 3  # of members that any family may have, for example at the end of its range
MODE_TERMS = 12  # polynomials along a side of a tile of the modes
MOST_TILES = 256
AMPLITUDE_TERMS = (24, 12, 8)  # polynomials in each of one, two or three parameters
MOST_NODES = 2500  # members to which amplitudes are fitted
ENOUGH = 10.0  # what is left of the laws, of the members' own errors


class Spanned(NamedTuple):
    """The members that are solved, those that have no solution, the accuracy that is asked of them, the worst rest of
    the laws of others, what was spent, the losses of the last; and the modes and amplitudes once they are made."""

    members: tuple[Member, ...]
    failed: tuple[Member, ...]
    parts: tuple[Solved, ...]  # of each member, and at the end the modes and their amplitudes
    ambition: float
    tail: float = 1.0
    newtons: int = 0
    evaluations: int = 0
    work: float = 0.0
    rate: float = 0.0  # at which later times count less
    made: bool = False  # the modes and their amplitudes
    losses: dict[str, np.ndarray] = {}  # noqa: RUF012 -- never changed

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As plain data and named arrays, for a file."""
        about, arrays = packed(self.parts)
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return {**about, "members": self.members, "failed": self.failed, **numbers}, arrays

    @staticmethod
    def restored(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Spanned":
        """What was stored."""
        numbers = {name: about[name] for name in NUMBERS}
        members, failed = (tuple(map(tuple, about[name])) for name in ("members", "failed"))
        return Spanned(members, failed, unpacked(about, arrays), **numbers)


class Tried(NamedTuple):
    """A member and its solution, or why there is none."""

    member: Member
    marched: Marched | None
    reason: str = ""


class Family:
    """The way to all members of a family, of which `first` is the beginning and `steps` gives all that follows.

    The middle is solved first, then the corners, then, round after round, those of fresh candidates whose laws the
    best combination of the members fails most: the worst case over the family. At the end the combinations become
    polynomials in the parameters.
    """

    def __init__(self, problem: AbstractProblem, method: Spectral):
        self.problem, self.method = problem, method
        domain = problem.domain
        self.inner = domain.dimension - len(domain.parameters)
        self.patience: Callable[[float], None] = lambda operations: None  # its members look at the time themselves
        self.low, self.high = (np.asarray(ends[self.inner :]) for ends in (domain.lower, domain.upper))
        self.middle: Member = tuple(((self.low + self.high) / 2).tolist())
        if len(self.middle) > MOST_PARAMETERS:
            raise Unsuited(f"the family has {len(self.middle)} parameters, more than {MOST_PARAMETERS}")
        for i, name in enumerate(domain.parameters, start=self.inner):
            if any(differentiated(problem, i)):
                raise Unsuited(f"a law differentiates along the parameter `{name}`")
        for piece in pieces(problem):
            if piece.place.finite and len(piece.place.grid(0)) > 1:
                raise Unsuited(f"`{piece.term.name}` holds at points of some members only")

    def compile(self) -> None:
        """Compiles what all members use."""
        self._march(self.middle, self.method.ambition).compile()

    @property
    def first(self) -> Spanned:
        """The beginning."""
        return Spanned((), (), (), self.method.ambition)

    def share(self, spanned: Spanned) -> float:
        """How much of the way is done, by the digits of the worst member."""
        if spanned.made:
            return 1.0
        return min(np.log10(min(spanned.tail, 1.0)) / np.log10(ENOUGH * spanned.ambition), 0.95)

    def complete(self, spanned: Spanned) -> bool:
        """Whether there is a solution."""
        return len(spanned.members) > 2 ** len(self.middle)

    def told(self, spanned: Spanned) -> str:
        """How far it has come, in words."""
        return f"{len(spanned.members)} members, others within {spanned.tail:.0e}"

    def model(self, spanned: Spanned) -> Model:
        """The modes and their amplitudes as a model."""
        modes, amplitudes = spanned.parts[-2:]
        return nn.Modes(modes.tiled(), amplitudes.tiled())

    def steps(self, spanned: Spanned) -> Iterator[Spanned]:
        """Every state that follows, round by round, to the end; each again while the next is on its way."""
        if spanned.made:
            return
        corners = itertools.product(*zip(self.low.tolist(), self.high.tolist(), strict=True))
        for member in (self.middle, *corners):
            if member in spanned.members or member in spanned.failed:
                continue
            spanned = self._with(spanned, (yield from self._solved(spanned, member)))
            if len(spanned.members) == 1:
                # Where a corner limits the first, more digits of the others would be lost again.
                spanned = spanned._replace(ambition=max(self.method.ambition, spanned.tail))
            spanned = spanned._replace(tail=1.0)
            yield spanned
        span, seen = self._span(spanned), []
        while True:
            chosen, evaluations = self._worst(spanned, span)
            fresh: list[Tried] = []
            for member in chosen:
                tried = yield from self._solved(spanned, member)
                fresh.append(tried)
            for tried in fresh:
                spanned = self._with(spanned, tried)
            solved = [(tried.member, Solved.joined(tried.marched.parts)) for tried in fresh if tried.marched]
            starts = [span.of_member(self._nearest(spanned.members[: len(span.modes)], m)) for m, _ in solved]
            asked = [(*pair, start) for pair, start in zip(solved, starts, strict=True)]
            error = span.weigh(asked) if asked else spanned.tail
            for _, part in solved:
                span.add(part)
            span.orthogonalise()
            spanned = spanned._replace(rate=span.rate, tail=error, evaluations=spanned.evaluations + evaluations)
            yield spanned
            seen.append((error, len(span.sizes), len(span.modes)))
            enough = (error <= ENOUGH * spanned.ambition and len(fresh) == AT_ONCE) or _stalls(seen)
            if enough or len(spanned.members) >= MOST_MEMBERS or spanned.work > MOST_WORK:
                yield self.finished(spanned, span)
                return

    def finished(self, spanned: Spanned, span: Span | None = None) -> Spanned:
        """Modes on tiles, and amplitudes as polynomials in the parameters."""
        if spanned.made:
            return spanned
        span = span or self._span(spanned)
        limit = max(spanned.ambition, 0.01 * spanned.tail)
        domain = self.problem.domain
        box = Tile(domain.lower[: self.inner], domain.upper[: self.inner], (MODE_TERMS,) * self.inner)
        outer = np.asarray(self.middle)

        def values(z: np.ndarray) -> np.ndarray:
            z = np.concatenate([z, np.tile(outer, (len(z), 1))], axis=1)
            every = np.stack([part(z, (0,) * z.shape[1]) for part in spanned.parts], axis=-1)
            return (every @ span.modes).reshape(len(z), -1)

        size = float(np.max(np.abs(span.of_members)))
        modes, coarse = laid_out(values, box, limit / size, MOST_TILES)
        amplitudes, rough, evaluations = self._amplitudes(spanned, span, limit * size)
        return spanned._replace(
            parts=(*spanned.parts, modes, amplitudes),
            made=True,
            tail=max(spanned.tail, coarse * size, rough / size),
            evaluations=spanned.evaluations + evaluations,
        )

    # --- what these need ---

    def _march(self, member: Member, ambition: float) -> March:
        method = changed(self.method, ambition=ambition)
        return March(self.problem, method, dict(enumerate(member, start=self.inner)))

    def _span(self, spanned: Spanned) -> Span:
        span = Span(self.problem, pieces(self.problem), spanned.ambition)
        for part in spanned.parts:
            span.add(part)
        span.orthogonalise()
        span.rate = spanned.rate
        return span

    def _solved(self, spanned: Spanned, member: Member) -> Generator[Spanned, None, Tried]:
        """One member, or why there is no solution. On the way it gives the state before, as a sign that time passes."""
        march = self._march(member, spanned.ambition)
        marched = march.first
        try:
            for marched in march.steps(marched):  # noqa: B007, B020 -- each follows from the one before
                yield spanned
        except Unsuited as reason:
            return Tried(member, None, str(reason))
        return Tried(member, marched) if marched.tail <= HOPELESS else Tried(member, None, "coefficients stay large")

    def _with(self, spanned: Spanned, tried: Tried) -> Spanned:
        """With one member more."""
        member, found, reason = tried
        if found is None:
            failed = (*spanned.failed, member)
            if len(failed) > max(FAILURES, len(spanned.members) // 4) or not spanned.members:
                named = ", ".join(f"{n} = {v:.3g}" for n, v in zip(self.problem.domain.parameters, member, strict=True))
                raise Unsuited(f"at {named}, {reason}")
            return spanned._replace(failed=failed)
        return spanned._replace(
            members=(*spanned.members, member),
            parts=(*spanned.parts, Solved.joined(found.parts)),
            tail=found.tail,
            newtons=spanned.newtons + found.newtons,
            evaluations=spanned.evaluations + found.evaluations,
            work=spanned.work + found.work,
            losses=found.losses,
        )

    def _angles(self, members: Any) -> np.ndarray:
        """Members as points of a cube in which polynomials have the same resolution everywhere."""
        return np.arccos(np.clip(1 - 2 * (np.asarray(members) - self.low) / (self.high - self.low), -1, 1))

    def _nearest(self, members: Sequence[Member], member: Any) -> int:
        return int(np.argmin(np.sum((self._angles(members) - self._angles(member)) ** 2, axis=1)))

    def _worst(self, spanned: Spanned, span: Span) -> tuple[list[Member], int]:
        """Those of fresh candidates, which are denser towards the ends of the ranges, whose laws the best combinations
        fail most and that are not close to each other; and how often laws were evaluated."""
        number = len(spanned.members) + len(spanned.failed)
        unit = np.asarray(Box(**{f"p{i}": (0, 1) for i in range(len(self.low))}).sobol(CANDIDATES * (number + 1)))
        candidates = self.low + (self.high - self.low) * (1 - np.cos(np.pi * unit[-CANDIDATES:])) / 2
        near = [span.of_member(self._nearest(spanned.members, p)) for p in candidates]
        fits = [span.fit(tuple(p), start) for p, start in zip(candidates.tolist(), near, strict=True)]
        chosen = [np.asarray(member) for member in (*spanned.members, *spanned.failed)]
        count = min(max(len(spanned.members) // 4, 1), AT_ONCE)
        for _ in range(count):
            apart = self._angles(candidates)[:, None] - self._angles(chosen)
            nearest = np.sqrt(np.min(np.sum(apart**2, axis=2), axis=1))
            chosen.append(candidates[int(np.argmax([fit.rest * far for fit, far in zip(fits, nearest, strict=True)]))])
        return [tuple(member.tolist()) for member in chosen[-count:]], sum(fit.evaluations for fit in fits)

    def _amplitudes(self, spanned: Spanned, span: Span, limit: float) -> tuple[Solved, float, int]:
        """The combinations as polynomials in the parameters, on tiles of them."""
        known = [self._angles(member) for member in spanned.members]
        fits, evaluations = [span.of_member(k) for k in range(len(known))], 0

        def amplitudes(members: np.ndarray) -> np.ndarray:
            nonlocal evaluations
            for member in members:
                near = int(np.argmin(np.sum((np.asarray(known) - self._angles(member)) ** 2, axis=1)))
                fit = span.fit(tuple(member.tolist()), fits[near])
                known.append(self._angles(member))
                fits.append(fit.c)
                evaluations += fit.evaluations
            return np.stack(fits[-len(members) :]) * span.sizes

        terms = AMPLITUDE_TERMS[len(self.low) - 1]
        box = Tile(tuple(self.low.tolist()), tuple(self.high.tolist()), (terms,) * len(self.low))
        found, rough = laid_out(amplitudes, box, limit, MOST_NODES // terms ** len(self.low))
        return Solved(found.tiles, [c / span.sizes[:, None] for c in found.coefficients]), rough, evaluations


def _stalls(seen: list[tuple[float, int, int]]) -> bool:
    """Most members of the last two rounds brought nothing but their errors: of the error, the modes and the members
    after each round."""
    if len(seen) < 3:
        return False
    (before, modes, members), (error, more, all_members) = seen[-3], seen[-1]
    return more - modes <= (all_members - members) // 2 and error > 0.5 * before
