"""Solution operators: a network that maps an input function to a solution, one loss for each sample of a data set."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from .. import nn
from .._base import Key, Model, checks
from .._laws import Data, Derivative, Equation, Law, RelativeL2, Vocabulary, named
from .._places import Box, SampleSet
from ..samplers import AbstractSampler, Batches, ImportanceWeights
from .grids import DataResidual, EquationResidual, difference_matrix
from .measures import AbstractMeasure, Average, Constraint, Each, Sum, WorstCase
from .pointwise import Problem
from .problem import Recipe, named_sums, tolerance_for, uniquely_named
from .samples import Samples, arrays_of, check_ring, split, spread
from .term import Term, plain_term


@dataclasses.dataclass(frozen=True)
class Network:
    """The network of `solve` where none is given: a Fourier neural operator with as many modes as a small grid has."""

    inputs: int
    grid: tuple[int, ...]

    def __call__(self, domain: Box, outputs: int, key: Key) -> Model:
        modes = tuple(min(12, max(n // 3, 1)) for n in self.grid)
        return nn.FNO(self.inputs, outputs, modes, hidden=32, dimensions=len(self.grid), key=key)


class OperatorProblem(Problem):
    """What a solution operator must satisfy on the samples of a data set: input functions a_j and their solutions u_j,

        minimise   objective      subject to   ‖u(a_j) − u_j‖ ≤ ε   for each sample j.

    **Arguments:**

    - `dataset`: an xarray Dataset with an input function and its solution for each `sample`, the first dimension, in
      the variables that `input` and `output` name. The input may lack coordinates of the output, time for instance.
    - `objective`, `constraints`: measures of `Data()`, the misfit of a sample, and of equations by argument name, which
      hold on the operator's output. `each(Data()) <= ε` has one multiplier for each sample, `average(Data())` is the
      usual training.
    - `parameters`: the numbers in equations.
    - `validation`, `test`: how many samples at the end of the data set (test last) are kept for each, or data sets.
      The state of lowest validation error is the result.
    - `batch`: samples in a step; each is in one step of an epoch, in an order that the seed determines.
    - `periodic`: coordinates along which the solutions are periodic, for derivatives in equations.
    - `unknown`: what equations call the output.

    !!! example
        ```python
        data = scl.data.burgers("small")
        fit = each(Data(RelativeL2())) <= 1e-3
        problem = OperatorProblem(data, constraints={"data": fit}, validation=50, test=50)
        solution = scl.solve(problem, seconds=60)
        ```
    """

    train: Samples
    validation: Samples | None
    test: Samples | None
    axes: tuple[np.ndarray, ...]
    batch: int = eqx.field(static=True)

    pointwise = False

    def __init__(
        self,
        dataset: xr.Dataset,
        constraints: Mapping[str, Constraint] | None = None,
        objective: AbstractMeasure | Sum | None = None,
        parameters: Mapping[str, float] | None = None,
        validation: int | xr.Dataset = 0,
        test: int | xr.Dataset = 0,
        batch: int = 20,
        periodic: str | tuple[str, ...] | list[str] = (),
        input: str = "input",
        output: str = "solution",
        unknown: str = "u",
        recipe: Recipe | None = None,
    ):
        arrays, coordinates = arrays_of("dataset", dataset, input, output)
        self.train, self.validation, self.test = split(arrays, coordinates, validation, test, input, output)
        self.batch = checks.count("OperatorProblem", "batch", batch)
        if self.batch > len(self.train):
            raise ValueError(
                f"OperatorProblem: `batch` = {batch} is more than the {len(self.train)} samples that are left for "
                "training; take a smaller one."
            )
        periodic = (periodic,) if isinstance(periodic, str) else tuple(periodic)
        for name in periodic:
            if name not in coordinates:
                raise ValueError(
                    f"OperatorProblem: `periodic` names `{name}`; the output has {checks.listed(coordinates)}."
                    + checks.nearest(name, coordinates)
                )
            check_ring(name, coordinates[name], arrays[1], 1 + list(coordinates).index(name))
        ends = {
            name: (float(axis[0]), float(axis[-1] + (axis[1] - axis[0] if name in periodic else 0.0)))
            for name, axis in coordinates.items()
        }
        self.domain = Box(**ends).wrapping(periodic)
        self.axes = tuple(coordinates.values())
        fixed = {
            name: jnp.asarray(checks.number("OperatorProblem", f"parameters[{name!r}]", value))
            for name, value in (parameters or {}).items()
        }
        self.vocabulary = Vocabulary(self.domain.names, (unknown,), tuple(fixed))
        self.parameters, self.recipe, self.reference = fixed, recipe, None
        sums = named_sums(objective, dict(constraints or {}))
        terms = [
            self._term(measure, scale, owner) for owner, weighted in sums.items() for scale, measure in weighted.parts
        ]
        self.terms = uniquely_named(terms)
        bare = [name for name in coordinates if name not in dataset.coords]
        if bare and any(isinstance(term.law.residual, EquationResidual) for term in terms):
            raise ValueError(
                f"OperatorProblem: an equation needs the coordinates of {checks.listed(bare)}, which `dataset` lacks; "
                "add them with dataset.assign_coords(...)."
            )
        self.tolerances = {
            name: tolerance_for(name, constraint, [t for t in terms if t.owner == name])
            for name, constraint in (constraints or {}).items()
        }

    def _term(self, measure: AbstractMeasure, scale: float, owner: str | None) -> Term:
        if not isinstance(measure, Average | WorstCase | Each):
            raise ValueError(f"OperatorProblem: expected average, worst_case or each, got {measure!r}.")
        what = measure.observations if isinstance(measure, Each) else measure.condition
        if isinstance(measure, Each) and owner is None:
            raise ValueError("OperatorProblem: `each` has one value a sample and is no objective; use average(Data()).")
        if isinstance(what, Data):
            loss = measure.loss if isinstance(measure, Each) else what.loss
            law = self._law_of_data(isinstance(loss, RelativeL2))
        elif isinstance(what, Equation) and not isinstance(measure, Each):
            law = self._law_of_equation(what.function)
        else:
            raise ValueError(
                "OperatorProblem: a measure is of Data(), or of an equation by argument name, got "
                f"{type(what).__name__}: conditions hold in the data already."
            )
        unused = {n: getattr(measure, n, None) for n in ("points", "at", "sampler", "over")}
        for argument, value in unused.items():
            if value is not None:
                raise ValueError(
                    f"OperatorProblem: `{argument}` has no meaning on samples, got {value!r:.60}; they come in batches "
                    "of `n`, or of the problem's `batch`."
                )
        batches = Batches(min((getattr(measure, "n", None) or self.batch), len(self.train)))
        worst = isinstance(measure, WorstCase)
        sampler: AbstractSampler = ImportanceWeights(batches.n, batches) if worst else batches
        alpha = measure.alpha if isinstance(measure, WorstCase) else 0.0
        return plain_term(law, sampler, alpha, scale, owner, separate=isinstance(measure, Each), worst=worst)

    def _place(self) -> SampleSet:
        return SampleSet(jnp.arange(len(self.train), dtype=jnp.result_type(float))[:, None])

    def _law_of_data(self, relative: bool) -> Law:
        """The misfit of samples, mean-square or relative."""
        samples = self.train
        size = float(np.prod(samples.outputs.shape[1:]))
        flat = np.asarray(samples.outputs).reshape(len(samples), -1)
        norms = np.sqrt(np.einsum("ij,ij->i", flat, flat))  # which holds no second copy of the data
        if relative and not np.all(norms > 0):
            raise ValueError(
                f"RelativeL2: sample {int(np.argmin(norms))} is zero everywhere, so nothing is relative to it; use "
                "MeanSquare()."
            )
        divisors = jnp.asarray(norms if relative else np.full(len(samples), size**0.5), samples.outputs.dtype)
        points = int(np.prod(samples.grid))
        return Law(DataResidual(samples, divisors), self._place(), "data", 0, 1 if relative else 2, points)

    def _law_of_equation(self, function: Callable[..., Any]) -> Law:
        bound = named(function, self.vocabulary, "equation")
        lengths = tuple(
            float(length) if name in self.domain.periodic else None
            for name, length in zip(self.domain.names, self.domain.lengths, strict=True)
        )
        axes = tuple(jnp.asarray(axis) for axis in self.axes)
        along = {q.along for q in bound.quantities if isinstance(q, Derivative)}
        differences = {
            (axis, index.count(axis)): jnp.asarray(difference_matrix(self.axes[axis], index.count(axis)))
            for index in along
            for axis in set(index)
            if lengths[axis] is None
        }
        residual = EquationResidual(self.train.inputs, axes, lengths, differences, bound)
        return Law(residual, self._place(), "equation", bound.order, 2, int(np.prod(self.train.grid)))

    def bare(self) -> "OperatorProblem":
        # The samples that train are in the laws already.
        return super().bare()._with(train=None, validation=None, test=None)  # pyright: ignore[reportReturnType]

    @property
    def epoch(self) -> int:
        """Steps in which each sample is seen once."""
        return max(len(self.terms[0].law.place.points) // self.batch, 1)  # pyright: ignore

    def network(self) -> Network:
        return Network(self.train.inputs.shape[-1], self.train.grid)

    def fits(self, model: Model) -> None:
        residual = next(t.law.residual for t in self.terms)
        samples = residual.samples.inputs if isinstance(residual, DataResidual) else residual.inputs  # pyright: ignore
        grid = tuple(len(axis) for axis in self.axes)
        wanted = (*grid, len(self.unknowns))
        try:
            found = jax.eval_shape(lambda a: model(spread(a, grid)), samples[0]).shape
        except TypeError as error:
            raise ValueError(
                f"solve: `model` does not take an input function of shape {(*grid, samples.shape[-1])} ({error})."
            ) from error
        if found != wanted:
            raise ValueError(f"solve: `model` must give a solution of shape {wanted}, grid and channels, got {found}.")
