"""Measurements of a solution."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import checks
from .._places import Box, PointSet, columns
from . import mathml
from .fields import evaluate
from .law import AbstractResidual, AbstractSampled, Law, OnSamples, unknown_index
from .losses import AbstractLoss, MeanSquare
from .words import Asked, Coordinate, Derivative, Vocabulary


class ObservationResidual(AbstractResidual):
    """u − data on one sample: its points side by side, divided so that the sum of squares is the sample's loss."""

    points: Float[Array, "samples m d"]
    values: Float[Array, "samples m c"]
    divisors: Float[Array, "samples m c"]
    units: Float[Array, "samples m c"]  # the divisors without the noise
    noisy: bool = eqx.field(static=True)  # whether the noise is known
    which: tuple[Derivative, ...] = eqx.field(static=True)
    vocabulary: Vocabulary

    @property
    def measured(self):
        return np.asarray(self.units).reshape(len(self.units), -1), self.noisy

    def prescribed(self, parameters, place):
        sizes = np.sqrt(np.mean(np.asarray(self.values, float) ** 2, axis=(0, 1)))
        return {d.unknown: float(size) for d, size in zip(self.which, sizes, strict=True) if not d.along}

    @property
    def asked(self) -> Asked:
        derived = [d for d in self.which if d.unknown >= len(self.vocabulary.unknowns)]
        every = tuple(Coordinate(i) for i in range(self.points.shape[-1]))  # data vary along all of them
        return every + self.vocabulary.expanded(derived)

    def written(self):
        names = (mathml.name(self.vocabulary.spelt(d)) for d in self.which)
        return tuple(f"{name}<mo>=</mo><mtext>measurements</mtext>" for name in names)

    def seen(self, parameters, place, w):
        return self.points[w[0].astype(int)]

    def __call__(self, model, parameters, place, w):
        sample = w[0].astype(int)
        at = lambda z: jnp.stack(evaluate(model, self.vocabulary, parameters, z, self.which))
        differences = jax.vmap(at)(self.points[sample]) - self.values[sample]
        return (differences / self.divisors[sample]).ravel()


class Observations(AbstractSampled):
    """Scattered measurements:  u(points_j) = values_j.

    **Arguments:**

    - `points`: a dict of arrays by coordinate name, a DataFrame, or an xarray object. Arrays of shape (J,) are J
      samples of one point each; arrays of shape (J, m) are J samples of m points each (one per experiment, say).
    - `values`: an array of the same shape; for several unknowns, or for derived quantities, a dict by name; the name of
      a column of `points`; or left out where `points` has columns named as the unknowns.
    - `noise`: the standard deviation of the values. Residuals are divided by it: a loss of 1 is one deviation.

    !!! example
        `average(Observations({"x": x, "t": t}, u)) <= 1e-4`, or `each(Observations(...)) <= 1e-4`.
    """

    points: Mapping[str, Any]
    values: Any
    noise: Any
    loss: AbstractLoss

    def __init__(self, points: Any, values: Any = None, noise: Any = None):
        if hasattr(points, "to_dataframe"):  # xarray: every combination of its coordinates is one point
            points = (points if hasattr(points, "data_vars") else points.to_dataset(name=points.name)).to_dataframe()
            points = points.reset_index()
        table = {str(name): points[name] for name in points}
        if isinstance(values, str):
            if values not in table:
                raise ValueError(
                    f"Observations: `values={values!r}` is no column of the points; there are {checks.listed(table)}."
                )
            values = {values: table.pop(values)}
        if noise is not None and np.any(checks.finite_array("Observations", "noise", noise) <= 0):
            raise ValueError(
                f"Observations: `noise` is a standard deviation and must be positive, got {np.min(np.asarray(noise))}."
            )
        self.points, self.values, self.noise, self.loss = table, values, noise, MeanSquare()

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        return self.bind_each(vocabulary, domain, self.loss)

    def bind_each(self, vocabulary: Vocabulary, domain: Box, loss: AbstractLoss) -> Law:
        table = dict(self.points)
        values = self.values
        if values is None:
            values = {name: table.pop(name) for name in vocabulary.fields if name in table}
            if not values:
                raise ValueError(
                    "Observations: `values` is missing and no column of the points is named as an unknown "
                    f"({checks.listed(vocabulary.fields)})."
                )
        if not isinstance(values, Mapping):
            values = {vocabulary.unknowns[unknown_index("Observations", None, vocabulary)]: values}
        elif len(values) == 1 and len(vocabulary.fields) == 1:
            values = {vocabulary.unknowns[0]: next(iter(values.values()))}
        table = {name: column for name, column in table.items() if name in domain.names or name not in values}
        z = columns("Observations", table, domain)
        shape = tuple(z.shape[:-1])
        stacked = []
        for name, column in values.items():
            unknown_index("Observations", name, vocabulary)
            array = np.atleast_1d(checks.finite_array("Observations", f"values[{name!r}]", column))
            if array.shape != shape:
                raise ValueError(
                    f"Observations: `values` of `{name}` must have the points' shape {shape}, got {array.shape}."
                )
            stacked.append(array)
        if len(shape) > 2:
            raise ValueError(f"Observations: points have shape (samples,) or (samples, m), got {shape}.")
        samples, m = (*shape, 1)[:2]
        data = jnp.asarray(np.stack(stacked, axis=-1).reshape(samples, m, len(stacked)))
        deviation = np.asarray(1.0 if self.noise is None else self.noise)
        try:
            noise = jnp.asarray(np.broadcast_to(deviation, shape))
        except ValueError:
            raise ValueError(
                f"Observations: `noise` must be a number or have the values' shape {shape}, got {deviation.shape}."
            ) from None
        noise = noise.reshape(samples, m, 1).astype(data.dtype)
        norms = np.asarray(jnp.linalg.norm(data / noise, axis=(1, 2)))
        divisors = jnp.asarray(loss.divisors(norms, m), data.dtype)[:, None, None]
        which = tuple(Derivative(vocabulary.fields.index(name), ()) for name in values)
        residual = ObservationResidual(
            z.reshape(samples, m, domain.dimension),
            data,
            jnp.broadcast_to(divisors * noise, data.shape),
            jnp.broadcast_to(divisors, data.shape),
            self.noise is not None,
            which,
            vocabulary,
        )
        place = PointSet(z.reshape(samples, m, -1)[:, 0])
        return Law(residual, place, "observations", vocabulary.order(which), loss.power)


class Data(AbstractSampled):
    """The misfit of a sample of an `OperatorProblem`'s data set:  u(a_j) − u_j  on its grid.

    `loss` is `MeanSquare()` or `RelativeL2()`.

    !!! example
        `each(Data(RelativeL2())) <= 1e-3`, or `average(Data(RelativeL2()))` for training on the average loss.
    """

    loss: AbstractLoss = MeanSquare()

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        raise ValueError("Data: only an OperatorProblem has a data set; measurements at points are Observations(...).")

    def bind_each(self, vocabulary: Vocabulary, domain: Box, loss: AbstractLoss) -> Law:
        return self.bind(vocabulary, domain)

    def on_samples(self, samples: OnSamples) -> Law:
        return samples.law_of_data(self.loss)
