"""The Lorenz system, whose solutions part by e^0.9 in a unit of time: a series in more digits than the chaos eats."""

import decimal
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import xarray as xr

from .._base import checks
from ._support import Times, provenance, times

EQUATION = "x′ = σ (y − x), y′ = x (ρ − z) − y, z′ = x y − β z"
DIGITS = 50
# Poles of the solutions keep about 0.2 away from the real axis of t: 40 terms at 1/32 leave less than 1e-30 a step.
ORDER = 40
STEP = 1 / 32

Series = tuple[list[Decimal], list[Decimal], list[Decimal]]


def _series(state: Sequence[Decimal], coefficients: Sequence[Decimal], order: int) -> Series:
    """The Taylor coefficients of x, y and z around a state: each follows from those before it."""
    sigma, rho, beta = coefficients
    x, y, z = ([value] for value in state)
    for n in range(order):
        xz = sum((x[i] * z[n - i] for i in range(n + 1)), Decimal(0))
        xy = sum((x[i] * y[n - i] for i in range(n + 1)), Decimal(0))
        x_next, y_next, z_next = sigma * (y[n] - x[n]), rho * x[n] - xz - y[n], xy - beta * z[n]
        for values, slope in ((x, x_next), (y, y_next), (z, z_next)):
            values.append(slope / (n + 1))
    return x, y, z


def _at(series: Series, dt: Decimal) -> list[Decimal]:
    found = []
    for coefficients in series:
        value = Decimal(0)
        for c in reversed(coefficients):
            value = value * dt + c
        found.append(value)
    return found


def lorenz(
    sigma: float = 10.0,
    rho: float = 28.0,
    beta: float = 8 / 3,
    start: Sequence[float] = (1.0, 1.0, 1.0),
    end: float = 15.0,
    t: Times = 1501,
    order: int = ORDER,
    step: float = STEP,
) -> xr.Dataset:
    """x, y, z [t] of  x′ = σ (y − x),  y′ = x (ρ − z) − y,  z′ = x y − β z  from `start`.

    Taylor series of `order` in steps of `step`, in decimal numbers of 50 digits; `t` is a number of times over
    [0, `end`] or the times. Measured against 50 terms in steps of 1/64, before both are rounded to float64: 9e-23 at
    t = 15, 4e-21 at t = 20. β is 8/3 as float64 has it, 1e-16 off, which moves the state by 8e-14 at t = 15 and by
    3e-12 at t = 20: no solver in float64 can be held to less. 0.5 s.

    !!! example
        `scl.reference.lorenz(end=15.0)`
    """
    owner = "lorenz"
    given = {"sigma": sigma, "rho": rho, "beta": beta}
    numbers = {name: checks.number(owner, name, value) for name, value in given.items()}
    end, step = checks.positive(owner, "end", end), checks.positive(owner, "step", step)
    order, t = checks.count(owner, "order", order, at_least=2), times(owner, t, end)
    begin = checks.finite_array(owner, "start", start)
    if begin.shape != (3,):
        raise ValueError(f"{owner}: `start` must be three numbers, x, y and z, got shape {begin.shape}.")
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        coefficients = [Decimal(value) for value in numbers.values()]
        found = _marched([Decimal(float(v)) for v in begin], coefficients, [Decimal(float(v)) for v in t], order, step)
    values = np.array([[float(v) for v in state] for state in found])
    attrs = provenance(
        EQUATION, f"Taylor series of order {order}, {DIGITS} digits",
        **numbers, start=begin, step=step,
    )  # fmt: skip
    return xr.Dataset({name: ("t", values[:, i]) for i, name in enumerate("xyz")}, {"t": t}, attrs)


def _marched(
    state: list[Decimal], coefficients: list[Decimal], t: list[Decimal], order: int, step: float
) -> list[list[Decimal]]:
    """The states at increasing times: one series serves all times within a step."""
    gap, now, found = Decimal(step), Decimal(0), []
    while len(found) < len(t):
        series = _series(state, coefficients, order)
        while len(found) < len(t) and t[len(found)] <= now + gap:
            found.append(_at(series, t[len(found)] - now))
        state, now = _at(series, gap), now + gap
    return found
