"""Slips of a new user that were once believed without a word."""

import math
import operator
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr
from jax import lax
from typer.testing import CliRunner

import sclax as scl
from sclax import cli

BOX = scl.Box(x=(0, 1), t=(0, 2))
ROOM = ["at most 100000000", "10000000000", "memory"]


def plain(u_t, u_x):
    return u_t + u_x


def problem(condition=plain, parameters=None, **options):
    return scl.Problem(BOX, parameters, scl.average(condition), **options)


def said(make, kind=ValueError):
    with pytest.raises(kind) as caught:
        make()
    return str(caught.value)


# --- residuals that cannot be ----------------------------------------------------------------------------------------

RESIDUALS = {
    "numpy": (lambda u: np.sin(u), ["a function of numpy", "jnp.sin for np.sin"]),
    "math": (lambda u: math.sin(u), ["a function of `math`", "jnp.sin for math.sin"]),
    "if": (lambda u: u if u > 0 else -u, ["`if`", "jnp.where"]),
    "nothing": (lambda u: None, ["returns nothing", "`return`"]),
    "a comparison": (lambda u_t: u_t == 0, ["True or False", "u_t - u_xx instead of u_t == u_xx"]),
    "comparisons": (lambda u, u_t: (u, u_t < 0), ["True or False"]),
    "a complex number": (lambda u: 1j * u, ["complex", "(value.real, value.imag)"]),
}


@pytest.mark.parametrize(("residual", "fragments"), RESIDUALS.values(), ids=RESIDUALS)
def test_a_residual_that_cannot_be_is_told_in_words(residual, fragments):
    message = said(lambda: problem(residual))
    for fragment in ("residual: ", *fragments):
        assert fragment in message


def test_in_conditions_and_fields_too():
    assert "a function of numpy" in said(lambda: problem(scl.Initial(lambda x: np.sin(x))))
    assert "True or False" in said(lambda: problem(scl.field_residual(lambda field, point: field() > point.x)))


def test_a_residual_of_single_precision_is_one():
    problem(lambda u: lax.select(u > 0, u, jnp.float32(0)))


# --- parameters that nothing asks for ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3.0, (1.0, 3.0)])
def test_a_parameter_that_nothing_asks_for_is_refused(value):
    message = said(lambda: problem(lambda u_t, beta: u_t - beta, {"beta": 1.0, "betta": value}))
    for fragment in ("Problem", "`betta`", "`beta`, `u_t`", "Did you mean `beta`?", "remove it"):
        assert fragment in message


USES = {
    "an equation": lambda u, beta: u - beta,
    "a value": scl.Dirichlet(lambda beta: beta),
    "a start": scl.Initial(lambda x, beta: beta * x),
    "a slope": scl.Neumann(lambda beta: beta),
    "a coefficient": scl.Robin(1.0, lambda beta: beta, 0.0),
    "a symmetry": scl.Invariance(t=lambda t, beta: t + beta),
    "a flux": scl.Periodic("x", of=lambda u, u_x, beta: (u, beta * u_x)),
    "a bound": scl.Inequality(lambda u, beta: u - beta),
    "the whole field": scl.field_residual(lambda field, point: field() - point["beta"]),
}


@pytest.mark.parametrize("value", [1.5, (1.0, 2.0)])
@pytest.mark.parametrize("use", USES)
def test_whatever_can_name_a_parameter_uses_it(use, value):
    made = problem(USES[use], {"beta": value})
    assert "beta" in {*made.parameters, *made.domain.names}


def test_a_worst_case_over_the_rest_uses_what_its_law_does():
    measure = scl.worst_case(USES["an equation"], over=("beta",))
    assert scl.Problem(BOX, {"beta": (1.0, 2.0)}, constraints={"law": measure <= 1.0}).domain.parameters == ("beta",)
    unused = scl.worst_case(plain, over=("beta",))
    assert "`beta`" in said(lambda: scl.Problem(BOX, {"beta": (1.0, 2.0)}, constraints={"law": unused <= 1.0}))


@pytest.mark.parametrize(
    "reference",
    [lambda x, beta: beta * x, scl.Solved(lambda beta: None), xr.Dataset({"u": ("beta", [0.0])}, {"beta": [1.0]})],
)
def test_references_use_parameters(reference):
    assert problem(parameters={"beta": (1.0, 2.0)}, reference=reference).domain.parameters == ("beta",)


def test_measurements_along_a_parameter_use_it():
    data = scl.Observations({"x": [0.1], "t": [1.0], "beta": [1.5]}, [0.0])
    assert problem(data, {"beta": (1.0, 2.0)}).domain.parameters == ("beta",)


def test_a_residual_of_the_users_own_may_ask_for_anything():
    class Own(scl.AbstractResidual):
        def __call__(self, model, parameters, place, w):
            return model(place.embed(w)) - parameters["beta"]

    class Condition(scl.AbstractCondition):
        def bind(self, vocabulary, domain):
            return scl.Law(Own(), domain, "own", 0)

    assert problem(Condition(), {"beta": 1.0}).parameters.keys() == {"beta"}


def test_an_operators_parameters_are_those_of_its_equations():
    axes = {"sample": np.arange(2), "x": np.arange(4) / 4}
    data = xr.Dataset({name: (("sample", "x"), np.ones((2, 4))) for name in ("input", "solution")}, axes)
    make = lambda law: scl.OperatorProblem(data, {"law": law <= 1.0}, parameters={"nu": 0.1}, batch=1, periodic="x")
    assert "`nu`" in said(lambda: make(scl.average(scl.Data())))
    assert make(scl.average(lambda u_x, nu: nu * u_x)).parameters.keys() == {"nu"}


# --- points and numbers ------------------------------------------------------------------------------------------

BAD = {
    "a parameter that is None": (
        lambda: problem(lambda u, D: u - D, {"D": None}),
        ["`D`", "a number or an interval (low, high)", "None"],
    ),
    "a measurement outside": (
        lambda: problem(scl.Observations({"x": [0.5, 7.0, 8.0], "t": [0.5] * 3}, [1.0] * 3)),
        ["Observations", "`x` is 7.0 at index 1", "[0.0, 1.0]", "2 of the 3 points", "widen the domain"],
    ),
    "a measurement of several points outside": (
        lambda: problem(scl.Observations({"x": [[0.5, 0.5], [0.5, -2.0]], "t": np.ones((2, 2))}, np.ones((2, 2)))),
        ["`x` is -2.0 at index (1, 1)", "1 of the 4 points"],
    ),
    "a measurement outside the family": (
        lambda: problem(scl.Observations({"x": [0.5], "t": [0.5], "k": [9.0]}, [1.0]), {"k": (1.0, 2.0)}),
        ["`k` is 9.0", "[1.0, 2.0]", "widen the range"],
    ),
    "a given point outside": (
        lambda: problem(scl.Dirichlet(0.0, on={"x": [0.5], "t": [2.5]})),
        ["Dirichlet", "`t` is 2.5", "[0.0, 2.0]"],
    ),
    "a point of several faces outside": (
        lambda: scl.Problem(BOX, objective=scl.average(scl.Dirichlet(0.0), points=[[1.5, 0.5]])),
        ["average", "`x` is 1.5 at index 0", "[0.0, 1.0]"],
    ),
    "points beyond memory": (lambda: scl.worst_case(plain, n=10**10), ["worst_case", "`n`", *ROOM]),
    "an average beyond memory": (lambda: scl.average(plain, n=10**10), ["average", "`n`", *ROOM]),
    "a grid beyond memory": (lambda: scl.Grid(10**10), ["Grid", "`n`", *ROOM]),
    "uniform points beyond memory": (lambda: scl.Uniform(10**10), ["Uniform", "`n`", *ROOM]),
    "a pool beyond memory": (lambda: scl.RAD(pool=10**10), ["RAD", "`pool`", *ROOM]),
    "chains beyond memory": (lambda: scl.PersistentChains(10**10), ["PersistentChains", "`chains`", *ROOM]),
    "walks beyond memory": (lambda: scl.MetropolisHastings(20, 10**9), ["`chains × steps`", "20000000000", "memory"]),
    "a lower bound": (lambda: scl.worst_case(plain) >= 1.0, ["measure <= tolerance", "1.0", "Inequality"]),
    "a strict bound": (lambda: scl.average(plain) < 1e-3, ["measure <= tolerance", "0.001"]),
    "a bound on the left": (lambda: operator.le(1e-3, scl.average(plain)), ["measure <= tolerance", "0.001"]),
    "a lower bound of a sum": (lambda: scl.average(plain) + scl.average(plain) > 2, ["measure <= tolerance", "got 2"]),
    "a seed beyond": (
        lambda: scl.solve(problem(), seed=2**63),
        ["solve", "`seed`", "4294967295", "9223372036854775808"],
    ),
    "a negative seed": (lambda: scl.solve(problem(), seed=-1), ["`seed`", "at least 0", "-1"]),
    "half a seed": (lambda: scl.solve(problem(), seed=1.5), ["`seed`", "whole number", "1.5"]),
    "the last of seeds beyond": (
        lambda: scl.solve(problem(), seed=2**32 - 1, seeds=2),
        ["`seed`", "at most 4294967294"],
    ),
    "too many seeds": (lambda: scl.solve(problem(), seeds=10**9), ["`seeds`", "at most 1000", "memory", "another run"]),
    "too many steps": (lambda: scl.solve(problem(), steps=10**40), ["`steps`", "at most 2147483647", "about 1e"]),
    "endless seconds": (lambda: scl.solve(problem(), seconds=np.inf), ["`seconds`", "finite", "inf"]),
    "NaN in the zoo": (lambda: scl.zoo.convection(beta=np.nan), ["convection", "`beta`", "finite", "nan"]),
    "a huge integer in the zoo": (lambda: scl.zoo.convection(beta=10**400), ["convection", "`beta`", "finite"]),
    "a huge number in the zoo": (lambda: scl.zoo.helmholtz(a1=1e200), ["helmholtz", "`a1`", "at most 1e+15", "1e+200"]),
    "text in the zoo": (lambda: scl.zoo.wave(c="fast"), ["wave", "`c`", "number", "'fast'"]),
    "nothing in the zoo": (lambda: scl.zoo.heat(alpha=None), ["heat", "`alpha`", "number", "None"]),
    "an empty range in the zoo": (lambda: scl.zoo.convection(beta=()), ["convection", "`beta`", "(low, high)"]),
    "data beyond a disk": (
        lambda: scl.data.burgers("tiny", samples=10**9),
        ["burgers", "`samples` = 1000000000", "1.54e+03 GB", "100 GB", "fewer"],
    ),
    "a negative seed of data": (lambda: scl.data.burgers("tiny", seed=-1), ["burgers", "`seed`", "at least 0"]),
}


@pytest.mark.parametrize("case", BAD)
def test_the_slip_is_named_with_its_remedy(case):
    make, fragments = BAD[case]
    message = said(make)
    assert not [fragment for fragment in fragments if fragment not in message], message


def test_a_point_that_rounding_puts_outside_is_inside():
    wide = scl.Box(x=(0.0, 2 * np.pi))
    data = scl.Observations({"x": np.float32([2 * np.pi])}, [0.0])
    assert float(np.float32(2 * np.pi)) > 2 * np.pi
    assert scl.Problem(wide, objective=scl.average(data)).domain.names == ("x",)


def test_a_reversed_tolerance_is_a_tolerance():
    assert float(operator.ge(1e-3, scl.average(plain)).tolerance) == 1e-3


# --- solutions ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    """A family, trained for one step."""
    law = lambda u_t, u_x, beta: u_t + beta * u_x
    family = scl.Problem(BOX, {"beta": (1.0, 3.0)}, scl.average(scl.Initial(0.0)), {"pde": scl.average(law) <= 1.0})
    method = scl.PrimalDual(optax.adam(1e-3), scl.DualAscent(1e-3))
    return scl.solve(family, method=method, steps=1, progress=False)


@pytest.fixture
def solution(solved):
    """The same, of which nothing was said yet."""
    return solved.without_reference()


OUTSIDE = {
    "a value": (lambda s: s(x=[0.5, 7.0], t=0.5, beta=2.0), "solution: `x` = 7.0 is outside [0.0, 1.0]"),
    "a grid": (lambda s: s.grid(x=3, t=[-1.0], beta=2.0), "grid: `t` = -1.0 is outside [0.0, 2.0]"),
    "a residual": (lambda s: s.residual("pde", x=0.5, t=0.5, beta=9.0), "residual: `beta` = 9.0 is outside [1.0, 3.0]"),
    "a map": (lambda s: s.residual_map(progress=False, beta=[0.5]), "residual_map: `beta` = 0.5 is outside"),
    "a figure": (lambda s: s.plot(beta=4.0), "plot: `beta` = 4.0 is outside [1.0, 3.0]"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_extrapolation_is_said_once(solution, case):
    evaluate, fragment = OUTSIDE[case]
    with pytest.warns(UserWarning, match="extrapolated") as caught:
        evaluate(solution)
    assert fragment in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(solution)
        assert np.isfinite(solution(x=7.0, t=0.5, beta=2.0))


def in_a_plate():
    """x on a square with a hole at all times, untrained; one more each time, of which nothing was said."""
    plate = (scl.Box(x=(-1, 1), y=(-1, 1)) - scl.Disk(x=0, y=0, radius=0.5)) * scl.Interval(t=(0, 1))
    problem = scl.Problem(plate, constraints={"pde": scl.worst_case(lambda u_t, lap_u: u_t - lap_u) <= 1.0})
    held = scl.nn.HardConstraint(lambda z: z[:1], lambda u: u, problem.domain)
    method = scl.PrimalDual(optax.adam(1e-3), scl.DualAscent(1e-3))
    history = scl.History.of(problem.constraints)
    return scl.Solution(problem, held, method, {"pde": jnp.zeros(())}, history, scl.RESULTS.steps_done, 0)


@pytest.mark.parametrize(
    ("evaluate", "owner"),
    [
        (lambda s: s(x=[0.9, 0.1], y=0.2, t=0.5), "solution"),
        (lambda s: s("u_x", x=[0.9, 0.1], y=0.2, t=0.5), "solution"),
        (lambda s: s.residual("pde", x=[0.9, 0.1], y=0.2, t=0.5), "residual"),
    ],
)
def test_extrapolation_into_a_hole_is_said_once(evaluate, owner):
    solution = in_a_plate()
    with pytest.warns(UserWarning, match="extrapolated") as caught:
        evaluate(solution)
    assert f"{owner}: x = 0.1, y = 0.2, t = 0.5 is outside the domain's shape" in str(caught[0].message)
    assert caught[0].filename == __file__
    evaluate(solution)  # warnings are errors


def test_what_is_no_extrapolation_into_a_hole_is_not_said():
    solution = in_a_plate()
    turns = np.linspace(0, 2 * np.pi, 40)
    for radius in (0.5, 0.5 - 5e-4):  # on the boundary, and on a coarse outline of it
        solution(x=radius * np.cos(turns), y=radius * np.sin(turns), t=0.0)
    solution.grid("u", "u_x", x=9, y=9, t=2)
    at = lambda x: solution(x=x, y=0.0, t=0.0)
    assert jax.grad(at)(0.1) == pytest.approx(1.0)  # of tracers nobody can tell where they are
    np.testing.assert_allclose(jax.jit(jax.vmap(at))(jnp.asarray([0.1, 0.7])), [0.1, 0.7], rtol=1e-6)
    assert not solution.told


def test_the_closed_domain_is_no_extrapolation(solution):
    solution(x=np.float32([0.0, 1.0]), t=[0.0, 2.0], beta=[1.0, 3.0])
    solution.grid(x=3, t=3, beta=3)


@pytest.mark.parametrize(
    ("evaluate", "fragments"),
    [
        (lambda s: s(x="a", t=0.5, beta=2.0), ["solution", "`x`", "number", "'a'"]),
        (lambda s: s(x=None, t=0.5, beta=2.0), ["solution", "`x`", "number", "None"]),
        (lambda s: s.grid(x=10**12), ["grid", "`x`", "memory"]),
        (lambda s: s.grid(x=10**4, t=10**4, beta=10**4), ["grid", "`x × t × beta`", "memory"]),
        (lambda s: s.check(points=10**12), ["check", "`points`", "memory"]),
        (lambda s: s.check(seed=-1), ["check", "`seed`", "at least 0"]),
    ],
)
def test_numbers_beyond_sense_are_refused_by_a_solution(solution, evaluate, fragments):
    message = said(lambda: evaluate(solution))
    assert not [fragment for fragment in fragments if fragment not in message], message


def test_coordinates_have_names(solution):
    assert "solution(x=0.5, t=0.5, beta=0.5)" in said(lambda: solution(0.5, 0.5, 2.0), TypeError)


WRITES = {
    "save": lambda s, path: s.save(path / "a.scl"),
    "plot": lambda s, path: s.plot(path / "a.png"),
    "plot_history": lambda s, path: s.plot_history(path / "a.png"),
    "draw": lambda s, path: s.draw(path / "all"),
    "report": lambda s, path: s.report(path / "a.html"),
    "animate": lambda s, path: s.animate(path / "a.gif"),
    "to_vtk": lambda s, path: s.to_vtk(path / "a.vtu"),
}


@pytest.mark.parametrize("name", WRITES)
def test_no_missing_folder_is_made(solution, tmp_path, name):
    message = said(lambda: WRITES[name](solution, tmp_path / "misspelt" / "folder"))
    for fragment in (str(tmp_path / "misspelt" / "folder"), "is missing", "Make it first"):
        assert fragment in message
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    assert "is no folder" in said(lambda: WRITES[name](solution, tmp_path / "file"))


def test_figures_make_their_own_directory(solution, tmp_path):
    assert "history.png" in solution.draw(tmp_path / "figures")


# --- methods in words --------------------------------------------------------------------------------------------

METHODS = [
    scl.PrimalDual(optax.adam(1e-3), scl.DualAscent(0.123456789)),
    scl.PrimalDual(optax.adam(optax.exponential_decay(1e-3, 500, 0.9, staircase=True)), optax.sgd(1e-2), 3),
    scl.PrimalDual(optax.chain(optax.clip(0.5), optax.scale_by_adam(0.8), optax.scale(-1e-3)), scl.NuPI(1e-2)),
    scl.PrimalDual(scl.soap(3e-3), {"pde": optax.adam(1e-2), "other": scl.AugmentedLagrangian(2.0)}),
    scl.PrimalDual(scl.GaussNewton(rows=100), scl.DualAscent(0.3, clip=1.0), average=scl.Sobol(130)),
    scl.Penalty(optax.lion(1e-4), {"objective": 100.0}),
]
VOCABULARY = {name: getattr(optax, name) for name in dir(optax)} | {name: getattr(scl, name) for name in dir(scl)}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method)[:30])
def test_a_methods_words_make_it_again(method):
    """Read back, they take the same step of the weights."""
    words = str(method)
    assert "<" not in words
    assert max(map(len, words.splitlines())) <= 110
    assert len(words.splitlines()) <= 3
    again = eval(words, VOCABULARY)
    assert str(again) == words
    if hasattr(method.primal, "optimiser"):
        weights, gradient = jnp.linspace(0.0, 1.0, 4).reshape(2, 2), jnp.linspace(-1.0, 1.0, 4).reshape(2, 2)
        moved = []
        for one in (method.primal.optimiser, again.primal.optimiser):
            state = one.init(weights)
            for _ in range(3):
                update, state = one.update(gradient, state, weights)
            moved.append(update)
        assert np.array_equal(*moved)


# --- the command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_equation_is_broken_within_a_part(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = CliRunner().invoke(cli.app, ["list"]).stdout.splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for entry in (*scl.zoo.ENTRIES.values(), *scl.zoo.OPERATORS.values()):
        assert " ".join(entry.equation.split()) in text
        for part in entry.equation.split(",  "):
            assert any(part in line for line in lines), part


def test_a_pipe_has_one_line_for_each_problem(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = CliRunner().invoke(cli.app, ["list"]).stdout.splitlines()
    assert len(lines) == len(scl.zoo.ENTRIES) + len(scl.zoo.OPERATORS)
