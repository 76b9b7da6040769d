"""Even draws from ψ_α: their law, their evenness, their weights, on every kind of place."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._methods import march
from sclax._places import embed_all
from sclax._result import Tempered
from sclax.samplers._drawn import morton

from . import small
from .test_samplers import LAWS, assert_law, compiled, quadrature


def draws(sampler, place, density, count, seed=0):
    """The points of `count` passes, one after the other."""
    start = sampler.init(place, jr.key(seed))
    draw = lambda key: sampler.step(place, density, start, key)[0].points
    return compiled(lambda keys: jax.lax.map(draw, keys))(jr.split(jr.key(seed), count))


def front(w):
    """The residual of a front: (1 + 200 x²)⁻² around x = 0.2 + 0.3 t."""
    return 1 / (1 + 200 * (w[:, 0] - 0.2 - 0.3 * w[:, 1]) ** 2) ** 2


FRONT = scl.Box(x=(0, 1), t=(0, 1))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("law", ["two humps 1d", "coupled 2d", "coupled 3d"])
def test_points_have_the_law_of_the_mixture(law, share):
    box, density = LAWS[law]
    points = draws(scl.Drawn(100, pool=32, share=share), box, density, 20).reshape(-1, box.dimension)
    mean = quadrature(box, density) / box.measure
    assert_law(points, box, lambda z: share * np.asarray(density(z)) / mean + 1 - share)


def test_cells_have_their_share_of_the_points():
    """Chi-square on 8 × 8 cells: no larger than for independent draws, on a front that few even points would see."""
    points = np.asarray(draws(scl.Drawn(256, share=1.0), FRONT, front, 20)).reshape(-1, 2)
    cells = scl.Box(x=(0, 1), t=(0, 1)).sobol(2**16)
    mass = lambda z, weights: np.histogram2d(z[:, 0], z[:, 1], bins=8, range=[[0, 1], [0, 1]], weights=weights)[0]
    expected = mass(np.asarray(cells), np.asarray(front(cells)))
    expected *= len(points) / expected.sum()
    chi_square = np.sum((mass(points, None) - expected) ** 2 / expected)
    assert chi_square < 63 + 5 * np.sqrt(2 * 63)


def test_points_are_evener_than_independent_ones():
    """The count in a cell of probability p varies by n p (1 − p) for independent draws, here by far less."""
    n = 256
    points = np.asarray(draws(scl.Drawn(n), FRONT, front, 60))
    counts = np.stack([np.histogram2d(*p.T, bins=4, range=[[0, 1], [0, 1]])[0].ravel() for p in points])
    p = counts.mean(0) / n
    assert np.sum(counts.var(0)) < 0.2 * np.sum(n * p * (1 - p))


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("law", ["ramp 1d", "product 2d", "coupled 3d"])
def test_weights_give_the_worst_case_and_the_average(law, share):
    """E_ψ₀[ℓ] = ∫ℓ² / ∫ℓ and E[ℓ] = ∫ℓ / ∫1, from points that are drawn from neither; of ψ alone, only the first."""
    box, loss = LAWS[law]
    sampler = scl.Drawn(500, share=share)
    values = jax.vmap(loss)(draws(sampler, box, loss, 20))
    worst = jax.vmap(lambda v: jnp.vdot(sampler.weights(v), v))(values)
    np.testing.assert_allclose(worst.mean(), quadrature(box, lambda z: loss(z) ** 2) / quadrature(box, loss), rtol=1e-2)
    np.testing.assert_allclose(jax.vmap(sampler.weights)(values).sum(axis=1), 1.0, rtol=1e-5)
    if share < 1:
        average = jax.vmap(lambda v: jnp.vdot(sampler.even(v), v))(values)
        np.testing.assert_allclose(average.mean(), quadrature(box, loss) / box.measure, rtol=1e-2)


def test_a_front_is_estimated_far_better_than_by_weights_on_even_points():
    narrow = lambda w: 1 / (1 + 1e4 * (w[:, 0] - 0.2 - 0.3 * w[:, 1]) ** 2) ** 2
    fine = np.asarray(narrow(FRONT.sobol(2**18)), float)
    exact = np.sum(fine**2) / np.sum(fine)
    spread = {}
    for name, sampler in {"even": scl.ImportanceWeights(128, scl.Sobol()), "drawn": scl.Drawn(128)}.items():
        values = jax.vmap(narrow)(draws(sampler, FRONT, narrow, 40))
        found = np.asarray(jax.vmap(lambda v, s=sampler: jnp.vdot(s.weights(v), v))(values))
        spread[name] = np.sqrt(np.mean((found / exact - 1) ** 2))
    assert abs(np.mean(found) / exact - 1) < 0.05  # of the last, drawn ones
    assert spread["drawn"] < 0.5 * spread["even"]


@pytest.mark.parametrize("guard", [0.2, 0.5, 1.0])
def test_a_guard_keeps_the_effective_share_of_the_place(guard):
    """∫ w² is at most 1/guard, of w = (1 − τ) ψ + τ  with  ∫ψ² known; and as much of ψ is left as that allows."""
    narrow = lambda w: jnp.where(jnp.abs(w[:, 0] - 0.5) < 0.02, 1.0, 0.0)  # ∫ψ² = 25
    sampler = scl.Drawn(1000, guard=guard)
    points = draws(sampler, FRONT, narrow, 20)
    values = jax.vmap(narrow)(points)
    found = jax.vmap(lambda v: jnp.vdot(sampler.weights(v), v))(values)
    kept = np.sqrt((1 / guard - 1) / 24)
    np.testing.assert_allclose(found.mean(), kept + (1 - kept) / 25, rtol=0.02)


def test_the_effective_sample_size_is_at_least_the_share():
    sampler = scl.Drawn(256, share=0.5)
    values = jax.vmap(front)(draws(sampler, FRONT, front, 10))
    assert np.all(np.asarray(jax.vmap(sampler.effective)(values)) > 0.45 * 256)


@pytest.mark.parametrize("factor", [1.0, 2.0**-100])
def test_only_ratios_of_densities_count(factor):
    sampler = scl.Drawn(64)
    (one,), (other,) = (draws(sampler, FRONT, lambda w, f=f: f * front(w), 1) for f in (1.0, factor))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(sampler.weights(factor * front(one)), sampler.weights(front(one)), rtol=1e-5)


def test_a_law_that_holds_everywhere_is_drawn_evenly_and_weighs_alike():
    (points,) = draws(scl.Drawn(256), FRONT, lambda w: jnp.zeros(len(w)), 1)
    assert_law(points, FRONT, lambda z: np.ones(len(z)))
    for share in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(scl.Drawn(share=share).weights(jnp.zeros(4)), 0.25, rtol=1e-6)
        np.testing.assert_allclose(scl.Drawn(share=share).even(jnp.zeros(4)), 0.25, rtol=1e-6)


def test_faces_and_unions_of_faces():
    """ψ = 1 + x + y² on the rim of [0, 1] × [0, 3]: the mass of each face; on one face, and at a single point."""
    box = scl.Box(x=(0, 1), y=(0, 3))
    loss = lambda z: 1 + z[:, 0] + z[:, 1] ** 2
    rim = box.boundary
    w = draws(scl.Drawn(256, share=1.0), rim, lambda w: loss(embed_all(rim, w)), 10).reshape(-1, 2)[:, :1]
    z = np.asarray(embed_all(rim, w))
    masses = np.array([quadrature(p.chart, lambda w, p=p: loss(embed_all(p, jnp.asarray(w)))) for p in rim.pieces])
    shares = [np.mean(z[:, i] == end) for i in range(2) for end in (box.lower[i], box.upper[i])]
    np.testing.assert_allclose(shares, masses / masses.sum(), atol=0.02)
    face = box.face(x=1)
    on_face = draws(scl.Drawn(256, share=1.0), face, lambda w: w[:, 0] ** 2, 10).reshape(-1, 1)
    assert_law(on_face, scl.Box(y=(0, 3)), lambda y: y[:, 0] ** 2)
    corner = box.face(x=1, y=3)
    assert draws(scl.Drawn(8), corner, lambda w: jnp.ones(len(w)), 1).shape == (1, 8, 0)


def test_given_points_are_all_there_weighted_by_their_losses():
    x = np.linspace(0.1, 0.9, 5)
    law = scl.Dirichlet(0.0, on={"x": x})
    problem = scl.Problem(small.unit(), constraints={"data": scl.worst_case(law, sampler=scl.Drawn(3)) <= 0.1})
    (term,) = problem.terms
    model = lambda z: z
    state, info = term.chosen.step(term.law.place, problem.density(model, term, 0.0), *inits(term))
    np.testing.assert_allclose(embed_all(term.law.place, state.points)[:, 0], x, rtol=1e-6)
    assert info.evaluations == 0
    found = problem.evaluate(model, (state.points,)).terms[0]
    np.testing.assert_allclose(found.weights, x**2 / np.sum(x**2), rtol=1e-5)


def inits(term):
    return term.chosen.init(term.law.place, jr.key(0)), jr.key(1)


def test_every_pass_evaluates_the_pool_and_says_so():
    sampler, sizes = scl.Drawn(30, pool=7), []

    def density(w):
        jax.debug.callback(lambda column: sizes.append(column.size), w[:, 0])
        return front(w)

    state = sampler.init(FRONT, jr.key(0))
    for i in range(3):
        state, info = sampler.step(FRONT, density, state, jr.key(i))
        assert info.evaluations == 210
    jax.effects_barrier()
    assert sum(sizes) == 630


def test_the_curve_visits_cells_in_the_order_of_their_digits():
    box = scl.Box(x=(0, 2), y=(1, 2))
    corners = jnp.asarray([[1.5, 1.7], [0.5, 1.2], [1.5, 1.2], [0.5, 1.7]])
    np.testing.assert_array_equal(jnp.argsort(morton(box, corners)), [1, 3, 2, 0])
    line = jnp.linspace(0, 1, 4096)[:, None]
    assert np.all(np.diff(np.asarray(morton(small.unit(), line), float)) > 0)
    many = scl.Box(**{f"x{i}": (0, 1) for i in range(40)})
    assert len(np.unique(morton(many, many.uniform(50, jr.key(0))))) == 50


def test_parameters_crowd_in_the_uniform_part():
    domain = scl.Box(x=(0.0, 2.0)).join({"nu": (1.0, 5.0)})
    points = draws(scl.Drawn(256, share=0.0, crowd=True), domain, lambda w: jnp.ones(len(w)), 8).reshape(-1, 2)
    assert points[:, 1].var() == pytest.approx(16 / 8, rel=2e-2)


def test_draws_along_time_see_only_what_is_within_reach():
    """The loss is large at late times: within the first twentieth of time draws must follow what is there."""
    law = lambda u, x, t: jnp.where(t < 0.05, x, 10.0) + 0 * u
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 1)),
        objective=scl.average(scl.Initial(0.0)),
        constraints={"pde": scl.worst_case(law, sampler=scl.Drawn(256, share=1.0)) <= 1.0},
    )
    method = scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=8), scl.DualAscent(0.3))
    problem = scl.Stage(direction=1).pose(method.prepare(problem))
    state = method.init(problem, small.value(), jr.key(0))
    state, info = jax.jit(lambda s: method.step(problem, s, jr.key(1)))(state)
    (points,) = (s.points for t, s in zip(problem.terms, state.samplers, strict=True) if t.worst)
    assert np.max(points[:, 1]) <= march.BEGIN
    assert_law(points, scl.Box(x=(0, 1), t=(0, march.BEGIN)), lambda z: z[:, 0] ** 2)
    assert float(info.values["pde"]) == pytest.approx(3 / 5, rel=0.02)  # E_ψ[x²] with ψ ∝ x²


def test_draws_are_no_proposal_for_importance_weights():
    with pytest.raises(ValueError, match="does not look at the loss"):
        scl.ImportanceWeights(proposal=scl.Drawn())


@pytest.mark.parametrize("bad", [{"share": 1.5}, {"pool": 0}, {"n": 0}, {"n": 10**6, "pool": 10**6}])
def test_slips_are_named(bad):
    with pytest.raises(ValueError, match="Drawn"):
        scl.Drawn(**bad)


def test_a_run_with_draws_solves_a_small_problem_on_several_seeds():
    method = scl.PrimalDual(
        scl.GaussNewton(warm_up=0, rows=16), scl.DualAscent(0.3, clip=1.0, cap=2.0), worst_case=scl.Drawn(32)
    )
    build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)
    found = scl.solve(scl.zoo.convection(beta=2.0), build, method, steps=60, seeds=2, progress=False)
    assert max(s.error() for s in found) < 0.1


def test_of_a_few_points_one_is_drawn():
    """Were the share of them rounded, the smallest samplers would be blind and not say so."""
    density = lambda w: jnp.where(w[:, 0] > 0.9, 1.0, 0.0)
    points = draws(scl.Drawn(3), small.unit(), density, 20)
    assert np.all(np.sum(points[:, :, 0] > 0.9, axis=1) >= 1)


def test_a_law_that_became_an_average_is_drawn_evenly():
    """Its densities would cost many evaluations a step, and an average has no use for them."""
    law = lambda u_x: u_x - 1
    problem = scl.Problem(small.unit(), constraints={"ode": scl.worst_case(law, sampler=scl.Drawn(50)) <= 0.0})
    averaged = (("ode", Tempered(0, {"x": 0.5})),)
    posed = scl.Stage(averaged=averaged, curbs=(("ode", ((1.0,),)),)).pose(problem.bare())
    assert posed.terms[0].chosen == scl.Sobol(20)


@pytest.mark.slow
def test_a_network_finds_a_front_that_few_even_points_miss():
    """Burgers' equation with ν = 0.01/π, by the default's Gauss-Newton steps: with even points alone 1e-2."""
    found = scl.solve(scl.zoo.burgers_front(), scl.nn.MLP, steps=600, progress=False)
    assert not found.tempered
    assert found.error() < 5e-4
