"""Samples of a data set: read and split, the errors of a network on them, and baselines that need no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
from jaxtyping import Array, Float

from .._base import Model, checks
from .._places import SAMPLE

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")

BLOCK = 16  # samples evaluated at once, which bounds memory


class Samples(eqx.Module):
    """Input functions and their solutions on one grid, channels last."""

    inputs: Float[Array, "samples *grid c"]
    outputs: Float[Array, "samples *grid m"]

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def grid(self) -> tuple[int, ...]:
        """The points of the solutions along each coordinate."""
        return self.outputs.shape[1:-1]


class Layout(NamedTuple):
    """How the functions of an operator lie on their grid: coordinates of the output with their points, which of them
    are periodic, and how many of the last ones the input has too."""

    axes: dict[str, np.ndarray]
    periodic: tuple[str, ...]
    shared: int


def spread(values: Float[Array, "*some c"], grid: tuple[int, ...]) -> Float[Array, "*grid c"]:
    """An input function on the grid of the solutions: constant along coordinates that it lacks, which come first."""
    return jnp.broadcast_to(values, (*grid, values.shape[-1]))


@eqx.filter_jit
def relative_errors(model: Model, samples: Samples) -> Float[Array, " samples"]:
    """‖u(a_j) − u_j‖ / ‖u_j‖ for each sample."""

    def error(pair):
        values, truth = pair
        return jnp.linalg.norm(model(spread(values, samples.grid)) - truth) / jnp.linalg.norm(truth)

    return jax.lax.map(error, (samples.inputs, samples.outputs), batch_size=BLOCK)


@eqx.filter_jit
def predictions(
    model: Model, inputs: Float[Array, "samples *some c"], grid: tuple[int, ...]
) -> Float[Array, "samples *grid m"]:
    """The solutions of many input functions."""
    return jax.lax.map(lambda values: model(spread(values, grid)), inputs, batch_size=BLOCK)


def nearest_neighbour(train: Samples, others: Samples) -> Float[np.ndarray, " samples"]:
    """The relative error of the training solution whose input is nearest, for each sample: no network, no fit."""
    a, b = (np.asarray(s.inputs, float).reshape(len(s), -1) for s in (train, others))
    nearest = np.argmin((b**2).sum(1)[:, None] - 2 * b @ a.T + (a**2).sum(1), axis=1)
    return _errors(np.asarray(train.outputs)[nearest], others)


def interpolation(train: Samples, others: Samples) -> Float[np.ndarray, " samples"] | None:
    """The relative error of linear interpolation between the solutions of neighbouring inputs, where all inputs are
    constants and neighbours make sense; None elsewhere."""
    flat = [np.asarray(s.inputs).reshape(len(s), -1) for s in (train, others)]
    if any(np.ptp(values, axis=1).max() > 1e-6 for values in flat):
        return None
    known, wanted = (values[:, 0] for values in flat)
    order = np.argsort(known)
    above = np.clip(np.searchsorted(known[order], wanted), 1, len(known) - 1)
    low, high = order[above - 1], order[above]
    share = (wanted - known[low]) / (known[high] - known[low])
    outputs = np.asarray(train.outputs)
    share = share.reshape(-1, *[1] * (outputs.ndim - 1))
    return _errors((1 - share) * outputs[low] + share * outputs[high], others)


def _errors(found: np.ndarray, samples: Samples) -> np.ndarray:
    truth = np.asarray(samples.outputs)
    flat = lambda values: values.reshape(len(values), -1)
    return np.linalg.norm(flat(found - truth), axis=1) / np.linalg.norm(flat(truth), axis=1)


Arrays = tuple[np.ndarray, np.ndarray]  # inputs and outputs, as views of the data set where its type allows it


def arrays_of(owner: str, dataset: Any, input: str, output: str) -> tuple[Arrays, dict[str, np.ndarray]]:
    if not isinstance(dataset, xr.Dataset):
        raise ValueError(f"OperatorProblem: `{owner}` must be an xarray Dataset, got {type(dataset).__name__}.")
    for name in (input, output):
        if name not in dataset:
            raise ValueError(
                f"OperatorProblem: `{owner}` has no variable `{name}`; it has "
                f"{checks.listed(map(str, dataset.data_vars))}."
            )
        if not dataset[name].dims or dataset[name].dims[0] != SAMPLE:
            raise ValueError(
                f"OperatorProblem: the first dimension of `{name}` must be `{SAMPLE}`, got {dataset[name].dims}."
            )
    if not dataset.sizes[SAMPLE]:
        raise ValueError(f"OperatorProblem: `{owner}` has no samples.")
    names = [str(name) for name in dataset[output].dims[1:]]
    missing = [str(name) for name in dataset[input].dims[1:] if name not in names]
    if missing:
        raise ValueError(f"OperatorProblem: the input has {checks.listed(missing)}, which the output lacks.")
    tail = [name for name in names if name in dataset[input].dims]
    if names[len(names) - len(tail) :] != tail:
        raise ValueError(
            f"OperatorProblem: coordinates that only the output has must come first, got {dataset[output].dims}."
        )
    arrays = {}
    for name, order in ((input, tail), (output, names)):
        values = np.asarray(dataset[name].transpose(SAMPLE, *order).values, np.float32)
        bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if bad.any():
            raise ValueError(
                f"OperatorProblem: `{name}` of sample {int(np.argmax(bad))} is not finite ({int(bad.sum())} such "
                "samples); drop them first."
            )
        arrays[name] = values[..., None]
    axes = {}
    for name in names:
        axis = np.asarray(dataset.coords[name] if name in dataset.coords else np.arange(dataset.sizes[name]), float)
        if len(axis) < 2 or np.any(np.diff(axis) <= 0):
            raise ValueError(f"OperatorProblem: coordinate `{name}` must increase over at least two points.")
        axes[name] = axis
    return (arrays[input], arrays[output]), axes


def check_ring(name: str, axis: np.ndarray, outputs: np.ndarray, place: int) -> None:
    """A periodic coordinate has even points, of which the last is not the first again."""
    spacing = np.diff(axis)
    if not np.allclose(spacing, spacing[0], rtol=1e-3):
        raise ValueError(f"OperatorProblem: `periodic` names `{name}`, whose points are not even: {axis[:4]} …")
    first, second, last = (np.take(outputs, i, axis=place) for i in (0, 1, -1))
    size = np.abs(first).max()
    if np.abs(last - first).max() <= 1e-5 * size and np.abs(second - first).max() > 1e-3 * size:
        raise ValueError(
            f"OperatorProblem: `periodic` names `{name}`, whose last point repeats the first; leave it out with "
            f"dataset.isel({name}=slice(0, -1))."
        )


def _part(arrays: Arrays, start: int, stop: int) -> Samples:
    return Samples(*(jnp.asarray(values[start:stop]) for values in arrays))


def split(
    arrays: Arrays, axes: dict[str, np.ndarray], validation: Any, test: Any, input: str, output: str
) -> tuple[Samples, Samples | None, Samples | None]:
    parts: dict[str, Samples | None] = {}
    stop = len(arrays[0])
    for name, given in (("test", test), ("validation", validation)):
        if isinstance(given, xr.Dataset):
            own, other = arrays_of(name, given, input, output)
            alike = list(other) == list(axes) and own[0].ndim == arrays[0].ndim
            if not alike or any(not _same(other[n], axes[n]) for n in axes):
                said = (
                    ", ".join(f"{n}: {len(a)} in [{a[0]:.4g}, {a[-1]:.4g}]" for n, a in x.items())
                    for x in (other, axes)
                )
                raise ValueError("OperatorProblem: `{}` is on the grid {}, the data set on {}.".format(name, *said))
            parts[name] = _measurable(name, _part(own, 0, len(own[0])))
            continue
        count = checks.count("OperatorProblem", name, given, at_least=0)
        if count >= stop:
            raise ValueError(
                f"OperatorProblem: `{name}` = {count} leaves nothing to train on: there are {len(arrays[0])} samples."
            )
        parts[name] = _measurable(name, _part(arrays, stop - count, stop)) if count else None
        stop -= count
    return _part(arrays, 0, stop), parts["validation"], parts["test"]


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return len(a) == len(b) and np.allclose(a, b, rtol=0, atol=1e-3 * abs(b[1] - b[0]))


def _measurable(name: str, samples: Samples) -> Samples:
    """Samples of which none vanishes: nothing is relative to it."""
    zero = np.abs(np.asarray(samples.outputs)).reshape(len(samples), -1).max(axis=1) == 0
    if zero.any():
        raise ValueError(
            f"OperatorProblem: sample {int(np.argmax(zero))} of `{name}` is zero everywhere, so that no error is "
            f"relative to it ({int(zero.sum())} such samples); drop them first."
        )
    return samples
