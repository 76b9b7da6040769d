"""References: what a solution is compared with, never in training."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
from jaxtyping import Array, Float

from .._base import Points, checks
from .._laws import Asked, Constant, Coordinate, NamedFunction, Vocabulary, named
from .._places import Box, columns

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


class Scattered(NamedTuple):
    """Values of some unknowns, by number, at some points."""

    points: np.ndarray
    which: tuple[int, ...]
    values: np.ndarray


class AbstractReference(abc.ABC):
    """A solution that is known: by a formula at any points, or on a grid."""

    @abc.abstractmethod
    def grid(self, parameters: Mapping[str, float], family: Mapping[str, float]) -> xr.Dataset | xr.DataArray | None:
        """The solution on its own grid at given parameters of a family; None for a formula."""

    def formula(self) -> Callable[..., Any] | None:
        """The solution as a function by argument name; None for a grid."""
        return None

    def values(self, name: str, wanted: np.ndarray | None) -> np.ndarray | None:
        """The values of a family's parameter that a grid has, the nearest to those that are wanted; None for any."""
        return None

    def asked(self, vocabulary: Vocabulary) -> Asked:
        """The quantities that the reference depends on; None where nobody can see."""
        return None

    def scattered(self, owner: str, unknowns: tuple[str, ...], domain: Box) -> Scattered | None:
        """The solution at points of its own, checked; None for a formula or a grid."""
        return None


class Solved(AbstractReference):
    """A reference that a classical solver computes when it is first asked for:  `solver(**parameters)` gives an xarray
    Dataset with the unknowns as variables, or a DataArray of the only unknown.

    !!! example
        `Problem(..., parameters={"nu": 3.0, "rho": 5.0}, reference=Solved(scl.reference.reaction_diffusion))`
    """

    def __init__(self, solver: Callable[..., xr.Dataset | xr.DataArray]):
        self._solver = functools.lru_cache(maxsize=512)(solver)

    def at(self, **parameters: float) -> xr.Dataset | xr.DataArray:
        return self._solver(**parameters)

    def grid(self, parameters, family):
        return self.at(**parameters, **family)


class OnGrid(AbstractReference):
    """Values on a grid, over a family's parameters too where it has them."""

    def __init__(self, data: xr.Dataset | xr.DataArray):
        self._data = data

    def grid(self, parameters, family):
        along = {name: value for name, value in family.items() if name in self._data.dims}
        return self._data.sel(along, method="nearest") if family else self._data

    def values(self, name, wanted):
        if name not in self._data.coords:
            return None
        known = np.atleast_1d(self._data.coords[name])
        return known if wanted is None else known[np.abs(known[:, None] - wanted).argmin(axis=0)]

    def asked(self, vocabulary):
        return tuple(Coordinate(i) for i, name in enumerate(vocabulary.coordinates) if name in self._data.coords)


class AtPoints(AbstractReference):
    """Values at points of their own: a dict of arrays, or a DataFrame, with a column for each coordinate and one for
    each unknown that is known."""

    def __init__(self, table: Any):
        self._table = {str(name): table[name] for name in table}

    def grid(self, parameters, family):
        return None

    def asked(self, vocabulary):
        return tuple(Coordinate(i) for i, name in enumerate(vocabulary.coordinates) if name in self._table)

    def scattered(self, owner, unknowns, domain):
        known = [name for name in unknowns if name in self._table]
        if not known:
            raise ValueError(
                f"{owner}: `reference` has the columns {checks.listed(self._table)}, and none of them is an unknown "
                f"({checks.listed(unknowns)})."
            )
        rows = columns(f"{owner}: `reference`", {n: c for n, c in self._table.items() if n not in known}, domain)
        points = np.asarray(rows, float).reshape(-1, domain.dimension)
        values = [checks.finite_array(owner, f"reference[{name!r}]", self._table[name]).ravel() for name in known]
        for name, column in zip(known, values, strict=True):
            if len(column) != len(points):
                raise ValueError(
                    f"{owner}: `reference` has {len(points)} points but {len(column)} values of `{name}`; give as many."
                )
        return Scattered(points, tuple(unknowns.index(name) for name in known), np.stack(values, axis=-1))


class Formula(AbstractReference):
    """A function by argument name."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def grid(self, parameters, family):
        return None

    def formula(self):
        return self._function

    def asked(self, vocabulary):
        return _bound(self._function, vocabulary).asked


def as_reference(owner: str, reference: Any) -> AbstractReference | None:
    """What users give as a reference, read; None stays None."""
    if reference is None or isinstance(reference, AbstractReference):
        return reference
    if callable(reference):
        return Formula(reference)
    if isinstance(reference, xr.Dataset | xr.DataArray):
        return OnGrid(reference)
    if isinstance(reference, Mapping) or hasattr(reference, "columns"):
        return AtPoints(reference)
    raise ValueError(
        f"{owner}: `reference` must be a function, an xarray Dataset, or points with values (a dict of arrays or a "
        f"DataFrame), got {type(reference).__name__}."
    )


def _bound(function: Callable[..., Any], vocabulary: Vocabulary) -> NamedFunction | Constant:
    return named(function, Vocabulary(vocabulary.coordinates, (), vocabulary.parameters), "reference")


def formula_at(
    function: Callable[..., Any], vocabulary: Vocabulary, parameters: Mapping[str, Any], points: Points
) -> Float[Array, "n m"]:
    """A formula at many points, one column for each unknown."""
    bound = _bound(function, vocabulary)

    def at(z):
        found = bound(lambda z: z, parameters, z)
        if isinstance(found, Mapping):
            found = tuple(found[name] for name in vocabulary.states)
        return jnp.stack([jnp.asarray(f) for f in (found if isinstance(found, tuple | list) else (found,))])

    return jax.vmap(at)(points)
