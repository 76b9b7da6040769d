"""The problems by name, for the command and for files."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._base import checks
from .._problem import Problem, Recipe
from . import (
    _allen_cahn,
    _burgers,
    _closed,
    _convection,
    _diffusion_sorption,
    _eikonal,
    _helmholtz,
    _kdv,
    _lid_driven_cavity,
    _navier_stokes,
    _operators,
    _reaction_diffusion,
)
from ._operators import Training
from ._settings import OperatorSettings, PaperSettings


class Entry(NamedTuple):
    """A problem of the zoo: how to build it, and how the paper poses and solves it, where it does."""

    build: Callable[..., Problem]
    equation: str
    paper_settings: Callable[..., PaperSettings | OperatorSettings] | None = None
    paper_problem: Callable[..., Problem] | None = None
    training: Callable[..., Training] | None = None  # of an operator


def _of_the_paper(module: Any, name: str) -> Entry:
    return Entry(getattr(module, name), module.EQUATION, module.paper_settings, getattr(module, "paper_problem", None))


ENTRIES: dict[str, Entry] = {
    "convection": _of_the_paper(_convection, "convection"),
    "reaction_diffusion": _of_the_paper(_reaction_diffusion, "reaction_diffusion"),
    "eikonal": _of_the_paper(_eikonal, "eikonal"),
    "helmholtz": _of_the_paper(_helmholtz, "helmholtz"),
    "burgers": _of_the_paper(_burgers, "burgers"),
    "diffusion_sorption": _of_the_paper(_diffusion_sorption, "diffusion_sorption"),
    "navier_stokes": _of_the_paper(_navier_stokes, "navier_stokes"),
    "allen_cahn": Entry(_allen_cahn.allen_cahn, _allen_cahn.EQUATION),
    "wave": Entry(_closed.wave, _closed.WAVE),
    "klein_gordon": Entry(_closed.klein_gordon, _closed.KLEIN_GORDON),
    "poisson": Entry(_closed.poisson, _closed.POISSON),
    "heat": Entry(_closed.heat, _closed.HEAT),
    "kdv": Entry(_kdv.kdv, _kdv.EQUATION),
    "lid_driven_cavity": Entry(_lid_driven_cavity.lid_driven_cavity, _lid_driven_cavity.EQUATION),
}


OPERATORS: dict[str, Entry] = {
    "burgers_operator": Entry(_operators.burgers_operator, _operators.BURGERS, training=_operators.burgers_training),
    "diffusion_sorption_operator": Entry(
        _operators.diffusion_sorption_operator, _operators.SORPTION, training=_operators.sorption_training
    ),
    "navier_stokes_operator": Entry(
        _operators.navier_stokes_operator, _operators.VORTICITY, training=_operators.vorticity_training
    ),
}


def entry(name: str) -> Entry:
    """The problem called `name`, or an error that lists what there is."""
    known = {**ENTRIES, **OPERATORS}
    if name not in known:
        raise ValueError(
            f"zoo: there is no problem `{name}`; there are {checks.listed(known)}." + checks.nearest(name, known)
        )
    return known[name]


def build(recipe: Recipe) -> Problem:
    """The problem of a recipe, as it is written to files."""
    return entry(recipe.name).build(**dict(recipe.arguments))


def paper_settings(name: str, **arguments: Any) -> PaperSettings | OperatorSettings:
    """The paper's hyperparameters for a problem of the zoo, as data.

    !!! example
        `scl.zoo.paper_settings("convection", beta=50).tolerance` is 5e-3.
    """
    settings = entry(name).paper_settings
    if settings is None:
        raise ValueError(f"zoo: `{name}` is not in the paper, which has no settings for it.")
    return settings(**arguments)
