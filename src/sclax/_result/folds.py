"""Does an answer fold where values are given? |u| meets every law that u does at any point beside the fold."""

import itertools
from collections.abc import Sequence

import numpy as np

from .._base import Model
from .._problem import AbstractProblem
from .determined import inside
from .rows import Answer, Rows, linear

NEAR = 5e-3  # of the domain: over how much the answer is smeared
FOLDED = 0.5  # of an equation's size, left at most of the points
MOST = 512  # points


def folds(problem: AbstractProblem, model: Model, answer: Answer, laws: Sequence[Rows]) -> list[str]:
    """The laws on points inside of the domain along which the answer folds: there an equation does not hold for its
    mean over a neighbourhood, which hardly differs from a smooth answer."""
    lower, lengths = np.asarray(problem.domain.lower), problem.domain.lengths
    steps = NEAR * lengths * np.asarray(list(itertools.product((-1.0, 1.0), repeat=len(lower))))

    def smeared(z, alongs):
        return np.mean([answer(z + step, alongs) for step in steps], axis=0)

    found = []
    # An inequality that just binds leaves all of its one term: it is no equation.
    known = [r for r in laws if r.slopes is not None and inside(problem, r) and r.term.law.order]
    equations = [r for r in known if not r.term.law.residual.one_sided]
    for rows in laws:
        if rows.z is None or not rows.term.law.place.finite or not equations:
            continue
        z = rows.z.reshape(-1, len(lower))[:MOST]
        z = z[np.all(np.abs(2 * (z - lower) / lengths - 1) < 1 - 2 * NEAR, axis=1)]
        if len(z) and any(_fails(linear(problem, model, smeared, equation.term, z)) for equation in equations):
            found.append(rows.term.name)
    return found


def _fails(rows: Rows) -> bool:
    """Whether most points leave a large share of an equation's terms."""
    assert rows.slopes is not None
    assert rows.jets is not None
    assert rows.given is not None
    terms = np.max(np.abs(rows.slopes * rows.jets[:, None]), axis=(2, 3, 4), initial=0.0)
    sizes = np.maximum(terms, np.abs(rows.given))
    return bool(np.any(np.median(np.abs(rows.left), axis=0) > FOLDED * np.median(sizes, axis=0)))
