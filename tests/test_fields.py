"""Names and derivatives: closed forms to machine precision, nothing computed that is not asked for, names read once."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy

import sclax as scl
from sclax._laws.fields import (
    Coordinate,
    Derivative,
    Parameter,
    Vocabulary,
    components,
    derivatives,
    evaluate,
    named,
    signature,
)

XYT = Vocabulary(("x", "y", "t"), ("u",), ("beta",))
Z = (0.3, -0.7, 1.2)


def compiled(function):
    """Compiles in half the time: these programs run once."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": "0"})


def values(model, names, z=Z, vocabulary=XYT, parameters=None):
    """The named quantities at one point."""
    quantities = [vocabulary.resolve(name, "test") for name in names]
    parameters = parameters or {"beta": jnp.asarray(2.0)}
    return compiled(lambda z: evaluate(model, vocabulary, parameters, z, quantities))(jnp.asarray(z))


# --- derivatives --------------------------------------------------------------------------------------------------

COORDINATES = sympy.symbols("x y t")
X, Y, T = COORDINATES
CASES = {
    "wave": sympy.sin(3 * X - 2 * T) * sympy.exp(Y) + 1 / (2 + X**2 * T),
    "kink": sympy.tanh(2 * X + Y * T) + X * Y * T,
}
ASKED = {
    "value": ["u"],
    "one direction": ["u_t"],
    "gradient": ["u_x", "u_y", "u_t"],
    "gradient and value": ["u", "u_x", "u_t"],
    "heat": ["u_t", "u_xx"],
    "laplacian": ["u_xx", "u_yy"],
    "mixed": ["u_xy", "u_yt"],
    "mixed in another order": ["u_yx", "u_xy", "u_txy"],
    "dispersive": ["u", "u_t", "u_x", "u_xxx"],
}


def plain(expression):
    """A sympy expression as a JAX model of one point."""
    function = sympy.lambdify(COORDINATES, expression, modules=[{"sin": jnp.sin, "tanh": jnp.tanh}, jnp])
    return lambda z: jnp.stack([function(*z)])


def exact(expression, name, z=Z):
    """The derivative that `name` asks for, by sympy in 30 digits."""
    suffix = name.partition("_")[2]
    derived = sympy.diff(expression, *[sympy.Symbol(c) for c in suffix]) if suffix else expression
    return float(derived.subs(dict(zip(COORDINATES, map(sympy.Float, z), strict=True))).evalf(30))


@pytest.mark.parametrize("case", CASES)
def test_derivatives_match_sympy_to_machine_precision(x64, case):
    model = plain(CASES[case])
    asked = [[XYT.resolve(name, "test") for name in names] for names in ASKED.values()]
    found = compiled(lambda z: [evaluate(model, XYT, {}, z, quantities) for quantities in asked])(jnp.asarray(Z))
    for names, values in zip(ASKED.values(), found, strict=True):
        expected = [exact(CASES[case], name) for name in names]
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)


def test_any_set_of_derivatives_of_a_polynomial(x64):
    """Six random sets of derivatives up to order four, asked for together, against numpy's polynomials."""
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(5, 5, 5))
    z = [1.1, -0.6, 0.8]

    def model(z):
        x, y, t = (jnp.stack([c**k for k in range(5)]) for c in z)
        return jnp.einsum("ijk,i,j,k->", coefficients, x, y, t)[None]

    def exact(index):
        derived = coefficients
        for axis in range(3):
            derived = np.polynomial.polynomial.polyder(derived, index.count(axis), axis=axis)
        return np.polynomial.polynomial.polyval3d(*z, derived)

    draw = lambda: tuple(sorted(int(i) for i in rng.integers(0, 3, rng.integers(0, 5))))
    sets = [{draw() for _ in range(rng.integers(1, 7))} for _ in range(6)]
    found = compiled(lambda z: [list(derivatives(model, z, sorted(wanted)).values()) for wanted in sets])(
        jnp.asarray(z)
    )
    for wanted, values in zip(sets, found, strict=True):
        np.testing.assert_allclose(np.ravel(values), [exact(index) for index in sorted(wanted)], rtol=1e-11)


def test_several_unknowns_keep_their_derivatives_apart(x64):
    """(u, v, p) = (x²y, sin xt, x + y t³), each with its own closed form."""
    vocabulary = Vocabulary(("x", "y", "t"), ("u", "v", "p"), ())
    model = lambda z: jnp.stack([z[0] ** 2 * z[1], jnp.sin(z[0] * z[2]), z[0] + z[1] * z[2] ** 3])
    x, y, t = Z
    expected = {
        "u_xx": 2 * y,
        "v_t": x * math.cos(x * t),
        "p_ttt": 6 * y,
        "u_y": x**2,
        "v_xt": math.cos(x * t) - x * t * math.sin(x * t),
        "p": x + y * t**3,
        "v_xx": -(t**2) * math.sin(x * t),
        "p_yt": 3 * t**2,
    }
    found = values(model, expected, vocabulary=vocabulary)
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-13)


def test_reverse_and_forward_gradients_agree(x64):
    """A bare gradient of one unknown takes a reverse pass; beside a second derivative it is forward."""
    model = plain(CASES["kink"])
    gradient = ["u_x", "u_y", "u_t"]
    jaxpr = str(jax.make_jaxpr(lambda z: derivatives(model, z, [(0,), (1,), (2,)]))(jnp.asarray(Z)))
    assert jaxpr.count("tanh") == 1  # one pass for three directions
    np.testing.assert_allclose(values(model, gradient), values(model, [*gradient, "u_xx"])[:3], rtol=1e-14)


def no_second_derivative():
    """sin, whose second derivative raises."""
    cosine = jax.custom_jvp(jnp.cos)

    @cosine.defjvp
    def refuse(primals, tangents):
        raise AssertionError("nobody asked for a second derivative")

    sine = jax.custom_jvp(jnp.sin)
    sine.defjvp(lambda primals, tangents: (sine(*primals), cosine(*primals) * tangents[0]))
    return lambda z: jnp.stack([sine(z[0] + 2 * z[1] - z[2])])


@pytest.mark.parametrize("names", [["u"], ["u_x"], ["u", "u_t"], ["u_x", "u_t"], ["u", "u_x", "u_y", "u_t"]])
def test_no_derivative_beyond_those_asked_for(names):
    phase = Z[0] + 2 * Z[1] - Z[2]
    slopes = {"u": math.sin(phase), "u_x": math.cos(phase), "u_y": 2 * math.cos(phase), "u_t": -math.cos(phase)}
    np.testing.assert_allclose(values(no_second_derivative(), names), [slopes[n] for n in names], rtol=1e-5)
    with pytest.raises(AssertionError, match="nobody asked"):
        values(no_second_derivative(), [*names, "u_xx"])


def flops(function):
    return jax.jit(function).lower(jnp.asarray(Z)).compile().cost_analysis()["flops"]


def test_shared_derivatives_cost_what_a_pass_by_hand_costs():
    """u_t and u_xx of a network: at most 10 % above two nested passes by hand, far below all second derivatives.

    The latter cost 2.0 to 2.3 times as much, depending on how well JAX shares their passes, so the bound is 1.5.
    """
    model = scl.nn.MLP(scl.Box(x=(0, 1), y=(-1, 1), t=(0, 2)), width=32, depth=3, key=jax.random.key(0))
    f = lambda z: model(z)[0]
    ex, et = jnp.eye(3)[0], jnp.eye(3)[2]

    def by_hand(z):
        _, u_t = jax.jvp(f, (z,), (et,))
        first = lambda z: jax.jvp(f, (z,), (ex,))
        (u, u_x), (_, u_xx) = jax.jvp(first, (z,), (ex,))
        return u, u_t, u_x, u_xx

    quantities = [XYT.resolve(name, "test") for name in ("u", "u_t", "u_x", "u_xx")]
    ours = flops(lambda z: evaluate(model, XYT, {}, z, quantities))
    assert ours <= 1.1 * flops(by_hand)
    assert 1.5 * ours < flops(lambda z: (jax.grad(f)(z), jax.hessian(f)(z)))


def test_wrong_output_shape_is_an_error():
    with pytest.raises(ValueError, match=r"`model` must map a point of shape \(3,\) to shape \(1,\).*got shape \(2,\)"):
        values(lambda z: z[:2], ["u_x"])


# --- names --------------------------------------------------------------------------------------------------------

MANY = Vocabulary(("x1", "x", "x2", "t"), ("u", "v", "u_s"), ("nu", "t0"))


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("x", Coordinate(1)),
        ("x1", Coordinate(0)),
        ("nu", Parameter("nu")),
        ("t0", Parameter("t0")),
        ("u", Derivative(0, ())),
        ("v", Derivative(1, ())),
        ("u_s", Derivative(2, ())),
        ("u_x", Derivative(0, (1,))),
        ("u_x1", Derivative(0, (0,))),
        ("u_x1x1", Derivative(0, (0, 0))),
        ("u_xx1", Derivative(0, (0, 1))),
        ("u_x1x", Derivative(0, (0, 1))),
        ("v_x2tx2", Derivative(1, (2, 2, 3))),
        ("u_s_tx", Derivative(2, (1, 3))),
    ],
)
def test_names_are_read_by_the_longest_match(name, quantity):
    assert MANY.resolve(name, "test") == quantity


@pytest.mark.parametrize("unknowns", [("u",), ("v", "u")])
def test_a_name_with_two_readings_is_an_error(unknowns):
    """With coordinates x and xx, u_xx is both a first and a second derivative."""
    vocabulary = Vocabulary(("x", "xx"), unknowns, ())
    with pytest.raises(ValueError, match=r"law: `u_xx` is ambiguous: ∂u along \(xx\) or ∂u along \(x, x\)"):
        vocabulary.resolve("u_xx", "law")
    assert vocabulary.resolve("u_x", "law") == Derivative(unknowns.index("u"), (0,))


def test_a_name_that_is_an_unknown_is_not_a_derivative_of_another():
    """Unknowns u and u_x beside a coordinate x: the plain name wins, its derivative is still read."""
    vocabulary = Vocabulary(("x",), ("u", "u_x"), ())
    assert vocabulary.resolve("u_x", "law") == Derivative(1, ())
    assert vocabulary.resolve("u_x_x", "law") == Derivative(1, (0,))


@pytest.mark.parametrize(
    ("name", "meant"), [("u_xz", "u_x"), ("betta", "beta"), ("ut", "u_t"), ("U_xx", "u_xx"), ("u_", "u")]
)
def test_unknown_names_list_what_is_on_offer(name, meant):
    with pytest.raises(ValueError, match="is not known") as error:
        XYT.resolve(name, "heat")
    message = str(error.value)
    for part in ("heat: ", f"`{name}`", "`u`", "`x`, `y`, `t`", "`beta`", "`u_x`, `u_y`, `u_t`"):
        assert part in message
    assert f"Did you mean `{meant}" in message


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda *args: 0.0, r"`\*args` in .* name each argument"),
        (lambda u, **rest: 0.0, r"`\*\*rest` in .* name each argument"),
        (max, "has no signature to read names from; wrap it"),
    ],
)
def test_functions_without_names_are_errors(function, fragment):
    with pytest.raises(ValueError, match=f"law: .*{fragment}"):
        signature(function, "law")


def test_arguments_with_defaults_are_not_injected(x64):
    """A default stays what it is; one on the name of a quantity would silently win over it, and is refused."""
    function = named(lambda u_x, beta, k=105.0: u_x * beta + k, XYT, "law")
    model = lambda z: jnp.stack([z[0] ** 2])
    found = function(model, {"beta": jnp.asarray(3.0)}, jnp.asarray(Z))
    np.testing.assert_allclose(found, 2 * 0.3 * 3 + 105, rtol=1e-14)
    assert function.order == 1
    with pytest.raises(ValueError, match="`x` has a default, 100.0"):
        named(lambda u_x, x=100.0: u_x + x, XYT, "law")


@pytest.mark.parametrize(("returned", "expected"), [(2.0, [2.0]), ((1, 2.5), [1.0, 2.5]), ([3, 4], [3.0, 4.0])])
def test_residuals_return_numbers_or_tuples(returned, expected):
    np.testing.assert_array_equal(components(returned, "law"), expected)


def test_a_residual_that_returns_an_array_is_an_error():
    with pytest.raises(
        ValueError, match=r"law: a residual returns a number or a tuple of numbers, got shapes \[\(2,\)"
    ):
        components(jnp.ones(2), "law")


# --- nonlocal residuals -------------------------------------------------------------------------------------------


def rows(condition, model, points, domain, unknowns=("u",), parameters=None):
    vocabulary = Vocabulary(domain.names, unknowns, tuple(parameters or {}))
    law = condition.bind(vocabulary, domain)
    parameters = {name: jnp.asarray(value) for name, value in (parameters or {}).items()}
    return np.asarray(compiled(lambda w: law.rows(model, parameters, w))(jnp.asarray(points)))


def test_field_residual_sees_the_network_anywhere(x64):
    """u(x, t) − u(x, 0) e^(−βt) and a difference quotient, at coordinates left out, moved and by dict."""
    domain = scl.Box(x=(0, 1), t=(0, 1))
    points = np.array([[0.2, 0.5], [0.9, 0.1]])
    x, t = points.T
    model = lambda z: jnp.stack([z[0] ** 2 * jnp.exp(-3 * z[1])])
    memory = lambda field, point: field() - field(t=0.0) * jnp.exp(-point.beta * point["t"])
    jump = lambda field, point: (field(x=point.x + 0.1) - field({"x": point.x}), field({"x": 0.5, "t": 1.0}))
    decay = x**2 * np.exp(-3 * t)
    for beta, expected in ((3.0, 0 * x), (1.0, decay - x**2 * np.exp(-t))):
        found = rows(scl.field_residual(memory), model, points, domain, parameters={"beta": beta})
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-15)
    found = rows(scl.field_residual(jump), model, points, domain)
    np.testing.assert_allclose(found[:, 0], ((x + 0.1) ** 2 - x**2) * np.exp(-3 * t), rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], 0.25 * np.exp(-3), rtol=1e-12)


def test_field_residual_gives_several_unknowns_by_name(x64):
    domain = scl.Box(x=(0, 1))
    model = lambda z: jnp.stack([z[0], 5 * z[0]])
    law = scl.field_residual(lambda field, point: field()["v"] - 5 * field(x=point.x / 2)["u"])
    found = rows(law, model, [[0.4]], domain, unknowns=("u", "v"))
    np.testing.assert_allclose(found, [[5 * 0.4 - 5 * 0.2]], rtol=1e-14)


def test_field_residual_names_a_coordinate_it_does_not_have():
    with pytest.raises(ValueError, match=r"field\(\) got `z`; the coordinates are `x`"):
        rows(scl.field_residual(lambda field, point: field(z=0.0)), lambda z: z, [[0.4]], scl.Box(x=(0, 1)))
    with pytest.raises(AttributeError, match="point has no `z`; it has `x`"):
        rows(scl.field_residual(lambda field, point: point.z), lambda z: z, [[0.4]], scl.Box(x=(0, 1)))
