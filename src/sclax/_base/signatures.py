"""Argument names of users' functions, which say what to inject."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def signature(function: Callable[..., Any], owner: str, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the arguments without a default, which are the ones to inject; names `taken` may not have one."""
    if not callable(function):
        raise ValueError(f"{owner}: expected a function by argument name, got {function!r}.")
    try:
        arguments = inspect.signature(function).parameters.values()
    except ValueError:
        raise ValueError(
            f"{owner}: {function!r} has no signature to read names from; wrap it, for example `lambda x: jnp.sin(x)`."
        ) from None
    names = []
    for argument in arguments:
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise ValueError(
                f"{owner}: `{argument}` in {function!r} has no names to inject; "
                "name each argument, for example `lambda x, t: ...`."
            )
        if argument.kind is argument.KEYWORD_ONLY and argument.default is argument.empty:
            raise ValueError(f"{owner}: `{argument.name}` in {function!r} is keyword-only; remove the `*` before it.")
        if argument.default is argument.empty:
            names.append(argument.name)
        elif argument.name in taken:
            raise ValueError(
                f"{owner}: `{argument.name}` has a default, {argument.default!r}, and is a name of the problem too; "
                "remove the default to have it injected, or rename it."
            )
    return tuple(names)
