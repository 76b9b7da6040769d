"""Frozen modules with other fields."""

from typing import Any, TypeVar

Module = TypeVar("Module")


def changed(module: Module, **fields: Any) -> Module:
    """A copy of a frozen module with some of its fields replaced. `__init__` is not called: it reads what users write,
    and the fields hold what came of it."""
    kind = type(module)
    unknown = set(fields) - set(kind.__dataclass_fields__)  # pyright: ignore[reportAttributeAccessIssue]
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}.")
    return remade(kind, {n: fields.get(n, getattr(module, n)) for n in kind.__dataclass_fields__})  # pyright: ignore[reportAttributeAccessIssue]


def remade(kind: type[Module], fields: dict[str, Any]) -> Module:
    """A frozen module of a class with given fields, all of them."""
    module = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(module, name, value)
    return module
