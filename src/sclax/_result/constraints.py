"""Constraints one by one: their values on fresh points, the hardest samples, and what there is to say of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import lazy_loader
import numpy as np

from .._base import Model, checks
from .._problem import AbstractProblem, Problem
from .evaluate import losses
from .history import Tempered

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


def values_of(problem: AbstractProblem, model: Model, points: int = 2**16) -> dict[str, np.ndarray]:
    """The value of each constraint on points that trained nothing, one for each sample of `each`."""
    bare = problem.bare()
    found = {name: np.zeros(np.shape(tolerance)) for name, tolerance in bare.tolerances.items()}
    for term in (term for term in bare.terms if term.owner is not None):
        place = term.law.place
        w = place.grid(0) if place.finite else place.uniform(max(points // term.law.inner, 1), jax.random.key(points))
        each = np.asarray(losses(problem, model, term, w), float)
        if not term.separate and term.worst:
            density = np.maximum(each - float(term.alpha) * each.max(), 0.0)
            each = np.sum(density * each) / np.sum(density) if density.sum() > 0 else 0.0
        elif not term.separate:
            each = each.mean()
        found[str(term.owner)] = found[str(term.owner)] + float(term.scale) * each
    return found


def hardest(problem: Problem, model: Model, multipliers: Mapping[str, Any], n: int, name: str | None) -> xr.Dataset:
    """The samples with the largest multipliers, hardest first."""
    terms = {str(t.owner): t for t in problem.terms if t.separate}
    if not terms or (name is not None and name not in terms):
        raise ValueError(
            "hardest: `name` must be a constraint on samples, each(...) <= tolerance; there are "
            f"{checks.listed(terms)}, got {name!r}."
        )
    owner = next(iter(terms)) if name is None else name
    prices, place = np.asarray(multipliers[owner]), terms[owner].law.place
    order = np.argsort(-prices, kind="stable")[: checks.count("hardest", "n", n)]
    where = np.stack([np.asarray(place.embed(w)) for w in np.asarray(place.grid(0))[order]])
    columns = {
        "multiplier": prices,
        "value": values_of(problem, model)[owner],
        "tolerance": np.asarray(problem.tolerances[owner]),
    }
    found = {key: ("sample", column[order]) for key, column in columns.items()}
    found |= {key: ("sample", where[:, i]) for i, key in enumerate(problem.domain.names)}
    return xr.Dataset(found, {"sample": order})


def remarks(tempered: Mapping[str, Tempered], relaxed: Mapping[str, Any]) -> dict[str, str]:
    """What became of constraints that could not be met, in words."""
    found = {
        name: "Its worst case could not be met, worst near "
        + ", ".join(f"{k} = {v:.3g}" for k, v in where.items())
        + f": from step {step} on its average was trained, at a fixed small price."
        for name, (step, where) in tempered.items()
    }
    for name, amount in relaxed.items():
        samples = f" for {np.sum(np.asarray(amount) > 0)} samples" if np.ndim(amount) else ""
        raised = f"Its tolerance was raised by {np.max(amount):.3g}{samples}: it could not be met beside the others."
        found[name] = f"{found.get(name, '')} {raised}".strip()
    return found
