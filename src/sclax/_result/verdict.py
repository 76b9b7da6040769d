"""Is it a solution, and how good? One rule for all problems, in words."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._base import Model, precision
from .._problem import AbstractProblem, Term, relative_errors
from . import defect, determined, evaluate
from .folds import folds
from .rows import Rows, at_member, drawn
from .sizes import Size, size_of
from .unseen import unseen

CONDITION, EQUATION = 0.1, 0.3  # what may be left of a law, of its size
ERROR = 0.03  # the largest error of a solution: between one and ten percent, as far from both
FIT = 0.1  # the largest mean error of an operator on its data
NOISY = 2.0  # deviations of measurements, root mean square, that are noise
SPREAD = 4096  # points of the domain, which tell the size of the unknowns


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether an answer is a solution, in one sentence; what is left of each law, of its size; the relative L2 error
    that is estimated, None where there is no estimate, and the factor within which that is believed to be right.

    An answer is a solution where every law is finite, at most a tenth of what a condition prescribes and three tenths
    of the largest terms of an equation are left, and the estimated error is at most 3 %: answers that are wrong by less
    than 1 % pass, those that are wrong by more than 10 % do not. Equations may be worse than conditions: a small error
    of high frequency has large derivatives. A constraint that holds may leave what its tolerance allows. Without an
    estimate what is left of each law has to be as small as that. Where the problem has many solutions, by more than the
    constants that an error leaves out, none of them is called the one that was asked for.
    """

    solved: bool
    words: str
    relative: dict[str, float] = dataclasses.field(default_factory=dict)
    estimated_error: float | None = None
    error_factor: float | None = None
    notes: tuple[str, ...] = ()


class Question(NamedTuple):
    """An answer to a problem."""

    problem: AbstractProblem
    model: Model

    def verdict(self) -> Verdict:
        """The verdict on it; in double precision, since what is left of laws is a small difference."""
        if not self.problem.pointwise:
            with precision.of(self.model):
                return _of_samples(self.problem, self.model)
        with precision.double():
            return _of_points(self.problem.bare(), self.model)


def _of_samples(problem: Any, model: Model) -> Verdict:
    """An operator's errors are those on its data; there is no equation to correct them by."""
    error = float(np.mean(np.asarray(relative_errors(model, problem.train))))
    solved = bool(error <= FIT)
    words = (
        f"The operator {'fits' if solved else 'does NOT fit'} its data: the mean relative error on them is {error:.2g}."
    )
    return Verdict(solved, words)


def of_member(problem: Any, model: Model, member: Mapping[str, float]) -> Verdict:
    """The verdict on one member of a family, by all of its parameters; of no parameters, on the whole."""
    with precision.double():
        return _of_points(problem.bare(), model, member)


def _measured(
    problem: Any, model: Model, member: Mapping[str, float] | None = None
) -> tuple[Any, list[Rows], list[Size], np.ndarray]:
    """An answer as a function, its laws at fresh points, their sizes, and its values over the domain; of one member of
    a family where its parameters are given."""
    answer = defect.answer_as(problem, model)
    terms = [evaluate.whole(problem, term) for term in problem.terms]
    laws = [drawn(problem, model, answer, term, k, member) for k, term in enumerate(terms)]
    spread = at_member(problem.domain, np.asarray(problem.domain.sobol(SPREAD), float), member or {})
    values = answer(spread, ((0,) * problem.domain.dimension,))[:, 0]
    return answer, laws, [size_of(problem, rows, _roots(values)) for rows in laws], values


def _roots(values: np.ndarray) -> np.ndarray:
    """The root mean square of each unknown."""
    return np.sqrt(np.mean(values**2, axis=0))


def _of_points(problem: Any, model: Model, member: Mapping[str, float] | None = None) -> Verdict:
    answer, laws, sizes, values = _measured(problem, model, member)
    terms = [evaluate.whole(problem, term) for term in problem.terms]
    relative = {term.name: size.relative for term, size in zip(terms, sizes, strict=True)}
    scales = [size.size for size in sizes]
    notes, folded, many = [], [], []
    try:
        folded = folds(problem, model, answer, laws) if max(relative.values(), default=0.0) <= EQUATION else []
        notes += [] if member else determined.notes(problem, laws, scales)
        many = [] if member else unseen(problem, laws, _roots(values), evaluate.free_constants(problem, model))
        notes += [str(one) for one in many]
        many = [one for one in many if one.certain]
        found = defect.estimated(problem, model, laws, scales, member)
    except Exception as error:  # whatever a law of the user's own does, the rest of a report stands
        found = defect.Defect(None, note=f"{type(error).__name__}: {error}"[:200])
    if folded:  # of the branches that it joins neither is near
        found = defect.Defect(None, note="the answer folds")
    if many:  # to which solution?
        found = defect.Defect(None, note="the problem does not determine its answer")
    if found.error is None:
        notes.append(f"No error is estimated: {found.note}.")
    alone = found.error is None and not folded
    limits = [
        max(_limit(problem, rows, alone), _allowed(problem, t, size))
        for rows, t, size in zip(laws, terms, sizes, strict=True)
    ]
    failed = [(term, size) for term, size, limit in zip(terms, sizes, limits, strict=True) if size.relative > limit]
    finite = bool(np.all(np.isfinite(values))) and all(np.isfinite(share) for share in relative.values())
    large = found.error is not None and not found.error <= ERROR
    within = finite and not (failed or folded or large)
    solved = within and not many
    words = _good(relative, found) if solved else _bad(failed, folded, found if large else None, finite)
    if within and many:
        words = "This is one of many solutions: the problem does not determine it."
    return Verdict(
        solved, words, relative, found.error, found.factor if found.error is not None else None, tuple(notes)
    )


def sizes_of(problem: Any, model: Model) -> np.ndarray:
    """The size of each law about an answer: what it prescribes, and its largest terms."""
    return np.asarray([size.size for size in _measured(problem, model)[2]])


def _limit(problem: Any, rows: Rows, alone: bool) -> float:
    """How much may be left of a law."""
    if alone:
        return ERROR
    return EQUATION if determined.inside(problem, rows) else CONDITION


def _allowed(problem: Any, term: Term, size: Size) -> float:
    """What a stated tolerance allows of a law's size: a bound that is meant to be loose is none that fails."""
    measured = term.law.residual.measured
    if measured is not None and measured[1] and size.size:
        return NOISY / size.size  # in deviations of the data, which no solution fits better than they are
    if term.owner is None or term.separate or not size.size:
        return 0.0
    most = float(np.max(np.asarray(problem.tolerances[term.owner]))) / max(float(term.scale), np.finfo(float).tiny)
    return most ** (1 / term.law.power) / size.size


def percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share >= 1e-3 else f"{share:.1e}"


def _good(relative: dict[str, float], found: defect.Defect) -> str:
    if found.error is None:
        worst = max(relative.values(), default=0.0)
        return f"This is a solution, as far as its laws tell: each is met to within {percent(worst)} of its size."
    return (
        f"This is a solution: estimated relative error {percent(found.error)} (within a factor of {found.factor:.1g})."
    )


def _bad(failed: list[tuple[Term, Size]], folded: list[str], found: defect.Defect | None, finite: bool) -> str:
    reasons = [] if finite else ["a law or the answer is not a number somewhere"]
    for term, size in sorted(failed, key=lambda pair: -pair[1].relative)[:2] if finite else ():
        what = "what it prescribes" if size.given and size.given >= 0.5 * size.size else "the size of its terms"
        reasons.append(f"`{term.name}` is off by {percent(size.relative)} of {what}")
    reasons += [f"the answer folds along `{name}`, across which the equation does not hold" for name in folded]
    if found is not None and found.error is not None and finite:
        reasons.append(f"the estimated relative error is {percent(found.error)}")
    return f"This is NOT a solution: {'; '.join(reasons)}."
