"""Models as data: a JSON description and named arrays. Reading one back never executes what is in the file: only the
classes and functions listed here are built, from numbers, strings and arrays."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._base import remade
from .._places import Box
from ._chebyshev import Chebyshev
from ._embeddings import Corners, FourierFeatures, Holes, PeriodicEmbedding, Rescale
from ._hard import Plus
from ._learned import Coefficient, Learned, Number
from ._mlp import MLP, Dense
from ._modes import Modes
from ._operators import FNO, DeepONet, SpectralConvolution
from ._tiles import Tiles

_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        *(Box, Chebyshev, DeepONet, Dense, FNO, FourierFeatures, MLP, Modes, PeriodicEmbedding, Plus, Rescale),
        *(Coefficient, Corners, Holes, Learned, Number, SpectralConvolution, Tiles),
    )
}
_FUNCTIONS = {
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
}


class Unstorable(ValueError):
    """A part of a model that cannot be described as data."""


def describe(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """`value` as JSON; its arrays go into `arrays` and are referred to by name.

    !!! example
        `arrays = {}`, then `rebuild(describe(model, arrays), arrays)` is the model again.
    """
    if _CLASSES.get(type(value).__name__) is type(value):
        fields = {f: describe(getattr(value, f), arrays) for f in value.__dataclass_fields__}
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, jax.Array | np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {"array": name}
    if isinstance(value, tuple):
        return {"tuple": [describe(item, arrays) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    for name, function in _FUNCTIONS.items():
        if value is function:
            return {"function": name}
    raise Unstorable(f"{value!r}")


def rebuild(description: Any, arrays: Mapping[str, Any]) -> Any:
    """The value that `describe` described.

    !!! example
        `arrays = {}`, then `rebuild(describe(model, arrays), arrays)` is the model again.
    """
    match description:
        case {"class": str(name), "fields": dict(fields)} if name in _CLASSES:
            known = _CLASSES[name].__dataclass_fields__  # pyright: ignore[reportAttributeAccessIssue]
            return remade(_CLASSES[name], {field: rebuild(fields[field], arrays) for field in known})
        case {"array": str(name)}:
            return arrays[name]
        case {"tuple": list(items)}:
            return tuple(rebuild(item, arrays) for item in items)
        case {"value": value}:
            return value
        case {"function": str(name)} if name in _FUNCTIONS:
            return _FUNCTIONS[name]
    raise ValueError(f"unknown entry {str(description)[:80]!r}")
