"""Neural operators: transforms against numpy's, exact operators, and the same function on every grid."""

import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from sclax.nn import FNO, DeepONet, describe, rebuild
from sclax.nn._operators import SpectralConvolution

# Odd and even grids, with few modes, with as many as there are, and with more; the even ones reach their Nyquist
# frequency in every axis.
GRIDS = [
    ((9,), (4,)),
    ((8,), (4,)),
    ((8,), (5,)),
    ((9,), (5,)),
    ((6,), (9,)),
    ((5,), (9,)),
    ((1,), (3,)),
    ((9, 8), (3, 4)),
    ((8, 9), (5, 2)),
    ((4, 6), (3, 4)),
    ((4, 6), (5, 7)),
    ((5, 2), (5, 7)),
    ((6, 5, 7), (2, 3, 3)),
    ((4, 4, 4), (3, 3, 3)),
    ((4, 3, 6), (4, 4, 5)),
]


def filled(build):
    """The model `build(key)` with numbers of order one in place of its initial weights, biases included."""
    rng = np.random.default_rng(0)
    model = eqx.filter_eval_shape(build, jr.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), model)


def convolution(modes, inputs=2, outputs=3):
    return filled(lambda key: SpectralConvolution(inputs, outputs, modes, key=key))


def numbers(*shape):
    return jnp.asarray(np.random.default_rng(1).normal(size=shape))


def applied(model, *arguments):
    """One compilation in place of one for each operation."""
    return np.asarray(eqx.filter_jit(model)(*arguments))


def with_weights(layer, real, imaginary):
    return eqx.tree_at(lambda c: (c.real, c.imaginary), layer, (jnp.asarray(real), jnp.asarray(imaginary)))


def signed_frequencies(modes):
    return [*(np.arange(1 - m, m) for m in modes[:-1]), np.arange(modes[-1])]


def by_fft(layer, values):
    """The same layer by numpy's transforms: one symbol on all frequencies of the grid."""
    *grid, inputs = values.shape
    axes = range(len(grid))
    spectrum = np.fft.rfftn(values, axes=axes, norm="forward")
    weights = np.asarray(layer.real) + 1j * np.asarray(layer.imaginary)
    symbol = np.zeros((*spectrum.shape[:-1], inputs, weights.shape[-1]), complex)
    frequencies = signed_frequencies(layer.modes)
    for index in np.ndindex(weights.shape[:-2]):
        k = [int(f[i]) for f, i in zip(frequencies, index, strict=True)]
        if all(2 * abs(f) <= n for f, n in zip(k, grid, strict=True)):
            shared = sum(
                2 * abs(f) == n for f, n in zip(k[:-1], grid, strict=False)
            )  # with the frequency of other sign
            symbol[tuple(f % n for f, n in zip(k, grid, strict=True))] += weights[index] / 2**shared
    product = np.einsum("...i,...io->...o", spectrum, symbol)
    return np.fft.irfftn(product, s=grid, axes=axes, norm="forward")


def interpolation(coarse, fine):
    """The matrix of the trigonometric interpolant: the highest frequency of an even grid is a cosine."""
    distance = np.arange(fine)[:, None] / fine - np.arange(coarse) / coarse
    k = np.arange(-(coarse // 2), coarse // 2 + 1)
    weights = np.where(2 * np.abs(k) == coarse, 0.5, 1) / coarse
    return np.cos(2 * np.pi * distance[..., None] * k) @ weights


def refined(values, factors):
    for axis, factor in enumerate(factors):
        matrix = interpolation(values.shape[axis], factor * values.shape[axis])
        values = np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)
    return values


def at_common_points(values, factors):
    return values[tuple(slice(None, None, factor) for factor in factors)]


@pytest.mark.parametrize(("grid", "modes"), GRIDS)
def test_convolutions_agree_with_fast_transforms(x64, grid, modes):
    layer, values = convolution(modes), numbers(*grid, 2)
    result = applied(layer, values)
    assert result.shape == (*grid, 3)
    assert result.dtype == values.dtype
    np.testing.assert_allclose(result, by_fft(layer, np.asarray(values)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("grid", "modes"), GRIDS)
def test_finer_grids_give_the_same_function(x64, grid, modes):
    """On any grid the layer acts on the interpolant of its values, whatever frequencies the grid lacks."""
    layer, values = convolution(modes), numbers(*grid, 2)
    factors = (3, 2, 2)[: len(grid)]
    fine = applied(layer, jnp.asarray(refined(np.asarray(values), factors)))
    np.testing.assert_allclose(at_common_points(fine, factors), applied(layer, values), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("grid", "modes"), GRIDS)
def test_convolutions_commute_with_translations(x64, grid, modes):
    layer, values = convolution(modes), numbers(*grid, 2)
    axes, steps = tuple(range(len(grid))), (3, 1, 2)[: len(grid)]
    shifted = applied(layer, jnp.asarray(np.roll(values, steps, axes)))
    np.testing.assert_allclose(shifted, np.roll(applied(layer, values), steps, axes), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("grid", "modes"), [((9,), (5,)), ((10,), (5,)), ((7, 8), (4, 4)), ((8, 7), (4, 4)), ((5, 4, 6), (3, 2, 3))]
)
def test_derivatives_are_represented_exactly(x64, grid, modes):
    """R_k = 2πi k is the gradient: one input, one output for each axis."""
    frequencies = np.stack(np.meshgrid(*signed_frequencies(modes), indexing="ij"), axis=-1)
    symbol = 2 * np.pi * frequencies[..., None, :]
    layer = with_weights(convolution(modes, 1, len(grid)), np.zeros(symbol.shape), symbol)

    rng = np.random.default_rng(0)
    k = frequencies.reshape(-1, len(grid))
    amplitude, phase = rng.normal(size=len(k)), rng.uniform(0, 2 * np.pi, len(k))
    x = np.stack(np.meshgrid(*(np.arange(n) / n for n in grid), indexing="ij"), axis=-1)
    angle = 2 * np.pi * x @ k.T + phase
    values = np.cos(angle) @ amplitude
    gradient = -np.sin(angle) * amplitude @ (2 * np.pi * k)
    np.testing.assert_allclose(applied(layer, jnp.asarray(values[..., None])), gradient, rtol=1e-11, atol=1e-10)


def test_the_highest_frequency_of_an_even_grid_has_slope_zero(x64):
    """cos(π n x) has its extrema at the grid points; the constant function has no phase to turn."""
    ramp = np.arange(5.0, 14.0).reshape(9, 1, 1)
    layer = with_weights(convolution((9,), 1, 1), np.zeros(ramp.shape), ramp)
    highest, constant, middle = (
        applied(layer, jnp.tile(jnp.asarray(v), 2)[:, None]) for v in ([1.0, -1, 1, -1], [1.0] * 4, [1.0, 0, -1, 0])
    )
    np.testing.assert_allclose(highest, 0, atol=1e-14)
    np.testing.assert_allclose(constant, 0, atol=1e-14)
    assert np.abs(middle).max() > 1


def test_spectral_weights_start_as_in_the_paper():
    """Uniform in [0, 1/(in · out)), both parts; every frequency and every layer differs."""
    layer = SpectralConvolution(10, 20, (4, 5), key=jr.key(0))
    assert layer.real.shape == layer.imaginary.shape == (7, 5, 10, 20)
    assert layer.modes == (4, 5)
    for part in (layer.real, layer.imaginary):
        scaled = np.asarray(part) * 200
        assert 0 <= scaled.min() < 0.01
        assert 0.99 < scaled.max() < 1
        assert abs(scaled.mean() - 0.5) < 5 * np.sqrt(1 / 12 / scaled.size)
    weights = [np.ravel(c.real) for c in FNO(1, 1, 3, hidden=8, key=jr.key(0)).convolutions]
    weights.append(np.ravel(layer.imaginary)[: len(weights[0])])
    correlation = np.corrcoef(weights) - np.eye(len(weights))
    assert np.abs(correlation).max() < 5 / np.sqrt(len(weights[0]))


@pytest.mark.parametrize(("grid", "modes"), [((9,), 3), ((6, 5), (2, 4)), ((4, 5, 3), 2)])
def test_fourier_operators_are_the_equations_of_the_paper(x64, grid, modes):
    """Lifting of values and coordinates, three layers with gelu after the first two, two layers of projection."""
    model = filled(lambda key: FNO(2, 3, modes, 3, hidden=4, projection=5, dimensions=len(grid), key=key))
    values = numbers(*grid, 2)

    dense = lambda layer, v: v @ np.asarray(layer.weight).T + np.asarray(layer.bias)
    gelu = lambda v: np.asarray(jax.nn.gelu(v))
    x = np.meshgrid(*(np.arange(n) / n for n in grid), indexing="ij")
    v = [dense(model.lifting, np.stack([*np.moveaxis(np.asarray(values), -1, 0), *x], axis=-1))]
    for spectral, linear in zip(model.convolutions, model.linear, strict=True):
        v.append(by_fft(spectral, v[-1]) + dense(linear, v[-1]))
        v.append(gelu(v[-1]))
    expected = dense(model.readout, gelu(dense(model.projection, v[-2])))
    assert expected.shape == (*grid, 3)
    np.testing.assert_allclose(applied(model, values), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("grid", [(6,), (7,), (6, 5), (4, 3, 4)])
def test_operators_without_nonlinear_layers_do_not_depend_on_the_grid(x64, grid):
    """One layer has its nonlinearity in the pointwise projection only; the coordinates are not band-limited."""
    model = filled(lambda key: FNO(2, 1, 4, layers=1, hidden=5, projection=6, dimensions=len(grid), key=key))
    model = eqx.tree_at(lambda m: m.lifting.weight, model, model.lifting.weight * jnp.asarray([1, 1, *[0] * len(grid)]))
    values, factors = numbers(*grid, 2), (2, 3, 2)[: len(grid)]
    fine = applied(model, jnp.asarray(refined(np.asarray(values), factors)))
    np.testing.assert_allclose(at_common_points(fine, factors), applied(model, values), rtol=1e-11, atol=1e-11)


def test_every_number_in_a_model_is_real():
    model = FNO(1, 2, (3, 4), layers=2, hidden=6, projection=7, dimensions=2, key=jr.key(0))
    assert {leaf.dtype for leaf in jax.tree.leaves(model)} == {jnp.dtype("float32")}
    assert [c.real.shape for c in model.convolutions] == [(5, 4, 6, 6)] * 2
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m, a: jnp.sum(m(a) ** 2)))(model, numbers(8, 9, 1))
    assert all(np.all(np.isfinite(leaf)) and np.any(leaf) for leaf in jax.tree.leaves(gradient))


def test_samples_of_a_batch_do_not_mix(x64):
    samples = numbers(3, 12, 2)
    for build in (
        lambda key: FNO(2, 3, 4, 2, hidden=6, projection=8, key=key),
        lambda key: DeepONet(24, 1, 3, key=key),
    ):
        model = filled(build)
        one_by_one = np.stack([applied(model, sample) for sample in samples])
        np.testing.assert_allclose(applied(eqx.filter_vmap(model), samples), one_by_one, rtol=1e-9)


def samples(count, points, seed):
    """Smooth periodic functions a and the operator u(x) = a(x)² + a(x − ¼)."""
    cosines, sines = np.random.default_rng(seed).normal(scale=0.5, size=(2, count, 3))
    x, k = np.arange(points) / points, np.arange(3)[:, None]
    a = lambda x: cosines @ np.cos(2 * np.pi * k * x) + sines @ np.sin(2 * np.pi * k * x)
    return jnp.asarray(a(x)[..., None], jnp.float32), jnp.asarray((a(x) ** 2 + a(x - 0.25))[..., None], jnp.float32)


def trained(model, data, steps):
    optimiser = optax.adam(optax.cosine_decay_schedule(1e-2, steps))

    def loss(model):
        return jnp.mean((jax.vmap(model)(data[0]) - data[1]) ** 2)

    def step(carry, _):
        model, state = carry
        updates, state = optimiser.update(jax.grad(loss)(model), state)
        return (optax.apply_updates(model, updates), state), None

    return jax.jit(lambda m: jax.lax.scan(step, (m, optimiser.init(m)), length=steps)[0][0])(model)


def relative_error(model, data):
    return np.linalg.norm(applied(eqx.filter_vmap(model), data[0]) - data[1]) / np.linalg.norm(data[1])


def test_training_on_one_grid_holds_on_others():
    """Grids without a point in common but the first, one of them coarser and odd."""
    start = FNO(1, 1, 6, layers=2, hidden=12, projection=16, key=jr.key(0))
    model = trained(start, samples(32, 24, seed=1), 200)
    here, coarser, finer = (relative_error(model, samples(32, points, seed=2)) for points in (24, 19, 61))
    assert relative_error(start, samples(32, 24, seed=2)) > 0.5
    assert here < 0.15
    np.testing.assert_allclose([coarser, finer], here, rtol=0.1)


def test_deep_operator_networks_are_the_equation_of_the_paper(x64):
    """u_o(y) = Σ_f B_of(a) T_f(y) + b_o, with hidden layers of tanh and coordinates scaled to [−1, 1]."""
    model = filled(lambda key: DeepONet(24, 2, outputs=3, width=7, depth=2, features=5, key=key))
    assert [layer.weight.shape for layer in model.branch] == [(7, 24), (7, 7), (15, 7)]
    assert [layer.weight.shape for layer in model.trunk] == [(7, 2), (7, 7), (5, 7)]
    values, y = numbers(4, 3, 2), numbers(6, 2)

    def network(layers, x):
        for layer in layers[:-1]:
            x = np.tanh(np.asarray(layer.weight) @ x + np.asarray(layer.bias))
        return np.asarray(layers[-1].weight) @ x + np.asarray(layers[-1].bias)

    branch = network(model.branch, np.asarray(values).ravel()).reshape(3, 5)
    trunk = np.stack([np.tanh(network(model.trunk, 2 * point - 1)) for point in np.asarray(y)])
    np.testing.assert_allclose(applied(model, values, y), trunk @ branch.T + np.asarray(model.bias), rtol=1e-12)


@pytest.mark.parametrize("grid", [(5,), (4, 3), (2, 3, 4)])
def test_queries_at_grid_points_are_the_values_on_the_grid(x64, grid):
    model = filled(lambda key: DeepONet(2 * math.prod(grid), len(grid), outputs=2, width=8, depth=1, key=key))
    values = numbers(*grid, 2)
    at_points = applied(model, values, jnp.asarray([np.divide(index, grid) for index in np.ndindex(*grid)]))
    np.testing.assert_allclose(applied(model, values), at_points.reshape(*grid, 2), rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda key: FNO(2, 3, 4, layers=2, hidden=5, projection=6, key=key), (9, 2)),
        (lambda key: FNO(1, 1, (2, 3, 2), layers=1, hidden=4, projection=3, dimensions=3, key=key), (4, 5, 6, 1)),
        (lambda key: DeepONet(12, 2, 3, width=6, depth=2, features=4, key=key), (3, 4, 1)),
    ],
)
def test_descriptions_rebuild_the_same_numbers(build, shape):
    """Through JSON and back: every output equal in every bit."""
    model, arrays = filled(build), {}
    description = json.loads(json.dumps(describe(model, arrays)))
    again = rebuild(description, arrays)
    values = numbers(*shape)
    np.testing.assert_array_equal(applied(model, values), applied(again, values))
    assert eqx.tree_equal(model, again)
    assert len(arrays) == len(jax.tree.leaves(model))


@pytest.mark.parametrize(
    ("argument", "value"),
    [("inputs", 0), ("outputs", -1), ("modes", 0), ("modes", (0,)), ("layers", 0), ("hidden", 0), ("projection", 0)],
)
def test_fourier_operators_name_bad_arguments(argument, value):
    with pytest.raises(ValueError, match=f"FNO: `{argument}` must be at least 1, got"):
        FNO(**{"inputs": 1, "outputs": 1, "modes": 4, argument: value}, key=jr.key(0))


@pytest.mark.parametrize("argument", ["sensors", "coordinates", "outputs", "width", "depth", "features"])
def test_deep_operator_networks_name_bad_arguments(argument):
    with pytest.raises(ValueError, match=f"DeepONet: `{argument}` must be at least 1, got 0"):
        DeepONet(**{"sensors": 4, "coordinates": 1, argument: 0}, key=jr.key(0))


def test_modes_belong_to_the_dimensions():
    with pytest.raises(ValueError, match=r"`modes` must be one number.* got \(8, 8\). Set dimensions=2"):
        FNO(1, 1, (8, 8), key=jr.key(0))
    with pytest.raises(ValueError, match="`dimensions` must be at least 1, got 0"):
        FNO(1, 1, 8, dimensions=0, key=jr.key(0))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((8,), r"one sample with 1 grid axes.*\(8,\).*values\[..., None\]"),
        ((3, 8, 2), r"one sample with 1 grid axes.*\(3, 8, 2\).*jax.vmap"),
        ((8, 3), r"`inputs` = 2 channels.*\(8, 3\).*appended inside"),
    ],
)
def test_fourier_operators_name_bad_samples(shape, message):
    with pytest.raises(ValueError, match=message):
        filled(lambda key: FNO(2, 1, 3, hidden=4, key=key))(jnp.zeros(shape))


def test_deep_operator_networks_name_bad_samples():
    model = filled(lambda key: DeepONet(8, 1, width=4, key=key))
    with pytest.raises(ValueError, match=r"`sensors` = 8 numbers, got 16 in the shape \(16, 1\).*`at`"):
        model(jnp.zeros((16, 1)))
    with pytest.raises(ValueError, match=r"one sample with 1 grid axes.*\(8,\)"):
        model(jnp.zeros(8))
    with pytest.raises(ValueError, match=r"`coordinates` = 1 columns, got the shape \(5, 2\)"):
        model(jnp.zeros((8, 1)), jnp.zeros((5, 2)))
