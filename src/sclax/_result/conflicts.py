"""Which constraints cannot hold together, by their gradients where training came to rest."""

import itertools
from collections.abc import Collection
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree

from .._base import Model
from .._problem import AbstractProblem, Term

POINTS = 2048  # of a constraint
MOST = 12  # entries that are compared, the most violated ones
LARGEST = 4  # set that is looked for
CANCELLED = 0.1  # of their own size: gradients that pull against each other
WEAK = 1e-6  # of the largest: a gradient that pulls at nothing


class Entry(NamedTuple):
    """A constraint, or one sample of it."""

    name: str
    sample: int | None = None

    def __str__(self) -> str:
        return f"`{self.name}`" if self.sample is None else f"sample {self.sample} of `{self.name}`"


def conflict(problem: AbstractProblem, model: Model, violated: Collection[str]) -> tuple[Entry, ...]:
    """The smallest set of constraints that pull against each other:  Σ μ_k ∇value_k = 0,  μ ≥ 0,  so that none gets
    better but at the cost of another. Empty where there is none: then training was too short, or the network too small.

    `violated` are the constraints that do not hold; of `each` the worst samples are compared.
    """
    terms = [term for term in problem.terms if term.owner is not None]
    if not violated or len(terms) + sum(t.separate for t in terms) < 2:
        return ()
    entries, gradients = [], []
    for term in terms:
        for sample in _samples(problem, model, term) if term.separate else (None,):
            entries.append(Entry(str(term.owner), sample))
            gradients.append(np.asarray(_gradient(problem, model, term, sample), float))
    table = np.stack(gradients, axis=1)
    sizes = np.linalg.norm(table, axis=0)
    pulls = np.isfinite(sizes) & (sizes > WEAK * np.max(sizes, initial=0.0))
    units = table[:, pulls] / sizes[pulls]
    kept = [entry for entry, one in zip(entries, pulls, strict=True) if one]
    for size in range(2, min(LARGEST, len(kept)) + 1):
        found = []
        for chosen in itertools.combinations(range(len(kept)), size):
            if any(kept[k].name in violated for k in chosen):
                rest = _cancelled(units[:, chosen])
                if rest < CANCELLED:
                    found.append((rest, chosen))
        if found:
            return tuple(kept[k] for k in min(found)[1])
    return ()


def _cancelled(units: np.ndarray) -> float:
    """The least |Σ μ_k g_k| over μ ≥ 0 that add up to one, of unit vectors g."""
    weight = 1e3
    system = np.vstack([units, weight * np.ones((1, units.shape[1]))])
    right = np.zeros(len(system))
    right[-1] = weight
    shares, _ = scipy.optimize.nnls(system, right)
    return float(np.linalg.norm(units @ shares) / max(np.sum(shares), 1e-300))


def _samples(problem: AbstractProblem, model: Model, term: Term) -> list[int]:
    losses = np.asarray(term.law.losses(term.law.rows(model, problem.parameters, term.law.place.grid(0))))
    excess = losses - np.asarray(problem.tolerances[str(term.owner)])
    return [int(k) for k in np.argsort(-excess)[:MOST] if excess[k] > 0]


@eqx.filter_jit
def _gradient(problem: AbstractProblem, model: Model, term: Term, sample: int | None) -> Any:
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(weights)
    place = term.law.place
    if sample is not None:
        w = place.grid(0)[sample][None]
    else:
        w = place.grid(0) if place.finite else place.sobol(max(POINTS // term.law.inner, 16))

    def value(v):
        losses = term.law.losses(term.law.rows(eqx.combine(unravel(v), rest), problem.parameters, w))
        if not term.worst:
            return jnp.mean(losses)
        density = jax.lax.stop_gradient(term.density(losses))
        return jnp.vdot(density / jnp.maximum(jnp.sum(density), jnp.finfo(density.dtype).tiny), losses)

    return jax.grad(value)(flat)
