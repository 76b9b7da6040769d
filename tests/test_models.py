"""Models: scaled inputs, exact structure, and descriptions that rebuild the same numbers."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax.nn import MLP, Dense, FourierFeatures, HardConstraint, PeriodicEmbedding, Rescale, describe, rebuild

DOMAIN = scl.Box(x=(0, 5), t=(-3, 1))
EMBEDDINGS = {
    "rescale": None,
    "periodic": PeriodicEmbedding(DOMAIN, "x", harmonics=3),
    "fourier": FourierFeatures(DOMAIN, features=5, scale=0.5, key=jr.key(9)),
}


@pytest.mark.parametrize(
    ("point", "scaled"), [([0, -3], [-1, -1]), ([5, 1], [1, 1]), ([2.5, -1], [0, 0]), ([5, -2], [1, -0.5])]
)
def test_inputs_are_scaled_to_the_unit_cube(point, scaled):
    np.testing.assert_allclose(Rescale(DOMAIN)(jnp.asarray(point, float)), scaled, atol=1e-7)


@pytest.mark.parametrize(
    "build",
    [
        lambda domain: MLP(domain, width=2, depth=1, key=jr.key(0)),
        lambda domain: scl.nn.Chebyshev(domain, terms=2),
        lambda domain: PeriodicEmbedding(domain, "x"),
        lambda domain: FourierFeatures(domain, key=jr.key(0)),
        lambda domain: HardConstraint(lambda z: z[:1], lambda u, distance: u * distance, domain),
    ],
)
def test_a_model_needs_the_ranges_of_a_shapes_parameters(build):
    """Until these are known the box round a shape has no ends; that of a problem has."""
    domain = scl.Disk(x=0, y=0, radius="r")
    with pytest.raises(ValueError, match=r"depends on `r`.*`problem\.domain`"):
        build(domain)
    problem = scl.Problem(
        domain, parameters={"r": (0.5, 1.0)}, constraints={"pde": scl.worst_case(lambda lap_u: lap_u) <= 1e-3}
    )
    assert np.all(np.isfinite(build(problem.domain)(jnp.asarray([0.1, 0.2, 0.7]))))


def test_networks_see_scaled_coordinates_only():
    """The same weights on a stretched domain give the same values at corresponding points."""
    small, large = scl.Box(x=(0, 1), t=(0, 1)), scl.Box(x=(100, 300), t=(-7, 1))
    unit = jr.uniform(jr.key(0), (20, 2))
    values = [jax.vmap(MLP(box, key=jr.key(1)))(box.from_unit(unit)) for box in (small, large)]
    np.testing.assert_allclose(*values, atol=1e-4)


def test_networks_are_affine_maps_and_activations():
    """One hidden layer by hand: W₂ σ(W₁ ẑ + b₁) + b₂."""
    model = MLP(DOMAIN, outputs=2, width=7, depth=1, activation=jnp.sin, key=jr.key(0))
    model = eqx.tree_at(lambda m: m.layers[0].bias, model, jnp.arange(7.0))
    z = jnp.asarray([1.0, 0.5])
    first, second = model.layers
    expected = second.weight @ np.sin(first.weight @ np.array([-0.6, 0.75]) + np.arange(7.0)) + second.bias
    np.testing.assert_allclose(model(z), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("inside", "outside"), [(50, 50), (2, 300), (400, 20)])
def test_weights_have_glorot_variance_and_biases_vanish(inside, outside):
    layer = Dense(inside, outside, key=jr.key(0))
    count = inside * outside
    expected = 2 / (inside + outside)
    assert abs(np.var(layer.weight) - expected) < 5 * expected * np.sqrt(2 / count)
    assert abs(np.mean(layer.weight)) < 5 * np.sqrt(expected / count)
    assert not np.any(layer.bias)


def test_layers_differ_from_each_other():
    layers = MLP(DOMAIN, width=20, depth=3, key=jr.key(0)).layers
    assert [layer.weight.shape for layer in layers] == [(20, 2), (20, 20), (20, 20), (1, 20)]
    assert abs(np.corrcoef(np.ravel(layers[1].weight), np.ravel(layers[2].weight))[0, 1]) < 5 / 20


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_periodic_embeddings_are_periodic_in_every_derivative(x64, order):
    model = MLP(DOMAIN, width=10, depth=2, embedding=PeriodicEmbedding(DOMAIN, "x", harmonics=2), key=jr.key(0))
    f = lambda x, t: model(jnp.stack([x, t]))[0]
    for _ in range(order):
        f = jax.grad(f)
    t = jnp.linspace(-3, 1, 7)
    values = jax.jit(lambda x: jax.vmap(lambda t: f(x, t))(t))
    np.testing.assert_allclose(values(0.0), values(5.0), rtol=1e-9, atol=1e-10)
    assert np.abs(values(0.0) - values(2.2)).max() > 1e-3
    assert np.std(values(1.0)) > 1e-4  # the other coordinate is still an input


def test_periodic_embeddings_keep_all_harmonics():
    """(cos πk x̂, sin πk x̂) for k = 1, 2 and the other coordinate rescaled."""
    features = PeriodicEmbedding(DOMAIN, ("x",), harmonics=2)(jnp.asarray([1.0, 0.0]))
    angles = np.pi * -0.6 * np.array([1, 2])
    np.testing.assert_allclose(features, [*np.cos(angles), *np.sin(angles), 0.5], atol=1e-6)


def test_fourier_frequencies_are_not_trained():
    model = MLP(DOMAIN, width=8, depth=1, embedding=EMBEDDINGS["fourier"], key=jr.key(0))
    gradient = eqx.filter_grad(lambda m: m(jnp.asarray([1.0, 0.5]))[0])(model)
    assert not np.any(gradient.embedding.frequencies)
    assert np.any(gradient.layers[0].weight)


def test_fourier_features_have_the_scale_asked_for():
    embedding = FourierFeatures(DOMAIN, features=2000, scale=3.0, key=jr.key(0))
    assert abs(np.std(embedding.frequencies) - 3) < 5 * 3 / np.sqrt(2 * 4000)
    z = jnp.asarray([0.7, 0.2])
    angles = 2 * np.pi * np.asarray(embedding.frequencies) @ np.asarray(Rescale(DOMAIN)(z))
    np.testing.assert_allclose(embedding(z), [*np.cos(angles), *np.sin(angles)], atol=1e-3)


def test_hard_constraints_hold_exactly_for_any_weights(x64):
    """u = sin x + (t + 3) net: the initial value is exact, and the rest is the network's."""
    net = MLP(DOMAIN, width=6, depth=1, key=jr.key(3))
    model = HardConstraint(net, lambda u, x, t: jnp.sin(x) + (t + 3) * u, DOMAIN)
    x = jnp.linspace(0, 5, 9)
    start = jnp.stack([x, jnp.full(9, -3.0)], axis=1)
    np.testing.assert_array_equal(jax.vmap(model)(start)[:, 0], jnp.sin(x))
    z = jnp.asarray([2.0, 1.0])
    np.testing.assert_allclose(model(z), jnp.sin(2.0) + 4 * net(z), rtol=1e-14)


def test_hard_constraints_on_systems_return_a_tuple(x64):
    net = lambda z: jnp.stack([z[0], z[1]])
    model = HardConstraint(net, lambda v, u, t: (u * t, 10 * v), DOMAIN, unknowns=("u", "v"))
    np.testing.assert_allclose(model(jnp.asarray([2.0, 0.5])), [1.0, 5.0])


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.gelu])
def test_descriptions_rebuild_the_same_numbers(embedding, activation):
    """Through JSON and back: every output equal in every bit."""
    model = MLP(DOMAIN, 2, 9, 2, activation, EMBEDDINGS[embedding], key=jr.key(0))
    arrays = {}
    description = json.loads(json.dumps(describe(model, arrays)))
    again = rebuild(description, arrays)
    points = DOMAIN.sobol(32)
    np.testing.assert_array_equal(jax.vmap(model)(points), jax.vmap(again)(points))
    assert eqx.tree_equal(model, again)


def test_networks_that_know_corners_and_holes_are_rebuilt():
    square = lambda half: scl.Box(x=(-half, half), y=(-half, half))
    model = MLP((square(1.0) - square(0.2)).explored(), width=3, depth=1, key=jr.key(0))
    arrays = {}
    assert eqx.tree_equal(model, rebuild(json.loads(json.dumps(describe(model, arrays))), arrays))


class Own(eqx.Module):
    def __call__(self, z):
        return z


@pytest.mark.parametrize(
    "part", [Own(), lambda x: x, HardConstraint(Own(), lambda u: u, scl.Box(x=(0, 1))), {"a": 1}, open]
)
def test_descriptions_refuse_what_is_not_listed(part):
    with pytest.raises(ValueError, match=r".+"):
        describe(part, {})
    with pytest.raises(ValueError, match=r".+"):
        describe(MLP(DOMAIN, width=2, depth=1, activation=lambda x: x, key=jr.key(0)), {})


@pytest.mark.parametrize(
    "entry",
    [
        {"class": "Own", "fields": {}},
        {"class": "object", "fields": {}},
        {"function": "eval"},
        {"function": "__import__"},
        {"tuple": [{"function": "open"}]},
        {"call": "os.system"},
        [],
        "tanh",
    ],
)
def test_rebuilding_refuses_classes_and_functions_not_listed(entry):
    with pytest.raises(ValueError, match="unknown entry"):
        rebuild(entry, {})
