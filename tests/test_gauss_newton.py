"""Gauss-Newton steps against closed forms, and the Gram matrix against J Jᵀ."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import sclax as scl
from sclax._methods import gauss_newton
from sclax._methods import gram as _gram
from sclax._methods.gauss_newton import BENT, LEAST, PASSES, STEADY, Damping
from sclax._result import Tempered
from sclax._run import programs

from . import small

ASCENT = scl.DualAscent(0.3)
PLAIN = scl.GaussNewton(warm_up=0)


def pairs(problem, model, n=7):
    """For each law of a problem: its rows as a function of the leaves, its points, and factors for its rows."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(weights)
    rebuild = lambda leaves: eqx.combine(jax.tree.unflatten(structure, leaves), rest)
    rows = [
        lambda leaves, w, t=t: t.law.residual(rebuild(leaves), problem.parameters, t.law.place, w)
        for t in problem.terms
    ]
    points = [t.law.place.uniform(n + k, jr.key(k)) for k, t in enumerate(problem.terms)]
    roots = [jr.uniform(jr.key(k), (len(p),), minval=0.5) for k, p in enumerate(points)]
    return rows, leaves, points, roots


def explicit(rows, leaves, points, roots):
    """J as autodiff gives it."""
    blocks = []
    for f, p, root in zip(rows, points, roots, strict=True):
        found = jax.vmap(lambda w, f=f: jax.jacrev(lambda leaves: f(leaves, w))(leaves))(p)
        flat = jnp.concatenate([j.reshape(j.shape[0] * j.shape[1], -1) for j in found], axis=1)
        blocks.append(jnp.repeat(root, len(flat) // len(p))[:, None] * flat)
    return jnp.concatenate(blocks)


def heat_system():
    """Two unknowns, three dimensions, mixed derivatives, a flux, an inequality and data."""
    domain = scl.Box(x=(0, 1), y=(0, 2), t=(0, 1))
    data = scl.Observations({"x": [0.1, 0.5], "y": [1.0, 0.3], "t": [0.2, 0.9]}, {"u": [0.3, -0.2]})
    return scl.Problem(
        domain,
        parameters={"k": 0.3},
        objective=scl.average(scl.Initial(lambda x: x, unknown="u")) + scl.average(scl.Neumann(0.1, unknown="v")),
        constraints={
            "pde": scl.worst_case(lambda u_t, u_xx, v_xy, v, k: (u_t - k * u_xx * v, v_xy + v**2)) <= 1e-3,
            "sign": scl.worst_case(scl.Inequality(lambda u: -u)) <= 1e-3,
            "data": scl.each(data) <= 1e-3,
        },
        unknowns=("u", "v"),
    )


class Bilinear(eqx.Module):
    """A network that uses its weights in ways that no dense layer does."""

    matrix: jnp.ndarray
    twice: jnp.ndarray
    scale: jnp.ndarray

    def __call__(self, z):
        features = jnp.tanh(self.matrix @ z + self.matrix[:, 0])
        return jnp.stack([self.scale * (self.twice @ jnp.sin(self.twice @ features)).sum()])


PROBLEMS = {
    "convection": (lambda: scl.zoo.convection(beta=3.0), None),
    "reaction-diffusion": (lambda: scl.zoo.reaction_diffusion(nu=3.0, rho=5.0), None),
    "helmholtz": (scl.zoo.helmholtz, None),
    "family": (lambda: scl.zoo.convection(beta=(1.0, 3.0)), None),
    "system": (heat_system, None),
    "embedding": (
        lambda: scl.zoo.convection(beta=3.0),
        lambda d, key: scl.nn.MLP(d, width=6, depth=2, embedding=scl.nn.PeriodicEmbedding(d, "x"), key=key),
    ),
    "hard constraint": (
        lambda: scl.zoo.convection(beta=3.0),
        lambda d, key: scl.nn.HardConstraint(
            scl.nn.MLP(d, width=6, depth=2, key=key), lambda u, x, t: jnp.sin(x) + t * u, d
        ),
    ),
    "any pytree": (
        lambda: scl.zoo.convection(beta=3.0),
        lambda d, key: Bilinear(jr.normal(key, (4, 2)), jr.normal(key, (4, 4)), jnp.asarray(0.7)),
    ),
}


def applied(system, vector):
    gram, pull = system
    return gram, pull(vector)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gram_matrix_is_the_product_of_the_jacobian(name, x64, monkeypatch):
    monkeypatch.setattr(_gram, "TILE", 7)  # several tiles, of unequal sizes
    build, network = PROBLEMS[name]
    problem = build().bare()
    outputs = len(problem.unknowns)
    model = (
        scl.nn.MLP(problem.domain, outputs, width=6, depth=3, key=jr.key(0))
        if network is None
        else network(problem.domain, jr.key(0))
    )
    given = pairs(problem, model)
    rows, *arrays = given
    jacobian = jax.jit(lambda *arrays: explicit(rows, *arrays))(*arrays)
    vector = jr.normal(jr.key(9), (len(jacobian),))
    # With so little memory the factors of two points are held at a time.
    for memory in (1e9, 16.0 * jacobian[:2].nbytes):
        gram, pulled = jax.jit(lambda *arrays, memory=memory: applied(_gram.system(rows, *arrays, memory), vector))(
            *arrays
        )
        np.testing.assert_allclose(gram, jacobian @ jacobian.T, rtol=0, atol=1e-12 * float(jnp.max(jnp.abs(gram))))
        flat = jnp.concatenate([leaf.ravel() for leaf in pulled])
        np.testing.assert_allclose(flat, vector @ jacobian, atol=1e-11 * float(jnp.max(jnp.abs(flat))))


def test_dense_layers_need_no_jacobian(x64):
    """The rows of J of weight matrices never exist: only biases and what is not a product have any."""
    problem = scl.zoo.reaction_diffusion(nu=3.0, rho=5.0).bare()
    rows, leaves, points, _ = pairs(problem, scl.nn.MLP(problem.domain, width=6, depth=3, key=jr.key(0)))
    programs = [_gram.Program(f, leaves, p[0]) for f, p in zip(rows, points, strict=True)]
    for i, leaf in enumerate(leaves):
        assert all((p.uses(i) is not None) == (leaf.ndim == 2) for p in programs)
    # Value, ∂/∂t, ∂/∂x and ∂²/∂x² share their passes: four products with each hidden matrix, no more.
    assert len(programs[-1].uses(2)) == 4


def test_too_little_memory_for_one_point_is_an_error(x64):
    problem = scl.zoo.convection(beta=3.0).bare()
    given = pairs(problem, scl.nn.MLP(problem.domain, width=6, depth=3, key=jr.key(0)))
    with pytest.raises(ValueError, match=r"memory=1e\+02"):
        _gram.system(*given, 100.0)


# --- steps --------------------------------------------------------------------------------------------------------


def stepped(problem, model, primal=PLAIN, prices=None):
    """One step on the points that the samplers give first."""
    problem = primal.prepare(problem).bare()
    keys = jr.split(jr.key(0), len(problem.terms))
    points = tuple(t.chosen.init(t.law.place, k).points for t, k in zip(problem.terms, keys, strict=True))
    price = {name: jnp.ones_like(tolerance) for name, tolerance in problem.tolerances.items()}
    step = eqx.filter_jit(primal.step)
    return step(problem, model, primal.init(model), points, 1.0, lambda violations: {**price, **(prices or {})})


def test_a_linear_problem_is_solved_by_the_damped_normal_equations(x64):
    """u = a + b x,  rows √w (u' − 1) and u(0), u(1):  the step is −Jᵀ (J Jᵀ + μ)⁻¹ ρ with μ = LEAST · 1."""
    model = small.Line(jnp.asarray(0.3), jnp.asarray(-0.2))
    problem = scl.Problem(
        small.unit(),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"ode": scl.average(lambda u_x: u_x - 1, points=scl.Grid(1)) <= 0.0},
    )
    after, state, (_, _, trials, _) = stepped(problem, model, prices={"ode": jnp.asarray(4.0)})
    jacobian = np.asarray([[0.0, 2.0]])
    ends = PLAIN.prepare(problem).bare().terms[0]
    x = np.asarray(jax.vmap(ends.law.place.embed)(ends.chosen.init(ends.law.place, jr.split(jr.key(0), 2)[0]).points))
    jacobian = np.concatenate([np.stack([np.ones(len(x)), x[:, 0]], axis=1) / np.sqrt(len(x)), jacobian])
    rho = jacobian @ np.asarray([0.3, -0.2]) - np.asarray([*np.zeros(len(x)), 2.0])
    step = np.linalg.solve(jacobian.T @ jacobian + LEAST * np.eye(2), jacobian.T @ rho)
    # The push-through identity: the same step in the space of weights. Length 1 improves most on a quadratic.
    np.testing.assert_allclose([after.a, after.b], np.asarray([0.3, -0.2]) - step, rtol=1e-10)
    assert trials == PASSES + 2
    assert float(state.factor) == pytest.approx(LEAST / 2)


def test_laws_that_cannot_hold_are_damped_more(x64):
    """u → 2 from 0.5 in a step of 1.5 / (1 + factor): the factor of a tempered worst case is ten times as large."""
    posed = scl.Problem(
        small.unit(), constraints={"law": scl.worst_case(lambda u: u - 2, sampler=scl.ImportanceWeights(8)) <= 0.0}
    )
    averaged = scl.Stage(averaged=(("law", Tempered(0, {})),))
    # One weight is determined by its draw, and nothing but the other bound keeps its damping up.
    for problem, factor, then in ((posed, LEAST, LEAST / 2), (averaged.pose(posed), STEADY, STEADY)):
        after, state, _ = stepped(problem, small.value(0.5), prices={"law": jnp.asarray(1.0)})
        assert float(after.value) == pytest.approx(2.0 - 1.5 * factor / (1 + factor))
        assert float(state.factor) == pytest.approx(then)


def test_a_step_that_does_not_improve_is_rejected_and_damping_grows(x64):
    """The residual is NaN just beyond the start: every length is tried, none is taken, and the loss never rises."""
    problem = scl.Problem(small.unit(), objective=scl.average(lambda u: jnp.where(u > 0.5, jnp.nan, 2.0 - u)))
    after, state, (evaluation, _, trials, _) = stepped(problem, small.value(0.4999))
    assert float(after.value) == pytest.approx(0.4999)
    assert float(state.factor) == pytest.approx(4 * LEAST)
    assert trials == PASSES + 8
    assert bool(jnp.isfinite(evaluation.objective))


BAD = {
    "duplicate rows": lambda: scl.Problem(
        small.unit(), objective=scl.average(lambda u: u - 2, points=[[0.5], [0.5], [0.5]])
    ),
    "zero residuals": lambda: scl.Problem(small.unit(), objective=scl.average(lambda u: 0.0 * u)),
    "no weights in it": lambda: scl.Problem(small.unit(), objective=scl.average(lambda x: x - 3.0)),
    "a single row": lambda: scl.Problem(small.unit(), objective=scl.average(lambda u: u - 2, points=[[0.5]])),
}


@pytest.mark.parametrize("name", BAD)
def test_degenerate_systems_give_finite_steps(name):
    """In single precision too, where rounding makes a singular matrix indefinite."""
    for double in (False, True):
        with jax.enable_x64(double):
            after, state, _ = stepped(BAD[name](), small.value(0.5))
            assert bool(jnp.isfinite(after.value))
            assert all(bool(jnp.all(jnp.isfinite(part))) for part in jax.tree.leaves(state))
            if name in ("duplicate rows", "a single row"):
                assert float(after.value) == pytest.approx(2.0 - 1.5 * LEAST / (1 + LEAST), rel=1e-3)
            else:
                assert float(after.value) == pytest.approx(0.5)


def test_line_search_is_counted_as_operator_evaluations():
    """A step makes one pass, two for its curvature, one of earlier weights, and one for each length that is tried, and
    densities are looked at 16 times for each point; the warm-up has its own."""
    problem = scl.Problem(small.unit(), constraints={"ode": scl.worst_case(lambda u_x: u_x - 1) <= 0.0})
    method = scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=5), ASCENT)
    with jax.enable_x64(True):
        posed = method.prepare(problem).bare()
        state = method.init(posed, small.Line(jnp.asarray(0.0), jnp.asarray(0.3)), jr.key(0))
        _, info = method.step(posed, state._replace(multipliers={"ode": jnp.asarray(1.0)}), jr.key(1))
    # A linear residual: length 1 improves, 0.5 does not.
    assert int(info.evaluations) == (1 + PASSES + 2 + 16) * 5
    solution = scl.solve(
        scl.Problem(small.unit(), constraints={"ode": scl.worst_case(lambda u_x: u_x - 1) <= 0.0}),
        lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=3, depth=1, key=key),
        scl.PrimalDual(scl.GaussNewton(warm_up=7, rows=5), ASCENT),
        steps=1,
        progress=False,
    )
    beyond = solution.operator_evaluations - 7 * 256
    assert beyond > 0
    assert beyond % 5 == 0


# --- inside solve -------------------------------------------------------------------------------------------------


def test_known_optimum_and_multiplier():
    """min (u − 2)²  subject to  u² ≤ ¼:  u = ½ and λ = 3, in the user's units whatever the scale inside."""
    method = scl.PrimalDual(PLAIN, scl.DualAscent(0.5))
    solution = scl.solve(small.bounded(0.25), small.value(1.7), method, steps=1500, progress=False)
    assert solution(x=0.3) == pytest.approx(0.5, abs=2e-3)
    assert solution.multipliers["size"] == pytest.approx(3.0, abs=3e-2)


def test_scaling_a_residual_scales_its_multiplier_and_nothing_else():
    """r → 1000 r and ε → 10⁶ ε: the same solution, multipliers smaller by 10⁶."""
    method = scl.PrimalDual(PLAIN, ASCENT)

    def solved(factor):
        problem = scl.Problem(
            small.unit(),
            objective=scl.average(scl.Dirichlet(0.0)),
            constraints={"ode": scl.worst_case(lambda u_x: factor * (u_x - 1)) <= 0.04 * factor**2},
        )
        model = small.Line(jnp.asarray(0.1), jnp.asarray(0.2))
        return scl.solve(problem, model, method, steps=200, progress=False)

    one, thousand = solved(1.0), solved(1000.0)
    assert thousand(x=1.0) == pytest.approx(float(one(x=1.0)), rel=1e-4)
    assert thousand.multipliers["ode"] * 1e6 == pytest.approx(one.multipliers["ode"], rel=1e-3)
    assert one.multipliers["ode"] > 0


def test_each_sample_has_its_own_multiplier():
    model = small.Hats(jnp.zeros(3))
    solution = scl.solve(small.samples(), model, scl.PrimalDual(PLAIN, scl.DualAscent(0.3)), steps=1500, progress=False)
    np.testing.assert_allclose(solution(x=jnp.arange(3.0)), [0.5, 1.5, 0.0], atol=1e-2)
    np.testing.assert_allclose(solution.multipliers["data"], [1 / 3, 1.0, 0.0], atol=5e-2)


@pytest.mark.parametrize("power", [1, 2])
def test_inequalities_of_both_powers(power):
    method = scl.PrimalDual(PLAIN, scl.DualAscent(1.0 if power == 2 else 0.1))
    solution = scl.solve(small.at_least_one(0.01, power), small.value(), method, steps=2000, progress=False)
    u, price = {2: (0.9, 9.0), 1: (0.99, 1.98)}[power]
    assert solution(x=0.5) == pytest.approx(u, abs=1e-2)
    assert solution.multipliers["one"] == pytest.approx(price, rel=5e-2)


def test_solve_runs_in_double_precision_and_leaves_the_configuration_alone():
    """A float32 model in, a float64 model out; values come back in the user's precision."""
    model = small.Line(jnp.asarray(0.1, jnp.float32), jnp.asarray(0.2, jnp.float32))
    solution = scl.solve(small.slope(0.04), model, scl.PrimalDual(PLAIN, ASCENT), steps=20, progress=False)
    assert not jax.config.jax_enable_x64
    assert solution.model.a.dtype == jnp.float64
    assert solution(x=0.5).dtype == jnp.float32
    assert solution.grid(x=3)["u"].dtype == np.float64
    assert np.isfinite(solution.check(points=1000)["ode"].estimate)


@pytest.mark.parametrize(
    "build",
    [
        lambda domain, outputs, key: small.Line(jnp.asarray(0.1, jnp.float32), jnp.asarray(0.2, jnp.float32)),
        lambda domain, outputs, key: scl.nn.HardConstraint(
            scl.nn.MLP(domain, outputs, width=3, depth=1, key=key), lambda u, x: x * u, domain
        ),
    ],
    ids=["float32", "functions made on the way"],
)
def test_factories_of_any_kind(build):
    method = scl.PrimalDual(scl.GaussNewton(warm_up=3, rows=8), ASCENT)
    solution = scl.solve(small.slope(0.04), build, method, steps=20, progress=False)
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(eqx.filter(solution.model, eqx.is_inexact_array)))


def test_the_size_of_a_law_is_that_of_a_network_that_meets_the_conditions():
    """u_x = 0, of a line: its unit is the larger of what the slope's square was and is once the conditions are met."""
    problem = scl.Problem(
        scl.Box(x=(-1, 1)),
        objective=scl.average(scl.Dirichlet(lambda x: 30 * x)),
        constraints={"pde": scl.average(lambda u_x: u_x) <= 1e-3},
    )
    method = scl.PrimalDual(scl.GaussNewton(warm_up=3000, rows=8), ASCENT)
    problem = method.prepare(problem)
    found = []
    for slope in (0.0, 60.0):
        source = lambda domain, outputs, key, slope=slope: small.Line(jnp.asarray(0.0), jnp.asarray(slope))
        built, rest = programs.build(problem, method, source, jr.key(0), False)
        for steps in (0, 3000):
            state = eqx.combine(programs.warm(problem, method, built, rest, jr.key(0), steps, False), rest)
            found.append((float(state.model.b), float(state.units["pde"])))
    (_, cold), (met, warm), (_, steep), (_, still) = found
    assert cold == pytest.approx(0.5)  # |∇(b)|² over |∇(a ± b)|², the slope being 0
    assert met > 2.0
    assert warm == pytest.approx(met**2, rel=1e-3)
    assert still == steep == pytest.approx(3600.0)


@pytest.mark.parametrize(
    ("conditions", "law", "of_equation", "of_condition"),
    [
        (1, lambda u_t, lap_u: u_t - lap_u, 450, 450),
        (2, lambda u_t, lap_u: u_t - lap_u, 714, 319),
        (4, lambda u_t, lap_u: u_t - lap_u, 1350, 225),
        (4, lambda u_t, u_x: (u_t - u_x, u_x), 714, 319),
        (4, lambda u_t, u_x: (u_t - u_x, u_x, u_t, u_x + u_t), 450, 450),
    ],
)
def test_equations_have_what_many_conditions_save_in_three_dimensions(conditions, law, of_equation, of_condition):
    """Rows are as many as they would be at 450 points of each; an equation of two unknowns has two a point."""
    domain = scl.Box(x=(0, 1), y=(0, 1), t=(0, 1))
    places = [domain.face(t=0), domain.face(x=0), domain.face(x=1), domain.face(y=0)][:conditions]
    problem = scl.Problem(
        domain,
        objective=sum(
            (scl.average(scl.Dirichlet(0.0, on=place)) for place in places[1:]), scl.average(scl.Initial(0.0))
        ),
        constraints={"pde": scl.worst_case(law) <= 1e-3},
    )
    prepared = scl.PrimalDual(scl.GaussNewton(), ASCENT).prepare(problem)
    assert {term.points for term in prepared.terms if term.worst} == {of_equation}
    assert [term.points for term in prepared.terms if not term.worst] == [of_condition] * conditions


def test_penalty_takes_gauss_newton_steps():
    """min 3 (u − 2)² + 1 u²:  u = 3/2."""
    method = scl.Penalty(PLAIN, weights={"objective": 3.0, "size": 1.0})
    solution = scl.solve(small.bounded(0.25), small.value(), method, steps=40, progress=False)
    assert solution(x=0.3) == pytest.approx(1.5, abs=1e-3)


def test_points_are_drawn_afresh_and_given_ones_take_turns():
    """Conditions use fresh draws; 10 given points are all there, 5000 take turns."""
    method = scl.PrimalDual(scl.GaussNewton(rows=20), ASCENT)
    x = np.linspace(0, 1, 5000)
    problem = scl.Problem(
        scl.Box(x=(0, 1), t=(0, 1)),
        objective=scl.average(scl.Initial(0.0))
        + scl.average(scl.Dirichlet(0.0, on={"x": x, "t": x}))
        + scl.average(scl.Dirichlet(0.0, on={"x": x[:10], "t": x[:10]})),
    )
    terms = method.prepare(problem).terms
    assert isinstance(terms[0].sampler, scl.Sobol)
    assert isinstance(terms[1].sampler, scl.Uniform)
    assert isinstance(terms[2].sampler, scl.Grid)


def test_a_problem_too_large_for_memory_draws_fewer_points_and_says_so():
    method = scl.PrimalDual(scl.GaussNewton(memory=1e6), ASCENT)
    with pytest.warns(UserWarning, match="memory"):
        terms = method.prepare(scl.zoo.convection()).terms
    sizes = [jax.eval_shape(lambda t=t: t.sampler.init(t.law.place, jr.key(0)).points).shape[0] for t in terms]
    assert sum(sizes) <= np.sqrt(1e6 / 32)
    chains = scl.worst_case(lambda u_t: u_t, sampler=scl.MetropolisHastings())
    with pytest.warns(UserWarning, match="memory"):
        (term,) = method.prepare(scl.Problem(scl.Box(x=(0, 1), t=(0, 1)), constraints={"p": chains <= 1.0})).terms
    assert term.sampler.keep < 1000
    fixed = scl.average(lambda u_t: u_t, points=np.random.default_rng(0).uniform(size=(500, 2)))
    with (
        pytest.warns(UserWarning, match="memory"),
        pytest.raises(ValueError, match="cannot be thinned"),
    ):
        method.prepare(scl.Problem(scl.Box(x=(0, 1), t=(0, 1)), objective=fixed))
    samples = scl.Observations({"x": np.linspace(0, 1, 500), "t": np.zeros(500)}, np.zeros(500))
    many = scl.Problem(scl.Box(x=(0, 1), t=(0, 1)), constraints={"data": scl.each(samples) <= 1.0})
    with pytest.raises(ValueError, match="memory=1e\\+06"):
        method.prepare(many)


def test_checkpoints_resume_bit_for_bit(tmp_path):
    problem, method = small.slope(0.04), scl.PrimalDual(scl.GaussNewton(warm_up=3, rows=8), ASCENT)
    build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=4, depth=1, key=key)
    whole = scl.solve(problem, build, method, steps=30, progress=False)
    scl.solve(problem, build, method, steps=20, progress=False, checkpoint=tmp_path / "run")
    parts = scl.solve(problem, build, method, steps=30, progress=False, checkpoint=tmp_path / "run")
    for a, b in zip(jax.tree.leaves(whole.model), jax.tree.leaves(parts.model), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert whole.multipliers == parts.multipliers


def test_several_seeds_at_once_are_the_seeds_one_by_one():
    problem, method = small.slope(0.04), scl.PrimalDual(scl.GaussNewton(warm_up=3, rows=8), ASCENT)
    build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=4, depth=1, key=key)
    both = scl.solve(problem, build, method, steps=20, seeds=2, progress=False)
    for solution in both:
        alone = scl.solve(problem, build, method, steps=20, seed=solution.seed, progress=False)
        assert solution(x=0.3) == pytest.approx(float(alone(x=0.3)), rel=1e-4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: scl.GaussNewton(warm_up=-1), ("warm_up", "-1")),
        (lambda: scl.GaussNewton(rows=1), ("rows", "1")),
        (lambda: scl.GaussNewton(memory=0), ("memory", "0")),
        (lambda: scl.GaussNewton(guard=2.0), ("guard", "2.0")),
        (lambda: scl.DualAscent(0.1, clip=0.0), ("clip", "0")),
        (lambda: scl.DualAscent(0.1, cap=-1.0), ("cap", "-1")),
        (lambda: scl.PrimalDual(optax.sgd(0.1), ASCENT, average="grid"), ("average", "grid")),
        (lambda: scl.PrimalDual("newton", ASCENT), ("primal", "GaussNewton()")),
    ],
)
def test_bad_arguments_are_named(make, said):
    with pytest.raises((ValueError, TypeError)) as caught:  # the tests' type checker comes before our own check
        make()
    assert all(word in str(caught.value) for word in said)


def test_a_slowed_step_goes_a_share_of_its_way():
    problem, model = PLAIN.prepare(small.bounded()), small.value(0.5)
    points = tuple(t.chosen.init(t.law.place, jr.key(0)).points for t in problem.terms)

    def moved(share):
        free = lambda violations: {"size": jnp.zeros(())}
        after, *_ = PLAIN.step(problem, model, PLAIN.init(model), points, 1.0, free, share)
        return float(after.value) - 0.5

    assert moved(1.0) > 1.0
    assert moved(0.25) == pytest.approx(0.25 * moved(1.0), rel=1e-5)


def test_both_sides_give_one_direction(x64):
    """Jᵀ (J Jᵀ + μ I)⁻¹ b is the solution of the damped least-squares problem, by push-through."""
    sides = (gauss_newton._in_samples, gauss_newton._in_weights)
    weights = [jr.normal(jr.key(0), (3,)), jr.normal(jr.key(1), (2, 2))]
    laws = [lambda leaves, w: jnp.stack([jnp.sin(leaves[0] @ w), w[:2] @ leaves[1] @ w[1:]])]
    points, roots = (jr.normal(jr.key(2), (9, 3)),), [jnp.linspace(0.5, 2.0, 9)]
    rows = jr.normal(jr.key(3), (18,))
    (a, size_a), (b, size_b) = (side(laws, weights, points, roots, jnp.asarray(0.1), 1e9) for side in sides)
    for x, y in zip(a(rows), b(rows), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)
    np.testing.assert_allclose(size_a, size_b, rtol=1e-12)


def test_least_squares_keep_the_digits_that_a_square_would_lose(x64):
    """Columns of size 1 and 1e-9: J Jᵀ does not know of the second."""
    small_one = jnp.asarray([1.0, 1e-9])
    laws, points = [lambda leaves, w: (leaves[0] @ (w * small_one))[None]], (jr.normal(jr.key(0), (8, 2)),)
    truth = jnp.asarray([3.0, 2.0])
    solve, _ = gauss_newton._in_weights(laws, [jnp.zeros(2)], points, [jnp.ones(8)], jnp.asarray(0.0), 1e9)
    np.testing.assert_allclose(solve((points[0] * small_one) @ truth)[0], truth, rtol=1e-6)


def test_a_step_follows_the_curve_of_the_rows(x64):
    """ρ = u² − 4 from u = 3, where ρ' = 6 and ρ'' = 2:  d = 6 ρ / (36 + μ),  b = 6 d² / (36 + μ),  u ← u − d − b."""
    problem = scl.Problem(small.unit(), objective=scl.average(lambda u: u**2 - 4, points=[[0.5]]))
    after, _, _ = stepped(problem, small.value(3.0))
    d = 6 * 5 / (36 + LEAST)
    assert float(after.value) == pytest.approx(3 - d - 6 * d**2 / (36 + LEAST), rel=1e-9)


def test_rows_that_are_not_finite_aside_are_taken_for_straight(x64):
    """Nearby beyond the start the residual is NaN, but where the step leads it is not."""
    law = lambda u: jnp.where((u > 3.05) & (u < 3.2), jnp.nan, u**2 - 4)
    problem = scl.Problem(small.unit(), objective=scl.average(law, points=[[0.5]]))
    after, _, _ = stepped(problem, small.value(3.0))
    assert float(after.value) == pytest.approx(3 - 6 * 5 / (36 + LEAST), rel=1e-9)


def test_a_step_bends_by_at_most_a_fifth(x64):
    """ρ = u² − 4 from u = 0.5, where ρ' = 1 and ρ'' = 2: the bend would be longer than the step itself."""
    problem = scl.Problem(small.unit(), objective=scl.average(lambda u: u**2 - 4, points=[[0.5]]))
    after, _, _ = stepped(problem, small.value(0.5))
    d = -3.75 / (1 + LEAST)
    path = [0.5 - length * (d + length * BENT * abs(d)) for length in gauss_newton.LENGTHS]
    assert float(after.value) == pytest.approx(min(path, key=lambda u: abs(u**2 - 4)), rel=1e-9)


def test_a_draw_that_sees_ten_times_the_loss_of_earlier_weights_raises_the_damping():
    earlier, now = [jnp.zeros(2)], [jnp.ones(2)]
    first = Damping(jnp.asarray(0.01), jnp.asarray(1e-6), earlier)
    quiet, wild = first.before(now, jnp.asarray(5e-3), jnp.asarray(1e-3))
    assert not wild
    assert (quiet.factor, quiet.loss) == (first.factor, first.loss)
    loud, wild = first.before(now, jnp.asarray(2e-2), jnp.asarray(1e-3))
    assert wild
    np.testing.assert_allclose((loud.factor, loud.loss), (0.04, 2e-2))
    np.testing.assert_allclose(loud.best, earlier)
    for of_best in (1e-3, jnp.nan):
        better, wild = first.before(now, jnp.asarray(1e-4), jnp.asarray(of_best))
        assert not wild
        np.testing.assert_allclose(better.best, now)
