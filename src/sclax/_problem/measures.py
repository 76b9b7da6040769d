"""Where a residual is averaged, and how strongly it must vanish.

Measures add and scale to form an objective; `measure <= tolerance` is a constraint.
"""

import abc
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import changed, checks
from .._laws import (
    AbstractCondition,
    AbstractLoss,
    AbstractSampled,
    Law,
    OnSamples,
    Vocabulary,
    as_condition,
    discretised,
    sliced,
)
from .._places import Box, PointSet, columns, inside
from ..samplers import AbstractSampler, Batches, Fixed, Grid, ImportanceWeights
from .term import Term, plain_term


class SampledProblem(OnSamples, Protocol):
    """What measures need to know of a problem on the samples of a data set."""

    @property
    def batch(self) -> int: ...

    @property
    def samples(self) -> int: ...


class AbstractMeasure(eqx.Module):
    """A number made of the losses of one residual."""

    @abc.abstractmethod
    def term(self, scale: float, owner: str | None, vocabulary: Vocabulary, domain: Box) -> Term:
        """The measure of a law at points, times `scale`, for the constraint `owner` or the objective (None)."""

    @abc.abstractmethod
    def on_samples(self, scale: float, owner: str | None, problem: SampledProblem) -> Term:
        """The same on the samples of a data set, which come in batches."""

    @property
    def wraps(self) -> tuple[str, ...]:
        """The coordinates that the measure's condition makes periodic."""
        return ()

    def __add__(self, other: Any) -> "Sum":
        return Sum(((1.0, self),)) + other

    def __radd__(self, other: Any) -> "Sum":
        return self + other

    def __mul__(self, factor: Any) -> "Sum":
        return Sum(((_factor(factor), self),))

    def __rmul__(self, factor: Any) -> "Sum":
        return self * factor

    def __le__(self, tolerance: Any) -> "Constraint":
        return Constraint(Sum(((1.0, self),)), _tolerance(tolerance))

    def __ge__(self, bound: Any) -> NoReturn:
        _not_a_tolerance(bound)

    __lt__ = __gt__ = __ge__


def _factor(value: Any) -> float:
    factor = checks.number("objective", "factor", value)
    if factor < 0:
        raise ValueError(f"objective: a measure's factor must not be negative, got {factor}.")
    return factor


def _tolerance(value: Any) -> np.ndarray:
    tolerance = checks.finite_array("constraint", "tolerance", value)
    if np.any(tolerance < 0):
        raise ValueError(
            f"constraint: a tolerance must not be negative, got {np.min(tolerance)}: losses are never below zero."
        )
    return tolerance


def _not_a_tolerance(bound: Any) -> NoReturn:
    raise ValueError(
        f"constraint: a measure is compared by `measure <= tolerance` and in no other way, got {bound!r:.60}. For a "
        "lower bound of a quantity q write Inequality(lambda u: bound - q), which holds where it is at most zero."
    )


class Sum(eqx.Module):
    """A weighted sum of measures."""

    parts: tuple[tuple[float, AbstractMeasure], ...]

    def __add__(self, other: Any) -> "Sum":
        if isinstance(other, Sum):
            return Sum(self.parts + other.parts)
        if isinstance(other, AbstractMeasure):
            return Sum((*self.parts, (1.0, other)))
        if isinstance(other, int | float) and other == 0:  # sum([...]) starts from 0
            return self
        raise ValueError(f"objective: only measures can be added, got {other!r}.")

    def __radd__(self, other: Any) -> "Sum":
        return self + other

    def __mul__(self, factor: Any) -> "Sum":
        return Sum(tuple((_factor(factor) * scale, measure) for scale, measure in self.parts))

    def __rmul__(self, factor: Any) -> "Sum":
        return self * factor

    def __le__(self, tolerance: Any) -> "Constraint":
        return Constraint(self, _tolerance(tolerance))

    def __ge__(self, bound: Any) -> NoReturn:
        _not_a_tolerance(bound)

    __lt__ = __gt__ = __ge__


class Constraint(eqx.Module):
    """`measure <= tolerance`: the measure's value may not exceed the tolerance."""

    sum: Sum
    tolerance: np.ndarray


class Average(AbstractMeasure):
    """The mean of a residual's losses; made by `average`."""

    condition: AbstractCondition
    n: int | None = eqx.field(static=True)
    points: Any
    at: dict[str, Any] | None = None

    def term(self, scale: float, owner: str | None, vocabulary: Vocabulary, domain: Box) -> Term:
        law = self.condition.bind(vocabulary, domain)
        if self.at is not None:
            law = discretised(law, domain, self.at)
        points, chart = self.points, law.place.chart
        sampler: AbstractSampler | None = None
        if isinstance(points, AbstractSampler):
            sampler = points.sized(self.n)
        elif isinstance(points, Mapping) and not set(chart.names) <= set(points):
            law = _on_points(law, columns("average", points, domain).reshape(-1, domain.dimension))
        elif isinstance(points, Mapping):
            chosen = {name: points[name] for name in chart.names}
            sampler = _chart_points(law, columns("average", chosen, chart), domain)
        elif points is not None and not set(chart.names) <= set(domain.names):
            # Several faces: their chart is internal, so points are meant in the domain's coordinates.
            law = _on_points(law, _rows(points, domain))
        elif points is not None:
            sampler = _chart_points(law, points, domain)
        if law.place.finite:
            sampler = Grid()
        return plain_term(law, sampler, 0.0, scale, owner, n=self.n)

    def on_samples(self, scale: float, owner: str | None, problem: SampledProblem) -> Term:
        _meaningless(points=self.points, at=self.at)
        return plain_term(self.condition.on_samples(problem), _batches(self.n, problem), 0.0, scale, owner)

    @property
    def wraps(self) -> tuple[str, ...]:
        return self.condition.wraps


class WorstCase(AbstractMeasure):
    """The expectation of a residual's losses under ψ_α; made by `worst_case`."""

    condition: AbstractCondition
    n: int | None = eqx.field(static=True)
    sampler: AbstractSampler | None
    alpha: float = eqx.field(static=True)
    over: tuple[str, ...] | None = eqx.field(static=True)
    grid: int = eqx.field(static=True, default=256)

    def term(self, scale: float, owner: str | None, vocabulary: Vocabulary, domain: Box) -> Term:
        law = self.condition.bind(vocabulary, domain)
        if self.over is not None:
            law = sliced(law, domain, self.over, self.grid)
        sampler = self.sampler
        if law.place.finite:
            # Finitely many points: ψ_α is known exactly.
            sampler = ImportanceWeights(proposal=Grid())
        elif sampler is not None:
            sampler = sampler.sized(self.n)
        return plain_term(law, sampler, self.alpha, scale, owner, worst=True, n=self.n)

    def on_samples(self, scale: float, owner: str | None, problem: SampledProblem) -> Term:
        _meaningless(sampler=self.sampler, over=self.over)
        batches = _batches(self.n, problem)
        law = self.condition.on_samples(problem)
        return plain_term(law, ImportanceWeights(batches.n, batches), self.alpha, scale, owner, worst=True)

    @property
    def wraps(self) -> tuple[str, ...]:
        return self.condition.wraps


class Each(AbstractMeasure):
    """One loss, one tolerance and one multiplier for each sample; made by `each`."""

    observations: AbstractSampled
    loss: AbstractLoss

    def term(self, scale: float, owner: str | None, vocabulary: Vocabulary, domain: Box) -> Term:
        if owner is None:
            raise ValueError(
                "each: one value for each sample is no objective; use `average(observations)` there, "
                "or `each(observations) <= tolerance` as a constraint."
            )
        law = self.observations.bind_each(vocabulary, domain, self.loss)
        return plain_term(law, Grid(), 0.0, scale, owner, separate=True)

    def on_samples(self, scale: float, owner: str | None, problem: SampledProblem) -> Term:
        if owner is None:
            raise ValueError("OperatorProblem: `each` has one value a sample and is no objective; use average(Data()).")
        law = changed(self.observations, loss=self.loss).on_samples(problem)
        return plain_term(law, _batches(None, problem), 0.0, scale, owner, separate=True)


def _batches(n: int | None, problem: SampledProblem) -> Batches:
    return Batches(min(n or problem.batch, problem.samples))


def _meaningless(**options: Any) -> None:
    for argument, value in options.items():
        if value is not None:
            raise ValueError(
                f"OperatorProblem: `{argument}` has no meaning on samples, got {value!r:.60}; they come in batches "
                "of `n`, or of the problem's `batch`."
            )


def _on_points(law: Law, points: Float[Array, "n d"]) -> Law:
    return Law(law.residual, PointSet(points), law.name, law.order, law.power, law.inner)


def _rows(points: Any, domain: Box) -> Float[Array, "n d"]:
    array = checks.finite_array("average", "points", points)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != domain.dimension or not len(array):
        raise ValueError(
            f"average: `points` must have one row a point and a column for each of {checks.listed(domain.names)}, "
            f"got shape {array.shape}."
        )
    return jnp.asarray(inside("average", array, domain))


def _chart_points(law: Law, points: Any, domain: Box) -> AbstractSampler:
    """Rows of given points, in the domain's coordinates or in those that the place leaves free."""
    array = checks.finite_array("average", "points", points)
    array = array[:, None] if array.ndim == 1 else array
    chart = law.place.chart
    if array.ndim != 2 or array.shape[1] not in (chart.dimension, domain.dimension) or not len(array):
        raise ValueError(
            f"average: `points` must have one row a point and a column for each of {checks.listed(chart.names)} "
            f"(or of {checks.listed(domain.names)}), got shape {array.shape}."
        )
    if array.shape[1] == domain.dimension != chart.dimension:
        array = array[:, [domain.names.index(name) for name in chart.names]]
    return Fixed(jnp.asarray(inside("average", array, chart)))


def average(
    residual: Any,
    n: int | None = None,
    points: Any = None,
    at: Mapping[str, Any] | None = None,
    sampler: AbstractSampler | None = None,
) -> Average:
    """The mean of a residual's losses:  E_z[ℓ(z)].

    **Arguments:**

    - `residual`: a function by argument name (on the interior), or a condition.
    - `n`: how many points, a total that several faces share by their measure.
    - `points`: `Grid()`, `Uniform()`, `Sobol()`, an array of points or a dict by name; left open, the method chooses.
    - `at`: values of parameters at which alone the residual is averaged, all combinations, in place of their ranges:
      how a PINN discretises a family.
    - `sampler`: another word for `points`, where these are a sampler, as in `worst_case`.

    !!! example
        `average(Initial(lambda x: jnp.sin(x)), n=256)`; `average(transport, n=4000, at={"beta": [1, 10, 20, 30]})`
    """
    if n is not None:
        n = checks.points("average", "n", n)
    if sampler is not None:
        if points is not None or not isinstance(sampler, AbstractSampler):
            raise ValueError(f"average: `sampler` must be one such as Sobol(), with no `points`, got {sampler!r}.")
        points = sampler
    if at is not None and points is not None and not isinstance(points, AbstractSampler):
        raise ValueError("average: `at` chooses values of parameters, and `points` all coordinates: give one of them.")
    return Average(as_condition("average", residual), n, points, None if at is None else dict(at))


def worst_case(
    residual: Any,
    n: int | None = None,
    sampler: AbstractSampler | None = None,
    alpha: float = 0.0,
    over: Iterable[str] | str | None = None,
    grid: int = 256,
) -> WorstCase:
    """The worst case of a residual's losses:  E_{z~ψ_α}[ℓ(z)]  with  ψ_α ∝ [ℓ − α max ℓ]₊.

    **Arguments:**

    - `residual`: a function by argument name (on the interior), or a condition (on its faces).
    - `sampler`: how ψ_α is sampled; left open, the method chooses. `n`: how many points of it each pass uses.
    - `alpha`: in [0, 1), a fraction of the largest current loss; 0 samples in proportion to the loss.
    - `over`: coordinates to range over, for example `("beta",)`; the others are averaged on a fixed grid of at most
      `grid` points.

    !!! example
        `worst_case(lambda u_t, u_x, beta: u_t + beta * u_x) <= 1e-3`
    """
    if n is not None:
        n = checks.points("worst_case", "n", n)
    if sampler is not None and not isinstance(sampler, AbstractSampler):
        raise ValueError(f"worst_case: `sampler` must be a sampler such as MetropolisHastings(), got {sampler!r}.")
    alpha = checks.number("worst_case", "alpha", alpha)
    if not 0 <= alpha < 1:
        raise ValueError(f"worst_case: `alpha` must be in [0, 1), got {alpha}.")
    if over is not None:
        over = (over,) if isinstance(over, str) else tuple(over)
    grid = checks.points("worst_case", "grid", grid)
    return WorstCase(as_condition("worst_case", residual), n, sampler, alpha, over, grid)


def each(observations: Any, loss: AbstractLoss | None = None) -> Each:
    """One loss for each sample:  ℓ_j = mean |u − data_j|²,  each with its own tolerance and multiplier.

    The multipliers rank the samples by difficulty. `loss` is `MeanSquare()` or `RelativeL2()`.

    !!! example
        `each(Observations({"x": x, "t": t}, values)) <= 1e-3`; a tolerance may be an array, one for each sample.
    """
    if not isinstance(observations, AbstractSampled):
        raise ValueError(f"each: expected Observations(...) or Data(), got {observations!r}.")
    if loss is not None and not isinstance(loss, AbstractLoss):
        raise ValueError(f"each: `loss` must be MeanSquare() or RelativeL2(), got {loss!r}.")
    return Each(observations, observations.loss if loss is None else loss)
