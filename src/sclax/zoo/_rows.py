"""The rows of the paper's comparison: each is one choice of problem, model and method, never a script of its own."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..methods import AbstractMethod
from ..problem import Problem
from ..samplers import R3, AbstractSampler, Uniform
from ._registry import Entry


class Row(NamedTuple):
    """What `solve` needs; None leaves the choice to its default."""

    problem: Problem
    model: Any = None
    method: AbstractMethod | None = None
    steps: int | None = None


def default(entry: Entry, **arguments: Any) -> Row:
    """The zoo's problem with everything else left to `solve`."""
    return Row(entry.build(**arguments))


def paper(entry: Entry, **arguments: Any) -> Row:
    """The paper's problem, sampler, network and rates."""
    settings = entry.paper_settings(**arguments)
    return Row(entry.paper_problem(**arguments), settings.model, settings.method(), settings.steps)


def pinn(entry: Entry, **arguments: Any) -> Row:
    """The paper's baseline: a weighted sum of losses on fresh uniform points."""
    return _weighted(entry, Uniform(entry.paper_settings(**arguments).keep), **arguments)


def r3(entry: Entry, **arguments: Any) -> Row:
    """The paper's second baseline: a weighted sum of losses on retained and resampled points."""
    return _weighted(entry, R3(entry.paper_settings(**arguments).keep), **arguments)


def _weighted(entry: Entry, sampler: AbstractSampler, **arguments: Any) -> Row:
    settings = entry.paper_settings(**arguments)
    return Row(entry.paper_problem(**arguments).sampled_by(sampler), settings.model, settings.penalty(), settings.steps)


ROWS: dict[str, Callable[..., Row]] = {"scl": default, "paper": paper, "pinn": pinn, "r3": r3}
