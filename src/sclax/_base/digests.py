"""A short name for the content of values, functions included: what they compute with, not where they live."""

import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

# Code that changes with its version only: of its functions and classes, names and closures are enough.
_LIBRARIES = tuple(
    str(Path(path).resolve())
    for path in (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), Path(__file__).parents[1])
)


def digest(*values: Any) -> str:
    """Sixteen hexadecimal digits that change when a number, an array, a function's code or what it computes with does:
    defaults, what it closes over, the globals that it names, attributes of objects."""
    found = hashlib.sha256()
    _feed(values, found.update, {})
    return found.hexdigest()[:16]


def _feed(value: Any, update: Any, seen: dict[int, Any]) -> None:
    def text(*parts: Any) -> None:
        update(repr(parts).encode())

    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return text(type(value).__name__, str(value) if isinstance(value, str) else value)
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        text(str(array.dtype), array.shape)
        return update(array.tobytes())
    if id(value) in seen:  # a function may close over itself
        return text("again")
    seen[id(value)] = value  # kept alive, so that no other value gets its number
    text(type(value).__name__)
    for part in _parts(value):
        _feed(part, update, seen)
    return None


def _parts(value: Any) -> list[Any]:
    """What a value consists of."""
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(digest(item) for item in value)
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if isinstance(value, types.FunctionType):
        cells = [_contents(cell) for cell in value.__closure__ or ()]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, cells, *_globals(value)]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, type | types.ModuleType):
        name = getattr(value, "__qualname__", value.__name__)
        return [name] if _of_library(value) or isinstance(value, types.ModuleType) else [name, *_members(value)]
    if hasattr(value, "__wrapped__"):  # by jax.jit, say
        return [value.__wrapped__]
    if hasattr(value, "__dataclass_fields__"):
        return [type(value), *(getattr(value, name) for name in value.__dataclass_fields__)]
    if hasattr(value, "__array__"):
        return [np.asarray(value)]
    if not _of_library(type(value)):
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        return [type(value), *getattr(value, "__dict__", {}).items(), *(getattr(value, n, None) for n in slots)]
    return [getattr(value, "__qualname__", None)]


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class defines itself, without what Python and other libraries add."""
    for name, member in vars(kind).items():
        if isinstance(member, types.FunctionType) and not _of_library(member):
            yield name, member
        elif isinstance(member, staticmethod | classmethod):
            yield name, member.__func__
        elif isinstance(member, property):
            yield name, member.fget
        elif not name.startswith("_") and isinstance(member, bool | int | float | complex | str | tuple | np.ndarray):
            yield name, member


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals that a function of the user's names, attributes of the user's modules among them."""
    if _of_library(function):
        return
    names = sorted(set(_names(function.__code__)))
    for name in names:
        found = function.__globals__.get(name)
        if isinstance(found, types.ModuleType) and not _of_library(found):
            yield from ((f"{name}.{n}", getattr(found, n)) for n in names if hasattr(found, n))
        elif found is not None:
            yield name, found


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _of_library(value: Any) -> bool:
    """Whether a function, class or module comes with Python, with an installed package, or with this one."""
    if isinstance(value, types.FunctionType):
        return _installed(value.__code__.co_filename)
    module = value if isinstance(value, types.ModuleType) else sys.modules.get(value.__module__)
    if module is None or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or _installed(file)


@functools.cache
def _installed(file: str) -> bool:
    return file.startswith("<frozen") or str(Path(file).resolve()).startswith(_LIBRARIES)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
