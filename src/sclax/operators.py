"""Solution operators: a network that maps an input function to a solution, one loss for each sample of a data set."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from . import _checks, nn
from ._typing import Array, Float, Key, Model
from .conditions import Equation
from .domains import Box, PointSet
from .fields import Constant, Coordinate, Derivative, NamedFunction, Parameter, Vocabulary, named
from .laws import AbstractResidual, Law
from .measures import AbstractMeasure, Average, Constraint, Data, Each, RelativeL2, Sum, Term, WorstCase, plain_term
from .problem import Problem, Recipe, named_sums, tolerance_for, uniquely_named
from .samplers import AbstractSampler, Batches, ImportanceWeights
from .samples import SAMPLE, Samples, arrays_of, check_ring, split, spread


class SampleSet(PointSet):
    """The samples of a data set, by number."""

    @property
    def chart(self) -> Box:
        return Box(sample=(0.0, float(len(self.points))))

    def where(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        return {SAMPLE: float(w[0])}


class DataResidual(AbstractResidual):
    """u(a_j) − u_j on the grid, divided so that the sum of its squares is the sample's loss (the loss squared, for
    relative ones)."""

    samples: Samples
    divisors: Float[Array, " samples"]

    def __call__(self, model, parameters, place, w):
        j = w[0].astype(int)
        found = model(spread(self.samples.inputs[j], self.samples.grid))
        return ((found - self.samples.outputs[j]) / self.divisors[j]).ravel()


class EquationResidual(AbstractResidual):
    """An equation on the operator's output: its residual at the points of the grid, divided so that the sum of squares
    is the mean over them. Derivatives are spectral along periodic coordinates, differences of order 4 along others."""

    inputs: Float[Array, "samples *grid c"]
    axes: tuple[Float[Array, " n"], ...]
    lengths: tuple[float | None, ...] = eqx.field(static=True)  # of a period; None where there is none
    differences: dict[tuple[int, int], Float[Array, "n n"]]  # by axis and order, where there is no period
    function: NamedFunction | Constant

    def __call__(self, model, parameters, place, w):
        grid = tuple(len(axis) for axis in self.axes)
        found = model(spread(self.inputs[w[0].astype(int)], grid))
        mesh = jnp.meshgrid(*self.axes, indexing="ij")
        values = {}
        for quantity in self.function.quantities:
            match quantity:
                case Coordinate(number):
                    values[quantity] = mesh[number]
                case Parameter(name):
                    values[quantity] = parameters[name]
                case Derivative(unknown, along):
                    field = found[..., unknown]
                    for axis in sorted(set(along)):
                        field = self._derivative(field, axis, along.count(axis))
                    values[quantity] = field
        rows = self.function.restricted(values)
        rows = rows if isinstance(rows, tuple | list) else (rows,)
        stacked = jnp.stack([jnp.broadcast_to(row, grid) for row in rows], axis=-1)
        return stacked.ravel() / jnp.sqrt(float(np.prod(grid)))

    def _derivative(self, values: Array, axis: int, order: int) -> Array:
        length = self.lengths[axis]
        if length is None:
            return jnp.moveaxis(jnp.tensordot(self.differences[axis, order], values, (1, axis)), 0, axis)
        n = values.shape[axis]
        k = 2j * np.pi * np.arange(n // 2 + 1) / length
        if n % 2 == 0 and order % 2 == 1:
            k[-1] = 0.0  # an odd derivative of the highest cosine is not on the grid
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        factor = jnp.asarray(k**order).astype(jnp.result_type(values.dtype, jnp.complex64)).reshape(shape)
        return jnp.fft.irfft(factor * jnp.fft.rfft(values, axis=axis), n, axis=axis).astype(values.dtype)


def difference_matrix(axis: Float[np.ndarray, " n"], order: int) -> Float[np.ndarray, "n n"]:
    """The matrix of a derivative along points of any spacing, exact for polynomials of degree order + 3."""
    n, width = len(axis), min(order + 4, len(axis))
    if n <= order:
        raise ValueError(f"OperatorProblem: a derivative of order {order} needs more than {n} points along its axis.")
    matrix = np.zeros((n, n))
    for i in range(n):
        start = min(max(i - width // 2, 0), n - width)
        offsets = axis[start : start + width] - axis[i]
        scale = np.abs(offsets).max()
        powers = np.vander(offsets / scale, increasing=True).T
        wanted = np.zeros(width)
        wanted[order] = float(np.prod(np.arange(1, order + 1))) / scale**order
        matrix[i, start : start + width] = np.linalg.solve(powers, wanted)
    return matrix


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
        self.batch = _checks.count("OperatorProblem", "batch", batch)
        if self.batch > len(self.train):
            raise ValueError(
                f"OperatorProblem: `batch` = {batch} is more than the {len(self.train)} samples that are left for "
                "training; take a smaller one."
            )
        periodic = (periodic,) if isinstance(periodic, str) else tuple(periodic)
        for name in periodic:
            if name not in coordinates:
                raise ValueError(
                    f"OperatorProblem: `periodic` names `{name}`; the output has {_checks.listed(coordinates)}."
                    + _checks.nearest(name, coordinates)
                )
            check_ring(name, coordinates[name], arrays[1], 1 + list(coordinates).index(name))
        ends = {
            name: (float(axis[0]), float(axis[-1] + (axis[1] - axis[0] if name in periodic else 0.0)))
            for name, axis in coordinates.items()
        }
        self.domain = Box(**ends).wrapping(periodic)
        self.axes = tuple(coordinates.values())
        fixed = {
            name: jnp.asarray(_checks.number("OperatorProblem", f"parameters[{name!r}]", value))
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
                f"OperatorProblem: an equation needs the coordinates of {_checks.listed(bare)}, which `dataset` lacks; "
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
