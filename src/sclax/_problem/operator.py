"""Solution operators: a network that maps an input function to a solution, one loss for each sample of a data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np

from .. import nn
from .._base import Key, Model, Scalar, checks
from .._laws import Vocabulary
from .._places import Box
from .courses import Course, course
from .grids import SampleLaws
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
from .samples import Layout, Samples, arrays_of, check_ring, split, spread
from .term import Term

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


@dataclasses.dataclass(frozen=True)
class Network:
    """The network of `solve` where none is given: a Fourier neural operator with as many modes as a small grid has."""

    inputs: int
    grid: tuple[int, ...]

    def __call__(self, domain: Box, outputs: int, key: Key) -> Model:
        modes = tuple(min(12, max(n // 3, 1)) for n in self.grid)
        return nn.FNO(self.inputs, outputs, modes, hidden=32, dimensions=len(self.grid), key=key)


class OperatorProblem(AbstractProblem):
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

    domain: Box
    vocabulary: Vocabulary
    parameters: dict[str, Scalar]
    terms: tuple[Term, ...]
    tolerances: ByConstraint
    course: Course
    train: Samples
    validation: Samples | None
    test: Samples | None
    axes: tuple[np.ndarray, ...]
    reference: None = eqx.field(static=True)
    recipe: Recipe | None = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    pointwise: ClassVar[bool] = False

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
        bare = tuple(name for name in coordinates if name not in dataset.coords)
        laws = SampleLaws(self.train, self.axes, self.domain, self.vocabulary, self.batch, bare)
        sums = named_sums(objective, dict(constraints or {}))
        terms = [
            measure.on_samples(scale, owner, laws)
            for owner, weighted in sums.items()
            for scale, measure in weighted.parts
        ]
        self.terms = uniquely_named(terms)
        check_used("OperatorProblem", fixed, self.vocabulary, self.terms)
        self.tolerances = {
            name: tolerance_for(name, constraint, [t for t in terms if t.owner == name])
            for name, constraint in (constraints or {}).items()
        }
        self.course = course(self.tolerances)

    def bare(self) -> "OperatorProblem":
        # The samples that train are in the laws already.
        return stripped(self, "recipe", "train", "validation", "test")

    @property
    def epoch(self) -> int:
        # In which each sample is seen once.
        return max(int(self.terms[0].law.place.measure) // self.batch, 1)

    @property
    def held_out(self) -> Samples | None:
        return self.validation

    @property
    def layout(self) -> Layout:
        axes = dict(zip(self.domain.names, self.axes, strict=True))
        return Layout(axes, tuple(self.domain.periodic), self.train.inputs.ndim - 2)

    @property
    def direction(self) -> int:
        return 0  # whole functions are learned at once

    def network(self) -> Network:
        return Network(self.train.inputs.shape[-1], self.train.grid)

    def fits(self, model: Model) -> None:
        samples = self.terms[0].law.residual.inputs  # pyright: ignore[reportAttributeAccessIssue]
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
