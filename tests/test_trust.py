"""Is it a solution? Answers that are known to be right, wrong, or wrong by a known amount."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax._result.features import waves

from .test_solution import held

PI = jnp.pi


def poisson():
    return scl.zoo.poisson()


def membrane(z):
    return jnp.sin(PI * z[0]) * jnp.sin(PI * z[1])


def verdict(problem, function):
    return held(problem, lambda z: jnp.atleast_1d(function(z))).check(points=100).verdict


@pytest.mark.parametrize("size", [1e-2, 1e-6])
def test_the_error_of_an_answer_with_a_known_one(size):
    """u plus a smooth error that meets neither the equation nor the boundary: its norm is known."""
    wrong = lambda z: jnp.cos(4 * z[0] - z[1]) + z[0] * z[1] ** 2
    found = verdict(poisson(), lambda z: membrane(z) + size * wrong(z))
    x, y = np.meshgrid(*[(np.arange(200) + 0.5) / 200] * 2)
    true = size * np.sqrt(np.mean(np.asarray(wrong((x, y))) ** 2)) / 0.5
    assert found.estimated_error == pytest.approx(true, rel=0.05)
    assert found.error_factor < 3
    assert found.solved == (true < 0.03)


def test_an_error_that_fades_with_time_is_small_in_the_equation_and_large_in_the_answer():
    """sin(x − 30t) exp(−t) leaves 1/30 of the equation; it is wrong by √∫(1 − e⁻ᵗ)² dt."""
    found = verdict(scl.zoo.convection(beta=30), lambda z: jnp.sin(z[0] - 30 * z[1]) * jnp.exp(-z[1]))
    assert found.relative["pde"] < 0.04
    assert found.relative["initial"] < 1e-6
    t = (np.arange(1000) + 0.5) / 1000
    assert found.estimated_error == pytest.approx(np.sqrt(np.mean((1 - np.exp(-t)) ** 2)), rel=0.1)
    assert not found.solved


def test_a_wrong_speed():
    found = verdict(scl.zoo.convection(beta=30), lambda z: jnp.sin(z[0] - 29 * z[1]))
    t = (np.arange(1000) + 0.5) / 1000
    assert found.estimated_error == pytest.approx(np.sqrt(np.mean((2 * np.sin(t / 2)) ** 2)), rel=0.2)
    assert not found.solved


@pytest.mark.parametrize("name", ["convection", "helmholtz"])
def test_an_answer_of_zero_lacks_all_of_the_solution(name):
    """Of oscillations that no wave of zero's length explains too: the estimate was 18 and 4e14."""
    found = verdict(getattr(scl.zoo, name)(), lambda z: 0.0 * z[0])
    assert found.estimated_error == pytest.approx(1.0, rel=0.01)
    assert not found.solved


def test_a_family_is_wrong_by_as_much_as_its_members():
    """Phases βt over a family are no waves, whatever their lengths: each member has the same error, e^(−t/5)'s."""
    answer = lambda z: jnp.exp(-z[1] / 5) * jnp.sin(z[0] - z[2] * z[1])
    found = verdict(scl.zoo.convection(beta=(1, 30)), answer)
    t = (np.arange(1000) + 0.5) / 1000
    assert found.estimated_error == pytest.approx(np.sqrt(np.mean((1 - np.exp(-t / 5)) ** 2)), rel=0.1)
    assert not found.solved


def nothing(z):
    return 0.0 * z[0]


@pytest.mark.parametrize(
    ("problem", "answer"), [(scl.zoo.convection, lambda z: 0 * z[0] + 0.3), (scl.zoo.poisson, nothing)]
)
def test_nothing_and_a_constant_are_no_solutions(problem, answer):
    report = held(problem(), lambda z: jnp.atleast_1d(answer(z))).check(points=100)
    assert not report.solved
    assert str(report).splitlines()[0].startswith("This is NOT a solution")


def test_what_is_left_is_told_of_what_is_prescribed():
    """u = 0 misses all of the start, and 3 sin x twice the whole of it, two thirds of its own size."""
    of = lambda c: verdict(scl.zoo.convection(beta=1), lambda z: c * jnp.sin(z[0] - z[1]))
    assert of(0.0).relative["initial"] == pytest.approx(1.0)
    assert "`initial` is off by 100 % of what it prescribes" in of(0.0).words
    # The size at a point is the answer's root mean square, 3/√2, where that is above the answer there.
    x = np.linspace(0, 2 * np.pi, 10_000)
    size = np.maximum(np.abs(3 * np.sin(x)), 3 / np.sqrt(2))
    expected = np.sqrt(np.mean((2 * np.sin(x)) ** 2) / np.mean(size**2))
    assert of(3.0).relative["initial"] == pytest.approx(expected, rel=1e-2)


def test_the_exact_solution_is_one_and_the_report_says_so_first():
    report = held(poisson(), lambda z: membrane(z)[None]).check(points=100)
    assert report.solved
    assert report.estimated_error < 1e-10
    first, second, *_ = str(report).splitlines()
    assert first.startswith("This is a solution: estimated relative error")
    assert second.startswith("Every constraint holds")
    about = report.to_dict()
    assert about["solved"] is True
    assert about["estimated_error"] == report.estimated_error
    assert set(about["relative"]) == {"dirichlet", "pde"}


def test_an_answer_that_is_not_a_number():
    found = verdict(poisson(), lambda z: jnp.log(z[0] - 0.5))
    assert not found.solved
    assert "not a number" in found.words


def test_polynomials_are_corrected_by_more_of_them():
    """Eight polynomials a side of sin πx sin πy: the error of the truncated series, and half of one coefficient."""
    domain = poisson().domain
    nodes = np.cos((np.arange(8) + 0.5) * np.pi / 8)
    table = np.cos(np.arange(8)[:, None] * np.arccos(nodes)) * (2 / 8)
    table[0] /= 2
    along = table @ np.sin(np.pi * (nodes + 1) / 2)
    model = scl.nn.Tiles([domain.lower], [domain.upper], [np.outer(along, along)[None]])
    solution = scl.solve(poisson(), progress=False)
    wrong = dataclasses.replace(solution, model=model)
    found = wrong.check(points=100)
    assert found.estimated_error == pytest.approx(wrong.error(), rel=0.05)
    assert solution.check(points=100).estimated_error < 1e-14


# --- branches ---


def circle():
    """|∇u| = 1 with u = 0 on a circle of radius ½: the signed distance, minus it, or a cone that never goes below."""
    angle = np.linspace(0, 2 * np.pi, 200)
    return scl.Problem(
        domain=scl.Box(x=(-1.0, 1.0), y=(-1.0, 1.0)),
        objective=scl.average(scl.Dirichlet(0.0, on={"x": np.cos(angle) / 2, "y": np.sin(angle) / 2})),
        constraints={
            "pde": scl.worst_case(lambda u_x, u_y: jnp.sqrt(u_x**2 + u_y**2 + 1e-12) - 1) <= 1e-6,
            "sign": scl.average(scl.Inequality(lambda u: -u, on={"x": [0.9, -0.9], "y": [0.9, 0.9]})) <= 1e-6,
        },
    )


def distance(z):
    return jnp.sqrt(z[0] ** 2 + z[1] ** 2 + 1e-12) - 0.5


def test_the_branches_of_the_eikonal_equation():
    assert verdict(circle(), distance).solved
    other = verdict(circle(), lambda z: -distance(z))
    assert not other.solved
    assert "`sign`" in other.words
    folded = verdict(circle(), lambda z: jnp.abs(distance(z)))
    assert not folded.solved
    assert "folds along `dirichlet`" in folded.words


def test_an_inequality_that_just_binds_is_no_fold():
    """Its one term is all that is left of it, and small."""
    x = np.linspace(0.1, 0.9, 9)
    rising = scl.Problem(
        domain=scl.Box(x=(0, 1)),
        objective=scl.average(scl.Observations({"x": x}, 1 - 1e-4 * x)),
        constraints={"rises": scl.worst_case(scl.Inequality(lambda u_x: -u_x)) <= 1e-3},
    )
    assert "folds" not in verdict(rising, lambda z: 1 - 1e-4 * z[0]).words


@pytest.mark.parametrize(
    ("bend", "sign"), [(lambda u: u, scl.Inequality), (lambda u: jnp.maximum(u, 0.0), lambda law: law)]
)
def test_a_bound_far_from_zero_is_seen_where_it_is_broken(bend, sign):
    """300 + 60 x is above 350 for x > 5/6: by 10 at most, of terms of 355."""
    x = np.linspace(0, 1, 21)
    above = lambda bound: scl.Problem(
        domain=scl.Box(x=(0, 1)),
        objective=scl.average(scl.Observations({"x": x}, 300 + 60 * x, noise=1.0)),
        constraints={"bound": scl.worst_case(sign(lambda u: bend(u - bound))) <= 1e-4},
    )
    line = lambda z: 300 + 60 * z[0]
    found = verdict(above(350.0), line)
    shares = (np.arange(100_000) + 0.5) / 100_000
    left = np.sqrt(np.mean(np.maximum(60 * shares - 50, 0.0) ** 2))
    broken = line([shares[shares > 5 / 6]])
    assert found.relative["bound"] == pytest.approx(left / np.sqrt(np.mean(broken**2)), rel=0.02)
    assert verdict(above(370.0), line).relative["bound"] == 0.0


# --- how many solutions ---


def square():
    return scl.Box(x=(0.0, 1.0), y=(0.0, 1.0))


def laplace(u_xx, u_yy):
    return u_xx + u_yy


def with_conditions(*conditions, equation=laplace, domain=None):
    return scl.Problem(
        domain=domain or square(),
        objective=sum((scl.average(c) for c in conditions[1:]), 1 * scl.average(conditions[0])) if conditions else None,
        constraints={"pde": scl.worst_case(equation) <= 1e-6},
    )


def notes(problem, function=lambda z: z[0] ** 2 - z[1] ** 2 + 1.0):
    return " ".join(verdict(problem, function).notes)


def test_a_constant_that_no_law_sees():
    domain = square()
    slopes = [scl.Neumann(v, on=domain.face(**f)) for v, f in ((0.0, {"x": 0}), (2.0, {"x": 1}), (0.0, {"y": 0}))]
    walls = [*slopes, scl.Neumann(-2.0, on=domain.face(y=1))]
    assert "a constant in `u`" in notes(with_conditions(*walls))
    assert "undetermined" not in notes(with_conditions(*walls, scl.Dirichlet(1.0, on={"x": [0.0], "y": [0.0]})))
    assert verdict(with_conditions(*walls), lambda z: z[0] ** 2 - z[1] ** 2 + 1.0).solved


def diffusion(u_t, u_xx):
    return u_t - u_xx


def test_a_ring_whose_slopes_need_not_agree():
    domain = scl.Box(x=(0.0, 2 * np.pi), t=(0.0, 1.0))
    wave = lambda z: jnp.sin(z[0]) * jnp.exp(-z[1])
    start = scl.Initial(lambda x: jnp.sin(x))
    ring = lambda order: with_conditions(start, scl.Periodic("x", order), equation=diffusion, domain=domain)
    assert "Periodic('x', order=1)" in notes(ring(0), wave)
    assert "undetermined" not in notes(ring(1), wave)
    assert "undetermined" not in " ".join(verdict(scl.zoo.convection(), lambda z: jnp.sin(z[0] - 30 * z[1])).notes)


def test_a_start_without_a_speed():
    domain = scl.Box(x=(0.0, 1.0), t=(0.0, 1.0))
    string = lambda u_tt, u_xx: u_tt - u_xx
    swing = lambda z: jnp.sin(PI * z[0]) * jnp.cos(PI * z[1])
    start = scl.Initial(lambda x: jnp.sin(PI * x))
    some = [start, scl.Dirichlet(0.0)]
    assert "Initial(..., order=1)" in notes(with_conditions(*some, equation=string, domain=domain), swing)
    whole = with_conditions(*some, scl.Initial(0.0, order=1), equation=string, domain=domain)
    assert "undetermined" not in notes(whole, swing)


def test_no_conditions_at_all():
    assert "no conditions" in notes(with_conditions())


def heat_with(*walls, domain=None):
    start = scl.Initial(lambda x: jnp.sin(PI * x))
    return with_conditions(start, *walls, equation=diffusion, domain=domain or scl.Box(x=(0.0, 1.0), t=(0.0, 1.0)))


def fading(z):
    return jnp.sin(PI * z[0]) * jnp.exp(-(PI**2) * z[1])


def drifting(*conditions):
    start = scl.Initial(lambda x: jnp.sin(PI * x))
    domain = scl.Box(x=(0.0, 1.0), t=(0.0, 1.0))
    return with_conditions(start, *conditions, equation=lambda u_t, u_x: u_t + u_x, domain=domain)


def bar(*conditions, unknowns=("u",)):
    """u″ = −1."""
    return scl.Problem(
        domain=scl.Box(x=(0.0, 1.0)),
        unknowns=unknowns,
        objective=sum((scl.average(c) for c in conditions[1:]), 1 * scl.average(conditions[0])),
        constraints={"pde": scl.worst_case(lambda u_xx: u_xx + 1) <= 1e-6},
    )


RING, STRIP, LINE = (
    scl.Box(x=(0.0, 2 * np.pi), t=(0.0, 1.0)),
    scl.Box(x=(0.0, 1.0), t=(0.0, 1.0)),
    scl.Box(x=(0.0, 1.0)),
)
SAGGING = lambda z: z[0] * (1 - z[0]) / 2
DRIFT = lambda z: jnp.sin(PI * (z[0] - z[1]))
OPEN = {
    "Laplace's with a side missing": (
        lambda: with_conditions(
            *(scl.Dirichlet(lambda y: y, on=square().face(x=x)) for x in (0, 1)),
            scl.Dirichlet(0.0, on=square().face(y=0)),
        ),
        lambda z: z[1] + 0.05 * jnp.sin(PI * z[0]) * jnp.sinh(PI * z[1]),
        "y = 1,",
    ),
    "heat with a wall missing": (lambda: heat_with(scl.Dirichlet(0.0, on=STRIP.face(x=0))), fading, "x = 1,"),
    "drift without inflow": (drifting, DRIFT, "x = 0,"),
    "drift with its condition at the outflow": (
        lambda: drifting(scl.Dirichlet(lambda t: jnp.sin(PI * (1 - t)), on=STRIP.face(x=1))),
        DRIFT,
        "x = 0,",
    ),
    "a bar held at one end": (lambda: bar(scl.Dirichlet(0.0, on=LINE.face(x=0))), SAGGING, "x = 1,"),
    "nothing prescribed": (with_conditions, lambda z: z[0] ** 2 - z[1] ** 2, "no conditions"),
    "a ring whose slopes need not agree": (
        lambda: with_conditions(scl.Initial(lambda x: jnp.sin(x)), scl.Periodic("x"), equation=diffusion, domain=RING),
        lambda z: jnp.sin(z[0]) * jnp.exp(-z[1]),
        "Periodic('x', order=1)",
    ),
    "an unknown in no law": (
        lambda: bar(scl.Dirichlet(0.0, unknown="u"), unknowns=("u", "v")),
        lambda z: jnp.stack([SAGGING(z), z[0]]),
        "No law names `v`",
    ),
}


@pytest.mark.parametrize("case", OPEN)
def test_one_of_many_solutions_is_not_the_one_that_was_asked_for(case):
    """Every law holds to rounding, and so it does with another answer: the first line and `solved` say so."""
    problem, answer, missing = OPEN[case]
    report = held(problem(), lambda z: jnp.atleast_1d(answer(z))).check(points=100)
    assert str(report).splitlines()[0] == "This is one of many solutions: the problem does not determine it."
    assert not report.solved
    assert report.estimated_error is None
    assert max(report.relative.values()) < 1e-6
    assert missing in " ".join(report.verdict.notes)


def stokes():
    walls = scl.Dirichlet({"u": lambda y: y * (1 - y), "v": 0.0})
    laws = lambda u_x, u_xx, u_yy, v_y, v_xx, v_yy, p_x, p_y: (u_xx + u_yy - p_x, v_xx + v_yy - p_y, u_x + v_y)
    return scl.Problem(
        domain=square(),
        unknowns=("u", "v", "p"),
        objective=scl.average(walls),
        constraints={"pde": scl.worst_case(laws) <= 1e-6},
    )


def growing(rate):
    return scl.Problem(
        domain=scl.Box(t=(0.0, 5.0)),
        objective=scl.average(scl.Initial(1.0)),
        constraints={"ode": scl.worst_case(lambda u, u_t: u_t - rate * u) <= 1e-6},
    )


def test_where_too_few_polynomials_tell_the_note_is_cautious():
    """Heat in a square with a side missing: three coordinates."""
    domain = scl.Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 0.2))
    sides = [scl.Dirichlet(0.0, on=domain.face(**side)) for side in ({"x": 0}, {"x": 1}, {"y": 0})]
    start = scl.Initial(lambda x, y: jnp.sin(PI * x) * jnp.sin(PI * y))
    equation = lambda u_t, u_xx, u_yy: u_t - u_xx - u_yy
    answer = lambda z: jnp.sin(PI * z[0]) * jnp.sin(PI * z[1]) * jnp.exp(-2 * PI**2 * z[2])
    of = lambda walls: notes(with_conditions(start, *walls, equation=equation, domain=domain), answer)
    assert "seems not to determine `u`" in of(sides)
    assert "y = 1," in of(sides)
    assert "determine" not in of([scl.Dirichlet(0.0)])


SENSOR = scl.Observations({"x": [0.3]}, [0.105])
DETERMINED = {
    "convection": (scl.zoo.convection, lambda z: jnp.sin(z[0] - 30 * z[1])),
    "helmholtz": (scl.zoo.helmholtz, lambda z: jnp.sin(2 * PI * z[0]) * jnp.sin(3 * PI * z[1])),
    "wave": (scl.zoo.wave, lambda z: scl.reference.wave(2.0)(z[0], z[1])),
    "heat": (scl.zoo.heat, lambda z: scl.reference.heat(0.1)(z[0], z[1])),
    "poisson": (scl.zoo.poisson, membrane),
    "klein_gordon": (scl.zoo.klein_gordon, lambda z: scl.reference.klein_gordon().solution(z[0], z[1])),
    "heat between insulated walls": (
        lambda: with_conditions(
            scl.Initial(lambda x: jnp.cos(PI * x)), scl.Neumann(0.0), equation=diffusion, domain=STRIP
        ),
        lambda z: jnp.cos(PI * z[0]) * jnp.exp(-(PI**2) * z[1]),
    ),
    "drift with its inflow": (
        lambda: drifting(scl.Dirichlet(lambda t: -jnp.sin(PI * t), on=STRIP.face(x=0))),
        DRIFT,
    ),
    "Stokes' but for a pressure": (stokes, lambda z: jnp.stack([z[1] * (1 - z[1]), 0 * z[0], 1 - 2 * z[0]])),
    "growth by e⁴⁰": (lambda: growing(8.0), lambda z: jnp.exp(8 * z[0])),
    "growth by e²⁰": (lambda: growing(4.0), lambda z: jnp.exp(4 * z[0])),
    "a sensor for a wall": (lambda: bar(scl.Dirichlet(0.0, on=LINE.face(x=0)), SENSOR), SAGGING),
    "a mean for a wall": (
        lambda: bar(scl.Dirichlet(0.0, on=LINE.face(x=0)), scl.Integral(lambda u: u, over=("x",), equals=1 / 12)),
        SAGGING,
    ),
    "rays from two sides": (
        lambda: with_conditions(
            *(scl.Dirichlet(lambda x, y: jnp.hypot(x, y), on=AWAY.face(**{name: 0.2})) for name in ("x", "y")),
            equation=lambda u_x, u_y: u_x**2 + u_y**2 - 1,
            domain=AWAY,
        ),
        lambda z: jnp.hypot(z[0], z[1]),
    ),
}
AWAY = scl.Box(x=(0.2, 1.0), y=(0.2, 1.0))


@pytest.mark.parametrize("case", DETERMINED)
def test_what_is_determined_is_solved(case):
    problem, answer = DETERMINED[case]
    found = verdict(problem(), answer)
    assert found.solved, found
    assert "does not determine" not in " ".join(found.notes)


def test_two_values_on_one_face():
    domain = square()
    two = [scl.Dirichlet(v, on=domain.face(x=0)) for v in (0.0, 1.0)]
    assert "two values of u at x = 0" in notes(with_conditions(*two))
    assert "two values" not in notes(with_conditions(scl.Dirichlet(0.0), scl.Dirichlet(0.0, on=domain.face(x=0))))


def test_two_values_on_a_round_boundary():
    disk = scl.Disk(x=0, y=0, radius=1)
    two = lambda one, other: with_conditions(scl.Dirichlet(one), scl.Dirichlet(other), domain=disk)
    assert "two values of u at one part of the boundary, up to 1 apart" in notes(
        two(0.0, 1.0), lambda z: 0.5 + 0 * z[0]
    )
    assert "two values" not in notes(two(lambda x: x, lambda x, y: x + 0 * y), lambda z: z[0])


def test_where_nothing_is_prescribed_zero_is_a_solution():
    found = verdict(with_conditions(scl.Dirichlet(0.0)), nothing)
    assert found.solved
    assert "zero satisfies every law" in " ".join(found.notes)


def test_waves_have_the_derivatives_that_they_claim():
    basis = waves(np.asarray([2.0, 3.0]), np.zeros(2), 5, 0)
    z, h = np.random.default_rng(0).uniform(size=(7, 2)), 1e-5
    for i, along in enumerate(((1, 0), (0, 1))):
        step = h * np.eye(2)[i]
        slope = (basis(z + step, (0, 0)) - basis(z - step, (0, 0))) / (2 * h)
        np.testing.assert_allclose(basis(z, along), slope, rtol=1e-5, atol=1e-5)
        right = h * np.eye(2)[0]
        slope = (basis(z + right, along) - basis(z - right, along)) / (2 * h)
        np.testing.assert_allclose(basis(z, (along[0] + 1, along[1])), slope, rtol=1e-5, atol=1e-4)
