"""The rows of the paper's comparison: each is one choice of problem, model and method, never a script of its own."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._base import checks
from .._methods import AbstractMethod
from .._problem import Problem
from ..samplers import R3, AbstractSampler, Uniform
from ._registry import ENTRIES, OPERATORS, Entry
from ._settings import PaperSettings


class Row(NamedTuple):
    """What `solve` needs; None leaves the choice to its default.

    !!! example
        `scl.zoo.ROWS["paper"](scl.zoo.entry("eikonal")).method`
    """

    problem: Problem
    model: Any = None
    method: AbstractMethod | None = None
    steps: int | None = None


def default(entry: Entry, **arguments: Any) -> Row:
    """The zoo's problem with everything else left to `solve`; an operator with the recipe of its scale."""
    problem = entry.build(**arguments)
    return Row(problem) if entry.training is None else Row(problem, *entry.training(**arguments))


def mean_loss(entry: Entry, **arguments: Any) -> Row:
    """The baseline of an operator: the average loss over the samples, trained by the same recipe."""
    if entry.training is None:
        raise ValueError(
            f"zoo: {entry.build.__name__} learns from no data, so there is no average loss of samples; operators are "
            f"{checks.listed(OPERATORS)}."
        )
    return Row(entry.build(constrained=False, **arguments), *entry.training(**arguments))


def _posed_by_the_paper(entry: Entry, **arguments: Any) -> tuple[Problem, PaperSettings]:
    if entry.paper_problem is None:
        known = [name for name, other in ENTRIES.items() if other.paper_problem is not None]
        raise ValueError(
            f"zoo: the paper does not solve {entry.build.__name__} as a boundary value problem, so there is no row "
            f"of it to run; it has {checks.listed(known)}. Leave the method open."
        )
    asked = inspect.signature(entry.paper_problem).parameters
    for name in arguments:
        if name not in asked:
            raise ValueError(
                f"zoo: `{name}` is not for a row of the paper, which has {checks.listed(asked)} and its own settings "
                "for the rest. Leave it out, or the method open."
            )
    settings = None if entry.paper_settings is None else entry.paper_settings(**arguments)
    assert isinstance(settings, PaperSettings)
    return entry.paper_problem(**arguments), settings


def paper(entry: Entry, **arguments: Any) -> Row:
    """The paper's problem, sampler, network and rates."""
    problem, settings = _posed_by_the_paper(entry, **arguments)
    return Row(problem, settings.model, settings.method(), settings.steps)


def _weighted(entry: Entry, sampler: AbstractSampler, **arguments: Any) -> Row:
    problem, settings = _posed_by_the_paper(entry, **arguments)
    problem = problem.sampled_by(sampler.sized(settings.keep))
    return Row(problem, settings.model, settings.penalty(), settings.steps)


def pinn(entry: Entry, at: Mapping[str, Sequence[float]] | None = None, **arguments: Any) -> Row:
    """The paper's baseline: a weighted sum of losses on fresh uniform points. For a family 1000 of them at each of the
    values `at` of its parameters, all combinations; default: the finest of the paper's grids."""
    problem, settings = _posed_by_the_paper(entry, **arguments)
    family = problem.domain.parameters
    if at is None and not family:
        return _weighted(entry, Uniform(), **arguments)
    values = dict.fromkeys(family, settings.grids[-1]) if at is None else at
    return Row(problem.discretised(values), settings.model, settings.penalty(), settings.steps)


def r3(entry: Entry, **arguments: Any) -> Row:
    """The paper's second baseline: a weighted sum of losses on retained and resampled points."""
    return _weighted(entry, R3(), **arguments)


ROWS: dict[str, Callable[..., Row]] = {
    "scl": default,
    "average": mean_loss,
    "paper": paper,
    "pinn": pinn,
    "r3": r3,
}
