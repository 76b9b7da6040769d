"""Polynomials on tiles, through `solve`: against exact solutions, and what happens where there is none."""

import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax._run.polynomials import better, polynomials
from sclax._run.progress import Reporter
from sclax._spectral import March, Marched, Spectral, Unsuited
from sclax._spectral.fronts import least_squares
from sclax._spectral.jets import Germ, linearised, orders

X = scl.Box(x=(0.0, 1.0))


def decay(end=1.0, rate=3.0, start=0.0):
    """u' = −rate u, u(start) = 1."""
    domain = scl.Box(t=(start, end))
    return scl.Problem(
        domain=domain,
        parameters={"rate": rate},
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u, u_t, rate: u_t + rate * u) <= 1e-16},
        reference=lambda t, rate: jnp.exp(-rate * (t - start)),
    )


def quietly(problem, **more):
    return scl.solve(problem, progress=False, **more)


@pytest.fixture(scope="module")
def decayed():
    return quietly(decay())


def test_a_law_is_linearised_by_its_jets(x64):
    """u u_x + u_xx at known derivatives: the value, and its slope in each of them."""
    problem = scl.Problem(X, constraints={"pde": scl.worst_case(lambda u, u_x, u_xx: u * u_x + u_xx) <= 1.0}).bare()
    law, alongs = problem.terms[0].law, orders(1, 2)
    jets = np.asarray([2.0, 3.0, 5.0]).reshape(1, 1, 3, 1)
    assert alongs == ((0,), (1,), (2,))
    values, slopes = linearised(law, problem.parameters, law.place, np.asarray([[0.3]]), jets, alongs)
    assert values[0, 0] == pytest.approx(2 * 3 + 5)
    assert slopes[0, 0, 0, :, 0] == pytest.approx([3, 2, 1])


def test_a_germ_has_the_derivatives_that_it_is_given(x64):
    germ = Germ(jnp.asarray([[0.5, 1.0]]), jnp.arange(6.0).reshape(1, 6, 1), orders(2, 2))
    u = lambda z: germ(z)[0]
    z = jnp.asarray([0.5, 1.0])
    hessian = jax.hessian(u)(z)
    along = dict(zip(orders(2, 2), range(6), strict=True))
    assert float(u(z)) == along[0, 0]
    assert hessian[0, 0] == pytest.approx(along[2, 0])
    assert hessian[0, 1] == pytest.approx(along[1, 1])


def test_the_default_is_exact_to_rounding(decayed):
    assert repr(decayed.method) == "Spectral()"
    assert decayed.error() < 1e-13
    assert decayed.feasible
    assert decayed.converged
    assert decayed.multipliers == {"ode": 0.0}
    assert decayed.check(points=2000).holds
    assert 0 < decayed.steps < 40
    assert decayed.operator_evaluations > 0


def test_it_is_saved_and_loaded(decayed, tmp_path):
    decayed.save(tmp_path / "decay.scl")
    again = scl.load(tmp_path / "decay.scl", problem=decay())
    assert float(again(t=0.37)) == float(decayed(t=0.37))
    assert again.steps == decayed.steps


def test_backwards_in_time():
    """The value is known at the last time only: slabs go back from there."""
    domain = scl.Box(t=(0.0, 1.0))
    problem = scl.Problem(
        domain=domain,
        objective=scl.average(scl.Dirichlet(1.0, on=domain.face(t=1))),
        constraints={"ode": scl.worst_case(lambda u, u_t: u_t - 5 * u) <= 1e-16},
        reference=lambda t: jnp.exp(5 * (t - 1)),
    )
    solution = quietly(problem)
    assert repr(solution.method) == "Spectral()"
    assert solution.error() < 1e-12


def test_a_boundary_layer_is_found_by_halving():
    """ε u'' + u' = 0 with u(0) = 0, u(1) = 1: a layer of width 1e-3 at 0."""
    eps = 1e-3
    problem = scl.Problem(
        domain=X,
        objective=scl.average(scl.Dirichlet(0.0, on=X.face(x=0))) + scl.average(scl.Dirichlet(1.0, on=X.face(x=1))),
        constraints={"ode": scl.worst_case(lambda u_x, u_xx: eps * u_xx + u_x) <= 1e-12},
        reference=lambda x: (1 - jnp.exp(-x / eps)) / (1 - jnp.exp(-1 / eps)),
    )
    solution = quietly(problem)
    assert solution.error() < 1e-9
    assert len(solution.model.lower) > 3
    widths = np.sort(np.asarray(solution.model.upper - solution.model.lower).ravel())
    assert widths[0] < 0.05


def test_towards_a_singular_corner_tiles_are_halved():
    """Δu = 0 with u = r^{2/3} sin(2θ/3), whose slope is infinite at a corner: more polynomials gain little there, and
    halves upon halves gain as much each; far from it tiles stay large."""
    square = scl.Box(x=(0.0, 1.0), y=(0.0, 1.0))
    exact = lambda x, y: (x**2 + y**2 + 1e-30) ** (1 / 3) * jnp.sin(2 / 3 * jnp.arctan2(y, x + 1e-15))
    problem = scl.Problem(
        domain=square,
        objective=scl.average(scl.Dirichlet(exact)),
        constraints={"pde": scl.worst_case(lambda u_xx, u_yy: u_xx + u_yy) <= 1e-8},
        reference=exact,
    )
    solution = quietly(problem, method=Spectral(ambition=1e-5))
    assert solution.error() < 1e-4
    sides = np.asarray(solution.model.upper - solution.model.lower)
    corner = np.argmin(np.sum(np.asarray(solution.model.lower) ** 2, axis=1))
    assert np.max(sides[corner]) < 0.05
    assert np.max(sides) > 0.4
    assert solution.model.coefficients.shape[-1] < 20


def test_slabs_join_to_the_order_of_the_equation():
    """u_tt = −400 u: value and slope are continuous where slabs meet."""
    problem = scl.Problem(
        domain=scl.Box(t=(0.0, 3.0)),
        objective=scl.average(scl.Initial(1.0)) + scl.average(scl.Initial(0.0, order=1)),
        constraints={"ode": scl.worst_case(lambda u, u_tt: u_tt + 400 * u) <= 1e-10},
        reference=lambda t: jnp.cos(20 * t),
    )
    solution = quietly(problem)
    assert solution.error() < 1e-8
    with jax.enable_x64(True):
        model = jax.tree.map(jnp.asarray, solution.model)
        inner = np.sort(np.asarray(model.lower).ravel())[1:]
        assert len(inner) > 5
        slope = jax.jacfwd(lambda t: model(t[None])[0])
        for at in inner:
            before, after = jnp.asarray(at * (1 - 1e-13)), jnp.asarray(at * (1 + 1e-13))
            assert float(model(before[None])[0]) == pytest.approx(float(model(after[None])[0]), abs=1e-9)
            assert float(slope(before)) == pytest.approx(float(slope(after)), abs=1e-7)


def test_periodic_and_robin_conditions_and_systems():
    """A wave on a ring as a first-order system, and heat that leaves through an end."""
    ring = scl.Box(x=(0.0, 2 * np.pi), t=(0.0, 1.0))
    wave = scl.Problem(
        domain=ring,
        unknowns=("p", "v"),
        objective=scl.average(scl.Initial(lambda x: jnp.sin(x), unknown="p"))
        + scl.average(scl.Initial(0.0, unknown="v"))
        + scl.average(scl.Periodic("x")),
        constraints={"sound": scl.worst_case(lambda p_t, p_x, v_t, v_x: (p_t + v_x, v_t + p_x)) <= 1e-12},
        reference=lambda x, t: (jnp.sin(x) * jnp.cos(t), -jnp.cos(x) * jnp.sin(t)),
    )
    assert quietly(wave).error() < 1e-9
    robin = scl.Problem(
        domain=X,
        objective=scl.average(scl.Dirichlet(1.0, on=X.face(x=0)))
        + scl.average(scl.Robin(1.0, 1.0, 0.0, on=X.face(x=1))),
        constraints={"flux": scl.worst_case(lambda u_xx: u_xx) <= 1e-16},
        reference=lambda x: 1 - x / 2,
    )
    assert quietly(robin).error() < 1e-12


def test_three_dimensions_by_the_sum_of_degrees():
    cube = scl.Box(x=(0.0, 1.0), y=(0.0, 1.0), z=(0.0, 1.0))
    problem = scl.Problem(
        domain=cube,
        objective=scl.average(scl.Dirichlet(lambda x, y, z: x * y * z + x**2, on=None)),
        constraints={"laplace": scl.worst_case(lambda u_xx, u_yy, u_zz: u_xx + u_yy + u_zz - 2) <= 1e-12},
        reference=lambda x, y, z: x * y * z + x**2,
    )
    solution = quietly(problem)
    assert repr(solution.method) == "Spectral()"
    assert solution.error() < 1e-10


def test_a_killed_march_goes_on_where_it_was(tmp_path, x64):
    march = March(decay(end=2.0, rate=9.0).bare(), Spectral())
    march.compile()
    states = list(march.steps(march.first))
    assert len(states) > 2
    again = Marched.restored(*states[0].stored())
    rest = list(march.steps(again))
    assert len(rest) == len(states) - 1
    assert rest[-1].now == states[-1].now
    for one, other in zip(rest[-1].parts, states[-1].parts, strict=True):
        assert one.tiles == other.tiles
        assert all(np.array_equal(a, b) for a, b in zip(one.coefficients, other.coefficients, strict=True))


def test_a_checkpoint_resumes_it(tmp_path, capsys):
    problem = decay(end=2.0, rate=9.0)
    first = quietly(problem, checkpoint=tmp_path / "run")
    again = scl.solve(problem, checkpoint=tmp_path / "run")
    assert "resumed" in capsys.readouterr().err
    assert float(again(t=1.1)) == float(first(t=1.1))
    with pytest.raises(ValueError, match="another run"):
        quietly(decay(end=2.0, rate=8.0), checkpoint=tmp_path / "run")


def interrupting(monkeypatch, after):
    """Ctrl-C after some parts."""
    steps = March.steps

    def stopped(march, marched):
        for count, state in enumerate(steps(march, marched), 1):
            yield state
            if count == after:
                raise KeyboardInterrupt

    monkeypatch.setattr(March, "steps", stopped)


def test_ctrl_c_keeps_the_last_level(monkeypatch):
    interrupting(monkeypatch, after=2)
    solution = quietly(scl.zoo.poisson())
    assert solution.result is scl.RESULTS.interrupted
    assert not solution.converged
    assert solution.error() < 0.1


def test_ctrl_c_keeps_the_slabs_in_the_checkpoint(monkeypatch, tmp_path, capsys):
    """Of later times nothing is known, so that there is no solution yet; the next call goes on."""
    problem = decay(end=2.0, rate=9.0)
    with monkeypatch.context() as patch:
        interrupting(patch, after=2)
        with pytest.raises(KeyboardInterrupt):
            quietly(problem, checkpoint=tmp_path / "run")
    again = scl.solve(problem, checkpoint=tmp_path / "run")
    assert "resumed" in capsys.readouterr().err
    assert float(again(t=1.1)) == float(quietly(problem)(t=1.1))


# --- where there is no such solution ---------------------------------------------------------------------------------


def kink():
    return scl.Problem(
        domain=X,
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"slope": scl.worst_case(lambda u_x: jnp.sqrt(u_x**2 + 1e-12) - 1) <= 1e-8},
    )


def test_what_it_cannot_solve_is_said(x64):
    with pytest.raises(ValueError, match="does not solve this problem"):
        quietly(kink(), method=scl.Spectral())
    open_ended = scl.Problem(domain=X, constraints={"ode": scl.worst_case(lambda u_x: u_x - 1) <= 1e-8})
    with pytest.raises(ValueError, match="leave the solution open"):
        quietly(open_ended, method=scl.Spectral())
    folded = scl.Problem(
        domain=X,
        constraints={"memory": scl.worst_case(scl.field_residual(lambda field, point: field() - point.x)) <= 1e-8},
    )
    march = March(folded.bare(), Spectral())
    with pytest.raises(Unsuited):
        march.compile()


def test_a_law_that_is_not_finite_is_handed_over():
    """log u has no value at the zero that everything starts from."""
    problem = scl.Problem(
        domain=scl.Box(t=(0.0, 1.0)),
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u, u_t: u_t + u * jnp.log(u - 2.0)) <= 1e-8},
    )
    with pytest.raises(ValueError, match="does not solve this problem"):
        quietly(problem, method=scl.Spectral())


def test_the_default_hands_over_to_a_network(capsys):
    solution = scl.solve(kink(), seconds=4.0)
    assert "training a network" in capsys.readouterr().err
    assert "GaussNewton" in repr(solution.method)


def test_the_better_of_two_solutions_violates_the_laws_less(decayed):
    network = quietly(decay(), steps=10)
    assert network.error() > 1e-8
    assert better(decayed, network) is decayed
    assert better(network, decayed) is decayed


def test_a_compromise_is_no_solution():
    """u = 2 on average and u ≤ ½: a fit that weighs both alike would lie between; prices decide."""
    problem = scl.Problem(
        domain=X,
        objective=scl.average(lambda u: u - 2),
        constraints={"size": scl.worst_case(lambda u: u) <= 0.25},
    )
    with pytest.raises(ValueError, match="stay large"):
        quietly(problem, method=scl.Spectral())


@pytest.mark.parametrize("given", [{"model": scl.nn.MLP}, {"steps": 3}, {"seeds": 2}])
def test_what_is_for_networks_is_refused(given):
    with pytest.raises(ValueError, match="is for networks"):
        quietly(decay(), method=scl.Spectral(), **given)


@pytest.mark.parametrize("given", [{"ambition": 0.0}, {"terms": 3}, {"slab_terms": 2}])
def test_bad_settings_are_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        scl.Spectral(**given)


def test_steps_ask_for_a_network():
    solution = quietly(decay(), steps=10)
    assert "GaussNewton" in repr(solution.method)


# --- the model ------------------------------------------------------------------------------------------------------


def test_tiles_are_polynomials_on_boxes(x64):
    """|x| of two lines: the value, the slope on either side, and the nearest box outside."""
    model = scl.nn.Tiles([[-1.0], [0.0]], [[0.0], [1.0]], [[[0.5, -0.5]], [[0.5, 0.5]]])
    for x in (-0.7, 0.2, 1.5):
        assert float(model(jnp.asarray([x]))[0]) == pytest.approx(abs(x))
        assert float(jax.jacfwd(model)(jnp.asarray([x]))[0, 0]) == np.sign(x)


def test_corners_are_no_weights(x64):
    model = scl.nn.Tiles([[-1.0], [0.0]], [[0.0], [1.0]], [[[0.5, -0.5]], [[0.5, 0.5]]])
    slopes = eqx.filter_grad(lambda model: model(jnp.asarray([0.3]))[0])(model)
    assert not np.any(slopes.lower)
    assert not np.any(slopes.upper)
    assert np.any(slopes.coefficients[1])


@pytest.mark.parametrize(
    ("lower", "upper", "coefficients", "words"),
    [
        ([[0.0]], [[1.0], [2.0]], [[[1.0]]], "a row for each box"),
        ([[1.0]], [[0.0]], [[[1.0]]], "above"),
        ([[0.0]], [[1.0]], [[1.0]], "polynomials along each side"),
    ],
)
def test_bad_tiles_are_refused(lower, upper, coefficients, words):
    with pytest.raises(ValueError, match=words):
        scl.nn.Tiles(lower, upper, coefficients)


@pytest.mark.parametrize(("pace", "arrives"), [(1.0, True), (3.0, False)])
def test_a_march_that_is_on_time_goes_on_beyond_its_half(monkeypatch, pace, arrives):
    """Of a clock that stands still between slabs: one tick a slab arrives at 0.9 of the time, three would at 2.7."""
    problem = scl.Problem(
        domain=scl.Box(t=(0.0, 60.0)),  # slabs of which are all alike
        objective=scl.average(scl.Initial(1.0)) + scl.average(scl.Initial(0.0, order=1)),
        constraints={"ode": scl.worst_case(lambda u, u_tt: u_tt + u) <= 1e-16},
        reference=lambda t: jnp.cos(t),
    )
    whole = quietly(problem, method=Spectral())
    slabs = whole.history.rows - 1  # the last row is of spare points
    assert slabs > 8
    now = [0.0]

    def slab(self, marched, axis, real=March._slab):
        now[0] += pace
        return real(self, marched, axis)

    monkeypatch.setattr(March, "_slab", slab)
    monkeypatch.setattr("sclax._run.polynomials.time", types.SimpleNamespace(monotonic=lambda: now[0]))
    solve = lambda: polynomials(problem, Spectral(), 0, slabs / 0.9, None, Reporter(False), on_time=0.5)
    if arrives:
        assert solve().solution.error() < 1e-8
        assert now[0] == slabs
    else:
        with pytest.raises(Unsuited, match="time was up"):
            solve()
        assert now[0] <= 0.5 * slabs / 0.9 + 2 * pace  # given up at the first look after its half


def test_a_first_slab_ends_when_the_time_is_up(monkeypatch):
    """Of a clock by which a step takes as many seconds as it has operations: no step is begun that would end late."""
    problem = scl.Problem(
        domain=scl.Box(x=(-1.0, 1.0), t=(0.0, 1.0)),  # a layer, for which the first slab tries ever more tiles
        objective=scl.average(scl.Initial(lambda x: jnp.tanh(x / 1e-3))) + scl.average(scl.Dirichlet(lambda x: x)),
        constraints={"pde": scl.worst_case(lambda u, u_t, u_xx: u_t - 1e-4 * u_xx + u**3 - u) <= 1e-12},
    )
    now, spent = [0.0], []

    def steps(rows, sizes, real=least_squares):
        now[0] += sum(sizes) ** 3
        spent.append(now[0])
        return real(rows, sizes)

    monkeypatch.setattr("sclax._spectral.newton.least_squares", steps)
    monkeypatch.setattr("sclax._run.polynomials.time", types.SimpleNamespace(monotonic=lambda: now[0]))
    seconds = 1e8
    with pytest.raises(Unsuited, match="time was up"):
        polynomials(problem, Spectral(), 0, seconds, None, Reporter(False), on_time=0.5)
    assert len(spent) > 5
    assert now[0] <= 0.5 * seconds
