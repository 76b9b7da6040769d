"""Frozen modules, and optimisers of optax, in the words that make them."""

import contextlib
import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np
import optax

WIDTH = 100


def words(thing: Any) -> str:
    """The call that makes `thing`, without the arguments that are left at their defaults."""
    if isinstance(thing, optax.GradientTransformation):
        return _optimiser(thing.update)
    if eqx.is_array(thing) or isinstance(thing, np.ndarray):
        return words(thing.item()) if thing.size == 1 else f"<{thing.size} numbers>"
    if isinstance(thing, tuple) and thing and all(isinstance(part, tuple) for part in thing):
        return words(dict(thing))  # which was frozen
    if isinstance(thing, Mapping):
        return "{" + ", ".join(f"{key!r}: {words(value)}" for key, value in thing.items()) + "}"
    if dataclasses.is_dataclass(thing) and type(thing).__repr__ is eqx.Module.__repr__:
        return call(thing)
    if inspect.isfunction(thing):
        return _closure(thing) if thing.__closure__ else thing.__name__
    return repr(float(thing)) if isinstance(thing, float) else repr(thing)


def call(module: Any) -> str:
    """A module by the arguments of its class, on several lines where one would be too long."""
    kind = type(module)
    arguments = {n: getattr(module, n) for n in inspect.signature(kind).parameters if hasattr(module, n)}
    lines = [f"{kind.__name__}("]
    for part in _given(kind, arguments):
        if len(lines[-1]) + len(part) > WIDTH:
            lines.append("    ")
        lines[-1] += f"{part}, "
    return "\n".join(line.rstrip() for line in lines).removesuffix(",") + ")"


def _given(function: Callable[..., Any] | None, arguments: Mapping[str, Any]) -> list[str]:
    """The arguments that are not at their defaults, the first of them without its name."""
    known = {} if function is None else dict(inspect.signature(function).parameters)
    default = lambda name: known[name].default if name in known else inspect.Parameter.empty
    said = {name: words(value) for name, value in arguments.items()}
    said = {name: text for name, text in said.items() if text != words(default(name))}
    return [text if name == next(iter(known), None) else f"{name}={text}" for name, text in said.items()]


def _optimiser(update: Callable[..., Any]) -> str:
    """A transformation by its update function: `adam(0.001)`, or `chain(…)` of others."""
    parts = [part for part in _links(update) if _maker(part)[0] != "identity"]
    *others, last = parts or [update]
    name, numbers = _maker(others[0]) if others else ("sgd", [])
    name = name.removeprefix("scale_by_")
    known = hasattr(optax, name) or not others[0].__module__.startswith("optax")
    if len(others) <= 1 and known and (rate := _rate(last)):
        return f"{name}({', '.join([rate, *numbers])})"
    found = [_closure(part) for part in (*others, last)]
    return found[0] if len(found) == 1 else f"chain({', '.join(found)})"


def _links(update: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The update functions of a chain, of chains in it too; of anything else, the function itself."""
    held = _held(update)
    if isinstance(held.get("tx"), optax.GradientTransformation):  # one that was made to bear further arguments
        return _links(held["tx"].update)
    return [link for part in held.get("update_fns", ()) for link in _links(part)] or [update]


def _rate(update: Callable[..., Any]) -> str:
    """The learning rate, where it is that by which the function multiplies."""
    held = _held(update)
    if "step_size_fn" in held:
        schedule = _held(held["step_size_fn"]).get("learning_rate", held["step_size_fn"])
        return words(schedule)
    return words(-held["step_size"]) if isinstance(held.get("step_size"), float) else ""


def _closure(function: Callable[..., Any]) -> str:
    name, numbers = _maker(function)
    return f"{name}({', '.join(numbers)})"


def _maker(function: Callable[..., Any]) -> tuple[str, list[str]]:
    """A function that another one made: the name of that one, and the arguments that can be seen."""
    name = getattr(function, "__qualname__", type(function).__name__).split(".<locals>")[0]
    maker, held = getattr(sys.modules.get(function.__module__), name, None), _held(function)
    known = inspect.signature(maker).parameters if inspect.isfunction(maker) else {}
    arguments = {n: held[n] for n in known if n in held and (callable(held[n]) or np.ndim(held[n]) == 0)}
    return name, _given(maker, arguments) if known else []


def _held(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function closes over, by name."""
    cells = getattr(function, "__closure__", None) or ()
    found = {}
    for name, cell in zip(function.__code__.co_freevars if cells else (), cells, strict=True):
        with contextlib.suppress(ValueError):  # a name that was never given a value
            found[name] = cell.cell_contents
    return found
