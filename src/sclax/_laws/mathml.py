"""Laws as people write them: MathML of what a user's function computes, from the operations that JAX records of it."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any, NamedTuple
from xml.etree import ElementTree

import jax
import numpy as np
from jax.extend import core

from .._base import Traced

MOST = 60  # operations that a person still reads
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ",
    "psi": "ψ", "omega": "ω",
}  # fmt: skip
SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a text holds together
PLAIN = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "asin", "acos", "atan", "erf", "sign", "logistic")
FUNCTIONS = {"log": "ln", "log1p": "log1p", "abs": "abs", **{function: function for function in PLAIN}}
SAME = {"convert_element_type", "copy", "reshape", "squeeze", "broadcast_in_dim", "stop_gradient", "copy_p"}
INSIDE = ("jaxpr", "call_jaxpr")  # where an operation keeps those that it is made of
RAISED = dict(zip("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻", strict=True))
LOWERED = dict(zip("0123456789aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))


MINUS = "<mo form='prefix' lspace='0' rspace='0.05em'>−</mo>"


class Text(NamedTuple):
    """MathML, and how tightly it holds together; `value` of a plain number."""

    markup: str
    holds: int = ATOM
    value: float | None = None

    @property
    def negative(self) -> bool:
        return self.markup.startswith(MINUS)

    def within(self, level: int) -> str:
        """In brackets, where it would fall apart beside something that holds as tightly as `level`."""
        return self.markup if self.holds >= level else f"<mrow><mo>(</mo>{self.markup}<mo>)</mo></mrow>"


class Unwritable(Exception):
    """What a person would not write in one line."""


def name(word: str) -> str:
    """A name as it is typeset: β for beta, uₓₓ for u_xx, ∇u for grad_u."""
    for prefix, sign in (("grad_", "∇"), ("lap_", "Δ")):
        if word.startswith(prefix):
            return f"<mrow><mi mathvariant='normal'>{sign}</mi>{name(word.removeprefix(prefix))}</mrow>"
    stem, _, index = word.partition("_")
    letters = stem.rstrip("0123456789")
    index = stem[len(letters) :] + index if letters else index
    body = f"<mi>{GREEK.get(letters or stem, escape(letters or stem))}</mi>"
    return f"<msub>{body}<mi>{escape(index)}</mi></msub>" if index else body


def number(value: float) -> str:
    """A number; multiples of π as such."""
    sign = MINUS if value < 0 else ""
    return sign + _size(abs(value))


def _size(value: float) -> str:
    if not np.isfinite(value):
        return "<mi>∞</mi>" if value == np.inf else "<mi>NaN</mi>"
    turns = Fraction(value / np.pi).limit_denominator(12)
    if value and turns and turns.numerator <= 64 and abs(float(turns) * np.pi / value - 1) < 1e-6:
        above = "<mi>π</mi>" if turns.numerator == 1 else f"<mrow><mn>{turns.numerator}</mn><mi>π</mi></mrow>"
        return above if turns.denominator == 1 else f"<mfrac>{above}<mn>{turns.denominator}</mn></mfrac>"
    squares = Fraction(value / np.pi**2).limit_denominator(4)
    if value and squares and abs(float(squares) * np.pi**2 / value - 1) < 1e-6:
        return f"{'' if squares == 1 else _size(float(squares))}<msup><mi>π</mi><mn>2</mn></msup>"
    over = value * np.pi
    if len(f"{over:.5g}") + 4 < len(f"{value:.8g}") and abs(float(f"{over:.3g}") / over - 1) < 1e-6:
        return f"<mfrac><mn>{over:.3g}</mn><mi>π</mi></mfrac>"
    digits, _, power = f"{value:.6g}".partition("e")
    return f"<mn>{digits}</mn>" + (f"<mo>·</mo><msup><mn>10</mn><mn>{int(power)}</mn></msup>" if power else "")


def plain(markup: str) -> str:
    """MathML as a line of text, for a terminal: uₓₓ, u_y, x², a/b."""
    return " ".join(_plain(ElementTree.fromstring(f"<mrow>{markup}</mrow>")).split())


def _plain(node: ElementTree.Element) -> str:
    parts, text = [_plain(child) for child in node], node.text or ""
    shifted = lambda part, letters, sign: (
        "".join(letters[c] for c in part) if set(part) <= set(letters) else f"{sign}{part}"
    )
    match node.tag:
        case "mo" if text and text in "+−=≤≥∈" and node.get("form") != "prefix":
            return f" {text} "
        case "mo":
            return {",": ", ", "\u2061": ""}.get(text, text)
        case "mspace":
            return " "
        case "msub":
            return parts[0] + shifted(parts[1], LOWERED, "_")
        case "msup":
            return parts[0] + shifted(parts[1], RAISED, "^")
        case "mfrac":
            return "/".join(f"({part})" if set(part) & set(" /·") else part for part in parts)
        case "msqrt":
            return f"√({''.join(parts)})"
    return text + "".join(parts)


def expressions(function: Traced, names: Sequence[str]) -> tuple[str, ...]:
    """What a function of named quantities gives, one expression for each component; none where it is too long or made
    of what nobody writes."""
    try:
        with jax.enable_x64(True):
            closed = jax.make_jaxpr(lambda *a: function(*a))(*function.arguments)
        known = [Text(name(word)) for word in names]
        return tuple(text.within(SUM) for text in _outputs(closed.jaxpr, closed.consts, known, [MOST]))
    except Exception:  # whatever a function of the user's own does, it need not be written out
        return ()


def _outputs(jaxpr: Any, consts: Sequence[Any], given: Sequence[Text], left: list[int]) -> list[Text]:
    texts: dict[Any, Text] = dict(zip(jaxpr.invars, given, strict=True))
    texts |= {variable: _constant(value) for variable, value in zip(jaxpr.constvars, consts, strict=True)}
    read = lambda atom: _constant(atom.val) if isinstance(atom, core.Literal) else texts[atom]
    for equation in jaxpr.eqns:
        left[0] -= 1
        if left[0] < 0:
            raise Unwritable
        inner = next((equation.params[key] for key in INSIDE if key in equation.params), None)
        arguments = [read(atom) for atom in equation.invars]
        if inner is None:
            found = [_operation(equation.primitive.name, arguments, equation.params)]
        else:
            found = _outputs(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), arguments, left)
        texts |= dict(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _constant(value: Any) -> Text:
    if np.size(value) != 1:
        raise Unwritable
    value = float(np.asarray(value).reshape(()))
    return Text(number(value), PRODUCT if value < 0 else ATOM, value)


def _power(base: Text, exponent: str) -> Text:
    return Text(f"<msup>{base.within(ATOM)}{exponent}</msup>", POWER)


def _call(function: str, *arguments: Text) -> Text:
    inside = "<mo>,</mo>".join(a.markup for a in arguments)
    if function == "abs":
        return Text(f"<mrow><mo>|</mo>{inside}<mo>|</mo></mrow>")
    return Text(f"<mrow><mi>{function}</mi><mo>&#x2061;</mo><mo>(</mo>{inside}<mo>)</mo></mrow>", POWER)


def _sum(a: Text, b: Text, sign: str) -> Text:
    if a.value == 0 and sign == "+":
        return b
    if b.value == 0:
        return a
    if b.negative and b.holds >= PRODUCT:  # a + (−b) is a − b
        return Text(f"{a.markup}<mo>{'−' if sign == '+' else '+'}</mo>{b.markup.removeprefix(MINUS)}", SUM)
    return Text(f"{a.markup}<mo>{sign}</mo>{b.within(SUM if sign == '+' else PRODUCT)}", SUM)


def _product(a: Text, b: Text) -> Text:
    if a.value == -1 or b.value == -1:
        return _minus(b if a.value == -1 else a)
    if b.value is not None and a.value is None:
        a, b = b, a
    if a.value == 1:
        return b
    if b.negative and not a.negative:
        a, b = _minus(a), Text(b.markup.removeprefix(MINUS), b.holds)
    between = "<mo>·</mo>" if b.value is not None else "<mspace width='0.17em'/>"
    return Text(f"{a.within(PRODUCT)}{between}{b.within(PRODUCT)}", PRODUCT)


def _minus(a: Text) -> Text:
    if a.negative and a.holds >= PRODUCT:
        return Text(a.markup.removeprefix(MINUS), a.holds)
    return Text(f"{MINUS}{a.within(PRODUCT)}", PRODUCT)


def _quotient(a: Text, b: Text) -> Text:
    sign = MINUS if a.negative and a.holds >= PRODUCT else ""
    above = a.markup.removeprefix(MINUS) if sign else a.markup
    return Text(f"{sign}<mfrac><mrow>{above}</mrow><mrow>{b.markup}</mrow></mfrac>", PRODUCT if sign else ATOM)


_BINARY: Mapping[str, Callable[[Text, Text], Text]] = {
    "add": lambda a, b: _sum(a, b, "+"),
    "add_any": lambda a, b: _sum(a, b, "+"),
    "sub": lambda a, b: _minus(b) if a.value == 0 else _sum(a, b, "−"),
    "mul": _product,
    "div": _quotient,
    "pow": lambda a, b: _power(a, f"<mrow>{b.markup}</mrow>"),
    "max": lambda a, b: _call("max", a, b),
    "min": lambda a, b: _call("min", a, b),
    "dot_general": lambda a, b: Text(f"{a.within(PRODUCT)}<mo>·</mo>{b.within(PRODUCT)}", PRODUCT),
}


def _operation(kind: str, arguments: list[Text], about: Mapping[str, Any]) -> Text:
    if kind in SAME:
        return arguments[0]
    if kind in _BINARY:
        return _BINARY[kind](*arguments)
    if kind in FUNCTIONS and arguments[0].value is not None and hasattr(np, kind):
        return _constant(getattr(np, kind)(arguments[0].value))
    if kind in FUNCTIONS:
        return _call(FUNCTIONS[kind], *arguments)
    match kind:
        case "neg":
            return _minus(arguments[0])
        case "square":
            return _power(arguments[0], "<mn>2</mn>")
        case "integer_pow" if about["y"] > 0:
            return _power(arguments[0], f"<mn>{about['y']}</mn>")
        case "integer_pow" if about["y"] == -1:
            return _quotient(Text("<mn>1</mn>"), arguments[0])
        case "sqrt":
            return Text(f"<msqrt>{arguments[0].markup}</msqrt>")
    raise Unwritable
