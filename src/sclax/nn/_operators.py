"""Models from functions to functions: one sample is an array of values on a grid, [*grid, channels].

The grid covers the unit cube: axis a has the points 0, 1/n, …, (n − 1)/n. `jax.vmap` runs over many samples.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .._base import Key, Points, checks
from ._mlp import Dense


def _coordinates(grid: tuple[int, ...], dtype: np.dtype) -> Float[Array, "*grid d"]:
    """The coordinates of every grid point."""
    return jnp.stack(jnp.meshgrid(*(jnp.arange(n, dtype=dtype) / n for n in grid), indexing="ij"), axis=-1)


def _on_grid(owner: str, values: Float[Array, "..."], dimensions: int) -> tuple[int, ...]:
    """The grid of `values`."""
    if values.ndim != dimensions + 1:
        raise ValueError(
            f"{owner}: `values` must be one sample with {dimensions} grid axes and then its channels, got the shape "
            f"{values.shape}. Use jax.vmap for a batch, and values[..., None] for a single channel without an axis."
        )
    return values.shape[:-1]


def _frequencies(points: int, modes: int) -> np.ndarray:
    """0, 1, …, modes − 1, as far as the grid tells them apart."""
    return np.arange(min(modes - 1, points // 2) + 1)


def _both_signs(frequencies: np.ndarray) -> np.ndarray:
    return np.concatenate([-frequencies[:0:-1], frequencies])


def _rotations(frequencies: np.ndarray, points: int) -> Float[np.ndarray, "2 2 k n"]:
    """exp(2πi k j / points) for every frequency k and point j, as matrices that act on (real, imaginary)."""
    # The remainder is exact in integers, so large products k j lose no digits.
    angles = 2 * math.pi * (np.outer(frequencies, np.arange(points)) % points) / points
    return np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])


def _to_frequencies(frequencies: np.ndarray, points: int) -> Float[np.ndarray, "2 2 k n"]:
    """Values to the Fourier coefficients of their trigonometric interpolant."""
    # A grid cannot tell the frequency points / 2 from its negative: the interpolant has one half of each.
    share = np.where(2 * np.abs(frequencies) == points, 0.5, 1.0) / points
    return share[:, None] * _rotations(-frequencies, points)


def _to_points(frequencies: np.ndarray, points: int) -> Float[np.ndarray, "2 2 n k"]:
    """Fourier coefficients to the values of their sum."""
    return np.swapaxes(_rotations(frequencies, points), -1, -2)


def _along(axis: int, matrix: np.ndarray, values: Float[Array, "q ..."]) -> Float[Array, "p ..."]:
    """Σ matrix[p, q, k, n] values[q, …, n, …] over q (real, imaginary) and over the points n of one grid axis."""
    parts, *shape = values.shape
    before, after = shape[:axis], shape[axis + 1 :]
    columns = values.reshape(parts, math.prod(before), shape[axis], math.prod(after))
    product = jnp.einsum("pqkn,qbna->pbka", jnp.asarray(matrix, values.dtype), columns)
    return product.reshape(matrix.shape[0], *before, matrix.shape[2], *after)


def _pointwise(layer: Dense, values: Float[Array, "*grid i"]) -> Float[Array, "*grid o"]:
    return values @ layer.weight.T + layer.bias


class SpectralConvolution(eqx.Module):
    """(K v)(x) = Re Σ_k c_k R_k v̂_k exp(2πi k·x): each low frequency has its own matrix R_k, others vanish.

    The sum has |k_a| < modes_a, and only k ≥ 0 in the last axis, since v is real; c_k is 2 where that k is positive and
    counts for its negative too, and else 1. v̂ are the Fourier coefficients of the trigonometric interpolant of v, so
    that every grid that resolves v gives the same function. Frequencies that the grid does not resolve are left out.
    """

    real: Float[Array, "*modes i o"]
    imaginary: Float[Array, "*modes i o"]

    def __init__(self, inputs: int, outputs: int, modes: tuple[int, ...], *, key: Key):
        shape = (*(2 * m - 1 for m in modes[:-1]), modes[-1], inputs, outputs)
        self.real, self.imaginary = jr.uniform(key, (2, *shape)) / (inputs * outputs)

    @property
    def modes(self) -> tuple[int, ...]:
        *signed, last = self.real.shape[:-2]
        return (*((count + 1) // 2 for count in signed), last)

    def __call__(self, values: Float[Array, "*grid i"]) -> Float[Array, "*grid o"]:
        # Few of the frequencies are kept: products with dense matrices, axis by axis, beat fast transforms.
        grid, modes, last = values.shape[:-1], self.modes, values.ndim - 2
        half = [_frequencies(n, m) for n, m in zip(grid, modes, strict=True)]
        frequencies = [*(_both_signs(k) for k in half[:-1]), half[-1]]
        # The weights lie in the order of the frequencies; a coarse grid uses the middle of those with both signs.
        signed = (slice(m - len(k), m + len(k) - 1) for m, k in zip(modes[:-1], half[:-1], strict=True))
        used = (*signed, slice(len(half[-1])))
        real, imaginary = self.real[used], self.imaginary[used]

        # The last axis goes from real numbers to complex ones and, at the end, back to the real part.
        coefficients = _along(last, _to_frequencies(frequencies[last], grid[last])[:, :1], values[None])
        for axis in reversed(range(last)):
            coefficients = _along(axis, _to_frequencies(frequencies[axis], grid[axis]), coefficients)
        by_real = jnp.einsum("p...i,...io->p...o", coefficients, real)
        by_imaginary = jnp.einsum("p...i,...io->p...o", coefficients, imaginary)
        coefficients = jnp.stack([by_real[0] - by_imaginary[1], by_real[1] + by_imaginary[0]])
        for axis in range(last):
            coefficients = _along(axis, _to_points(frequencies[axis], grid[axis]), coefficients)
        count = np.where(frequencies[last] > 0, 2, 1)
        return _along(last, count * _to_points(frequencies[last], grid[last])[:1], coefficients)[0]


class FNO(eqx.Module):
    """The Fourier neural operator of Li et al. (2021), on the unit cube with periodic convolutions:

        v_0 = P (a, x),   v_{l+1} = σ(W_l v_l + b_l + K_l v_l),   u = Q_2 σ(Q_1 v_L),   σ = gelu, none in the last layer

    with K_l the convolution by free weights on the lowest frequencies. `model(values)` maps one sample [*grid, inputs]
    to [*grid, outputs]; the coordinates x are appended inside. Every grid works, also one that was not trained on: a
    grid that is too coarse for some of the modes uses the others.

    **Arguments:**

    - `inputs`, `outputs`: channels of a sample, without the coordinates, and of the result.
    - `modes`: frequencies 0, …, modes − 1 of each axis, with both signs; one number, or one for each axis. Good
      values: 16 in one dimension, 8 in two or three.
    - `layers`, `hidden`, `projection`: number of layers, their channels, and the channels of the last hidden layer.
    - `dimensions`: axes of the grid.

    !!! example
        `model = FNO(1, 1, modes=16, key=jax.random.key(0))`, then `jax.vmap(model)(samples)` for samples [batch, n, 1]
    """

    lifting: Dense
    convolutions: tuple[SpectralConvolution, ...]
    linear: tuple[Dense, ...]
    projection: Dense
    readout: Dense

    def __init__(
        self,
        inputs: int,
        outputs: int,
        modes: int | tuple[int, ...],
        layers: int = 4,
        hidden: int = 64,
        projection: int = 128,
        dimensions: int = 1,
        *,
        key: Key,
    ):
        inputs, outputs = checks.count("FNO", "inputs", inputs), checks.count("FNO", "outputs", outputs)
        layers, hidden = checks.count("FNO", "layers", layers), checks.count("FNO", "hidden", hidden)
        projection = checks.count("FNO", "projection", projection)
        dimensions = checks.count("FNO", "dimensions", dimensions)
        each = modes if isinstance(modes, tuple) else (modes,) * dimensions
        if len(each) != dimensions:
            raise ValueError(
                f"FNO: `modes` must be one number, or one for each of the `dimensions` = {dimensions}, got {modes}. "
                f"Set dimensions={len(each)} for a grid with {len(each)} axes."
            )
        each = tuple(checks.count("FNO", "modes", m) for m in each)
        first, second, third, *keys = jr.split(key, 3 + 2 * layers)
        self.lifting = Dense(inputs + dimensions, hidden, key=first)
        self.convolutions = tuple(SpectralConvolution(hidden, hidden, each, key=k) for k in keys[:layers])
        self.linear = tuple(Dense(hidden, hidden, key=k) for k in keys[layers:])
        self.projection = Dense(hidden, projection, key=second)
        self.readout = Dense(projection, outputs, key=third)

    def __call__(self, values: Float[Array, "*grid i"]) -> Float[Array, "*grid o"]:
        dimensions = len(self.convolutions[0].modes)
        grid = _on_grid("FNO", values, dimensions)
        inputs = self.lifting.weight.shape[1] - dimensions
        if values.shape[-1] != inputs:
            raise ValueError(
                f"FNO: `values` must have `inputs` = {inputs} channels in the last axis, got the shape {values.shape}. "
                "Coordinates are appended inside: leave them out."
            )
        v = _pointwise(self.lifting, jnp.concatenate([values, _coordinates(grid, values.dtype)], axis=-1))
        for layer, (convolution, linear) in enumerate(zip(self.convolutions, self.linear, strict=True)):
            v = convolution(v) + _pointwise(linear, v)
            if layer < len(self.linear) - 1:
                v = jax.nn.gelu(v)
        return _pointwise(self.readout, jax.nn.gelu(_pointwise(self.projection, v)))


def _layers(sizes: list[int], key: Key) -> tuple[Dense, ...]:
    keys = jr.split(key, len(sizes) - 1)
    return tuple(Dense(i, o, key=k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True))


def _through(layers: tuple[Dense, ...], x: Float[Array, "*points i"]) -> Float[Array, "*points o"]:
    for layer in layers[:-1]:
        x = jnp.tanh(_pointwise(layer, x))
    return _pointwise(layers[-1], x)


class DeepONet(eqx.Module):
    """The deep operator network of Lu et al. (2021), in any number of dimensions:

        u_o(y) = Σ_f B_of(a) T_f(y) + b_o

    with a branch network B on all values of the input function a and a trunk network T on the coordinates of a point y
    in the unit cube. `model(values)` maps one sample [*grid, inputs] to [*grid, outputs]; `model(values, at)` gives the
    values [n, outputs] at the points `at` [n, coordinates], which may lie anywhere.

    **Arguments:**

    - `sensors`: numbers in one sample: grid points × input channels. The branch works on this grid only.
    - `coordinates`: dimensions of the unit cube.
    - `outputs`: one for each unknown; they share the trunk.
    - `width`, `depth`: neurons of a hidden layer, number of hidden layers, in both networks.
    - `features`: terms f of the sum.

    !!! example
        `model = DeepONet(sensors=128, coordinates=1, key=jax.random.key(0))`, then `jax.vmap(model)(samples)` for
        samples [batch, 128, 1]
    """

    branch: tuple[Dense, ...]
    trunk: tuple[Dense, ...]
    bias: Float[Array, " o"]

    def __init__(
        self,
        sensors: int,
        coordinates: int,
        outputs: int = 1,
        width: int = 64,
        depth: int = 3,
        features: int = 64,
        *,
        key: Key,
    ):
        sensors = checks.count("DeepONet", "sensors", sensors)
        coordinates = checks.count("DeepONet", "coordinates", coordinates)
        outputs = checks.count("DeepONet", "outputs", outputs)
        features = checks.count("DeepONet", "features", features)
        hidden = [checks.count("DeepONet", "width", width)] * checks.count("DeepONet", "depth", depth)
        branch_key, trunk_key = jr.split(key)
        self.branch = _layers([sensors, *hidden, outputs * features], branch_key)
        self.trunk = _layers([coordinates, *hidden, features], trunk_key)
        self.bias = jnp.zeros(outputs)

    def __call__(self, values: Float[Array, "*grid i"], at: Points | None = None) -> Float[Array, "*points o"]:
        sensors, coordinates = self.branch[0].weight.shape[1], self.trunk[0].weight.shape[1]
        if values.size != sensors:
            raise ValueError(
                f"DeepONet: `values` must hold `sensors` = {sensors} numbers, got {values.size} in the shape "
                f"{values.shape}. Give one sample on the grid of the sensors, and other points to evaluate as `at`. "
                "Use jax.vmap for a batch."
            )
        points = _coordinates(_on_grid("DeepONet", values, coordinates), values.dtype) if at is None else at
        if points.shape[-1] != coordinates:
            raise ValueError(
                f"DeepONet: `at` must have one row for each point and `coordinates` = {coordinates} columns, got the "
                f"shape {points.shape}. Use at[:, None] for a list of points on a line."
            )
        weights = _through(self.branch, values.reshape(-1)).reshape(self.bias.size, -1)
        basis = jnp.tanh(_through(self.trunk, 2 * points - 1))  # coordinates in [−1, 1], as for every MLP
        return basis @ weights.T + self.bias
