"""The forward Laplacian: value, first derivatives and Laplacian of a function in one pass (Li et al. 2024).

Through y = f(x) the triple (x, J, L), with J the derivatives of x along some directions and L = Σᵢ wᵢ ∂ᵢ²x, becomes

    (f(x),  f'(x) Jᵢ,  f'(x) L + Σᵢ wᵢ f''(x)[Jᵢ, Jᵢ]),

so that a layer's matrix meets d + 2 vectors, where d nested second derivatives bring 2d + 1. The rule is applied to
each operation that JAX records of the function; most are linear, which leaves out the sum, or act entry by entry.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex
from jaxtyping import Array, Float

from .._base import Point

# Linear in all operands together.
LINEAR = {"add", "add_any", "sub", "neg", "reshape", "broadcast_in_dim", "squeeze", "expand_dims", "transpose"}
LINEAR |= {"reduce_sum", "concatenate", "slice", "rev", "pad", "copy", "copy_p", "convert_element_type", "cumsum"}
# Linear in the operand of this number, where the others are fixed.
LINEAR_IN = {"div": 0, "dynamic_slice": 0, "gather": 0}
BILINEAR = {"mul", "dot_general"}
# Of one operand, entry by entry.
ENTRYWISE = {"tanh", "sin", "cos", "tan", "exp", "exp2", "log", "log1p", "expm1", "logistic", "integer_pow", "square"}
ENTRYWISE |= {"sqrt", "rsqrt", "cbrt", "abs", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf"}
CALLS = {"jit", "pjit", "closed_call", "core_call"}


class Pushed(NamedTuple):
    """A value, its derivatives along the directions (the first axis), and its weighted sum of second derivatives; no
    derivatives, where the value does not depend on the point."""

    value: Any
    slopes: Any = None
    laplacian: Any = None

    @property
    def moves(self) -> bool:
        return self.slopes is not None


def forward_laplacian(
    function: Callable[[Point], Float[Array, " m"]],
    z: Point,
    directions: Float[Array, "k d"],
    weights: tuple[float, ...],
) -> Pushed:
    """Value, derivatives along `directions`, and Σᵢ wᵢ ∂ᵢ² of a function at `z`; directions of weight 0 have no second
    derivative in the sum."""
    closed = jax.make_jaxpr(function)(z)
    start = Pushed(z, directions.astype(z.dtype), jnp.zeros_like(z))
    (found,) = _through(closed, [start], jnp.asarray(weights, z.dtype))
    if found.moves:
        return found
    value = found.value
    return Pushed(value, jnp.zeros((len(directions), *value.shape), value.dtype), jnp.zeros_like(value))


def _through(closed: Any, given: list[Pushed], weights: Array) -> list[Pushed]:
    """The outputs of a traced function."""
    jaxpr = closed.jaxpr
    known: dict[Any, Pushed] = dict(zip(jaxpr.constvars, map(Pushed, closed.consts), strict=True))
    known.update(zip(jaxpr.invars, given, strict=True))
    read = lambda atom: Pushed(atom.val) if isinstance(atom, jex.Literal) else known[atom]
    for equation in jaxpr.eqns:
        inputs = [read(atom) for atom in equation.invars]
        if equation.primitive.name in CALLS:
            inner = equation.params["jaxpr"] if "jaxpr" in equation.params else equation.params["call_jaxpr"]
            found = _through(inner, inputs, weights)
        else:
            found = _operation(equation, inputs, weights)
        known.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _operation(equation: Any, inputs: list[Pushed], weights: Array) -> list[Pushed]:
    primitive, name = equation.primitive, equation.primitive.name
    parameters = primitive.get_bind_params(equation.params)

    def run(*values: Any) -> list[Any]:
        found = primitive.bind(*values, **parameters)
        return list(found) if primitive.multiple_results else [found]

    moving = [i for i, each in enumerate(inputs) if each.moves]
    plain = [each.value for each in inputs]
    # Numbers of points, comparisons and the like have no derivative.
    smooth = [jnp.issubdtype(v.aval.dtype, jnp.inexact) for v in equation.outvars]
    if not moving or not any(smooth):
        return [Pushed(value) for value in run(*plain)]

    def at(*values: Any) -> list[Any]:
        """The operation as a function of its operands that move alone, of its outputs those that have derivatives."""
        every = list(plain)
        for i, value in zip(moving, values, strict=True):
            every[i] = value
        return [found for found, keep in zip(run(*every), smooth, strict=True) if keep]

    pushed = [inputs[i] for i in moving]
    alone = len(moving) == 1 and (name in BILINEAR or LINEAR_IN.get(name) == moving[0])
    if name in LINEAR or alone or (name == "select_n" and 0 not in moving):
        # A sum of an operand that moves and one that does not is affine: its derivative is that of the first alone.
        triples = _affine(at, pushed)
    elif name in BILINEAR:
        triples = _bilinear(lambda a, b: at(a, b)[0], pushed[0], pushed[1], weights)
    elif name in ENTRYWISE:
        triples = _entrywise(lambda x: at(x)[0], pushed[0], weights)
    else:
        triples = _general(at, pushed, weights)
    found = iter(triples)
    every = [None] * len(smooth) if all(smooth) else run(*plain)
    return [next(found) if keep else Pushed(value) for keep, value in zip(smooth, every, strict=True)]


def _affine(at: Callable[..., list[Any]], pushed: list[Pushed]) -> list[Pushed]:
    values, along = jax.linearize(at, *(p.value for p in pushed))
    slopes = jax.vmap(along)(*(p.slopes for p in pushed))
    return [Pushed(*each) for each in zip(values, slopes, along(*(p.laplacian for p in pushed)), strict=True)]


def _bilinear(times: Callable[..., Any], a: Pushed, b: Pushed, weights: Array) -> list[Pushed]:
    left, right = lambda x: times(x, b.value), lambda y: times(a.value, y)
    slopes = jax.vmap(left)(a.slopes) + jax.vmap(right)(b.slopes)
    both = jnp.tensordot(weights, jax.vmap(times)(a.slopes, b.slopes), 1)
    return [Pushed(times(a.value, b.value), slopes, left(a.laplacian) + right(b.laplacian) + 2 * both)]


def _entrywise(function: Callable[..., Any], x: Pushed, weights: Array) -> list[Pushed]:
    ones = jnp.ones_like(x.value)
    slope = lambda v: jax.jvp(function, (v,), (ones,))[::-1]
    first, second, value = jax.jvp(slope, (x.value,), (ones,), has_aux=True)
    squares = jnp.tensordot(weights, x.slopes**2, 1)
    return [Pushed(value, first * x.slopes, first * x.laplacian + second * squares)]


def _general(at: Callable[..., list[Any]], pushed: list[Pushed], weights: Array) -> list[Pushed]:
    """By two nested passes along each direction, through this one operation."""
    values = tuple(p.value for p in pushed)
    once = lambda along, *v: jax.jvp(at, v, along)[1]

    def twice(*along: Any) -> tuple[Any, Any]:
        return jax.jvp(functools.partial(once, along), values, along)

    slopes, bends = jax.vmap(twice)(*(p.slopes for p in pushed))
    found, straight = jax.jvp(at, values, tuple(p.laplacian for p in pushed))
    laplacians = [s + jnp.tensordot(weights, bend, 1) for s, bend in zip(straight, bends, strict=True)]
    return [Pushed(*each) for each in zip(found, slopes, laplacians, strict=True)]
