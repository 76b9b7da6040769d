"""What multipliers know: prices by mirror ascent, tolerances that give way, conflicts, hardest samples, symmetries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import sclax as scl
from sclax._result.conflicts import Entry, conflict

from . import small

PRIMAL = scl.GaussNewton(rows=20, warm_up=0)
MIRROR = scl.PrimalDual(PRIMAL, scl.MirrorAscent())
AIM = 0.9  # of a tolerance: where mirror ascent comes to rest


def mirror(problem, model, steps=300, method=MIRROR, **options):
    return scl.solve(problem, model, method, steps=steps, progress=False, **options)


# --- mirror ascent: the optimum and the multiplier at 0.9 ε ---------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1.0, 0.25])
def test_mirror_ascent_rests_at_the_known_optimum_and_multiplier(tolerance):
    """min (u − 2)²,  u² ≤ ε:  u = √ε,  λ = 2/√ε − 1."""
    root = np.sqrt(AIM * tolerance)
    solution = mirror(small.bounded(tolerance), small.value(0.2))
    assert solution(x=0.3) == pytest.approx(root, rel=0.02)
    assert solution.multipliers["size"] == pytest.approx(2 / root - 1, rel=0.05)
    assert solution.feasible
    assert not solution.unpriced


def test_mirror_ascent_prices_an_inequality():
    """min u²,  [1 − u]₊² ≤ ε:  λ = (1 − √ε)/√ε."""
    root = np.sqrt(AIM * 0.25)
    solution = mirror(small.at_least_one(0.25, 2), small.value(0.2))
    assert solution(x=0.5) == pytest.approx(1 - root, rel=0.02)
    assert solution.multipliers["one"] == pytest.approx((1 - root) / root, rel=0.1)


def test_mirror_ascent_prices_an_equation():
    """u = a + b x,  (u' − 1)² ≤ ε:  b = 1 − √ε,  λ = (1 − √ε)/(4√ε)."""
    root = np.sqrt(AIM * 0.04)
    solution = mirror(small.slope(0.04), small.Line(jnp.asarray(0.0), jnp.asarray(0.0)))
    assert solution(x=1.0) - solution(x=0.0) == pytest.approx(1 - root, rel=0.02)
    assert solution.multipliers["ode"] == pytest.approx((1 - root) / (4 * root), rel=0.1)


@pytest.fixture(scope="module")
def three():
    """min (a² + b² + c²)/3,  (a − 1)², (b − 2)², (c − 0.1)² ≤ ¼, by mirror ascent."""
    method = scl.PrimalDual(PRIMAL, scl.MirrorAscent(cap=20.0))
    return mirror(small.samples(), small.Hats(jnp.zeros(3)), method=method)


def test_mirror_ascent_prices_each_sample(three):
    """The distance is √ε of the first two, and stationarity u_j/3 = λ_j √ε; the third holds at u = 0 already."""
    root = np.sqrt(AIM * 0.25)
    u = np.array([1 - root, 2 - root, 0.0])
    np.testing.assert_allclose(three(x=np.arange(3.0)), u, atol=0.02)
    np.testing.assert_allclose(three.multipliers["data"], u / (3 * root), rtol=0.1)
    assert three.multipliers["data"][2] == 0.0


def test_a_constraint_that_does_not_bind_ends_with_multiplier_zero():
    """What presses beside it is the gentle price of 0.01 in its units:  u = 2/(1 + 0.01/unit),  unit = u₀² = 6.25."""
    solution = mirror(small.bounded(9.0), small.value(2.5))
    assert solution(x=0.0) == pytest.approx(2 / (1 + 0.01 / 6.25), rel=1e-5)
    assert solution.multipliers["size"] == 0.0


@pytest.mark.parametrize("start", [1.0, 0.0])
def test_a_tolerance_that_cannot_be_reached_leaves_the_multiplier_at_the_cap(start):
    """u'² + 1 ≤ ½ never holds. The cap is 2 times the first objective (if above 1), in units of the first value; the
    minimum of (u' − 2)² + λ u'² is 2/(1 + λ). A multiplier that is held back is no price, and the solution says so."""
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(lambda u_x: u_x - 2),
        constraints={"never": scl.average(lambda u_x: (u_x, 1 + 0 * u_x)) <= 0.5},
    )
    solution = mirror(problem, small.Line(jnp.asarray(0.0), jnp.asarray(start)))
    cap = 2 * max((start - 2) ** 2, 1) / (start**2 + 1)
    assert solution.multipliers["never"] == pytest.approx(cap, rel=1e-6)
    assert solution("u_x", x=0.0) == pytest.approx(2 / (1 + cap), rel=1e-4)
    assert set(solution.unpriced) == {"never"}
    assert not solution.feasible


def test_values_that_cannot_be_reached_count_for_ten_times_the_objective():
    """u² + 1 ≤ ½ never holds, and no trivial u meets it: λ grows to where λ (u² + 1) = 10 (u − 2)², u = 2/(1 + λ)."""
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(lambda u: u - 2),
        constraints={"never": scl.average(lambda u: (u, 1 + 0 * u)) <= 0.5},
    )
    solution = mirror(problem, small.value(1.0))
    rest = lambda m: m * ((2 / (1 + m)) ** 2 + 1) - 10 * (2 * m / (1 + m)) ** 2
    assert solution.multipliers["never"] == pytest.approx(scipy.optimize.brentq(rest, 10.0, 100.0), rel=0.15)
    assert not solution.feasible
    assert solution.check(points=1000)["never"].price is None


def test_a_law_that_costs_the_objective_is_not_pressed_beyond_its_tolerance():
    """min (u − 2)² + 1,  u² ≤ 100: without a price for what is allowed, u is 2 within 1 %, though the gentle price of
    0.01 in units of u₀² = 0.01 would make it 1."""
    problem = scl.Problem(
        domain=small.unit(),
        objective=scl.average(lambda u: (u - 2, 1 + 0 * u)),
        constraints={"size": scl.average(lambda u: u) <= 100.0},
    )
    solution = mirror(problem, small.value(0.1))
    assert solution(x=0.0) == pytest.approx(2.0, rel=0.01)
    assert solution.multipliers["size"] == 0.0


# --- hardest samples ------------------------------------------------------------------------------------------------


def test_hardest_samples_come_in_the_order_of_their_multipliers(three):
    found = three.hardest(3)
    assert found["sample"].values.tolist() == [1, 0, 2]
    assert set(found.data_vars) == {"multiplier", "value", "tolerance", "x"}
    np.testing.assert_array_equal(found["x"], [1.0, 0.0, 2.0])
    np.testing.assert_allclose(found["multiplier"], np.asarray(three.multipliers["data"])[[1, 0, 2]])
    np.testing.assert_allclose(
        found["value"], (np.asarray(three(x=np.array([1.0, 0, 2]))) - [2, 1, 0.1]) ** 2, rtol=1e-5
    )
    np.testing.assert_array_equal(found["tolerance"], 0.25)
    assert three.hardest(1, "data")["sample"].values.tolist() == [1]


def test_hardest_says_what_it_can_be_asked_for(three):
    with pytest.raises(ValueError, match=r"hardest: `name` must be a constraint on samples, .* `data`, got 'dat'"):
        three.hardest(2, "dat")
    with pytest.raises(ValueError, match=r"hardest: `n` .*got 0"):
        three.hardest(0)
    plain = mirror(small.bounded(9.0), small.value(2.5), steps=10)
    with pytest.raises(ValueError, match=r"hardest: .* each\(\.\.\.\) <= tolerance"):
        plain.hardest()


# --- tolerances that give way ---------------------------------------------------------------------------------------


def test_contradicting_values_relax_to_what_their_compromise_needs(tmp_path):
    """u(0) = 0 and u(0) = 1 to ±0.1 each: between them the values are u² and (1 − u)², whose roots add up to one."""
    at = small.unit().face(x=0)
    problem = scl.Problem(
        domain=small.unit(),
        constraints={
            "low": scl.average(scl.Dirichlet(0.0, on=at)) <= 0.01,
            "high": scl.average(scl.Dirichlet(1.0, on=at)) <= 0.01,
            "end": scl.average(scl.Dirichlet(3.0, on=small.unit().face(x=1))) <= 0.01,
        },
    )
    line = small.Line(jnp.asarray(0.2), jnp.asarray(0.0))
    solution = mirror(problem, line, steps=150, relax=True)
    u = float(solution(x=0.0))
    assert u == pytest.approx(0.5, abs=0.02)
    assert set(solution.relaxed) == {"low", "high"}
    for name, value in {"low": u**2, "high": (1 - u) ** 2}.items():
        assert solution.relaxed[name] == pytest.approx(1.05 * value - 0.01, rel=1e-4)
        assert solution.problem.tolerances[name] == pytest.approx(1.05 * value, rel=1e-4)
    assert solution.problem.tolerances["end"] == pytest.approx(0.01)
    assert solution.check().holds
    solution.save(tmp_path / "relaxed.scl")
    loaded = scl.load(tmp_path / "relaxed.scl", problem, line)
    assert set(loaded.relaxed) == {"low", "high"}
    for name, amount in solution.relaxed.items():
        assert loaded.relaxed[name] == pytest.approx(amount)


def test_exactly_the_wrong_sample_is_relaxed():
    """Eight samples of 1 + 2x, one of them off by 3: a line through the others leaves it 9 − 0.01 above its tolerance,
    times the margin."""
    x = np.linspace(0, 1, 8)
    values = 1 + 2 * x
    values[5] += 3
    problem = scl.Problem(
        domain=small.unit(), constraints={"data": scl.each(scl.Observations({"x": x}, values)) <= 0.01}
    )
    solution = mirror(problem, small.Line(jnp.asarray(0.0), jnp.asarray(0.0)), steps=200, relax=True)
    relaxed = solution.relaxed["data"]
    assert np.flatnonzero(relaxed > 0).tolist() == [5]
    np.testing.assert_allclose(solution(x=x), 1 + 2 * x, atol=0.11)
    assert relaxed[5] == pytest.approx(1.05 * (float(solution(x=x[5])) - values[5]) ** 2 - 0.01, rel=1e-3)


def test_tolerances_that_can_be_met_are_not_relaxed():
    solution = mirror(small.bounded(0.25), small.value(0.2), relax=True)
    assert solution.relaxed == {}
    assert float(solution.problem.tolerances["size"]) == 0.25


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        (scl.Problem(domain=small.unit(), objective=scl.average(lambda u: u)), {}, "`relax=True` .* no constraints"),
        (small.bounded(), {"seeds": 3}, "`relax=True` .* `seeds=3`; leave one out"),
    ],
    ids=["no constraints", "seeds"],
)
def test_relaxing_what_cannot_be_relaxed_is_refused(problem, options, message):
    with pytest.raises(ValueError, match=message):
        mirror(problem, small.value(), relax=True, **options)


# --- conflicts ------------------------------------------------------------------------------------------------------

PAIR = scl.Box(x=(0, 3))


def values_at(wanted, tolerance=1e-4):
    """u(x) = value, for (name, x, value)."""
    at = lambda x, value: scl.average(scl.Dirichlet(value, on={"x": [x]}))
    return scl.Problem(domain=PAIR, constraints={name: at(x, value) <= tolerance for name, x, value in wanted})


def test_a_conflict_names_the_two_of_four_that_contradict_each_other():
    problem = values_at([("a", 0.0, 0.0), ("b", 1.0, 1.0), ("c", 1.0, 2.0), ("d", 2.0, 5.0)])
    model = small.Hats(jnp.array([0.3, 1.5, 4.0, 0.0]))  # `a` and `d` are unfinished too
    assert set(conflict(problem, model, ("a", "b", "c", "d"))) == {Entry("b"), Entry("c")}
    assert conflict(problem, model, ()) == ()


def test_a_conflict_may_need_three():
    """u(0) = 0, u(1) = 3 and u' = 1 on a line: any two hold together, and all leave 2/3 each."""
    unit = small.unit()
    problem = scl.Problem(
        domain=unit,
        constraints={
            "left": scl.average(scl.Dirichlet(0.0, on=unit.face(x=0))) <= 1e-4,
            "right": scl.average(scl.Dirichlet(3.0, on=unit.face(x=1))) <= 1e-4,
            "slope": scl.worst_case(lambda u_x: u_x - 1) <= 1e-4,
            "bound": scl.worst_case(scl.Inequality(lambda u: u - 10)) <= 1e-4,
        },
    )
    # The least squares of  a, a + b − 3, b − 1:  the residuals are 2/3, −2/3, 2/3.
    found = conflict(problem, small.Line(jnp.asarray(2 / 3), jnp.asarray(5 / 3)), ("left", "right", "slope"))
    assert set(found) == {Entry("left"), Entry("right"), Entry("slope")}


def test_a_conflict_names_samples():
    """Samples 1 and 3 are at one place and differ."""
    seen = scl.Observations({"x": [0.0, 1.0, 2.0, 1.0]}, [1.0, 2.0, 0.5, 4.0])
    problem = scl.Problem(domain=PAIR, constraints={"data": scl.each(seen) <= 0.01})
    found = conflict(problem, small.Hats(jnp.array([0.5, 3.0, 0.0, 0.0])), ("data",))
    assert set(found) == {Entry("data", 1), Entry("data", 3)}
    assert sorted(map(str, found)) == ["sample 1 of `data`", "sample 3 of `data`"]


def test_a_conflict_is_told_beside_the_objective_which_may_be_one_side_of_it():
    at = lambda x, value: scl.average(scl.Dirichlet(value, on={"x": [x]}))
    wanted = {"b": at(1.0, 1.0) <= 1e-4, "c": at(1.0, 2.0) <= 1e-4}
    problem = scl.Problem(PAIR, objective=at(0.0, 0.0), constraints=wanted).completed()
    multipliers = {name: jnp.ones(()) for name in wanted}
    model, history = small.Hats(jnp.array([0.0, 1.5, 4.0, 0.0])), scl.History.of(problem.constraints)
    text = str(scl.Solution(problem, model, None, multipliers, history, scl.RESULTS.steps_done, 0).check())
    assert "`b` and `c` cannot hold together beside the objective (`dirichlet`)" in text


def test_what_is_unfinished_is_no_conflict():
    problem = values_at([("a", 0.0, 0.0), ("b", 1.0, 1.0), ("c", 2.0, 5.0), ("d", 0.5, 0.5)])
    assert conflict(problem, small.Hats(jnp.array([0.3, 0.2, 4.0, 0.0])), ("a", "b", "c", "d")) == ()
    assert conflict(problem, small.Line(jnp.asarray(1.0), jnp.asarray(3.0)), ("a", "b", "c", "d")) == ()


# --- symmetries -----------------------------------------------------------------------------------------------------

SQUARE, SIDES = scl.Box(x=(-1, 1), y=(-1, 1)), scl.Box(x=(-1, 1))
TURN = scl.Invariance(x=lambda y: -y, y=lambda x: x, by=lambda u, v: (-v, u))
# Each: condition, domain, unknowns, parameters, with the symmetry, without it, residual of the latter at z (rows).
SYMMETRIES = {
    "translation": (
        scl.Invariance(x=lambda x: x + 0.5),
        SIDES,
        ("u",),
        {},
        lambda x: jnp.sin(4 * jnp.pi * x),
        lambda x: x**2,
        lambda x: np.where(x + 0.5 <= 1, -x - 0.25, 0.0),
    ),
    "even": (scl.Invariance(x=lambda x: -x), SIDES, ("u",), {}, jnp.cos, jnp.exp, lambda x: 2 * np.sinh(x)),
    "odd": (
        scl.Invariance(x=lambda x: -x, by=lambda u: -u),
        SIDES,
        ("u",),
        {},
        jnp.sin,
        jnp.exp,
        lambda x: -2 * np.cosh(x),
    ),
    "rotation by 90 degrees": (
        TURN,
        SQUARE,
        ("u", "v"),
        {},
        lambda x, y: (-y * jnp.exp(x * x + y * y) + x, x * jnp.exp(x * x + y * y) + y),
        lambda x, y: (x, 0 * y),
        lambda x, y: np.stack([y, x]),
    ),
    "scaling": (
        scl.Invariance(x=lambda x: 2 * x, by=lambda u: 4 * u),
        SIDES,
        ("u",),
        {},
        lambda x: 3 * x**2,
        lambda x: x**3,
        lambda x: np.where(np.abs(2 * x) <= 1, -4 * x**3, 0.0),
    ),
    "period of each member of a family": (
        scl.Invariance(t=lambda t, beta: t + 2 * jnp.pi / beta),
        scl.Box(t=(0, 6)),
        ("u",),
        {"beta": (2.0, 4.0)},
        lambda t, beta: jnp.sin(beta * t) * beta,
        lambda t, beta: t * beta,
        lambda t, beta: np.where(t + 2 * np.pi / beta <= 6, -2 * np.pi, 0.0),
    ),
}


@pytest.mark.parametrize("case", SYMMETRIES)
def test_an_invariance_vanishes_on_functions_with_the_symmetry_and_only_there(x64, case):
    condition, domain, unknowns, parameters, symmetric, other, residual = SYMMETRIES[case]
    problem = scl.Problem(domain=domain, unknowns=unknowns, parameters=parameters, objective=scl.average(condition))
    law, model = problem.terms[0].law, lambda f: lambda z: jnp.stack(jax.tree.leaves(f(*z)))
    z = np.asarray(law.place.sobol(256))
    np.testing.assert_allclose(law.rows(model(symmetric), {}, z), 0.0, atol=1e-12)
    expected = np.atleast_2d(residual(*z.T)).T
    assert np.mean(np.abs(expected)) > 0.05
    np.testing.assert_allclose(law.rows(model(other), {}, z), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (scl.Invariance(x=lambda x: x + 2.5), r"image of every point lies outside the domain.*units and signs"),
        (scl.Invariance(x=lambda x: x + 2), r'every point.*by the whole length.*`Periodic\("x"\)`'),
        (scl.Invariance(x=lambda x: x + 1.9998), r"image of almost every point lies outside the domain.*units"),
        (scl.Invariance(x=lambda x: x), r"moves no point"),
        (scl.Invariance(x=lambda x: -x, by=lambda u: (u, u)), r"by=\.\.\.\): .* each of the unknowns `u`, got 2"),
        (scl.Invariance(z=lambda x: -x), r"unknown coordinate `z`; the domain has `x`"),
    ],
    ids=["leaves the domain", "period", "rim", "identity", "by of two", "coordinate"],
)
def test_invariances_that_say_nothing_are_refused(condition, message):
    with pytest.raises(ValueError, match=message):
        scl.Problem(domain=SIDES, objective=scl.average(condition))


def test_an_invariance_may_compare_a_modest_share_of_the_domain():
    """A shift by 1.9 of 2 compares one point in twenty with another."""
    shift = scl.Problem(domain=SIDES, objective=scl.average(scl.Invariance(x=lambda x: x + 1.9)))
    z = np.asarray(shift.terms[0].law.place.sobol(256))
    found = np.asarray(shift.terms[0].law.rows(lambda z: z[:1], {}, z))
    assert np.mean(found != 0) == pytest.approx(0.05, abs=0.01)


def test_a_ring_turns_by_its_whole_length():
    ring = scl.Box(x=(0, 2 * jnp.pi), t=(0, 1))
    with pytest.raises(ValueError, match=r'`Periodic\("x"\)`'):
        scl.Problem(domain=ring, objective=scl.average(scl.Invariance(x=lambda x: x + 2 * jnp.pi)))


# --- laws that contradict each other, by polynomials ----------------------------------------------------------------


def contradiction():
    """u'' = 0, u(0) = 0, u(1) = 1 and u ≤ ½, which no function satisfies."""
    unit = small.unit()
    return scl.Problem(
        domain=unit,
        objective=scl.average(scl.Dirichlet(lambda x: x, on=unit.boundary)),
        constraints={
            "ode": scl.worst_case(lambda u_xx: u_xx) <= 1e-6,
            "bound": scl.worst_case(scl.Inequality(lambda u: u - 0.5)) <= 1e-6,
        },
    )


def test_polynomials_do_not_hide_a_conflict_in_a_thin_layer():
    """The best polynomials keep all laws but in a layer as thin as the finest tile, whose residual is huge."""
    solution = scl.solve(contradiction(), method=scl.Spectral(), progress=False)
    assert not solution.converged
    assert not solution.feasible
    assert not solution.check(points=1000).holds


@pytest.mark.slow
def test_no_conflict_is_handed_over_as_a_solution():
    solution = scl.solve(contradiction(), seconds=10, progress=False)
    assert not solution.converged
    assert not solution.check().holds
