"""Users' functions, told apart by what they compute."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend import core

from .digests import digest
from .modules import changed


class Traced(str):
    """A user's function, known by a digest of the operations that JAX records of it, constants included. Two that
    compute the same are equal, so that a lambda written again shares compiled code; one whose globals have changed is
    another function.

    `arguments` are examples, shapes and types of what it is called with; `owner` names it in messages. It is the text
    of its digest, since JAX compares it where Ctrl-C in code of ours would be taken for an error.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    owner: str

    def __new__(cls, function: Callable[..., Any], arguments: tuple[Any, ...], owner: str) -> "Traced":
        try:
            with jax.enable_x64(True):  # in which no constant is rounded
                content = _content(function, arguments, owner)
        except TypeError:  # it is written for single precision, lax.select(x > 0, x, jnp.float32(0)) say
            single = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, "float32"), arguments)
            content = _content(function, single, owner)
        traced = super().__new__(cls, content)
        traced.function, traced.arguments, traced.owner = function, arguments, owner
        return traced

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __getnewargs__(self) -> Any:  # for copies
        return self.function, self.arguments, self.owner

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def again(self) -> "Traced":
        """The function as it computes now."""
        return Traced(self.function, self.arguments, self.owner)


def refreshed(value: Any) -> Any:
    """A value with the functions in it as they compute now; itself, where none has changed."""
    if isinstance(value, Traced):
        now = value.again()
        return value if now == value else now
    if isinstance(value, dict):
        found = {key: refreshed(item) for key, item in value.items()}
        return found if any(found[key] is not value[key] for key in found) else value
    if isinstance(value, tuple):
        items = [refreshed(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        new = {name: found for name, old in fields.items() if (found := refreshed(old)) is not old}
        return changed(value, **new) if new else value
    return value


@contextlib.contextmanager
def told_in_words(owner: str) -> Iterator[None]:
    """What a user's function does that JAX cannot follow, as an error that says how to write it."""
    try:
        yield
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(
            f"{owner}: it calls a function of numpy, which JAX cannot differentiate; use that of jax.numpy instead, "
            "jnp.sin for np.sin."
        ) from error
    except jax.errors.TracerBoolConversionError as error:
        raise ValueError(
            f"{owner}: it decides by `if`, `and` or `or` on a value that is not known yet; use "
            "jnp.where(condition, one, other), and (one) & (other) for `one and other`."
        ) from error
    except jax.errors.ConcretizationTypeError as error:
        raise ValueError(
            f"{owner}: it asks for the value of a quantity that is not known yet, by `float`, `int` or a function of "
            "`math`, say; use the functions of jax.numpy, jnp.sin for math.sin."
        ) from error


def _content(function: Callable[..., Any], arguments: tuple[Any, ...], owner: str) -> str:
    with told_in_words(owner):
        # By a new function each time: what JAX knows of one that it has seen may be out of date.
        found, shapes = jax.make_jaxpr(lambda *a: function(*a), return_shape=True)(*arguments)
    _check(jax.tree.leaves(shapes), owner)
    constants = list(_constants(found))
    if any(isinstance(constant, Tracer) for constant in constants):
        return f"{id(function)}"  # made inside of a transformation, for this once
    # Addresses in memory are no part of what is computed.
    return digest(re.sub(r"0x[0-9a-f]+", "", str(found)), str(jax.tree.structure(shapes)), constants)


def _check(parts: list[Any], owner: str) -> None:
    if not parts:
        raise ValueError(f"{owner}: it returns nothing; end it with `return` and the expression that must vanish.")
    for part in parts:
        if part.dtype == jnp.bool_:
            raise ValueError(
                f"{owner}: it returns True or False, whose worst case means nothing; return what must vanish, the "
                "difference of both sides: u_t - u_xx instead of u_t == u_xx."
            )
        if jnp.issubdtype(part.dtype, jnp.complexfloating):
            raise ValueError(f"{owner}: it returns a complex number; return (value.real, value.imag).")


def _constants(closed: Any) -> Iterator[Any]:
    """Arrays that a function computes with, those of functions inside it too."""
    yield from closed.consts
    for equation in closed.jaxpr.eqns:
        for value in jax.tree.leaves(equation.params, is_leaf=lambda leaf: isinstance(leaf, core.ClosedJaxpr)):
            if isinstance(value, core.ClosedJaxpr):
                yield from _constants(value)
        yield from (v.val for v in equation.invars if isinstance(v, core.Literal) and np.ndim(v.val))
