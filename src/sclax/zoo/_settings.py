"""The paper's hyperparameters (its appendix E) as values, and the methods that they make."""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
import optax

from .. import nn
from .._base import Key, Model, checks
from .._laws import AbstractCondition
from .._methods import Penalty, PrimalDual
from .._problem import Recipe, Sum, average, worst_case
from ..samplers import MetropolisHastings

Range = float | tuple[float, float]
Given = ParamSpec("Given")
Made = TypeVar("Made")


def largest(value: Range) -> float:
    """The largest size of a parameter, over its range if it has one."""
    return max(abs(v) for v in value) if isinstance(value, tuple | list) else abs(value)


FINE = 1e-14


def tight(scale: float, tolerance: float | None) -> float:
    """A problem's tolerance: the one asked for, else 1e-14 of the residual's `scale` squared.

    Losses are squares, so this asks for residuals of 1e-7 of the terms that they are the difference of. Solutions are
    then good to 1e-9 and less where they are smooth; tolerances far above would let a run end before.
    """
    return FINE * scale**2 if tolerance is None else tolerance


LARGEST = 1e15  # numbers whose squares single precision holds


def checked(build: Callable[Given, Made]) -> Callable[Given, Made]:
    """A function of the zoo that looks at the numbers and ranges that it is given before it calculates with them."""
    known = inspect.signature(build)

    @functools.wraps(build)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        for name, value in known.bind(*args, **kwargs).arguments.items():
            default = known.parameters[name].default
            if not isinstance(default, bool) and (value is not None or default is not None):
                _check_range(build.__name__, name, value)
        return build(*args, **kwargs)

    return call


def _check_range(owner: str, name: str, value: Any) -> None:
    if isinstance(value, tuple | list):
        size = largest(checks.interval(owner, name, value))
    else:
        size = abs(checks.number(owner, name, value, " or an interval (low, high)"))
    if size > LARGEST:
        raise ValueError(f"{owner}: `{name}` must be at most {LARGEST:g} in size, got {size:g}.")


def even(value: Range, *counts: int) -> tuple[tuple[float, ...], ...]:
    """Equally spaced values of a range, for each count."""
    low, high = value if isinstance(value, tuple | list) else (value, value)
    return tuple(tuple(round(float(v), 2) for v in np.linspace(low, high, n)) for n in counts)


def recipe(name: str, **arguments: Any) -> Recipe:
    return Recipe(name, tuple(arguments.items()))


@dataclasses.dataclass(frozen=True)
class PaperSettings:
    """One row of the paper's tables of hyperparameters.

    `scales` are the standard deviations of the proposals by coordinate; `weights` those of the penalty baselines;
    rates fall by the factor `decay` every `decay_every` steps; `grids` are the values of a family's parameters, each of
    them, at which the PINN baseline solves it, from coarse to fine.

    !!! example
        `scl.zoo.paper_settings("convection", beta=50.0).steps`
    """

    tolerance: float
    scales: tuple[tuple[str, float], ...]
    steps: int
    weights: tuple[tuple[str, float], ...] = (("objective", 100.0), ("pde", 1.0))
    width: int = 50
    depth: int = 4
    primal_rate: float = 1e-3
    dual_rate: float = 1e-4
    decay: float = 0.9
    decay_every: int = 5000
    chains: int = 20
    chain_steps: int = 250
    keep: int = 1000
    grids: tuple[tuple[float, ...], ...] = ()

    def model(self, domain: Any, outputs: int, key: Key) -> Model:
        """The paper's network: an MLP with tanh."""
        return nn.MLP(domain, outputs, width=self.width, depth=self.depth, key=key)

    def sampler(self, *coordinates: str) -> MetropolisHastings:
        """The paper's Metropolis-Hastings, on all coordinates or on some of them."""
        scales = {name: scale for name, scale in self.scales if not coordinates or name in coordinates}
        return MetropolisHastings(self.chains, self.chain_steps, self.keep, scales)

    def method(self) -> PrimalDual:
        """Adam on the weights and on the multipliers, both decayed, as in the authors' code."""
        return _method(self)

    def penalty(self) -> Penalty:
        """The baselines' method: Adam on fixed weights."""
        return _penalty(self)


def _adam(settings: PaperSettings, rate: float) -> optax.GradientTransformation:
    return optax.adam(optax.exponential_decay(rate, settings.decay_every, settings.decay, staircase=True))


# Cached, so that two runs of one setting share their compiled code.
@functools.cache
def _method(settings: PaperSettings) -> PrimalDual:
    return PrimalDual(primal=_adam(settings, settings.primal_rate), dual=_adam(settings, settings.dual_rate))


@functools.cache
def _penalty(settings: PaperSettings) -> Penalty:
    return Penalty(primal=_adam(settings, settings.primal_rate), weights=dict(settings.weights))


def paper_objective(settings: PaperSettings, family: list[str], *conditions: tuple[AbstractCondition, int]) -> Sum:
    """The paper's objective: conditions on fixed grids, and for a family the worst case over its parameters."""
    if not family:
        return Sum(tuple((1.0, average(condition, n=n)) for condition, n in conditions))
    sampler = settings.sampler(*family)
    return Sum(tuple((1.0, worst_case(c, sampler=sampler, over=tuple(family), grid=n)) for c, n in conditions))


@dataclasses.dataclass(frozen=True)
class OperatorSettings:
    """One row of the paper's Table 6, for solutions learned from data by a Fourier neural operator.

    Violations count in the multipliers up to `dual_clip`; `dual_decay` is the factor of their rate beside `decay`.

    !!! example
        `scl.zoo.paper_settings("burgers").modes`
    """

    tolerance: float
    train: int
    validation: int
    test: int
    modes: int
    layers: int
    hidden: int = 64
    projection: int = 128
    primal_rate: float = 1e-3
    dual_rate: float = 1e-4
    decay: float = 0.5
    dual_clip: float = math.inf
    dual_decay: float = 0.5
    decay_every_epochs: int = 100
    epochs: int = 500
    batch: int = 20
