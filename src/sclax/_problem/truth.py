"""References: what a solution is compared with, never in training."""

import functools
from collections.abc import Callable

import xarray as xr


class Solved:
    """A reference that a classical solver computes when it is first asked for:  `solver(**parameters)` gives an xarray
    Dataset with the unknowns as variables, or a DataArray of the only unknown.

    !!! example
        `Problem(..., parameters={"nu": 3.0, "rho": 5.0}, reference=Solved(scl.reference.reaction_diffusion))`
    """

    def __init__(self, solver: Callable[..., xr.Dataset | xr.DataArray]):
        self._solver = functools.lru_cache(maxsize=512)(solver)

    def at(self, **parameters: float) -> xr.Dataset | xr.DataArray:
        return self._solver(**parameters)
