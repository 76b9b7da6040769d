"""Quantities of a solution by name, at points, inside of JAX's transformations, and their integrals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
from jaxtyping import Array, Float

from .._base import Model, Points, checks
from .._laws import Constant, NamedFunction, Quadrature, named_on, outputs, quadrature, word
from .._problem import Problem
from .evaluate import block

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")

AT_ONCE = 64  # integrals


@eqx.filter_jit
def _by_name(problem: Problem, model: Model, function: NamedFunction, points: Points) -> Array:
    at = lambda z: function(model, problem.known(model), z)
    # Derivatives hold several times what values hold.
    return jax.lax.map(at, points, batch_size=max(block(model) // 4, 1))


def by_name(problem: Problem, model: Model, name: str, points: Points) -> Float[Array, "n ..."]:
    """A quantity at many points, in blocks of bounded memory."""
    return _by_name(problem.bare(), model, word(name, problem.vocabulary, "solution"), points)


def differentiable(problem: Problem, model: Model, name: str | None, points: Points) -> Float[Array, "n ..."]:
    """The unknowns, one column each, or a quantity by name, in the precision of the moment, as operations that JAX can
    differentiate, batch and compile."""
    bare = problem.bare()
    now = jnp.result_type(float)
    model = jax.tree.map(lambda leaf: leaf.astype(now) if eqx.is_inexact_array(leaf) else leaf, model)
    if name is None:
        return jax.vmap(lambda z: outputs(model, z, bare.vocabulary)[: len(bare.unknowns)])(points)
    function = word(name, bare.vocabulary, "solution")
    return jax.vmap(lambda z: function(model, bare.known(model), z))(points)


@eqx.filter_jit
def _integrals(
    problem: Problem, model: Model, sums: Quadrature, function: NamedFunction | Constant, w: Float[Array, "n k"]
) -> Float[Array, "n c"]:
    return jax.lax.map(lambda w: sums(function, model, problem.known(model), w, "integrate"), w, batch_size=AT_ONCE)


def integrals(problem: Problem, model: Model, quantity: Any, over: Any, axes: Mapping[str, np.ndarray]) -> xr.DataArray:
    """The integral of a quantity by name, or of a function by argument name, on a grid of the coordinates that remain;
    those that `axes` lacks have the values of the test grid."""
    words, sums = problem.vocabulary, quadrature("integrate", over, problem.domain)
    if isinstance(quantity, str):
        function: NamedFunction | Constant = word(quantity, words, "integrate")
    else:
        function = named_on(quantity, words, "integrate", sums.parts[0].place)
    kept = {name: axes[name] for name in sums.remain}
    checks.points("integrate", " × ".join(kept) or "points", math.prod(map(len, kept.values())))
    mesh = [m.ravel() for m in np.meshgrid(*kept.values(), indexing="ij")] if kept else []
    w = jnp.asarray(np.stack(mesh, axis=-1)) if mesh else jnp.zeros((1, 0))
    found = np.asarray(_integrals(problem.bare(), model, sums, function, w))
    return xr.DataArray(found[:, 0].reshape([len(axis) for axis in kept.values()]), coords=kept, dims=tuple(kept))
