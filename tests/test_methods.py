"""Primal-dual methods reach the known optimum and the known multipliers of small problems."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import sclax as scl
from sclax._methods.dual import Standing

from . import small

DUALS = {
    "ascent": scl.DualAscent(0.05),
    "schedule": scl.DualAscent(optax.constant_schedule(0.05)),
    "nupi": scl.NuPI(0.05, kp=2.0, nu=0.5),
    "augmented": scl.AugmentedLagrangian(1.0, rate=0.1),
    # Momentum overshoots; a falling rate lets it settle.
    "adam": optax.adam(optax.exponential_decay(0.02, 800, 0.5)),
}


def train(problem, model, method, steps=4000):
    return scl.solve(problem, model, method, steps=steps, progress=False)


@pytest.mark.parametrize("dual", DUALS.values(), ids=DUALS)
def test_scalar_constraint_has_the_known_optimum_and_multiplier(dual):
    solution = train(small.bounded(0.25), small.value(), scl.PrimalDual(optax.sgd(0.05), dual))
    assert solution(x=0.3) == pytest.approx(0.5, abs=2e-3)
    assert solution.multipliers["size"] == pytest.approx(3.0, abs=3e-2)


@pytest.mark.parametrize(("power", "u", "price"), [(2, 0.9, 9.0), (1, 0.99, 1.98)])
def test_inequality_has_the_known_optimum_and_multiplier(power, u, price):
    method = scl.PrimalDual(optax.sgd(0.02), scl.DualAscent(1.0 if power == 2 else 0.02))
    solution = train(small.at_least_one(0.01, power), small.value(), method, steps=20_000)
    assert solution(x=0.5) == pytest.approx(u, abs=5e-3)
    assert solution.multipliers["one"] == pytest.approx(price, rel=1e-2)


@pytest.mark.parametrize("dual", DUALS.values(), ids=DUALS)
def test_each_sample_has_its_own_multiplier(dual):
    model = small.Hats(jnp.zeros(3))
    solution = train(small.samples(), model, scl.PrimalDual(optax.sgd(0.1), dual), steps=6000)
    np.testing.assert_allclose(solution(x=jnp.arange(3.0)), [0.5, 1.5, 0.0], atol=5e-3)
    np.testing.assert_allclose(solution.multipliers["data"], [1 / 3, 1.0, 0.0], atol=2e-2)


def test_inactive_constraint_has_multiplier_zero():
    solution = train(small.bounded(9.0), small.value(), scl.PrimalDual(optax.sgd(0.1), scl.DualAscent(0.05)), 500)
    assert solution(x=0.0) == pytest.approx(2.0, abs=1e-3)
    assert solution.multipliers["size"] == 0.0


def test_multiplier_of_a_boundary_value_problem_predicts_the_price_of_its_tolerance():
    """dJ/dε = −λ: solving again with another tolerance changes the objective as the multiplier said."""
    method = scl.PrimalDual(optax.sgd(0.1), scl.DualAscent(0.5))
    model = small.Line(jnp.asarray(0.0), jnp.asarray(0.0))
    before, after = (train(small.slope(tol), model, method, steps=6000) for tol in (0.040, 0.042))
    assert before.multipliers["ode"] == pytest.approx(1.0, rel=1e-3)
    predicted = -before.multipliers["ode"] * 0.002
    # The second-order term of J = (1 − √ε)²/4 is 1.6 % of the first at this distance.
    assert after.objective - before.objective == pytest.approx(predicted, rel=0.04)


def test_both_updates_see_the_same_pass():
    """Algorithm 1: λ₁ = [λ₀ + η (value(θ₀) − ε)]₊ with the value before the weights moved, and θ₁ with λ₀."""
    method = scl.PrimalDual(optax.sgd(0.1), scl.DualAscent(0.5))
    problem = method.prepare(small.bounded(1.0))
    state = method.init(problem, small.value(3.0), jr.key(0))
    state, info = method.step(problem, state, jr.key(1))
    assert info.values["size"] == pytest.approx(9.0)
    assert state.multipliers["size"] == pytest.approx(0.5 * (9.0 - 1.0))
    assert state.model.value == pytest.approx(3.0 - 0.1 * 2 * (3.0 - 2.0))
    state, _ = method.step(problem, state, jr.key(2))
    assert state.model.value == pytest.approx(2.8 - 0.1 * (2 * 0.8 + 4.0 * 2 * 2.8), rel=1e-5)


def test_primal_steps_move_the_weights_several_times_for_each_dual_step():
    method = scl.PrimalDual(optax.sgd(0.1), scl.DualAscent(0.5), primal_steps=3)
    problem = method.prepare(small.bounded(1.0))
    state, info = method.step(problem, method.init(problem, small.value(3.0), jr.key(0)), jr.key(1))
    u = [3.0]
    for _ in range(3):
        u.append(u[-1] - 0.2 * (u[-1] - 2))
    assert state.model.value == pytest.approx(u[-1])
    # The dual step uses the last pass, made at the weights before the last move.
    assert state.multipliers["size"] == pytest.approx(0.5 * (u[-2] ** 2 - 1))
    assert info.multipliers["size"] == state.multipliers["size"]


def test_multipliers_never_become_negative():
    method = scl.PrimalDual(optax.sgd(0.1), optax.sgd(1.0))
    problem = method.prepare(small.bounded(100.0))
    state = method.init(problem, small.value(1.0), jr.key(0))
    for k in range(3):
        state, _ = method.step(problem, state, jr.key(k))
        assert state.multipliers["size"] == 0.0


def test_nupi_follows_its_equations():
    dual = scl.NuPI(0.1, kp=3.0, ki=2.0, nu=0.4)
    multiplier, state = jnp.asarray(5.0), dual.init(jnp.asarray(5.0))
    expected, smooth = 5.0, 1.5
    for error in (1.5, -0.5, 2.0):
        new = 0.4 * smooth + 0.6 * error
        expected += 0.1 * (2.0 * error + 3.0 * (new - smooth))
        smooth = new
        multiplier, state = dual.step(multiplier, state, jnp.asarray(error))
        assert multiplier == pytest.approx(expected)


def test_augmented_lagrangian_prices_with_the_penalty():
    dual = scl.AugmentedLagrangian(4.0)
    price = lambda violation: dual.price(jnp.asarray(1.0), dual.init(jnp.asarray(1.0)), jnp.asarray(violation))
    assert price(0.5) == pytest.approx(3.0)
    assert price(-1.0) == 0.0


def test_a_dual_for_each_constraint():
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(lambda u: u - 2),
        constraints={"fast": scl.average(lambda u: u) <= 0, "slow": scl.average(lambda u: u) <= 0},
    )
    method = scl.PrimalDual(optax.sgd(0.0), {"fast": scl.DualAscent(1.0), "slow": scl.DualAscent(0.1)})
    problem = method.prepare(problem)
    state, _ = method.step(problem, method.init(problem, small.value(1.0), jr.key(0)), jr.key(1))
    assert state.multipliers["fast"] == pytest.approx(1.0)
    assert state.multipliers["slow"] == pytest.approx(0.1)


def test_penalty_minimises_the_weighted_sum():
    """w₀ (u − 2)² + w u² is least at u = 2 w₀ / (w₀ + w)."""
    method = scl.Penalty(optax.sgd(0.02), weights={"objective": 3.0, "size": 5.0})
    solution = train(small.bounded(), small.value(), method, steps=500)
    assert solution(x=0.0) == pytest.approx(6 / 8, abs=1e-4)
    assert solution.multipliers["size"] == 5.0
    assert set(solution.unpriced) == {"size"}


def test_feasibility_problem_is_solved_without_an_objective():
    problem = scl.Problem(domain=small.unit(), constraints={"law": scl.worst_case(lambda u: u - 3) <= 1e-4})
    solution = train(problem, small.value(), scl.PrimalDual(optax.sgd(0.01), scl.DualAscent(1.0)), steps=400)
    assert solution(x=0.2) == pytest.approx(3.0, abs=1e-2)
    assert solution.feasible


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (lambda: scl.PrimalDual("adam", scl.DualAscent(1.0)), ("primal", "'adam'", "optax.adam")),
        (lambda: scl.PrimalDual(optax.sgd(1.0), "adam"), ("dual", "'adam'", "DualAscent")),
        (lambda: scl.PrimalDual(optax.sgd(1.0), scl.DualAscent(1.0), primal_steps=0), ("primal_steps", "0")),
        (lambda: scl.DualAscent(-1.0), ("rate", "-1.0", "positive")),
        (lambda: scl.NuPI(1.0, nu=1.0), ("nu", "1.0")),
        (lambda: scl.AugmentedLagrangian(0.0), ("penalty", "0.0")),
        (lambda: scl.Penalty(optax.sgd(1.0), {"size": -2.0}), ("weights", "-2.0", "size")),
        (
            lambda: scl.Penalty(optax.sgd(1.0), {"sise": 2.0}).prepare(small.bounded()),
            ("weights", "sise", "Did you mean `size`"),
        ),
        (
            lambda: scl.PrimalDual(optax.sgd(1.0), {"sise": scl.DualAscent(1.0)}).prepare(small.bounded()),
            ("dual", "size"),
        ),
    ],
)
def test_bad_methods_are_refused(make, fragments):
    with pytest.raises(ValueError, match=".") as caught:
        make()
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_alpha_concentrates_on_the_worst():
    """With ψ_α the mean of the loss x² on [0, 1] rises from E_ψ₀ towards the maximum."""
    values = []
    for alpha in (0.0, 0.9):
        problem = scl.Problem(
            domain=small.unit(),
            constraints={
                "law": scl.worst_case(lambda u, x: u + x, sampler=scl.ImportanceWeights(20_000), alpha=alpha) <= 1
            },
        )
        method = scl.PrimalDual(optax.sgd(0.0), scl.DualAscent(1.0))
        problem = method.prepare(problem)
        _, info = method.step(problem, method.init(problem, small.value(), jr.key(0)), jr.key(1))
        values.append(float(info.values["law"]))
    assert values[0] == pytest.approx((1 / 5) / (1 / 3), rel=2e-2)
    x = np.linspace(0, 1, 200_001)
    density = np.maximum(x**2 - 0.9, 0)
    assert values[1] == pytest.approx(np.sum(density * x**2) / np.sum(density), rel=1e-2)


def test_step_is_traced_once_for_all_steps():
    traces = []

    def law(u):
        if u.dtype == np.float32:  # that of the run; what a function computes is looked at in double precision
            traces.append(1)
        return u - 2

    problem = scl.Problem(domain=small.unit(), objective=scl.average(law))
    method = scl.PrimalDual(optax.sgd(0.1), scl.DualAscent(1.0))
    train(problem, small.value(), method, steps=300)
    first = len(traces)
    train(problem, small.value(1.0), method, steps=500)
    assert len(traces) == first
    assert 1 <= first <= 4
    jax.clear_caches()


@pytest.mark.parametrize(("given_up", "beyond"), [(False, True), (True, False)])
def test_a_condition_on_values_outweighs_the_objective_but_not_beside_a_law_that_was_given_up(given_up, beyond):
    dual = scl.MirrorAscent()
    standing = Standing(jnp.asarray(1e-3), jnp.asarray(1.0), jnp.asarray(given_up), on_values=True)
    one = jnp.asarray(dual.cap)
    new, _ = dual.advance(one, jnp.asarray(0.01), jnp.asarray(0.1), jnp.asarray(1e-6), standing)
    assert (new > dual.cap) == beyond
