"""Families by polynomials: members that are solved, and all others as combinations of them."""

import itertools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax._spectral import Family, March, Marched, Solved, Spanned, Spectral
from sclax._spectral.family import Tried


def decays(rate=(1.0, 5.0)):
    """u' = −rate u, u(0) = 1, for all rates."""
    return scl.Problem(
        domain=scl.Box(t=(0.0, 1.0)),
        parameters={"rate": rate},
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u, u_t, rate: u_t + rate * u) <= 1e-12},
        reference=lambda t, rate: jnp.exp(-rate * t),
    )


def logistic(rate=(0.5, 4.0), start=(0.05, 0.5)):
    """u' = rate u (1 − u), u(0) = start: not linear, errors grow, and a parameter lives in a condition alone."""
    return scl.Problem(
        domain=scl.Box(t=(0.0, 1.0)),
        parameters={"rate": rate, "start": start},
        objective=scl.average(scl.Initial(lambda start: start)),
        constraints={"ode": scl.worst_case(lambda u, u_t, rate: u_t - rate * u * (1 - u)) <= 1e-12},
        reference=lambda t, rate, start: start / (start + (1 - start) * jnp.exp(-rate * t)),
    )


def waves():
    """u'' = −k² sin(k x) on [0, 1] with u(0) = 0, u(1) = sin(k): without time, two unknowns of which one is u'."""
    domain = scl.Box(x=(0.0, 1.0))
    return scl.Problem(
        domain=domain,
        unknowns=("u", "s"),
        parameters={"k": (1.0, 8.0)},
        objective=scl.average(scl.Dirichlet(0.0, on=domain.face(x=0), unknown="u"))
        + scl.average(scl.Dirichlet(lambda k: jnp.sin(k), on=domain.face(x=1), unknown="u")),
        constraints={
            "slope": scl.worst_case(lambda u_x, s: u_x - s) <= 1e-12,
            "bend": scl.worst_case(lambda s_x, x, k: s_x + k**2 * jnp.sin(k * x)) <= 1e-12,
        },
        reference=lambda x, k: (jnp.sin(k * x), k * jnp.cos(k * x)),
    )


def quietly(problem, **more):
    return scl.solve(problem, progress=False, **more)


@pytest.fixture(scope="module")
def decayed():
    return quietly(decays())


def rounds(family, state):
    """The states that follow, each once."""
    for after in family.steps(state):
        if after is not state:
            yield after
        state = after


def way(problem, **more):
    prepared = scl.GaussNewton().prepare(problem).bare()
    family = Family(prepared, Spectral(**more))
    family.compile()
    return family


def test_all_members_are_exact(decayed):
    assert repr(decayed.method) == "Spectral()"
    assert isinstance(decayed.model, scl.nn.Modes)
    assert float(decayed.error_map(progress=False).max()) < 1e-8
    assert decayed.feasible
    assert decayed.operator_evaluations > 0
    assert decayed.steps > 0


def test_a_family_is_saved_and_loaded(decayed, tmp_path):
    decayed.save(tmp_path / "decays.scl")
    again = scl.load(tmp_path / "decays.scl", problem=decays())
    assert float(again(t=0.37, rate=2.2)) == float(decayed(t=0.37, rate=2.2))


def test_two_parameters_of_which_one_is_in_a_condition():
    solution = quietly(logistic(), method=Spectral(ambition=1e-7))
    assert isinstance(solution.model, scl.nn.Modes)
    assert float(solution.error_map(rate=9, start=9, progress=False).max()) < 1e-5


def test_a_family_without_time_of_two_unknowns():
    solution = quietly(waves())
    assert isinstance(solution.model, scl.nn.Modes)
    assert float(solution.error_map(progress=False).max()) < 1e-7


def test_the_error_that_it_tells_is_not_below_the_errors_of_others(x64):
    """At members that it has never seen, before it is done: what it tells is the worst of those it has just solved."""
    family = way(logistic(), ambition=1e-8)
    states = list(itertools.islice(rounds(family, family.first), 11))
    model = family.model(family.finished(states[-1]))
    t = np.linspace(0, 1, 41)
    errors = []
    for rate, start in np.random.default_rng(3).uniform([0.5, 0.05], [4.0, 0.5], (40, 2)):
        found = jax.vmap(lambda s, r=rate, a=start: model(jnp.stack([s, r, a]))[0])(jnp.asarray(t))
        truth = start / (start + (1 - start) * np.exp(-rate * t))
        errors.append(np.linalg.norm(found - truth) / np.linalg.norm(truth))
    assert max(errors) < 3 * states[-1].tail
    assert states[-1].tail < 0.1


def test_later_times_count_less_where_errors_grow(x64):
    """The fit that the rate was chosen for is the better one for members that it has not seen."""
    family = way(logistic(rate=(4.0, 12.0), start=(0.001, 0.5)), ambition=1e-8)
    *_, state = itertools.islice(rounds(family, family.first), 12)
    assert state.rate > 0
    span = family._span(state._replace(members=state.members[:9], parts=state.parts[:9]))
    member = (11.0, 0.01)
    t = span.points[:, 0]
    truth = 0.01 / (0.01 + 0.99 * np.exp(-11 * t))
    every = np.stack([values[0] for values in span.values], axis=-1) @ span.modes
    errors = []
    for rate in (0.0, state.rate):
        span.rate = rate
        fit = span.fit(member, span.of_member(family._nearest(state.members[:9], member)))
        errors.append(np.linalg.norm((every @ fit.c)[:, 0] - truth))
    assert errors[1] < errors[0]


def test_a_stored_state_goes_on_as_it_would_have(x64):
    family = way(decays())
    states = list(rounds(family, family.first))
    for begun in (1, 5):
        about, arrays = states[begun].stored()
        rest = list(rounds(family, Spanned.restored(about, arrays)))
        assert len(rest) == len(states) - 1 - begun
    assert rest[-1].members == states[-1].members
    for ours, theirs in zip(rest[-1].parts[-1].coefficients, states[-1].parts[-1].coefficients, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    done = Spanned.restored(*states[-1].stored())
    assert list(family.steps(done)) == []
    assert float(family.model(done)(jnp.asarray([0.3, 2.0]))[0]) == pytest.approx(np.exp(-0.6), abs=1e-9)


def test_ctrl_c_keeps_what_was_learned(monkeypatch):
    """After some rounds of members; before the first there is nothing to keep."""
    real, calls = Family._solved, []

    def solved(self, spanned, member):
        calls.append(member)
        if len(calls) == limit:
            raise KeyboardInterrupt
        return (yield from real(self, spanned, member))

    monkeypatch.setattr(Family, "_solved", solved)
    limit = 9
    solution = quietly(decays())
    assert solution.result is scl.RESULTS.interrupted
    assert float(solution.error_map(progress=False).max()) < 1e-2
    limit = 2
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        quietly(decays())


def test_a_member_without_a_solution_is_left_out_and_too_many_are_named(monkeypatch):
    real = Family._solved

    def missing(self, spanned, member):
        if member[0] >= bound:
            return Tried(member, None, "none")
        return (yield from real(self, spanned, member))

    monkeypatch.setattr(Family, "_solved", missing)
    bound = 5.0  # the last of all rates alone
    with jax.enable_x64(True):
        family = way(decays())
        *_, state = rounds(family, family.first)
        assert state.failed == ((5.0,),)
        found = family.model(state)(jnp.asarray([0.5, 4.9]))
        assert float(found[0]) == pytest.approx(np.exp(-2.45), rel=1e-3)
    bound = 0.0
    with pytest.raises(ValueError, match=r"at rate = 3, none"):
        quietly(decays(), method=Spectral())


def test_a_round_without_any_solution_is_no_end(monkeypatch, x64):
    """The first member beyond the middle and the corners has none: the next round is as before."""
    real, calls = Family._solved, []

    def missing(self, spanned, member):
        calls.append(member)
        return Tried(member, None, "none") if len(calls) == 4 else (yield from real(self, spanned, member))

    monkeypatch.setattr(Family, "_solved", missing)
    family = way(decays())
    *_, state = rounds(family, family.first)
    assert state.failed == (calls[3],)
    assert float(family.model(state)(jnp.asarray([0.5, 4.0]))[0]) == pytest.approx(np.exp(-2.0), rel=1e-8)


def test_time_is_up_within_a_member(monkeypatch):
    """Where nothing can be kept yet, a network gets the rest of the time."""
    ticks = itertools.count()
    clock = types.SimpleNamespace(monotonic=lambda: 10.0 * next(ticks))  # of this module alone: others look too
    monkeypatch.setattr("sclax._run.polynomials.time", clock)
    with pytest.raises(ValueError, match="the time was up"):
        quietly(decays(), method=Spectral(), seconds=15.0)
    assert next(ticks) < 10


def test_what_polynomials_cannot_do_is_told():
    slope = scl.Problem(
        domain=scl.Box(t=(0.0, 1.0)),
        parameters={"k": (1.0, 2.0)},
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u_t, u_k, t, k: u_t + u_k - k * t) <= 1e-8},
    )
    with pytest.raises(ValueError, match="differentiates along the parameter `k`"):
        quietly(slope, method=Spectral())
    many = scl.Problem(
        domain=scl.Box(t=(0.0, 1.0)),
        parameters=dict.fromkeys("abcd", (1.0, 2.0)),
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u_t, a, b, c, d: u_t + a * b * c * d) <= 1e-8},
    )
    with pytest.raises(ValueError, match="4 parameters"):
        quietly(many, method=Spectral())


def test_modes_are_combinations_of_functions(x64):
    line = scl.nn.Tiles([[-1.0]], [[1.0]], [[[0.0, 1.0]]])
    slope = scl.nn.Tiles([[0.0]], [[1.0]], [[[0.5, 0.5]]])
    model = scl.nn.Modes(line, slope)
    assert float(model(jnp.asarray([0.3, 0.2]))[0]) == pytest.approx(0.06)
    with pytest.raises(ValueError, match="not as many for each of 2"):
        scl.nn.Modes(line, scl.nn.Tiles([[0.0]], [[1.0]], [[[0.5, 0.5], [1.0, 0.0]]]))


def test_the_members_march_as_problems_of_their_own(x64):
    """Held at one value, a family is the problem with that number."""
    prepare = lambda problem: scl.GaussNewton().prepare(problem).bare()
    family, single = (
        March(prepare(decays()), Spectral(), {1: 2.5}),
        March(prepare(decays(rate=2.5)), Spectral()),
    )
    states: list[Marched] = []
    for march in (family, single):
        march.compile()
        *_, state = march.steps(march.first)
        states.append(state)
    assert len(states[0].parts) == len(states[1].parts)
    t = np.linspace(0, 1, 50)
    ours = Solved.joined(states[0].parts)(np.stack([t, np.full(50, 3.0)], axis=1), (0, 0))
    theirs = Solved.joined(states[1].parts)(t[:, None], (0,))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_one_member_is_the_model_at_its_parameters(x64):
    rng = np.random.default_rng(0)
    modes = scl.nn.Tiles([[0.0], [0.5]], [[0.5], [1.0]], list(rng.normal(size=(2, 6, 4))))
    model = scl.nn.Modes(modes, scl.nn.Tiles([[0.0, 0.0]], [[1.0, 2.0]], list(rng.normal(size=(1, 3, 2, 3)))))
    parameters = jnp.asarray([0.3, 1.7])
    member = scl.nn.member(model, parameters)
    for x in (0.1, 0.7):
        z = jnp.asarray([x, 0.3, 1.7])
        np.testing.assert_allclose(member(z), model(z), rtol=1e-13)
    assert model(z).shape == (2,)
    assert scl.nn.member(modes, parameters) is modes
    assert model.looked_up == 6 * 4
