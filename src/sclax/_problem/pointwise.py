"""Problems of unknowns at points."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from .. import nn
from .._base import Density, Losses, Model, Points, Scalar, checks
from .._laws import Periodic, Vocabulary, combinations, discretised, named, outputs
from .._places import TIME, Box, Face
from ..samplers import AbstractSampler, Fixed, Grid, PersistentChains, Uniform
from .measures import AbstractMeasure, Average, Constraint, Sum, WorstCase
from .problem import Evaluation, Multipliers, Recipe, TermValues, named_sums, tolerance_for, uniquely_named
from .term import Term
from .truth import Solved


class Problem(eqx.Module):
    """What is known about a solution, as an objective and constraints with tolerances:

        minimise   objective(u)      subject to    value_k(u) ≤ tolerance_k.

    **Arguments:**

    - `domain`: a `Box`.
    - `parameters`: a number is fixed; an interval `(low, high)` makes a family, whose solution takes it as input.
    - `objective`: a measure or a weighted sum of measures; none makes a feasibility problem.
    - `constraints`: by name, `measure <= tolerance`.
    - `unknowns`: names of the network's outputs.
    - `reference`: a function by argument name that gives the true solution (for several unknowns a dict or tuple),
      an xarray Dataset, or `Solved(solver)`; used by `error` and `plot` only, never in training.

    !!! example
        ```python
        Problem(
            domain=Box(x=(0, 1)),
            objective=average(Dirichlet(0.0)),
            constraints={"pde": worst_case(lambda u_xx: u_xx + 1) <= 1e-6},
        )
        ```
    """

    domain: Box
    vocabulary: Vocabulary
    parameters: dict[str, Scalar]
    terms: tuple[Term, ...]
    tolerances: Multipliers
    reference: Any = eqx.field(static=True)
    recipe: Recipe | None = eqx.field(static=True)

    def __init__(
        self,
        domain: Box,
        parameters: Mapping[str, Any] | None = None,
        objective: AbstractMeasure | Sum | None = None,
        constraints: Mapping[str, Constraint] | None = None,
        unknowns: tuple[str, ...] | list[str] | str = ("u",),
        reference: Any = None,
        recipe: Recipe | None = None,
    ):
        if not isinstance(domain, Box):
            raise ValueError(f"Problem: `domain` must be a Box(...), got {domain!r}.")
        unknowns = (unknowns,) if isinstance(unknowns, str) else tuple(unknowns)
        if not unknowns:
            raise ValueError("Problem: `unknowns` is empty; name the network's outputs, for example ('u',).")
        fixed, ranges = _split_parameters(dict(parameters or {}))
        sums = named_sums(objective, dict(constraints or {}))
        periodic = [name for s in sums.values() for _, m in s.parts for name in _wrapped_by(m)]
        domain = domain.join(ranges)
        domain = domain.wrapping(name for name in periodic if name in domain.names)
        vocabulary = Vocabulary(domain.names, unknowns, tuple(fixed))
        terms = [
            measure.term(scale, owner, vocabulary, domain)  # pyright: ignore[reportAttributeAccessIssue]
            for owner, weighted in sums.items()
            for scale, measure in weighted.parts
        ]
        self.domain, self.vocabulary, self.recipe = domain, vocabulary, recipe
        self.parameters = fixed
        self.terms = uniquely_named(terms)
        self.tolerances = {
            name: tolerance_for(name, constraint, [t for t in terms if t.owner == name])
            for name, constraint in (constraints or {}).items()
        }
        self.reference = reference
        for term in self.terms:
            if term.sampler is not None:
                jax.eval_shape(lambda t=term: t.chosen.init(t.law.place, jax.random.key(0)))

    @property
    def unknowns(self) -> tuple[str, ...]:
        return self.vocabulary.unknowns

    pointwise: ClassVar[bool] = True  # whether the network maps points, and a residual is at points

    @property
    def epoch(self) -> int | None:
        """Steps after which training has seen all data once; None where points are drawn afresh."""
        return None

    def network(self) -> Callable[..., Model]:
        """The function (domain, outputs, key) that builds the default network: the paper's MLP, 4 × 50, tanh."""
        return nn.MLP

    def fits(self, model: Model) -> None:
        """A network of the wrong size fails here, with names, and not deep inside a derivative."""
        names = self.domain.names
        try:
            jax.eval_shape(lambda z: outputs(model, z, len(self.unknowns)), jnp.zeros(len(names)))
        except TypeError as error:
            raise ValueError(
                f"solve: `model` does not take a point of the {len(names)} coordinates {checks.listed(names)} "
                f"({error}). Build it with problem.domain, which includes the parameters of a family."
            ) from error

    @property
    def constraints(self) -> tuple[str, ...]:
        return tuple(self.tolerances)

    def bare(self) -> "Problem":
        """The problem without what training never looks at, in the current precision: all that compiled code sees."""
        precision = jnp.result_type(float)
        cast = lambda leaf: jnp.asarray(leaf, precision) if eqx.is_inexact_array(leaf) else leaf
        return jax.tree.map(cast, self._with(reference=None, recipe=None))

    def without_reference(self) -> "Problem":
        return self._with(reference=None)

    def _with(self, **changes: Any) -> "Problem":
        copy = object.__new__(type(self))
        for field in self.__dataclass_fields__:
            object.__setattr__(copy, field, changes.get(field, getattr(self, field)))
        return copy

    def truth(self, reference: Any, **family: float) -> xr.Dataset | None:
        """A reference on a grid, at given parameters of a family; None where it is a function."""
        if isinstance(reference, Solved):
            reference = reference.at(**{name: float(v) for name, v in self.parameters.items()}, **family)
        elif isinstance(reference, xr.Dataset | xr.DataArray) and family:
            along = {name: value for name, value in family.items() if name in reference.dims}
            reference = reference.sel(along, method="nearest")
        if isinstance(reference, xr.DataArray):
            reference = reference.to_dataset(name=self.unknowns[0])
        return reference if isinstance(reference, xr.Dataset) else None

    def completed(self, worst_case: AbstractSampler | None = None, average: AbstractSampler | None = None) -> "Problem":
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

    def sampled_by(self, sampler: AbstractSampler) -> "Problem":
        """The problem with `sampler` for every worst case: with `Uniform()` a PINN, with `R3()` that baseline."""
        return self.resampled(lambda term: sampler.sized(term.n) if term.worst else term.sampler)

    def resampled(self, choose: Callable[[Term], AbstractSampler | None]) -> "Problem":
        """The problem with the sampler `choose(term)` for every term."""
        change = lambda t: eqx.tree_at(lambda t: t.sampler, t, choose(t), is_leaf=lambda x: x is None)
        return self._with(terms=tuple(change(term) for term in self.terms))

    def discretised(self, at: Mapping[str, Any], n: int = 1000) -> "Problem":
        """The problem with averages at given values of its parameters, all combinations, in place of worst cases over
        their ranges: a PINN on a grid of parameters, with `n` points of an equation for each.

        !!! example
            `zoo.convection(beta=(1, 30)).discretised({"beta": [1, 10, 20, 30]})`
        """
        n = checks.count("discretised", "n", n)
        if set(at) != set(self.domain.parameters):
            raise ValueError(
                f"discretised: `at` must give values for {checks.listed(self.domain.parameters)}, "
                f"got {checks.listed(at)}."
            )

        def change(term: Term) -> Term:
            chart = term.law.place.chart
            if set(chart.names) <= set(at):  # a worst case over the parameters alone
                rows = combinations(chart, {name: at[name] for name in chart.names})
                return dataclasses.replace(term, sampler=Fixed(rows), worst=False)
            law = discretised(term.law, self.domain, at)
            sampler = Uniform(n * len(combinations(self.domain, at))) if term.worst else term.sampler
            return dataclasses.replace(term, law=law, sampler=sampler, worst=False)

        return self._with(terms=tuple(change(term) for term in self.terms))

    def tempered(self, name: str) -> "Problem":
        """The problem with the worst cases of constraint `name` turned into averages."""
        soften = lambda t: eqx.tree_at(lambda t: t.temper, t, jnp.ones_like(t.temper)) if t.worst else t
        return self._with(terms=tuple(soften(t) if t.owner == name else t for t in self.terms))

    def temper(self, name: str) -> Scalar:
        """1 where the worst cases of constraint `name` were turned into averages, 0 elsewhere."""
        return jnp.max(jnp.stack([t.temper for t in self.terms if t.owner == name]))

    @property
    def direction(self) -> int:
        """Where solutions evolve to: 1 from the first time on, -1 back from the last one, 0 where there is no time, or
        conditions are at both of its ends."""
        if TIME not in self.domain.names:
            return 0
        low, high = self.domain.ends(TIME)
        places = [term.law.place for term in self.terms]
        given = {value for place in places if isinstance(place, Face) for name, value in place.fixed if name == TIME}
        return {(False, True): -1, (True, True): 0}.get((low in given, high in given), 1)

    def marching(self, direction: int) -> "Problem":
        """The problem that is trained from one end of time on, or everywhere at once where `direction` is 0."""
        change = lambda t: eqx.tree_at(lambda t: t.march, t, jnp.full_like(t.march, direction))
        return self._with(terms=tuple(change(term) for term in self.terms))

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
        values: Multipliers = {name: jnp.zeros_like(tolerance) for name, tolerance in self.tolerances.items()}
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
        weights = jax.lax.stop_gradient(term.weights(losses))
        return TermValues(rows, losses, weights, losses if term.separate else jnp.vdot(weights, losses))

    def violations(self, values: Multipliers) -> Multipliers:
        """value − tolerance for each constraint; positive means violated."""
        return {name: values[name] - self.tolerances[name] for name in self.tolerances}

    def reference_on(self, coordinates: Mapping[str, Any], reference: Callable[..., Any]) -> tuple[Array, ...]:
        """A reference function on arrays of one shape, one array for each unknown."""
        function = named(reference, Vocabulary(self.domain.names, (), tuple(self.parameters)), "reference")
        arrays = [jnp.asarray(coordinates[name]) for name in self.domain.names]
        flat = jnp.stack([a.ravel() for a in arrays], axis=-1)
        found = jax.vmap(lambda z: function(lambda z: z, self.parameters, z))(flat)
        if isinstance(found, Mapping):
            found = tuple(found[name] for name in self.unknowns)
        found = found if isinstance(found, tuple | list) else (found,)
        return tuple(jnp.asarray(f).reshape(arrays[0].shape) for f in found)


def _wrapped_by(measure: AbstractMeasure) -> list[str]:
    """The coordinate that a measure of a periodicity wraps."""
    if isinstance(measure, Average | WorstCase) and isinstance(measure.condition, Periodic):
        return [measure.condition.coordinate]
    return []


def _split_parameters(parameters: dict[str, Any]) -> tuple[dict[str, Scalar], dict[str, tuple[float, float]]]:
    fixed, ranges = {}, {}
    for name, value in parameters.items():
        if isinstance(value, tuple | list) or np.ndim(value) == 1:
            ranges[name] = checks.interval("Problem.parameters", name, value)
        else:
            fixed[name] = jnp.asarray(checks.number("Problem.parameters", name, value))
    return fixed, ranges
