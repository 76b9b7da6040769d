"""Quantities that are functions of unknowns, derivatives and other quantities, with names and derivatives of their
own."""

from collections.abc import Mapping
from typing import Any

import jax

from .._base import changed, precision
from .._places import AbstractPlace
from .fields import named
from .tables import Table, is_table
from .words import Derived, Vocabulary


def with_quantities(vocabulary: Vocabulary, quantities: Mapping[str, Any], domain: AbstractPlace) -> Vocabulary:
    """The vocabulary with derived quantities, functions by argument name or tables, in whatever order they are given.

    So div(a ∇u) is `qx_x + qy_y` with `{"qx": lambda a, u_x: a * u_x, "qy": lambda a, u_y: a * u_y}`.
    """
    # At first the names alone, so that each function may name any of them.
    nothing: Any = None
    names = changed(vocabulary, derived=tuple(Derived(str(name), nothing, ()) for name in quantities))
    names.__check_init__()
    found = []
    for name, function in quantities.items():
        owner = f"quantities[{name!r}]"
        if is_table(function):
            Table(owner, function, vocabulary).covers(domain, vocabulary)
        elif not callable(function):
            raise ValueError(
                f"Problem: `{owner}` must be a function by argument name or a table (an xarray DataArray), got "
                f"{function!r:.60}. A number is a parameter."
            )
        bound: Any = named(function, names, owner)
        with precision.double():
            shape = jax.eval_shape(bound.function, *bound.function.arguments)
        if getattr(shape, "shape", None) != ():
            what = f"shape {shape.shape}" if hasattr(shape, "shape") else f"{len(jax.tree.leaves(shape))} values"
            raise ValueError(f"Problem: `{owner}` must return one number, got {what}; make it several quantities.")
        found.append(Derived(str(name), bound.function, bound.quantities))
    _check_order(vocabulary, {d.name: d for d in found})
    return changed(vocabulary, derived=tuple(found))


def _check_order(vocabulary: Vocabulary, derived: Mapping[str, Derived]) -> None:
    """Quantities that are made of themselves fail here."""
    names, first = list(derived), len(vocabulary.unknowns)
    known: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            circle = " → ".join((*above[above.index(name) :], name))
            raise ValueError(f"Problem: `quantities` are made of each other in a circle, {circle}. Break it.")
        if name in known:
            return
        for quantity in derived[name].quantities:
            number = getattr(quantity, "unknown", -1)
            if number >= first:
                visit(names[number - first], (*above, name))
        known.add(name)

    for name in names:
        visit(name, ())
