"""A problem pairs residuals, measures and tolerances, and evaluates them as pure functions of (model, points)."""

import abc
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .. import nn
from .._base import Density, Losses, Model, Points, Scalar, changed, checks, digest
from .._laws import Asked, Vocabulary
from .._places import Box
from ..samplers import AbstractSampler, Grid, PersistentChains, Uniform
from . import shown
from .courses import Course
from .measures import AbstractMeasure, Constraint, Sum
from .samples import Samples
from .term import Term

ByConstraint = dict[str, Float[Array, "..."]]  # a number for each constraint, or one for each of its samples


class TermValues(NamedTuple):
    """What one pass finds for one term: its residual rows, losses, weights, and the weighted sum."""

    rows: Float[Array, "n c"]
    losses: Losses
    weights: Losses
    value: Float[Array, "..."]


class Evaluation(NamedTuple):
    """The objective, each constraint's value, and the terms they are made of."""

    objective: Scalar
    values: ByConstraint
    terms: tuple[TermValues, ...]
    seen: dict[str, Bool[Array, "..."]]  # which entries of `values` the pass has found; others stand at their tolerance


class Recipe(NamedTuple):
    """How to build a problem again: the name of a zoo problem and its arguments."""

    name: str
    arguments: tuple[tuple[str, Any], ...]


class AbstractProblem(eqx.Module):
    """What is known about a solution:  minimise objective(u)  subject to  value_k(u) ≤ tolerance_k.

    Two final classes: `Problem`, of unknowns at points, and `OperatorProblem`, of a map between functions.

    !!! example
        `def train(problem: scl.AbstractProblem): return scl.solve(problem)`
    """

    domain: eqx.AbstractVar[Box]
    vocabulary: eqx.AbstractVar[Vocabulary]
    parameters: eqx.AbstractVar[dict[str, Scalar]]
    terms: eqx.AbstractVar[tuple[Term, ...]]
    tolerances: eqx.AbstractVar[ByConstraint]
    course: eqx.AbstractVar[Course]
    reference: eqx.AbstractVar[Any]
    recipe: eqx.AbstractVar[Recipe | None]

    pointwise: ClassVar[bool]  # whether the network maps points, and a residual is at points

    @property
    @abc.abstractmethod
    def epoch(self) -> int | None:
        """Steps after which training has seen all data once; None where points are drawn afresh."""

    @property
    @abc.abstractmethod
    def held_out(self) -> Samples | None:
        """Samples that train nothing and tell which state is the best; None where there are none."""

    @property
    @abc.abstractmethod
    def direction(self) -> int:
        """Where solutions evolve to: 1 from the first time on, -1 back from the last one, 0 where there is no time, or
        conditions are at both of its ends."""

    @abc.abstractmethod
    def network(self) -> Callable[..., Model]:
        """The function (domain, outputs, key) that builds the default network."""

    def known(self, model: Model) -> dict[str, Scalar]:
        """All parameters: the fixed ones, and those that the model has learned."""
        return {**self.parameters, **nn.numbers_of(model)}

    def with_sought(self, model: Model, key: Any) -> Model:
        """The network with what is learned beside it: unknown coefficients, where the problem has any."""
        return model

    @abc.abstractmethod
    def fits(self, model: Model) -> None:
        """A network of the wrong size fails here, with names, and not deep inside a derivative."""

    @abc.abstractmethod
    def bare(self) -> Self:
        """The problem without what training never looks at, in the current precision: all that compiled code sees."""

    @property
    def unknowns(self) -> tuple[str, ...]:
        return self.vocabulary.states

    @property
    def constraints(self) -> tuple[str, ...]:
        return tuple(self.tolerances)

    def _repr_html_(self) -> str:
        """The problem in a notebook: its laws typeset, its domain drawn."""
        return shown.html(self)

    def without_reference(self) -> Self:
        return changed(self, reference=None)

    def identity(self) -> dict[str, Any]:
        """What makes it this problem, as plain data: what a file says of the problem that it solves. The precision that
        it was stated in is no part of it."""
        rounded = lambda tree: jax.tree.map(lambda a: np.asarray(a, "f4") if eqx.is_inexact_array(a) else a, tree)
        box, single = self.domain, lambda value: float(np.float32(value))
        return {
            "domain": [[n, single(a), single(b)] for n, a, b in zip(box.names, box.lower, box.upper, strict=True)],
            "unknowns": list(self.unknowns),
            "parameters": {name: single(value) for name, value in self.parameters.items()},
            "laws": {term.name: digest(rounded(term.law)) for term in self.terms},
        }

    def completed(self, worst_case: AbstractSampler | None = None, average: AbstractSampler | None = None) -> Self:
        """The problem with every open choice of points made: `worst_case` for worst cases, `average` for averages.

        Left open here too, averages use a grid where one coordinate is free and fresh uniform points elsewhere, worst
        cases persistent chains.
        """

        def choose(term: Term) -> AbstractSampler:
            if term.sampler is not None:
                return term.sampler
            few = term.law.place.chart.dimension <= 1
            if term.worst:
                sampler = worst_case or PersistentChains()
            else:
                sampler = average or (Grid() if few else Uniform(1000 if term.law.place is self.domain else 256))
            return sampler.sized(term.n)

        return self.resampled(choose)

    def sampled_by(self, sampler: AbstractSampler) -> Self:
        """The problem with `sampler` for every worst case: with `Uniform()` a PINN, with `R3()` that baseline."""
        return self.resampled(lambda term: sampler.sized(term.n) if term.worst else term.sampler)

    def resampled(self, choose: Callable[[Term], AbstractSampler | None]) -> Self:
        """The problem with the sampler `choose(term)` for every term."""
        return changed(self, terms=tuple(dataclasses.replace(term, sampler=choose(term)) for term in self.terms))

    def density(self, model: Model, term: Term, level: Scalar) -> Density:
        """ψ_α of `term` up to a factor, as a function of chart points: [ℓ − level]₊, with nothing to differentiate."""

        def density(w: Points) -> Losses:
            rows = term.law.rows(model, self.parameters, w)
            return jnp.maximum(term.law.losses(rows) - level, 0.0)

        return density

    def evaluate(self, model: Model, points: tuple[Points, ...]) -> Evaluation:
        """One pass: every term at its chart points. Weights are constants for differentiation."""
        found = tuple(self._pass(model, term, w) for term, w in zip(self.terms, points, strict=True))
        objective = jnp.asarray(0.0)
        values: ByConstraint = {name: jnp.zeros_like(tolerance) for name, tolerance in self.tolerances.items()}
        seen = {name: jnp.ones(tolerance.shape, bool) for name, tolerance in self.tolerances.items()}
        for term, result, w in zip(self.terms, found, points, strict=True):
            if term.owner is None:
                objective = objective + term.scale * result.value
            elif term.separate:  # the samples of this pass, perhaps not all of them
                index, tolerance = w[:, 0].astype(int), self.tolerances[term.owner]
                values[term.owner] = tolerance.at[index].set(term.scale * result.value)
                seen[term.owner] = jnp.zeros(tolerance.shape, bool).at[index].set(True)
            else:
                values[term.owner] = values[term.owner] + term.scale * result.value
        return Evaluation(objective, values, found, seen)

    def _pass(self, model: Model, term: Term, w: Points) -> TermValues:
        rows = term.law.rows(model, self.parameters, w)
        losses = term.law.losses(rows)
        averaged = self.course.averaged[term.owner] if term.worst and term.owner is not None else 0.0
        weights = jax.lax.stop_gradient(term.weights(losses, averaged))
        return TermValues(rows, losses, weights, losses if term.separate else jnp.vdot(weights, losses))

    def violations(self, values: ByConstraint) -> ByConstraint:
        """value − tolerance for each constraint; positive means violated."""
        return {name: values[name] - self.tolerances[name] for name in self.tolerances}


def stripped(problem: AbstractProblem, *fields: str) -> Any:
    """The problem without some of its fields, and its numbers in the current precision."""
    precision = jnp.result_type(float)
    cast = lambda leaf: jnp.asarray(leaf, precision) if eqx.is_inexact_array(leaf) else leaf
    return jax.tree.map(cast, changed(problem, **dict.fromkeys(fields)))


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


def check_used(
    owner: str, parameters: Iterable[str], vocabulary: Vocabulary, terms: Iterable[Term], reference: Asked = ()
) -> None:
    """A parameter that no law and no reference names is a slip: the solution would not depend on it."""
    asked = [reference, *(term.law.residual.asked for term in terms)]
    names = {vocabulary.spelt(quantity) for quantities in asked for quantity in quantities or ()}
    for name in () if None in asked else parameters:  # None: a residual of the user's own, which may ask for anything
        if name not in names:
            raise ValueError(
                f"{owner}: nothing asks for the parameter `{name}`; laws and reference name "
                f"{checks.listed(sorted(names))}.{checks.nearest(name, names)} Make it an argument of a law, or "
                "remove it."
            )


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
