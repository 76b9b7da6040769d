"""Gauss-Newton steps on the rows of a system."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .fronts import least_squares
from .system import Coefficients, Linear, System

STEPS = 14  # at most
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.02)  # of a step, tried from the longest down
ROUNDING = 1e-14


class Newton(NamedTuple):
    """Where the steps have led, after how many, whether they came to an end, and the rows there."""

    coefficients: Coefficients
    steps: int
    converged: bool
    linear: Linear


def newton(system: System, start: Coefficients, patience: Callable[[], None]) -> Newton:
    """Steps until one does what its rows predict, or changes nothing. A linear problem takes one. Before each of them
    `patience` may raise."""
    coefficients, converged = start, False
    linear = system.rows(coefficients)
    steps = 0
    while steps < STEPS:
        patience()
        steps += 1
        change, predicted = least_squares(linear.rows, system.sizes)
        before = linear.norm(linear.sizes)
        tiny = ROUNDING * largest(coefficients) * math.sqrt(len(linear.values))
        for length in LENGTHS:
            tried = [c + length * d.reshape(c.shape) for c, d in zip(coefficients, change, strict=True)]
            there = system.rows(tried)
            after = there.norm(linear.sizes)
            if after < before:
                break
        else:
            converged = converged or before <= predicted * 1.001 + tiny  # there is nothing to gain
            break
        linear, coefficients = there, tried
        exact = length == 1.0 and abs(after - predicted) <= 1e-3 * predicted + tiny
        step = length * largest(change) / largest(coefficients)
        converged = exact or step <= 1e-8
        if exact or step <= 1e-12:
            break
    return Newton(coefficients, steps, converged, linear)


def largest(coefficients: Coefficients) -> float:
    """The largest of all coefficients, or 1 where all are 0."""
    return max(float(np.max(np.abs(c))) for c in coefficients) or 1.0
