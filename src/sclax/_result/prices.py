"""When a multiplier is a price, and what it says, in words."""

from typing import NamedTuple

import numpy as np

from .history import History

BINDS = 0.5  # of its tolerance: a value at which the tolerance is what holds a constraint up
LATE = 3  # the last part of a run, one in so many
FEW = 4  # records that say nothing
STEADY = 1.3  # between the largest and the least of a multiplier that has settled
RESTS = 1.5  # the same of an objective
NOTHING = 1e-9  # of the largest it had: a multiplier that is none


class Standing(NamedTuple):
    """What there is to know of a constraint beside its multiplier: whether that is one at all, and no fixed weight or
    cap; the share of it that is a price, nothing where there is no objective; whether it has settled; and whether it
    was `fitted` instead, by polynomials, which fit all laws at once and have no multipliers."""

    priced: bool
    share: float
    settled: bool
    fitted: bool = False

    @property
    def rests(self) -> bool:
        return self.settled or self.fitted


def settled(history: History, name: str) -> bool:
    """Whether a constraint's multipliers, and the objective with them, came to rest in the last part of a run."""
    rows = history.multipliers.get(name)
    if rows is None or len(rows) < LATE * FEW:
        return False
    rows = np.asarray(rows, float).reshape(len(rows), -1)
    late, largest = rows[-(len(rows) // LATE) :], float(np.max(rows, initial=0.0))
    sizes = np.linalg.norm(late, axis=1)
    if np.max(sizes) <= NOTHING * max(largest, 1e-300):
        return True
    objective = np.asarray(history.objective, float).reshape(len(history.objective), -1)[-len(late) :, 0]
    # Means of both halves: single records are as noisy as the draws that they come from.
    halves = lambda values: [float(np.mean(part)) for part in np.array_split(values, 2)]
    steady = lambda values, ratio: max(halves(values)) <= ratio * min(halves(values))
    return steady(sizes, STEADY) and steady(np.abs(objective), RESTS)


def price(estimate: float, tolerance: float, multiplier: float | None, about: Standing) -> float | None:
    """The price of a tolerance: the multiplier where the constraint binds and it has settled, nothing where it does not
    bind, and None where nobody can tell."""
    if multiplier is None or not about.priced or not about.share or estimate > tolerance:
        return None
    if not about.rests:
        return None
    return about.share * multiplier if estimate >= BINDS * tolerance else 0.0


def in_words(estimate: float, tolerance: float, multiplier: float | None, about: Standing) -> str:
    """What a multiplier says."""
    found, size = price(estimate, tolerance, multiplier, about), multiplier or 0.0
    if about.fitted:
        return f"Polynomials fit all laws at once, without multipliers: {_fitted(estimate > tolerance, found)}."
    if multiplier is None or not about.priced:
        said = "training can push no harder" if estimate > tolerance else "it prices nothing"
        return f"Its multiplier, {size:.3g}, is a fixed weight or sits at its cap: {said}."
    if estimate > tolerance and size > 0:  # only at an optimum that holds is a multiplier a price
        return (
            f"Its multiplier is {size:.3g}, which says how hard training pushes; if it keeps growing while the "
            "violation stays, the constraints may contradict each other."
        )
    if estimate > tolerance:
        return "Its multiplier is still 0: training has not begun to push."
    if not size and not about.settled:
        return "Its multiplier is 0 and had not settled when training ended: it is no price."
    if not size:
        return "Its multiplier is 0: at this tolerance it costs the objective nothing."
    if not about.share:
        return f"Its multiplier is {size:.3g}: how hard it was to meet, beside the others."
    if found is None:
        return f"Its multiplier, {size:.3g}, had not settled when training ended: it is no price."
    if found == 0.0:
        return f"It does not bind, whatever its multiplier ({size:.3g}): it costs the objective nothing."
    return f"Its price is {found:.3g}: a tolerance smaller by δ raises the objective by about {found:.3g} δ."


def _fitted(violated: bool, found: float | None) -> str:
    """What there is to say of a law that polynomials were fitted to."""
    if violated:
        return "this is what the other laws, or too few polynomials, leave of it"
    if found is None:
        return "what this tolerance costs the objective nobody can tell"
    return "at this tolerance it costs the objective nothing"
