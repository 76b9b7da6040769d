"""Unknown coefficients: least-squares values, closed-form deviations, and what data do not determine."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

import sclax as scl
from sclax._result.estimates import estimates

from . import small

METHOD = scl.PrimalDual(scl.GaussNewton(rows=20, warm_up=0), scl.MirrorAscent())
SIGMA = 0.05
X = np.linspace(0.1, 1.0, 10)
NOISE = SIGMA * np.random.default_rng(0).standard_normal(10)
TIGHT = 1e-6
UNIT = small.unit()


class Lines(eqx.Module):
    """The network of several unknowns, each  start + slope z  of the first coordinate."""

    starts: jnp.ndarray
    slopes: jnp.ndarray

    def __call__(self, z):
        return self.starts + self.slopes * z[0]


def lines(n):
    return Lines(jnp.zeros(n), jnp.zeros(n))


def seen(values, noise=SIGMA):
    return scl.average(scl.Observations({"x": X}, values, noise=noise))


def solve(problem, model, steps=60):
    return scl.solve(problem, model, METHOD, steps=steps, progress=False)


def proportional(values, noise=SIGMA, **unknown):
    """u = c x, observed at points:  c = Σ x y / Σ x²,  with the deviation  σ / √(Σ x²)."""
    return scl.Problem(
        domain=UNIT,
        parameters={"c": scl.Unknown(**unknown)},
        objective=seen(values, noise),
        constraints={"law": scl.worst_case(lambda u, c, x: u - c * x) <= TIGHT},
    )


Y = 2.0 * X + NOISE
BEST = np.sum(X * Y) / np.sum(X**2)
DEVIATION = SIGMA / np.sqrt(np.sum(X**2))


@pytest.fixture(scope="module")
def plain():
    return solve(proportional(Y, initial=-20.0), lines(1), steps=150)  # of another sign and size


# --- numbers --------------------------------------------------------------------------------------------------------


def test_an_unknown_is_the_least_squares_estimate_with_its_deviation(plain):
    found = plain.estimates["c"]
    assert found.value == pytest.approx(BEST, abs=0.1 * DEVIATION)
    assert found.deviation == pytest.approx(DEVIATION, rel=0.1)
    half = 1.96 * found.deviation
    assert found.interval == pytest.approx((found.value - half, found.value + half))
    assert found.identifiable
    assert found.note == ""
    assert plain.parameters["c"] == pytest.approx(found.value)
    assert plain(x=0.5) == pytest.approx(0.5 * BEST, abs=2e-3)


class Ray(eqx.Module):
    """u = size · slope · x, a slope of one being a large one."""

    slope: jnp.ndarray
    size: float = eqx.field(static=True)

    def __call__(self, z):
        return (self.size * self.slope * z[0])[None]


def placed(problem, network, **values):
    """A network with the unknowns at given values, in place of a trained one."""
    model = problem.with_sought(network, jr.key(0))
    raws = [(values[n.name] - n.initial) / abs(n.initial) for n in model.unknown]
    return eqx.tree_at(lambda m: [n.raw for n in m.unknown], model, [jnp.asarray(raw) for raw in raws])


@pytest.mark.parametrize(("initial", "value", "noise"), [(1.0, 100.0, 2.0), (0.01, 1.0, SIGMA), (-1.0, 15.0, 1.2)])
def test_an_unknown_far_from_its_initial_value_is_as_sure_as_the_data(x64, initial, value, noise):
    problem = proportional(value * X, noise, initial=initial)
    found = estimates(problem, placed(problem, Ray(jnp.asarray(0.2), 5 * value), c=value))["c"]
    assert found.value == pytest.approx(value)
    assert found.deviation == pytest.approx(noise / np.sqrt(np.sum(X**2)), rel=0.01)
    assert found.identifiable


@pytest.mark.parametrize("noise", [SIGMA, None])
def test_many_sensors_are_taken_together_and_say_as_much_as_they_do_apart(x64, noise):
    """Beyond 3000 sensors neighbours become one row: 7001 of them, in any order, know u = c x by σ / √(Σ x²) still."""
    draw = np.random.default_rng(0)
    x = draw.uniform(size=7001)
    measured = 2 * x + SIGMA * draw.standard_normal(len(x))
    problem = scl.Problem(
        domain=UNIT,
        parameters={"c": scl.Unknown(1.0)},
        objective=scl.average(scl.Observations({"x": x}, measured, noise=noise)),
        constraints={"law": scl.worst_case(lambda u, c, x: u - c * x) <= TIGHT},
    )
    found = estimates(problem, placed(problem, Ray(jnp.asarray(0.2), 10.0), c=2.0))["c"]
    assert found.deviation == pytest.approx(SIGMA / np.sqrt(np.sum(x**2)), rel=0.05)


def test_two_that_only_appear_as_a_product_are_open_far_from_their_initial_values_too(x64):
    """u = a b x with a = 100, b = 0.02: one half of `a` would do with twice `b`."""
    problem = scl.Problem(
        domain=UNIT,
        parameters={"a": scl.Unknown(1.0), "b": scl.Unknown(1.0)},
        objective=seen(2 * X),
        constraints={"law": scl.worst_case(lambda u, a, b, x: u - a * b * x) <= TIGHT},
    )
    for found in estimates(problem, placed(problem, Ray(jnp.asarray(0.2), 10.0), a=100.0, b=0.02)).values():
        assert not found.identifiable
        assert found.note


def test_the_report_has_the_estimates_before_what_was_asked(plain, tmp_path):
    text = plain.report(tmp_path / "report.html", checked=plain.check(points=1_000)).read_text()
    found = plain.estimates["c"]
    table = text[text.index("What was found of the coefficients") : text.index("what was asked")]
    for part in (f"{found.value:.6g}", f"{found.deviation:.2g}", f"[{found.interval[0]:.6g}, {found.interval[1]:.6g}]"):
        assert f">{part}<" in table
    assert "✓ yes" in table


def test_intervals_of_positive_unknowns_are_multiplicative():
    """c = 0.02 ± 0.026: the linear interval would reach below zero."""
    values = 0.02 * X + NOISE - X * np.sum(X * NOISE) / np.sum(X**2)
    found = solve(proportional(values, initial=0.05, positive=True), lines(1)).estimates["c"]
    low, high = found.interval
    assert found.value == pytest.approx(0.02, abs=0.1 * DEVIATION)
    assert 0 < low < found.value < high
    assert low * high == pytest.approx(found.value**2)
    assert np.log(high / found.value) == pytest.approx(1.96 * found.deviation / found.value)
    assert found.value - 1.96 * found.deviation < 0


def test_a_network_finds_a_rate_of_growth_without_a_known_noise(tmp_path):
    """u' = c u with u(0) = 1 by construction: the sensitivities are  s = x exp(c x),  and the spread of the residuals
    stands for the noise. A file gives the same estimate."""
    values = np.exp(0.7 * X) + NOISE
    problem = scl.Problem(
        domain=UNIT,
        parameters={"c": scl.Unknown(1.0)},
        objective=seen(values, None),
        constraints={"ode": scl.worst_case(lambda u_x, u, c: u_x - c * u) <= TIGHT},
    )
    network = scl.nn.MLP(UNIT, width=10, depth=2, key=jr.key(0))
    solution = solve(problem, scl.nn.HardConstraint(network, lambda u, x: 1 + x * u, UNIT), steps=150)
    best = 0.7
    for _ in range(20):  # Gauss-Newton by hand
        slopes, left = X * np.exp(best * X), values - np.exp(best * X)
        best += slopes @ left / (slopes @ slopes)
    spread = np.sqrt(np.mean(left**2))
    assert spread < 0.8 * SIGMA  # both can be told apart
    deviation = spread / np.sqrt(slopes @ slopes)
    found = solution.estimates["c"]
    assert found.value == pytest.approx(best, abs=0.2 * deviation)
    assert found.deviation == pytest.approx(deviation, rel=0.15)
    solution.save(tmp_path / "growth.scl")
    loaded = scl.load(tmp_path / "growth.scl", problem, solution.model)
    again = loaded.estimates["c"]
    assert (again.value, again.deviation) == pytest.approx((found.value, found.deviation), rel=1e-6)
    assert loaded.parameters == solution.parameters


# --- where laws may name them ---------------------------------------------------------------------------------------

WHERE = {"an initial value": "a", "a quantity": "b", "the whole field": "c", "a value on a face": "d"}


@pytest.fixture(scope="module")
def everywhere():
    """u = a, v = b t, w = c t, s = d, each law another way to name an unknown; all are observed."""
    domain = scl.Box(t=(0, 1))
    values = {"u": 3 + NOISE, "v": 2 * X + NOISE, "w": -1 * X + NOISE[::-1], "s": 0.5 - NOISE}
    by = lambda law: scl.worst_case(law) <= TIGHT
    problem = scl.Problem(
        domain=domain,
        unknowns=tuple(values),
        parameters={name: scl.Unknown(1.0) for name in "abcd"},
        quantities={"q": lambda v, b, t: v - b * t},
        objective=scl.average(scl.Observations({"t": X}, values, noise=SIGMA)),
        constraints={
            "initial": by(scl.Initial(lambda a: a, unknown="u")),
            "quantity": by(lambda q_t, u_t, s_t: (q_t, u_t, s_t)),
            "origin": by(scl.Initial(0.0, unknown="v")),
            "field": by(scl.field_residual(lambda field, point: field()["w"] - point["c"] * point.t)),
            "face": by(scl.Dirichlet(lambda d: d, on=domain.face(t=1), unknown="s")),
        },
    )
    return solve(problem, lines(4), steps=300), dict(zip("abcd", values.values(), strict=True))


@pytest.mark.parametrize("case", WHERE)
def test_unknowns_may_be_named_in(everywhere, case):
    solution, values = everywhere
    name = WHERE[case]
    slopes = X if name in "bc" else np.ones(10)
    deviation = SIGMA / np.sqrt(slopes @ slopes)
    found = solution.estimates[name]
    assert found.value == pytest.approx(slopes @ values[name] / (slopes @ slopes), abs=0.2 * deviation)
    assert found.deviation == pytest.approx(deviation, rel=0.1)


# --- what is not determined -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hidden():
    """u = a b x + c is measured, v = d is not."""
    problem = scl.Problem(
        domain=UNIT,
        unknowns=("u", "v"),
        parameters={
            "a": scl.Unknown(1.0),
            "b": scl.Unknown(1.0, positive=True),
            "c": scl.Unknown(0.5),
            "d": scl.Unknown(),
        },
        objective=scl.average(scl.Observations({"x": X}, {"u": 6 * X - 1 + NOISE}, noise=SIGMA)),
        constraints={"law": scl.worst_case(lambda u, v, a, b, c, d, x: (u - a * b * x - c, v - d)) <= TIGHT},
    )
    return solve(problem, lines(2), steps=200).estimates


def test_of_two_that_only_appear_as_a_product_neither_is_determined(hidden):
    a, b, c = (hidden[name] for name in "abc")
    for one in (a, b):
        assert not one.identifiable
        assert "`a`" in one.note
        assert "`b`" in one.note
        assert "`c`" not in one.note
        assert "NOT DETERMINED" in str(one)
    # The straight line by least squares: its intercept, with its deviation, and the product are determined.
    (slope, intercept), table = np.polyfit(X, 6 * X - 1 + NOISE, 1), np.vander(X, 2)
    deviations = SIGMA * np.sqrt(np.diagonal(np.linalg.inv(table.T @ table)))
    assert c.identifiable
    assert c.value == pytest.approx(intercept, abs=0.2 * deviations[1])
    assert c.deviation == pytest.approx(deviations[1], rel=0.1)
    assert a.value * b.value == pytest.approx(slope, abs=0.2 * deviations[0])


def test_what_no_sensor_sees_is_not_determined(hidden):
    assert not hidden["d"].identifiable
    assert hidden["d"].note == "the data hardly change with `d`."


# --- fields ---------------------------------------------------------------------------------------------------------


def a_true(x):
    return 1 + np.sin(2 * x) / 2


@pytest.fixture(scope="module")
def field():
    """u = a(x) t by  u_t = a  and  u_x = t a_x,  u observed on a grid."""
    domain = scl.Box(x=(0, 1), t=(0, 1))
    x, t = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 12), np.linspace(0.1, 1, 4), indexing="ij"))
    noise = 1e-3 * np.random.default_rng(1).standard_normal(x.size)
    problem = scl.Problem(
        domain=domain,
        parameters={"a": scl.UnknownField("x", positive=True)},
        objective=scl.average(scl.Observations({"x": x, "t": t}, a_true(x) * t + noise, noise=1e-3)),
        constraints={"law": scl.worst_case(lambda u_t, u_x, a, a_x, t: (u_t - a, u_x - t * a_x)) <= 1e-5},
    )
    return solve(problem, scl.nn.Chebyshev(domain, terms=(8, 3)), steps=40)


def test_a_field_is_recovered_with_its_derivative(field):
    x = np.linspace(0, 1, 33)
    found = field("a", x=x)
    np.testing.assert_allclose(found, a_true(x), rtol=0.02)
    np.testing.assert_array_equal(found, field("a", x=x, t=0.9))  # it does not depend on what was left out
    np.testing.assert_allclose(field("a_x", x=x[3:-3]), np.cos(2 * x[3:-3]), atol=0.1)
    np.testing.assert_allclose(field("u", x=x, t=0.5), 0.5 * a_true(x), atol=0.02)


def test_the_estimate_of_a_field_is_on_its_own_coordinates(field):
    found = field.estimates["a"]
    assert isinstance(found.value, xr.DataArray)
    assert found.value.dims == found.deviation.dims == ("x",)
    x = found.value["x"].values
    np.testing.assert_allclose(found.value, field("a", x=x), rtol=1e-5)
    low, high = found.interval
    assert np.all(low < found.value)
    assert np.all(found.value < high)
    np.testing.assert_allclose(low * high, found.value**2, rtol=1e-9)
    assert np.mean((low < a_true(x)) & (a_true(x) < high)) >= 0.9
    assert found.identifiable
    assert np.max(found.deviation) < 0.01


def test_positive_unknowns_stay_positive_whatever_the_weights_are():
    problem = scl.Problem(
        domain=UNIT,
        parameters={"a": scl.UnknownField("x", positive=True, initial=3.0), "c": scl.Unknown(2.0, positive=True)},
        objective=scl.average(lambda u, a, c: u - a * c),
    )
    learned = problem.with_sought(small.value(), jr.key(0))
    arrays, static = eqx.partition(learned, eqx.is_inexact_array)
    z = jnp.linspace(0, 1, 50)[:, None]
    for size in (0.0, 0.3, -0.3):
        model = eqx.combine(jax.tree.map(lambda w, size=size: w + size, arrays), static)
        assert float(model.numbers["c"]) == pytest.approx(2 * np.exp(size), rel=1e-5)
        assert np.all(jax.vmap(model.fields[0])(z) > 0)


# --- errors ---------------------------------------------------------------------------------------------------------


def posed(parameters, law=lambda u: u, domain=UNIT, **more):
    return scl.Problem(domain=domain, parameters=parameters, objective=scl.average(law), **more)


def test_an_unknown_may_hide_in_a_quantity_that_a_law_names():
    """Also in one that another is made of."""
    quantities = {"flux": lambda u_x, c: c * u_x, "loss": lambda flux_x: -flux_x}
    for law in (lambda flux_x: flux_x - 1, lambda loss: loss + 1):
        assert "c" in posed({"c": scl.Unknown(1.0)}, law, quantities=quantities).sought


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (lambda: posed({"c": scl.Unknown(1.0)}), ("nothing asks for the parameter `c`", "argument of a law", "remove")),
        (lambda: posed({"a": scl.UnknownField("x")}), ("no law asks for the unknown `a`", "argument of", "remove")),
        (
            lambda: posed({"c": scl.Unknown(1.0)}, quantities={"q": lambda u_x, c: c * u_x}),
            ("no law asks for the unknown `c`", "could be anything"),
        ),
        (
            lambda: posed({"a": scl.UnknownField(("x", "y"))}, lambda u, a: u - a),
            ("`a`", "`y`", "no coordinate", "`x`"),
        ),
        (lambda: scl.UnknownField(()), ("UnknownField", "no coordinate", "Unknown(initial)")),
        (lambda: scl.Unknown(-2.0, positive=True), ("Unknown", "`positive=True`", "positive `initial`", "-2.0")),
        (lambda: scl.UnknownField("x", positive=True, initial=0.0), ("UnknownField", "`positive=True`", "0.0")),
        (lambda: scl.Unknown("one"), ("Unknown", "`initial`", "'one'")),
        (lambda: scl.Unknown(np.nan), ("Unknown", "`initial`", "nan")),
        (
            lambda: posed({"r": scl.Unknown(0.3)}, lambda u, r: u - r, scl.Disk(x=0, y=0, radius="r")),
            ("shape", "`r`", "cannot be learned", "family", "parameters={'r': (0.1, 0.5)}"),
        ),
        (lambda: posed({}, scl.Observations({"x": [0.5, 1.5]}, [1.0, 2.0])), ("Observations", "`x`", "1.5")),
        (lambda: scl.Observations({"x": [0.5]}, [1.0], noise=0.0), ("Observations", "`noise`", "positive", "0.0")),
        (lambda: scl.Observations({"x": [0.5, 0.6]}, [1.0, 2.0], noise=[1.0, -3.0]), ("`noise`", "positive", "-3.0")),
    ],
)
def test_mistakes_are_told(make, fragments):
    with pytest.raises(ValueError, match=".") as caught:
        make()
    for fragment in fragments:
        assert fragment in str(caught.value)
