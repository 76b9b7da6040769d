"""Chaos in three unknowns."""

import functools

from .. import reference
from .._laws import Initial
from .._places import Box
from .._problem import Problem, Solved, average, worst_case
from ._settings import checked, recipe, tight


def convection_rolls(x, y, z, x_t, y_t, z_t):
    return x_t - 10 * (y - x), y_t - x * (28 - z) + y, z_t - x * y + 8 / 3 * z


@functools.cache
def _reference(end: float) -> Solved:
    return Solved(lambda: reference.lorenz(end=end))


@checked
def lorenz(end: float = 15.0, tolerance: float | None = None) -> Problem:
    """The Lorenz system:  x′ = 10 (y − x),  y′ = x (28 − z) − y,  z′ = x y − 8/3 z,  from (1, 1, 1),  t ∈ [0, end].

    Solutions that are close part by e^0.9 in a unit of time on the attractor, so that every further unit takes the
    accuracy of the ones before. The reference is a Taylor series of order 40 in 50 digits, exact to float64 at 1501
    times. The default `tolerance` is 1e-14 of the residual's scale squared, 400².

    !!! example
        `scl.solve(scl.zoo.lorenz(end=15.0))`
    """
    return Problem(
        domain=Box(t=(0.0, end)),
        unknowns=("x", "y", "z"),
        objective=average(Initial(1.0, unknown="x"))
        + average(Initial(1.0, unknown="y"))
        + average(Initial(1.0, unknown="z")),
        constraints={"pde": worst_case(convection_rolls) <= tight(400.0, tolerance)},
        reference=_reference(float(end)),
        recipe=recipe("lorenz", end=end, tolerance=tolerance),
    )
