"""A problem pairs residuals, measures and tolerances, and evaluates them as pure functions of (model, points)."""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._base import Losses, Scalar
from .measures import AbstractMeasure, Constraint, Sum
from .term import Term

Multipliers = dict[str, Float[Array, "..."]]


class TermValues(NamedTuple):
    """What one pass finds for one term: its residual rows, losses, weights, and the weighted sum."""

    rows: Float[Array, "n c"]
    losses: Losses
    weights: Losses
    value: Float[Array, "..."]


class Evaluation(NamedTuple):
    """The objective, each constraint's value, and the terms they are made of."""

    objective: Scalar
    values: Multipliers
    terms: tuple[TermValues, ...]
    seen: dict[str, Bool[Array, "..."]]  # which entries of `values` the pass has found; others stand at their tolerance


class Recipe(NamedTuple):
    """How to build a problem again: the name of a zoo problem and its arguments."""

    name: str
    arguments: tuple[tuple[str, Any], ...]


def named_sums(objective: Any, constraints: dict[str, Any]) -> dict[str | None, Sum]:
    if isinstance(objective, AbstractMeasure):
        objective = 1 * objective
    if objective is not None and not isinstance(objective, Sum):
        raise ValueError(
            f"Problem: `objective` must be a measure such as average(...), or a sum of them, got {objective!r}."
        )
    if objective is None and not constraints:
        raise ValueError("Problem: there is neither an `objective` nor a constraint: nothing to solve.")
    sums: dict[str | None, Sum] = {} if objective is None else {None: objective}
    for name, constraint in constraints.items():
        if not isinstance(constraint, Constraint):
            raise ValueError(
                f"Problem: constraint `{name}` must be `measure <= tolerance`, got {constraint!r}."
                + (" Add `<= tolerance` to it." if isinstance(constraint, AbstractMeasure | Sum) else "")
            )
        sums[str(name)] = constraint.sum
    return sums


def uniquely_named(terms: list[Term]) -> tuple[Term, ...]:
    """Terms named by their constraint, or by their law; numbered where a name would stand for two."""
    renamed: list[Term] = []
    plain = [t.owner or t.name for t in terms]
    for i, term in enumerate(terms):
        alike = [j for j, name in enumerate(plain) if name == plain[i]]
        if len(alike) > 1 and term.owner is not None:
            name = f"{term.owner}.{term.law.name}"
        elif len(alike) > 1:
            name = f"{plain[i]}_{alike.index(i) + 1}"
        else:
            name = plain[i]
        while name in {other.name for other in renamed}:
            name += "'"
        renamed.append(dataclasses.replace(term, name=name))
    return tuple(renamed)


def tolerance_for(name: str, constraint: Constraint, terms: list[Term]) -> Float[Array, "..."]:
    separate = [t for t in terms if t.separate]
    if separate and len(terms) > 1:
        raise ValueError(f"Problem: constraint `{name}` adds `each(...)` to something else; use two constraints.")
    tolerance = jnp.asarray(constraint.tolerance, jnp.result_type(float))
    samples = int(separate[0].law.place.measure) if separate else 0
    try:
        return jnp.broadcast_to(tolerance, (samples,) if separate else ())
    except ValueError:
        what = f"a number or {samples} numbers, one for each sample" if separate else "a number"
        raise ValueError(f"Problem: the tolerance of `{name}` must be {what}, got shape {tolerance.shape}.") from None
