"""Tabulated values: an xarray DataArray in the place of a function."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import checks
from .._places import ROUNDING, AbstractPlace, extent
from .words import Vocabulary

if TYPE_CHECKING:
    import xarray as xr


def is_table(value: Any) -> bool:
    """Whether a value is an xarray DataArray, told without importing xarray."""
    return hasattr(value, "dims") and hasattr(value, "to_dataset")


def is_tables(value: Any) -> bool:
    """Whether a value is an xarray Dataset."""
    return hasattr(value, "data_vars") and hasattr(value, "to_dataframe")


class Table:
    """Values on a grid as a function of its coordinates, linear between neighbours: so it never leaves their range, and
    a table of a jump stays a jump. Points outside are taken to the nearest end."""

    def __init__(self, owner: str, data: xr.DataArray, vocabulary: Vocabulary):
        self.owner, self.names = owner, tuple(str(name) for name in data.dims)
        for name in self.names:
            if name not in vocabulary.coordinates:
                raise ValueError(
                    f"{owner}: the table has the dimension `{name}`, which is no coordinate of the problem "
                    f"({checks.listed(vocabulary.coordinates)})." + checks.nearest(name, vocabulary.coordinates)
                )
            if name not in data.coords or data.sizes[name] < 2:
                raise ValueError(
                    f"{owner}: the table needs at least two values of `{name}` with their coordinate, got "
                    f"{data.sizes[name]}{'' if name in data.coords else ' without one'}."
                )
        ordered = data.sortby(list(self.names)) if self.names else data
        self.axes = [checks.finite_array(owner, f"coordinate {name}", ordered.coords[name]) for name in self.names]
        for name, axis in zip(self.names, self.axes, strict=True):
            if np.any(np.diff(axis) <= 0):
                raise ValueError(f"{owner}: the table has a value of `{name}` twice; keep one of each.")
        self.values = checks.finite_array(owner, "table", ordered.values)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.names])

    def __call__(self, *point: Any) -> Float[Array, ""]:
        corners, shares = [], []
        for given, x in zip(self.axes, point, strict=True):
            axis = jnp.asarray(given)
            i = jnp.clip(jnp.searchsorted(axis, x, side="right") - 1, 0, len(given) - 2)
            corners.append(i)
            shares.append(jnp.clip((x - axis[i]) / (axis[i + 1] - axis[i]), 0.0, 1.0))
        found = jnp.asarray(self.values)
        if corners:
            found = jax.lax.dynamic_slice(found, corners, (2,) * len(corners))
        for share in shares:
            found = (1 - share) * found[0] + share * found[1]
        return found

    def covers(self, place: AbstractPlace, vocabulary: Vocabulary) -> None:
        """A table that ends inside a place fails here."""
        for name, axis in zip(self.names, self.axes, strict=True):
            low, high = extent(place, vocabulary.coordinates.index(name), name)
            slack = ROUNDING * (axis[-1] - axis[0])
            if low < axis[0] - slack or high > axis[-1] + slack:
                raise ValueError(
                    f"{self.owner}: the table has `{name}` in [{axis[0]}, {axis[-1]}], but it is asked for in "
                    f"[{low}, {high}]. Give values on all of it, or make the place smaller by `on=`."
                )
