"""The problems by name, for the command and for files."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _checks
from ..problem import Problem, Recipe
from . import _convection
from ._settings import PaperSettings


class Entry(NamedTuple):
    """A problem of the zoo: how to build it, how the paper poses it, and the paper's settings."""

    build: Callable[..., Problem]
    paper_problem: Callable[..., Problem]
    paper_settings: Callable[..., PaperSettings]
    equation: str


ENTRIES: dict[str, Entry] = {
    "convection": Entry(
        _convection.convection, _convection.paper_problem, _convection.paper_settings, _convection.EQUATION
    ),
}


def entry(name: str) -> Entry:
    """The problem called `name`, or an error that lists what there is."""
    if name not in ENTRIES:
        raise ValueError(
            f"zoo: there is no problem `{name}`; there are {_checks.listed(ENTRIES)}." + _checks.nearest(name, ENTRIES)
        )
    return ENTRIES[name]


def build(recipe: Recipe) -> Problem:
    """The problem of a recipe, as it is written to files."""
    return entry(recipe.name).build(**dict(recipe.arguments))


def paper_settings(name: str, **arguments: Any) -> PaperSettings:
    """The paper's hyperparameters for a problem of the zoo, as data.

    !!! example
        `scl.zoo.paper_settings("convection", beta=50).tolerance` is 5e-3.
    """
    return entry(name).paper_settings(**arguments)
