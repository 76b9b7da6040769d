"""Chebyshev polynomials as a model: values and derivatives by numpy's own, files, and a solution to the last digits."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.polynomial import chebyshev

import sclax as scl
from sclax.nn import MLP, Chebyshev, Plus, describe, rebuild
from sclax.nn._chebyshev import polynomials

N = 12
BOX = scl.Box(x=(0, 3), t=(-1, 1))


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("x", [-1.0, -0.7, 0.0, 0.3, 1.0, 1.3, -1.2])
def test_derivatives_of_any_order_are_numpys(x, order, x64):
    expected = [chebyshev.chebval(x, chebyshev.chebder(row, order) if order else row) for row in np.eye(N)]
    function = lambda x: polynomials(x, N)
    for _ in range(order):
        function = lambda x, inner=function: jax.jvp(inner, (x,), (1.0,))[1]
    np.testing.assert_allclose(function(jnp.asarray(x)), expected, rtol=1e-11, atol=1e-11)


def test_products_on_the_scaled_box(x64):
    coefficients = jr.normal(jr.key(0), (2, 4, 5))
    model = eqx.tree_at(lambda m: m.coefficients, Chebyshev(BOX, 2, (4, 5)), coefficients)
    z = np.array([0.4, 0.25])
    expected = [chebyshev.chebval2d(2 * 0.4 / 3 - 1, 0.25, c) for c in np.asarray(coefficients)]
    np.testing.assert_allclose(model(jnp.asarray(z)), expected, rtol=1e-13)


def test_gradients_in_reverse_are_those_forward(x64):
    model = eqx.tree_at(lambda m: m.coefficients, Chebyshev(BOX, terms=6), jr.normal(jr.key(1), (1, 6, 6)))
    z = jnp.asarray([1.1, -0.3])
    np.testing.assert_allclose(jax.jacrev(jax.jacrev(model))(z), jax.jacfwd(jax.jacfwd(model))(z), rtol=1e-12)


def test_a_smooth_solution_to_the_last_digits():
    """u″ = −u + 2 eˣ with u = eˣ: twelve coefficients leave 1e-12."""
    problem = scl.Problem(
        scl.Box(x=(0, 1)),
        objective=scl.average(scl.Dirichlet(lambda x: jnp.exp(x))),
        constraints={"ode": scl.worst_case(lambda u, u_xx, x: u_xx + u - 2 * jnp.exp(x)) <= 1e-20},
        reference=lambda x: jnp.exp(x),
    )
    method = scl.PrimalDual(scl.GaussNewton(rows=60, guard=1.0), scl.DualAscent(0.3, clip=1.0, cap=2.0))
    solution = scl.solve(problem, Chebyshev(problem.domain, terms=12), method, steps=30, progress=False)
    assert solution.error() < 1e-11


@pytest.mark.parametrize(
    "model", [Chebyshev(BOX, 2, (3, 4)), Plus(MLP(BOX, 2, 3, 1, key=jr.key(0)), Chebyshev(BOX, 2, 3))]
)
def test_descriptions_rebuild_the_same_numbers(model):
    arrays = {}
    again = rebuild(json.loads(json.dumps(describe(model, arrays))), arrays)
    assert eqx.tree_equal(model, again)
    np.testing.assert_array_equal(model(jnp.ones(2)), again(jnp.ones(2)))


def test_a_sum_is_one():
    first, second = MLP(BOX, key=jr.key(0)), lambda z: z[0]
    z = jnp.asarray([0.5, 0.2])
    np.testing.assert_allclose(Plus(first, second)(z), first(z) + 0.5, rtol=1e-6)


@pytest.mark.parametrize(("terms", "words"), [((3,), "one for each"), (0, "at least 1"), ((200, 200), "fewer")])
def test_bad_terms_are_refused(terms, words):
    with pytest.raises(ValueError, match=words):
        Chebyshev(BOX, terms=terms)
