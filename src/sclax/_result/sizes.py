"""Laws in units of their own: what is left of each, of the size of its largest terms."""

from typing import NamedTuple

import numpy as np

from .._problem import AbstractProblem
from .rows import Rows


class Size(NamedTuple):
    """What is left of a law, and how large its terms are, root mean squares of the component that is worst; `given` is
    how large what it prescribes is, data and sources, and None where nobody can tell."""

    left: float
    size: float
    given: float | None

    @property
    def relative(self) -> float:
        """What is left of the law, of its size: 0 where a law has nothing to say, such as u_t = 0 of u = 0."""
        if not np.isfinite(self.left):
            return float("inf")
        return self.left / self.size if self.size > 0 else (0.0 if self.left == 0 else float("inf"))


def size_of(problem: AbstractProblem, rows: Rows, unknowns: np.ndarray) -> Size:
    """The size of a law about an answer whose unknowns have the root mean squares `unknowns`.

    At a point it is the largest of
    - |∂r/∂q · q| for each derivative q of the unknowns that it sees: the terms as they are,
    - |r(0)|: what is prescribed, a value, a source,
    - |∂r/∂q| times the size that q would have, did the unknown change by its size over half of the domain: without it a
      law whose terms all vanish, a slope of zero at a wall, would have none.
    A law of which nobody can tell what it sees is compared with the unknowns.
    """
    left = np.where(np.isfinite(rows.left), rows.left, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        rests = np.sqrt(np.mean(left**2, axis=0))
    if rows.slopes is None or rows.jets is None or rows.given is None:
        whole = float(np.max(unknowns, initial=0.0))
        return Size(float(np.max(rests, initial=0.0)), whole, None)
    lengths = problem.domain.lengths
    rates = np.prod((2 / lengths) ** np.asarray(rows.alongs).reshape(-1, len(lengths)), axis=1)
    slopes = np.nan_to_num(np.abs(rows.slopes))
    terms = slopes * np.maximum(np.abs(np.nan_to_num(rows.jets))[:, None], rates[:, None] * unknowns)
    sizes = np.maximum(np.max(terms, axis=(2, 3, 4), initial=0.0), np.abs(rows.given))
    # An inequality that holds has no terms: its size is that where it acts.
    acting = np.maximum(np.sum(sizes > 0, axis=0), 1)
    typical = np.sqrt(np.sum(sizes**2, axis=0) / acting)
    found = [Size(float(a), float(b), 0.0) for a, b in zip(rests, typical, strict=True)]
    worst = max(found, key=lambda size: size.relative, default=Size(0.0, 0.0, 0.0))
    return worst._replace(given=float(np.sqrt(np.mean(np.sum(rows.given**2, axis=1)))) if len(rows.given) else 0.0)
