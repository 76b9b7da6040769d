"""SOAP is Adam in rotated coordinates, and the coordinates are the right ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import sclax as scl
from sclax import soap

from . import small


def descend(optimiser, loss, start, steps):
    """All iterates, the start first."""

    def body(carry, _):
        w, state = carry
        updates, state = optimiser.update(jax.grad(loss)(w), state, w)
        return (optax.apply_updates(w, updates), state), w

    return jax.jit(lambda w: jax.lax.scan(body, (w, optimiser.init(w)), length=steps + 1)[1])(start)


def orthogonal(key, n):
    return jnp.linalg.qr(jr.normal(key, (n, n)))[0]


def stretched(condition, n, key):
    """½ ⟨W, A W B⟩ with A and B rotated at random, and a start."""
    left, right, start = jr.split(key, 3)
    u, v, scale = orthogonal(left, n), orthogonal(right, n), jnp.geomspace(1 / condition, 1.0, n)
    a, b = (u * scale) @ u.T, (v * scale) @ v.T
    return lambda w: 0.5 * jnp.vdot(w, a @ w @ b), jr.normal(start, (n, n))


def tree(key, dtype=jnp.float32):
    shapes = {"scalar": (), "vector": (5,), "matrix": (3, 4), "row": (1, 4), "cube": (2, 3, 2)}
    keys = jr.split(key, len(shapes))
    return {name: jr.normal(k, shape, dtype) for k, (name, shape) in zip(keys, shapes.items(), strict=True)}


def quartic(w):
    return sum(jnp.sum((x - 0.3) ** 2 + x**4) + jnp.sum(x) ** 2 for x in jax.tree.leaves(w))


def by_the_book(gradients, rate, b1, b2, eps, every):
    """SOAP's updates in NumPy, with the mean in the original coordinates, where no refresh touches it."""
    (m, n), updates = gradients[0].shape, [np.zeros_like(gradients[0])]
    left, right = (1 - b2) * gradients[0] @ gradients[0].T, (1 - b2) * gradients[0].T @ gradients[0]
    ql, qr = np.linalg.eigh(left)[1], np.linalg.eigh(right)[1]
    mean, square = np.zeros((m, n)), np.zeros((m, n))
    for t, g in enumerate(gradients[1:], 1):
        mean = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * (ql.T @ g @ qr) ** 2
        step = (ql.T @ mean @ qr) / (1 - b1**t) / (np.sqrt(square / (1 - b2**t)) + eps)
        updates.append(-rate * ql @ step @ qr.T)
        left, right = b2 * left + (1 - b2) * g @ g.T, b2 * right + (1 - b2) * g.T @ g
        if t % every == 0:
            rows = np.argsort(-np.diag(ql.T @ left @ ql))
            columns = np.argsort(-np.diag(qr.T @ right @ qr))
            square = square[rows][:, columns]
            ql, qr = np.linalg.qr(left @ ql[:, rows])[0], np.linalg.qr(right @ qr[:, columns])[0]
    return np.stack(updates)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("every", [1, 4])
def test_updates_are_those_of_the_algorithm(every):
    gradients = jr.normal(jr.key(0), (20, 4, 3)) * jnp.asarray([3.0, 1.0, 0.3])
    optimiser = soap(0.1, b1=0.9, b2=0.8, eps=1e-3, every=every)
    _, updates = jax.lax.scan(
        lambda state, g: optimiser.update(g, state)[::-1], optimiser.init(gradients[0]), gradients
    )
    np.testing.assert_allclose(updates, by_the_book(np.asarray(gradients), 0.1, 0.9, 0.8, 1e-3, every), atol=1e-11)


def test_without_rotations_it_is_adam():
    start = tree(jr.key(1))
    ours = descend(soap(0.02, largest=1), quartic, start, 40)
    adam = descend(optax.adam(0.02, 0.95, 0.95), quartic, start, 40)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), ours, adam)


def test_scalars_and_vectors_are_adam_beside_rotated_matrices():
    start = tree(jr.key(2))
    ours = descend(soap(0.02, every=3), quartic, start, 20)
    adam = descend(optax.adam(0.02, 0.95, 0.95), quartic, start, 20)
    for name in ("scalar", "vector"):
        np.testing.assert_allclose(ours[name], adam[name], atol=1e-5)
    assert np.abs(ours["matrix"] - adam["matrix"]).max() > 1e-2


@pytest.mark.usefixtures("x64")
def test_rotated_coordinates_have_the_rotated_iterates():
    keys = jr.split(jr.key(3), 4)
    target, start = jr.normal(keys[0], (4, 4)), jr.normal(keys[1], (4, 4))
    u, v = orthogonal(keys[2], 4), orthogonal(keys[3], 4)
    loss = lambda w: jnp.sum((w - target) ** 4)
    plain = lambda optimiser: descend(optimiser, loss, start, 30)
    turned = lambda optimiser: u.T @ descend(optimiser, lambda w: loss(u.T @ w @ v), u @ start @ v.T, 30) @ v
    # The second gradient is the first again, diagonal in the bases but for rounding, which ε must outweigh.
    optimiser = soap(0.03, eps=1e-4, every=4)
    np.testing.assert_allclose(turned(optimiser), plain(optimiser), atol=1e-7)
    assert np.abs(turned(optax.adam(0.03)) - plain(optax.adam(0.03))).max() > 1e-2


@pytest.mark.usefixtures("x64")
def test_only_short_sides_are_rotated():
    """With the side of 3 alone rotated, the iterates commute with rotations of that side, and of no other."""
    keys = jr.split(jr.key(4), 4)
    target, start = jr.normal(keys[0], (3, 5)), jr.normal(keys[1], (3, 5))
    loss, optimiser = lambda w: jnp.sum((w - target) ** 4), soap(0.03, every=4, largest=3)
    u, v = orthogonal(keys[2], 3), orthogonal(keys[3], 5)
    plain = descend(optimiser, loss, start, 20)
    rows = u.T @ descend(optimiser, lambda w: loss(u.T @ w), u @ start, 20)
    columns = descend(optimiser, lambda w: loss(w @ v), start @ v.T, 20) @ v
    np.testing.assert_allclose(rows, plain, atol=1e-7)
    assert np.abs(columns - plain).max() > 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_beats_adam_on_a_stretched_and_rotated_quadratic(seed):
    loss, start = stretched(1000.0, 8, jr.key(seed))
    ours = loss(descend(soap(0.03), loss, start, 400)[-1])
    adam = loss(descend(optax.adam(0.03, 0.95, 0.95), loss, start, 400)[-1])
    assert ours < adam / 10
    assert ours < 1e-5 * loss(start)


@pytest.mark.usefixtures("x64")
def test_an_array_of_three_axes_is_a_matrix():
    target, start = jr.normal(jr.key(5), (2, 3, 2)), jr.normal(jr.key(6), (2, 3, 2))
    loss = lambda w: jnp.sum((w.reshape(2, 3, 2) - target) ** 4)
    cube = descend(soap(0.03, every=4), loss, start, 10)
    np.testing.assert_allclose(cube.reshape(-1, 2, 6), descend(soap(0.03, every=4), loss, start.reshape(2, 6), 10))


def test_schedule_scales_each_update():
    gradients = jr.normal(jr.key(7), (6, 3, 3))
    rates = jnp.asarray([0.5, 0.1, 0.2, 0.0, 0.4, 0.3])
    updates = []
    for rate in (1.0, lambda count: rates[count]):
        optimiser = soap(rate, every=2)
        _, found = jax.lax.scan(lambda s, g, o=optimiser: o.update(g, s)[::-1], optimiser.init(gradients[0]), gradients)
        updates.append(found)
    np.testing.assert_allclose(updates[1], rates[:, None, None] * updates[0], rtol=1e-6)
    assert (jnp.abs(updates[0][1:]).max((1, 2)) > 0.1).all()


@pytest.mark.usefixtures("x64")
def test_scan_loop_and_one_trace_agree():
    optimiser, w = soap(0.02, every=3), tree(jr.key(8), jnp.float64)
    scanned, traces = descend(optimiser, quartic, w, 8), []

    @jax.jit
    def step(w, state):
        traces.append(1)
        updates, state = optimiser.update(jax.grad(quartic)(w), state, w)
        return optax.apply_updates(w, updates), state

    state = optimiser.init(w)
    for _ in range(8):
        w, state = step(w, state)
    assert len(traces) == 1
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x[-1], y, atol=1e-9), scanned, w)


@pytest.mark.usefixtures("x64")
def test_vmap_is_one_run_for_each_start():
    starts, run = jr.normal(jr.key(9), (3, 4, 4)), lambda w: descend(soap(0.02, every=3), quartic, w, 8)
    np.testing.assert_allclose(jax.vmap(run)(starts), jnp.stack([run(w) for w in starts]), atol=1e-9)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_keeps_the_precision_of_each_leaf(dtype):
    optimiser, w = soap(optax.constant_schedule(0.02)), tree(jr.key(10), dtype)
    new = jax.eval_shape(lambda w: optimiser.update(w, optimiser.init(w)), w)
    floats = [leaf for leaf in jax.tree.leaves(new) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert {leaf.dtype for leaf in floats} == {jnp.dtype(dtype)}


def test_a_gradient_of_zero_moves_nothing_and_does_no_harm():
    start = jr.normal(jr.key(11), (3, 4))
    np.testing.assert_array_equal(descend(soap(0.1, every=2), lambda w: 0.0 * jnp.sum(w), start, 6)[-1], start)


def test_absent_leaves_stay_absent():
    optimiser, w = soap(0.1), {"trained": jnp.ones((2, 2)), "frozen": None}
    updates, _ = jax.eval_shape(lambda w: optimiser.update(w, optimiser.init(w)), w)
    assert updates["frozen"] is None


class Trace(eqx.Module):
    """The network u(z) = tr W."""

    weight: jnp.ndarray

    def __call__(self, z):
        return jnp.trace(self.weight)[None]


def test_trains_a_constrained_problem():
    method = scl.PrimalDual(soap(optax.exponential_decay(0.02, 800, 0.5)), scl.DualAscent(0.05))
    solution = scl.solve(small.bounded(0.25), Trace(jnp.zeros((2, 3))), method, steps=4000, progress=False)
    assert solution(x=0.3) == pytest.approx(0.5, abs=2e-3)
    assert solution.multipliers["size"] == pytest.approx(3.0, abs=3e-2)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", "fast"),
        ("b1", 1.0),
        ("b2", -0.1),
        ("b2", float("nan")),
        ("eps", 0.0),
        ("every", 0),
        ("every", 2.5),
        ("largest", 0),
    ],
)
def test_bad_arguments_are_named(argument, value):
    with pytest.raises(ValueError, match=f"soap: `{argument}` must be"):
        soap(**{"learning_rate": 0.1, argument: value})
