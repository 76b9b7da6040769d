"""Problems of unknowns at points."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import nn
from .._base import Model, Scalar, changed, checks, precision
from .._laws import AbstractUnknown, Derivative, Vocabulary, combinations, discretised, outputs, with_quantities
from .._places import TIME, Box
from ..samplers import Fixed, Uniform
from .courses import Course, course
from .measures import AbstractMeasure, Constraint, Sum
from .problem import (
    AbstractProblem,
    ByConstraint,
    Recipe,
    check_used,
    named_sums,
    stripped,
    tolerance_for,
    uniquely_named,
)
from .term import Term
from .truth import as_reference

LARGE = 5.0  # values from which on a network's outputs are scaled


class Problem(AbstractProblem):
    """What is known about a solution, as an objective and constraints with tolerances:

        minimise   objective(u)      subject to    value_k(u) ≤ tolerance_k.

    **Arguments:**

    - `domain`: a `Box`, or a shape.
    - `parameters`: a number is fixed; an interval `(low, high)` makes a family, whose solution takes it as input;
      `Unknown(initial)` is an unknown number and `UnknownField(coordinates)` an unknown function, both learned.
    - `objective`: a measure or a weighted sum of measures; none makes a feasibility problem.
    - `constraints`: by name, `measure <= tolerance`.
    - `unknowns`: names of the network's outputs; a dict where one has fewer coordinates than the problem,
      `{"u": ("x", "y", "t"), "a": ("x", "y")}`.
    - `quantities`: by name, functions by argument name of unknowns, derivatives, coordinates, parameters and each
      other, or tables (xarray DataArrays). They are named and differentiated as unknowns are: with
      `{"qx": lambda u_x, x: a(x) * u_x}` a law may ask for `qx_x`.
    - `reference`: a function by argument name that gives the true solution (for several unknowns a dict or tuple),
      an xarray Dataset, `Solved(solver)`, or values at points, a dict of arrays or a DataFrame with coordinates and
      unknowns as columns; used by `error` and `plot` only, never in training.

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
    tolerances: ByConstraint
    course: Course
    sought: dict[str, AbstractUnknown] = eqx.field(static=True)
    reference: Any = eqx.field(static=True)
    recipe: Recipe | None = eqx.field(static=True)

    def __init__(
        self,
        domain: Box,
        parameters: Mapping[str, Any] | None = None,
        objective: AbstractMeasure | Sum | None = None,
        constraints: Mapping[str, Constraint] | None = None,
        unknowns: tuple[str, ...] | list[str] | str | Mapping[str, Any] = ("u",),
        reference: Any = None,
        recipe: Recipe | None = None,
        quantities: Mapping[str, Any] | None = None,
    ):
        if not isinstance(domain, Box):
            raise ValueError(f"Problem: `domain` must be a Box(...) or a shape such as Disk(...), got {domain!r}.")
        coordinates = dict(unknowns) if isinstance(unknowns, Mapping) else {}
        unknowns = (unknowns,) if isinstance(unknowns, str) else tuple(unknowns)
        if not unknowns:
            raise ValueError("Problem: `unknowns` is empty; name the network's outputs, for example ('u',).")
        sought = {n: p for n, p in (parameters or {}).items() if isinstance(p, AbstractUnknown)}
        fixed, ranges = _split_parameters({n: p for n, p in (parameters or {}).items() if n not in sought})
        sums = named_sums(objective, dict(constraints or {}))
        periodic = [name for s in sums.values() for _, m in s.parts for name in m.wraps]
        of_shape = () if domain.shape is None else domain.shape.parameters
        domain = domain.fixing({name: float(value) for name, value in fixed.items()}).join(ranges)
        _check_shaping(domain, sought)
        domain = domain.explored()
        domain = domain.wrapping(name for name in periodic if name in domain.names)
        fields = {n: p.within(n, domain) for n, p in sought.items() if p.coordinates}
        depends = {
            **{u: coordinates.get(u, domain.names) for u in unknowns},
            **{n: p.coordinates for n, p in fields.items()},
        }
        pins = tuple(_pins(name, depends[name], domain) for name in depends) if coordinates or fields else ()
        fixed |= {n: _exactly(p.initial) for n, p in sought.items() if n not in fields}
        vocabulary = Vocabulary(
            domain.names, (*unknowns, *fields), tuple(fixed), domain.parameters, pins=pins, learned=len(fields)
        )
        vocabulary = with_quantities(vocabulary, quantities or {}, domain)
        terms = [
            measure.term(scale, owner, vocabulary, domain)
            for owner, weighted in sums.items()
            for scale, measure in weighted.parts
        ]
        self.domain, self.vocabulary, self.recipe = domain, vocabulary, recipe
        self.parameters, self.sought = fixed, sought
        self.terms = uniquely_named(terms)
        self.tolerances = {
            name: tolerance_for(name, constraint, [t for t in terms if t.owner == name])
            for name, constraint in (constraints or {}).items()
        }
        self.course = course(self.tolerances)
        self.reference = as_reference("Problem", reference)
        if self.reference is not None:
            self.reference.scattered("Problem", unknowns, domain)  # points and values that do not fit fail here
        compared = () if self.reference is None else self.reference.asked(vocabulary)
        derived = vocabulary.expanded(q for d in vocabulary.derived for q in d.quantities)
        seen = None if compared is None else (*compared, *derived)
        open_ = [n for n in parameters or () if n not in of_shape and n not in fields]
        check_used("Problem", open_, vocabulary, self.terms, seen)
        _check_sought(sought, vocabulary, self.terms)
        for term in self.terms:
            term.law.residual.sound(self.parameters, term.law.place)
        for term in self.terms:
            if term.sampler is not None:
                jax.eval_shape(lambda t=term: t.chosen.init(t.law.place, jax.random.key(0)))

    pointwise: ClassVar[bool] = True

    @property
    def epoch(self) -> None:
        return None

    @property
    def held_out(self) -> None:
        return None

    def network(self) -> Callable[..., Model]:
        """The function (domain, outputs, key) that builds the default network: the paper's MLP, 4 × 50, tanh. Where
        prescribed or measured values are far from one, its outputs have their size: weights of size one do not get
        there."""
        largest = [0.0] * len(self.unknowns)
        for term in self.terms:
            for k, size in term.law.residual.prescribed(self.parameters, term.law.place).items():
                if k < len(largest) and np.isfinite(size):
                    largest[k] = max(largest[k], size)
        scale = tuple(size if size > LARGE or 0 < size < 1 / LARGE else 1.0 for size in largest)
        return nn.MLP if set(scale) == {1.0} else nn.Sized(scale)

    def with_sought(self, model: Model, key: Any) -> Model:
        """The network with the problem's unknown coefficients beside it, where it has any and they are not yet."""
        if not self.sought or hasattr(model, "numbers"):
            return model
        now = jnp.result_type(float)
        fields = [p for p in self.sought.values() if p.coordinates]
        numbers = [(n, p) for n, p in self.sought.items() if not p.coordinates]
        return nn.Learned(
            model,
            tuple(
                nn.coefficient(self.domain, p.coordinates, p.initial, p.positive, key=jax.random.fold_in(key, k))
                for k, p in enumerate(fields)
            ),
            tuple(nn.Number(jnp.zeros((), now), n, p.initial, p.positive) for n, p in numbers),
        )

    def fits(self, model: Model) -> None:
        names = self.domain.names
        try:
            jax.eval_shape(lambda z: outputs(model, z, self.vocabulary), jnp.zeros(len(names)))
        except TypeError as error:
            raise ValueError(
                f"solve: `model` does not take a point of the {len(names)} coordinates {checks.listed(names)} "
                f"({error}). Build it with problem.domain, which includes the parameters of a family."
            ) from error

    def bare(self) -> "Problem":
        return stripped(self, "reference", "recipe")

    def discretised(self, at: Mapping[str, Any], n: int = 1000) -> "Problem":
        """The problem with averages at given values of its parameters, all combinations, in place of worst cases over
        their ranges: a PINN on a grid of parameters, with `n` points of an equation for each.

        !!! example
            `zoo.convection(beta=(1, 30)).discretised({"beta": [1, 10, 20, 30]})`
        """
        n = checks.points("discretised", "n", n)
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

        return changed(self, terms=tuple(change(term) for term in self.terms))

    @property
    def direction(self) -> int:
        if TIME not in self.domain.names:
            return 0
        low, high = self.domain.ends(TIME)
        given = {value for term in self.terms for name, value in term.law.place.constants if name == TIME}
        return {(False, True): -1, (True, True): 0}.get((low in given, high in given), 1)


def _pins(unknown: str, coordinates: Any, domain: Box) -> tuple[tuple[int, float], ...]:
    """The coordinates on which an unknown does not depend, each at the middle of its interval."""
    chosen = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
    for name in chosen:
        if name not in domain.names:
            raise ValueError(
                f"Problem: `unknowns[{unknown!r}]` names `{name}`, which is no coordinate of the domain "
                f"({checks.listed(domain.names)})." + checks.nearest(str(name), domain.names)
            )
    left = [i for i, name in enumerate(domain.names) if name not in chosen]
    return tuple((i, sum(domain.ends(domain.names[i])) / 2) for i in left)


def _check_shaping(domain: Box, sought: Mapping[str, Any]) -> None:
    """Raises an error unless all parameters on which the domain's shape depends are known by now."""
    shaping = set() if domain.shape is None else set(domain.shape.parameters)
    for name in sorted(shaping & set(sought)):
        raise ValueError(
            f"Problem: the shape of the domain depends on `{name}`, which cannot be learned; make it a family, "
            f"parameters={{{name!r}: (0.1, 0.5)}}, and look where its data fit."
        )
    unknown = sorted(shaping - set(domain.parameters))
    if unknown:
        raise ValueError(
            f"Problem: the shape of the domain depends on {checks.listed(unknown)}; give a number or an interval, "
            f"parameters={{{unknown[0]!r}: (0.1, 0.5)}}."
        )


def _split_parameters(parameters: dict[str, Any]) -> tuple[dict[str, Scalar], dict[str, tuple[float, float]]]:
    fixed, ranges = {}, {}
    for name, value in parameters.items():
        if isinstance(value, tuple | list) or np.ndim(value) == 1:
            ranges[name] = checks.interval("Problem.parameters", name, value)
        else:
            found = checks.number("Problem.parameters", name, value, " or an interval (low, high)")
            fixed[name] = _exactly(found)
    return fixed, ranges


def _exactly(number: float) -> Scalar:
    """Not rounded to the precision of this moment: a method may solve in a higher one."""
    with precision.double():
        return jnp.asarray(number)


def _check_sought(sought: Mapping[str, Any], vocabulary: Vocabulary, terms: tuple[Term, ...]) -> None:
    """An unknown coefficient that no law asks for could be anything."""
    asked = [term.law.residual.asked for term in terms]
    # A derived quantity that no law names says nothing of an unknown in it.
    every = vocabulary.expanded(q for quantities in asked for q in quantities or ())
    names = {vocabulary.unknowns[q.unknown] if isinstance(q, Derivative) else vocabulary.spelt(q) for q in every}
    for name in () if None in asked else sought:
        if name not in names:
            raise ValueError(
                f"Problem: no law asks for the unknown `{name}`, so that it could be anything. Make it an argument of "
                "a law, or remove it."
            )
