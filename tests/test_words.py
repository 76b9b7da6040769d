"""Words over space: gradients, Laplacians and normals by name, in any dimension, and what they cost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._laws import Derivative, Vocabulary, as_condition
from sclax._laws.fields import evaluate
from sclax._laws.laplacian import forward_laplacian
from sclax._methods import gram
from sclax._places import embed_all

XYT = Vocabulary(("x", "y", "t", "nu"), ("u", "v"), ("c",), families=("nu",))
Z = jnp.asarray([0.3, -0.7, 1.2, 0.5])


def pair(z):
    """u = x²y³ t ν,  v = sin(x) e^y + t²."""
    x, y, t, nu = z
    return jnp.stack([x**2 * y**3 * t * nu, jnp.sin(x) * jnp.exp(y) + t**2])


def found(names, vocabulary=XYT, model=pair, z=Z):
    quantities = [vocabulary.resolve(name, "test") for name in names]
    return jax.jit(lambda z: evaluate(model, vocabulary, {"c": jnp.asarray(2.0)}, z, quantities))(z)


def test_gradients_and_laplacians_are_over_space_only(x64):
    x, y, t, nu = np.asarray(Z, float)
    gradient, laplacian, slope, other, value = found(["grad_u", "lap_u", "u_t", "lap_v", "v"])
    np.testing.assert_allclose(gradient, [2 * x * y**3 * t * nu, 3 * x**2 * y**2 * t * nu], rtol=1e-6)
    assert float(laplacian) == pytest.approx((2 * y**3 + 6 * x**2 * y) * t * nu, rel=1e-6)
    assert float(slope) == pytest.approx(x**2 * y**3 * nu, rel=1e-6)
    assert float(other) == pytest.approx(0.0, abs=1e-7)  # harmonic
    assert float(value) == pytest.approx(np.sin(x) * np.exp(y) + t**2, rel=1e-6)


@pytest.mark.parametrize("names", [["grad_u"], ["grad_u", "grad_v"], ["grad_u", "u_xxy"], ["lap_u", "u_xy", "grad_v"]])
def test_words_agree_with_what_they_stand_for(names):
    spelt = {"grad_u": ["u_x", "u_y"], "grad_v": ["v_x", "v_y"], "lap_u": ["u_xx", "u_yy"]}
    for name, value in zip(names, found(names), strict=True):
        parts = jnp.stack(found(spelt.get(name, [name])))
        expected = jnp.sum(parts) if name.startswith("lap") else parts if name in spelt else parts[0]
        np.testing.assert_allclose(value, expected, rtol=1e-5)


def softened(z):
    """Operations of every kind: entry by entry, products, quotients, choices, loops, rules of one's own, indices."""
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    h = jnp.tanh(weights @ z) + jax.nn.softplus(weights[0] @ z) * jax.nn.silu(z[1])
    products = jnp.outer(h[:3], z) @ (h[:3] * z)  # both operands move
    quotient = products / (2 + jnp.sum(z**2)) + jnp.sqrt(1 + z[0] ** 2 * z[1] ** 2)
    chosen = jnp.where(z[0] > 0, jnp.sin(z[0] * z[1]), z[2] ** 3) + jnp.maximum(z[2], 0.1) ** 2
    looped, _ = jax.lax.scan(lambda c, w: (jnp.sin(c * w) + w, None), z[0], z)
    nearest = jnp.argmin(jax.lax.stop_gradient(jnp.abs(weights[:, 0] - z[0])))
    power = jnp.exp(z[1]) ** z[2] + jnp.arctan2(z[0], z[1])
    spread = jnp.linalg.norm(h) + jnp.prod(z) + jax.nn.logsumexp(h) + jnp.cumsum(z)[1] * weights[nearest] @ z
    return jnp.concatenate([quotient, jnp.stack([chosen, looped, power, spread, jnp.asarray(3.0)])])


@pytest.mark.parametrize("z", [[0.3, 0.7, 0.4], [-0.3, 1.1, -0.6]])
def test_one_pass_has_the_value_the_jacobian_and_the_laplacian_of_anything(x64, z):
    z, weights = jnp.asarray(z), jnp.asarray([1.0, 0.0, 1.0])
    value, slopes, laplacian = jax.jit(lambda z: forward_laplacian(softened, z, jnp.eye(3), (1.0, 0.0, 1.0)))(z)
    # Not jax.hessian: compiled by JAX 0.10.2, reverse passes through cumsum give a matrix that is not symmetric.
    slope = jax.jacfwd(softened)
    exact = jax.jit(lambda z: (softened(z), slope(z).T, jax.jacfwd(slope)(z)))(z)
    np.testing.assert_allclose(value, exact[0], rtol=1e-13)
    np.testing.assert_allclose(slopes, exact[1], rtol=1e-11, atol=1e-12)
    hessian = exact[2]
    np.testing.assert_allclose(laplacian, jnp.einsum("mii,i->m", hessian, weights), rtol=1e-10, atol=1e-11)


def cube(dimension):
    return scl.Box(**{f"x{i}": (0, 1) for i in range(dimension)})


def poisson(dimension, residual):
    return scl.Problem(
        cube(dimension),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(residual) <= 1e-6},
    )


def spelt(dimension):
    """u_x0x0 + u_x1x1 + … + 1, as it is written without the word."""
    names = [f"u_x{i}x{i}" for i in range(dimension)]
    return eval(f"lambda {', '.join(names)}: {' + '.join(names)} + 1")


def pde(problem):
    return next(t.law for t in problem.terms if t.name == "pde")


def squares(law, model, points):
    """The mean square of a law, and its gradient in the weights."""
    return eqx.filter_value_and_grad(lambda m: jnp.mean(law.rows(m, {}, points) ** 2))(model)


def test_ten_dimensions_cost_clearly_less_than_spelt_out():
    domain = cube(10)
    model = scl.nn.MLP(domain, key=jr.key(0))
    points = domain.uniform(64, jr.key(1))
    laws = [pde(poisson(10, residual)) for residual in (lambda lap_u: lap_u + 1, spelt(10))]
    assert laws[0].residual.asked == laws[1].residual.asked
    assert laws[0].order == laws[1].order == 2
    compiled = [jax.jit(lambda p, law=law: squares(law, model, p)).lower(points).compile() for law in laws]
    flops = [c.cost_analysis()["flops"] for c in compiled]
    assert 1.5 * flops[0] < flops[1]
    for a, b in zip(*(jax.tree.leaves(c(points)) for c in compiled), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_gauss_newton_sees_the_same_matrix_by_the_same_short_way(x64):
    domain = cube(3)
    model = scl.nn.MLP(domain, width=12, depth=2, key=jr.key(0))
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    points, grams = domain.uniform(9, jr.key(1)), []
    for residual in (lambda lap_u, grad_u, u: lap_u + u * grad_u @ grad_u, spelt_nonlinear):
        law = pde(poisson(3, residual))
        rows = lambda leaves, w, law=law: law.residual(
            eqx.combine(jax.tree.unflatten(structure, leaves), rest), {}, law.place, w
        )
        program = gram.Program(rows, leaves, points[0])
        assert all(program.uses(i) for i, leaf in enumerate(leaves) if leaf.ndim == 2)
        system = lambda leaves, rows=rows: gram.system([rows], leaves, [points], [jnp.ones(9)], memory=1e9)
        tiles = lambda leaves, rows=rows: gram.system([rows], leaves, [points], [jnp.ones(9)], memory=6e4)[0]
        multiplied = lambda leaves, system=system: (lambda m, pull: (m, pull(jnp.arange(9.0))))(*system(leaves))
        matrix, product = jax.jit(multiplied)(leaves)
        np.testing.assert_allclose(jax.jit(tiles)(leaves), matrix, rtol=1e-9, atol=1e-12)
        grams.append((matrix, product))
    for a, b in zip(*map(jax.tree.leaves, grams), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def spelt_nonlinear(u, u_x0, u_x1, u_x2, u_x0x0, u_x1x1, u_x2x2):
    return u_x0x0 + u_x1x1 + u_x2x2 + u * (u_x0**2 + u_x1**2 + u_x2**2)


def test_polynomials_solve_a_poisson_problem_that_is_written_with_the_word():
    """−Δu = 2π² sin πx sin πy."""
    truth = lambda x, y: jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)
    problem = scl.Problem(
        scl.Box(x=(0, 1), y=(0, 1)),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda lap_u, x, y: lap_u + 2 * jnp.pi**2 * truth(x, y)) <= 1e-12},
        reference=truth,
    )
    assert set(pde(problem).residual.asked) >= {Derivative(0, (0, 0)), Derivative(0, (1, 1))}
    solution = scl.solve(problem, method=scl.Spectral(), progress=False)
    assert solution.error() < 1e-9


# --- normals --------------------------------------------------------------------------------------------------------

PLANE = scl.Box(x=(0, 1), t=(0, 1), y=(-1, 2))


def bound(condition, domain, unknowns=("u",)):
    return as_condition("test", condition).bind(Vocabulary(domain.names, unknowns, ()), domain)


def test_the_normal_has_components_along_space_alone(x64):
    """n · ∇u of u = x² + 5 y t is Neumann's slope, on all faces and on one."""
    model = lambda z: jnp.stack([z[0] ** 2 + 5 * z[2] * z[1]])
    for on in (PLANE.boundary, PLANE.face(y=-1), [PLANE.face(x=1), PLANE.face(y=2)]):
        law = bound(scl.Operator(lambda grad_u, normal: grad_u @ normal, on=on), PLANE)
        other = bound(scl.Neumann(0.0, on=on), PLANE)
        both = jax.jit(lambda w, law=law, other=other: (law.rows(model, {}, w), other.rows(model, {}, w)))
        found, expected = both(law.place.grid(40))
        np.testing.assert_allclose(found, expected, atol=1e-14)
        assert float(jnp.abs(found).max()) > 1
        assert law.order == 1


def test_prescribed_values_may_ask_for_the_normal(x64):
    model = lambda z: jnp.stack([3 * z[0] - 2 * z[2]])
    law = bound(scl.Neumann(lambda normal: 3 * normal[0] - 2 * normal[1]), PLANE)
    np.testing.assert_allclose(law.rows(model, {}, law.place.grid(40)), 0.0, atol=1e-14)
    law = bound(scl.Dirichlet(lambda normal: normal[0]), PLANE)
    w = law.place.grid(40)
    normals = jax.vmap(law.place.normal)(w)
    expected = jax.vmap(model)(embed_all(law.place, w))[:, 0] - normals[:, 0]
    np.testing.assert_allclose(law.rows(model, {}, w)[:, 0], expected, atol=1e-14)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (scl.Operator(lambda normal: normal[0], on=PLANE), "outward normal, and there is none.*interior has no normal"),
        (scl.Operator(lambda normal: normal[0], on=PLANE.face(t=0)), "and there is none.*one of space"),
        (scl.Neumann(0.0, on={"x": [0.0], "y": [0.0], "t": [0.0]}), "Given points have no normal.*`?nx"),
        (scl.Periodic("x", of=lambda u, normal: u * normal[0]), "`normal` is the outward normal of a boundary"),
        (scl.Operator(lambda lap_w: lap_w), "`lap_w` is not known.*`grad_u`, `lap_u`, and on a boundary `normal`"),
        (scl.Operator(lambda grd_u: grd_u), "Did you mean `grad_u`"),
    ],
)
def test_what_cannot_be_asked_for_is_said_at_construction(condition, said):
    with pytest.raises(ValueError, match=said):
        bound(condition, PLANE)


def test_space_may_be_empty_and_names_may_clash():
    time = scl.Box(t=(0, 1))
    with pytest.raises(ValueError, match="`lap_u` is over the coordinates of space, and there are none"):
        bound(lambda lap_u: lap_u, time)
    with pytest.raises(ValueError, match="`lap_u` reads as a gradient or a Laplacian"):
        Vocabulary(("x",), ("u",), ("lap_u",))


def test_a_residual_of_vectors_must_give_numbers():
    problem = poisson(2, lambda grad_u: grad_u)
    with pytest.raises(ValueError, match=r"a number or a tuple of numbers, got shapes \[\(2,\)\]"):
        pde(problem).rows(lambda z: z[:1], {}, jnp.zeros((1, 2)))


def test_every_model_has_a_laplacian(x64):
    domain = scl.Box(x=(0, 2), y=(0, 1))
    plain = scl.nn.MLP(domain, width=8, depth=2, key=jr.key(0))
    wavy = scl.nn.MLP(domain, width=8, depth=1, key=jr.key(1), embedding=scl.nn.FourierFeatures(domain, key=jr.key(2)))
    series = scl.nn.Chebyshev(domain, terms=6)
    models = {
        "mlp": plain,
        "features": wavy,
        "ring": scl.nn.MLP(domain, width=8, depth=1, key=jr.key(1), embedding=scl.nn.PeriodicEmbedding(domain, "x")),
        "chebyshev": eqx.tree_at(lambda m: m.coefficients, series, jr.normal(jr.key(3), series.coefficients.shape)),
        "hard": scl.nn.HardConstraint(plain, lambda u, x, y: x * y + x * (2 - x) * y * (1 - y) * u, domain),
    }
    z = jnp.asarray([0.7, 0.4])
    for name, model in models.items():
        ours = lambda z, model=model: forward_laplacian(model, z, jnp.eye(2), (1.0, 1.0)).laplacian
        trace = lambda z, model=model: jnp.trace(jax.hessian(lambda z: model(z)[0])(z))
        found, expected = jax.jit(lambda z, ours=ours, trace=trace: (ours(z), trace(z)))(z)
        np.testing.assert_allclose(found[0], expected, rtol=1e-9, err_msg=name)
