"""What one iteration costs, as ratios within one run:  python -m benchmarks.step [--json]

The 4 × 50 network on convection with 1000 interior and 456 boundary points (256 of the initial condition, 100 pairs of
the periodic one). Ratios are against an iteration with fresh uniform points:

- `paper`: Metropolis-Hastings restarted every iteration, 20 chains × 250 steps;
- `persistent`: 1000 persistent chains × 1 step;
- `importance`: importance weights on fresh uniform points;
- `taylor`: the reaction-diffusion residual with its gradient, against a hand-written Taylor pass;
- `gauss_newton`: a Gauss-Newton step with 600 interior and 356 condition rows, in double precision, against the same
  step with the Gram matrix from an explicit J;
- `draw ...`: 1000 points of a shape, against 1000 of a box with as many dimensions, uniform ones.
"""

import argparse
import json
import time
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

import sclax as scl
from sclax._laws import Vocabulary, named

from . import _references

BARS = {"paper": 3.5, "persistent": 1.6, "importance": 1.15, "taylor": 1.15, "gauss_newton": 0.35, "draw": 3.0}
SAMPLERS = {
    "uniform": scl.Uniform(1000),
    "paper": scl.MetropolisHastings(20, 250, 1000, {"x": 0.5, "t": 0.1}),
    "persistent": scl.PersistentChains(1000, 1),
    "importance": scl.ImportanceWeights(1000),
}
METHOD = scl.PrimalDual(primal=optax.adam(1e-3), dual=optax.adam(1e-4))


def transport(u_t, u_x, beta):
    return u_t + beta * u_x


def iterations(sampler, length):
    """A function that makes `length` iterations of the method."""
    problem = METHOD.prepare(
        scl.Problem(
            domain=scl.Box(x=(0, 2 * np.pi), t=(0, 1)),
            parameters={"beta": 50.0},
            objective=scl.average(scl.Initial(lambda x: jnp.sin(x)), n=256) + scl.average(scl.Periodic("x"), n=100),
            constraints={"pde": scl.worst_case(transport, sampler=sampler) <= 1e-3},
        )
    )
    state = METHOD.init(problem, scl.nn.MLP(problem.domain, key=jr.key(0)), jr.key(1))
    arrays, rest = eqx.partition(state, eqx.is_array)

    @jax.jit
    def run(arrays):
        def body(arrays, key):
            state, _ = METHOD.step(problem, eqx.combine(arrays, rest), key)
            return eqx.filter(state, eqx.is_array), None

        return jax.lax.scan(body, arrays, jr.split(jr.key(2), length))[0]

    return lambda: run(arrays)


def reaction_diffusion(u, u_t, u_xx):
    return u_t - 3.0 * u_xx - 5.0 * u * (1 - u)


def derivative_passes(length):
    """The gradient of the mean square of a second-order residual on 1000 points: by argument names, and by hand."""
    domain = scl.Box(x=(0, 2 * np.pi), t=(0, 1))
    model = scl.nn.MLP(domain, key=jr.key(0))
    points = domain.uniform(1000, jr.key(1))
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    residual = named(reaction_diffusion, Vocabulary(("x", "t"), ("u",), ()), "reaction_diffusion")

    def by_name(weights):
        model = eqx.combine(weights, rest)
        return jnp.mean(jax.vmap(lambda z: residual(model, {}, z))(points) ** 2)

    def by_hand(weights):
        # Channels: value, d/dt, d/dx, d²/dx², side by side on the batch axis.
        ones, zeros = jnp.ones(1000), jnp.zeros(1000)
        h = jnp.stack(
            [
                jax.vmap(model.embedding)(points),
                jnp.stack([zeros, ones * 2 / domain.lengths[1]], axis=-1),
                jnp.stack([ones * 2 / domain.lengths[0], zeros], axis=-1),
                jnp.zeros((1000, 2)),
            ]
        )
        for layer in weights.layers[:-1]:
            z = h @ layer.weight.T
            s = jnp.tanh(z[0] + layer.bias)
            d = 1 - s * s
            h = jnp.stack([s, d * z[1], d * z[2], d * (z[3] - 2 * s * z[2] ** 2)])
        out = (h @ weights.layers[-1].weight.T)[..., 0]
        return jnp.mean(reaction_diffusion(out[0] + weights.layers[-1].bias[0], out[1], out[3]) ** 2)

    assert np.isclose(by_name(weights), by_hand(weights), rtol=1e-4)

    def repeated(loss):
        # A step of descent between passes, so that none can be left out.
        def body(weights, _):
            return jax.tree.map(lambda w, g: w - 1e-6 * g, weights, jax.grad(loss)(weights)), None

        run = jax.jit(lambda weights: jax.lax.scan(body, weights, None, length=length)[0])
        return lambda: run(weights)

    return {"taylor": repeated(by_name), "by hand": repeated(by_hand)}


def explicit_system(rows, leaves, points, roots, memory):
    """What `sclax._methods.gram.system` gives, by way of J."""
    blocks = []
    for f, p, root in zip(rows, points, roots, strict=True):
        found = jax.vmap(lambda w, f=f: jax.jacrev(lambda leaves: f(leaves, w))(leaves))(p)
        n, c = found[0].shape[:2]
        blocks.append(jnp.repeat(root, c)[:, None] * jnp.concatenate([j.reshape(n * c, -1) for j in found], axis=1))
    jacobian = jnp.concatenate(blocks)
    cuts = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def pull(vector):
        parts = jnp.split(vector @ jacobian, cuts)
        return [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]

    return jacobian @ jacobian.T, pull


def gauss_newton_steps(length):
    """Steps of the second-order method, and the same ones through an explicit J."""
    method = scl.PrimalDual(scl.GaussNewton(), scl.DualAscent(0.3, clip=1.0, cap=2.0))
    problem = method.prepare(
        scl.Problem(
            domain=scl.Box(x=(0, 2 * np.pi), t=(0, 1)),
            parameters={"beta": 50.0},
            objective=scl.average(scl.Initial(lambda x: jnp.sin(x)), n=256) + scl.average(scl.Periodic("x"), n=100),
            constraints={"pde": scl.worst_case(transport, n=600) <= 1e-3},
        )
    ).bare()
    state = method.init(problem, scl.nn.MLP(problem.domain, key=jr.key(0)), jr.key(1))
    arrays, rest = eqx.partition(state, eqx.is_array)

    def run(arrays):
        def body(arrays, key):
            state, _ = method.step(problem, eqx.combine(arrays, rest), key)
            return eqx.filter(state, eqx.is_array), state.primal.loss

        return jax.lax.scan(body, arrays, jr.split(jr.key(2), length))

    ours = jax.jit(run).lower(arrays).compile()
    with mock.patch("sclax._methods.gram.system", explicit_system):
        explicit = jax.jit(lambda arrays: run(arrays)).lower(arrays).compile()
    np.testing.assert_allclose(ours(arrays)[1][:3], explicit(arrays)[1][:3], rtol=1e-6)  # the same steps
    return {"gauss_newton": lambda: ours(arrays), "explicit": lambda: explicit(arrays)}


def shapes():
    """Domains by name."""
    square = scl.Box(x=(-0.5, 0.5), y=(-0.5, 0.5))
    four = square
    for x, y in _references.CENTRES:
        four = four - scl.Disk(x=x, y=y, radius=_references.RADIUS)
    many = scl.Box(x=(-8.0, 8.0), y=(-12.0, 12.0))
    for x, y, radius, _ in _references.DISKS:
        many = many - scl.Disk(x=x, y=y, radius=radius)
    return {
        "disk with hole": scl.zoo.disk_with_hole().domain,
        "L": scl.Polygon({"x": [-1, 1, 1, 0, 0, -1], "y": [-1, -1, 0, 0, 1, 1]}),
        "four disks": four,
        "17 disks": many * scl.Interval(t=(0.0, 3.0)),
        "ellipse": square - scl.Ellipse(x=0, y=0, radii=(0.3, 0.2)),
        "plate": scl.zoo.plate_with_hole().domain,
        "ball": scl.Ball(x=0, y=0, z=0, radius=1),
        "implicit": scl.Implicit(lambda x, y: x**4 + y**4 - 1, x=(-1.2, 1.2), y=(-1.2, 1.2)),
    }


def draws(domain, length):
    """`length` draws of 1000 points, each from a key of its own."""

    @jax.jit
    def run(keys):
        total = lambda total, key: (total + jnp.sum(domain.uniform(1000, key)), None)
        return jax.lax.scan(total, jnp.zeros(()), keys)[0]

    keys = jr.split(jr.key(0), length)
    return lambda: run(keys)


def measure(functions, rounds):
    """Median seconds of each, taken in turn so that a busy machine slows all of them alike."""
    for function in functions.values():
        jax.block_until_ready(function())
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            began = time.perf_counter()
            jax.block_until_ready(function())
            times[name].append(time.perf_counter() - began)
    return {name: float(np.median(values)) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    length = 20
    steps = measure({name: iterations(s, length) for name, s in SAMPLERS.items()}, arguments.rounds)
    passes = measure(derivative_passes(length), arguments.rounds)
    ratios = {name: steps[name] / steps["uniform"] for name in ("paper", "persistent", "importance")}
    ratios["taylor"] = passes["taylor"] / passes["by hand"]
    with jax.enable_x64(True):
        second = measure(gauss_newton_steps(length), max(arguments.rounds // 3, 1))
    ratios["gauss_newton"] = second["gauss_newton"] / second["explicit"]
    drawn = {}
    for name, domain in shapes().items():
        pair = {f"draw {name}": draws(domain, 10 * length), "box": draws(domain.bounding, 10 * length)}
        found = measure(pair, 5 * arguments.rounds)  # a draw takes a tenth of a millisecond
        drawn[f"draw {name}"] = found[f"draw {name}"] / 10
        ratios[f"draw {name}"] = found[f"draw {name}"] / found["box"]
    milliseconds = {name: 1e3 * t / length for name, t in {**steps, **passes, **second, **drawn}.items()}
    if arguments.json:
        print(json.dumps({**ratios, "milliseconds": milliseconds, "bars": BARS, "versions": scl.versions()}))
        return
    print(f"{'':20}{'ms':>9}{'ratio':>9}{'bar':>9}")
    print(f"{'uniform':20}{milliseconds['uniform']:9.2f}{1.0:9.2f}")
    for name, ratio in ratios.items():
        print(f"{name:20}{milliseconds[name]:9.2f}{ratio:9.2f}{BARS.get(name, BARS['draw']):9.2f}")


if __name__ == "__main__":
    main()
