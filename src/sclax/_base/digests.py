"""A short name for the content of values, functions included: what they compute with, not where they live."""

import functools
import hashlib
import types
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np


def digest(*values: Any) -> str:
    """Sixteen hexadecimal digits that change when a number, an array, a function's code or what it closes over does."""
    found = hashlib.sha256()
    _feed(values, found.update, {})
    return found.hexdigest()[:16]


def _feed(value: Any, update: Any, seen: dict[int, Any]) -> None:
    def text(*parts: Any) -> None:
        update(repr(parts).encode())

    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return text(type(value).__name__, value)
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        text(str(array.dtype), array.shape)
        return update(array.tobytes())
    if id(value) in seen:  # a function may close over itself
        return text("again")
    seen[id(value)] = value  # kept alive, so that no other value gets its number
    text(type(value).__name__)
    if isinstance(value, Mapping):
        parts: list[Any] = [part for item in value.items() for part in item]
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, functools.partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(value, types.CodeType):
        parts = [value.co_code, value.co_names, value.co_consts]
    elif isinstance(value, types.FunctionType):
        cells = [_contents(cell) for cell in value.__closure__ or ()]
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
    elif isinstance(value, types.MethodType):
        parts = [value.__func__, value.__self__]
    elif hasattr(value, "__dataclass_fields__"):
        parts = [getattr(value, name) for name in value.__dataclass_fields__]
    else:
        parts = [getattr(value, "__qualname__", None)]
    for part in parts:
        _feed(part, update, seen)
    return None


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
