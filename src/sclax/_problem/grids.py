"""Residuals of solution operators on grids: the misfit of samples, and equations."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import checks
from .._laws import (
    AbstractLoss,
    AbstractNamed,
    Constant,
    Coordinate,
    Derivative,
    Gradient,
    Laplacian,
    Law,
    NamedFunction,
    Parameter,
    Vocabulary,
    named,
)
from .._places import Box, SampleSet
from .samples import Samples, spread


class DataResidual(AbstractNamed):
    """u(a_j) − u_j on the grid, divided so that the sum of its squares is the sample's loss (the loss squared, for
    relative ones)."""

    samples: Samples
    divisors: Float[Array, " samples"]

    @property
    def inputs(self) -> Float[Array, "samples *grid c"]:
        return self.samples.inputs

    def __call__(self, model, parameters, place, w):
        j = w[0].astype(int)
        found = model(spread(self.samples.inputs[j], self.samples.grid))
        return ((found - self.samples.outputs[j]) / self.divisors[j]).ravel()


class EquationResidual(AbstractNamed):
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
                case Derivative():
                    values[quantity] = self._field(found, quantity)
                case Gradient():
                    values[quantity] = jnp.stack([self._field(found, part) for part in quantity.parts])
                case Laplacian():
                    values[quantity] = sum(self._field(found, part) for part in quantity.parts)
        rows = self.function.restricted(values)
        rows = rows if isinstance(rows, tuple | list) else (rows,)
        stacked = jnp.stack([jnp.broadcast_to(row, grid) for row in rows], axis=-1)
        return stacked.ravel() / jnp.sqrt(float(np.prod(grid)))

    def _field(self, outputs: Array, derivative: Derivative) -> Array:
        field = outputs[..., derivative.unknown]
        for axis in sorted(set(derivative.along)):
            field = self._derivative(field, axis, derivative.along.count(axis))
        return field

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
class SampleLaws:
    """The laws that make sense on the samples of a data set, whose `bare` coordinates have no values of their own."""

    train: Samples
    axes: tuple[np.ndarray, ...]
    domain: Box
    vocabulary: Vocabulary
    batch: int
    bare: tuple[str, ...]

    @property
    def samples(self) -> int:
        return len(self.train)

    def _place(self) -> SampleSet:
        return SampleSet(jnp.arange(len(self.train), dtype=jnp.result_type(float))[:, None])

    def law_of_data(self, loss: AbstractLoss) -> Law:
        """The misfit of samples."""
        outputs = self.train.outputs
        flat = np.asarray(outputs).reshape(len(outputs), -1)
        norms = np.sqrt(np.einsum("ij,ij->i", flat, flat))  # which holds no second copy of the data
        divisors = jnp.asarray(loss.divisors(norms, flat.shape[1]), outputs.dtype)
        points = int(np.prod(self.train.grid))
        return Law(DataResidual(self.train, divisors), self._place(), "data", 0, loss.power, points)

    def law_of_equation(self, function: Callable[..., Any]) -> Law:
        """An equation by argument name on the operator's output."""
        if self.bare:
            raise ValueError(
                f"OperatorProblem: an equation needs the coordinates of {checks.listed(self.bare)}, which `dataset` "
                "lacks; add them with dataset.assign_coords(...)."
            )
        bound = named(function, self.vocabulary, "equation", self.train.grid)
        lengths = tuple(
            float(length) if name in self.domain.periodic else None
            for name, length in zip(self.domain.names, self.domain.lengths, strict=True)
        )
        along = {q.along for q in bound.asked if isinstance(q, Derivative)}
        differences = {
            (axis, index.count(axis)): jnp.asarray(difference_matrix(self.axes[axis], index.count(axis)))
            for index in along
            for axis in set(index)
            if lengths[axis] is None
        }
        axes = tuple(jnp.asarray(axis) for axis in self.axes)
        residual = EquationResidual(self.train.inputs, axes, lengths, differences, bound)
        return Law(residual, self._place(), "equation", bound.order, 2, int(np.prod(self.train.grid)))
