from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Point, checks, signature
from .._places import Box
from ._embeddings import check_settled

DISTANCE = "distance"


class HardConstraint(eqx.Module):
    """A network whose output is transformed so that conditions hold by construction:  u(z) = fn(network(z), z).

    `function` gets the network's outputs by the names of the unknowns and the coordinates by theirs; for several
    unknowns it returns a tuple. `distance` is a smooth function that vanishes on the boundary of space, of a shape too,
    like the distance to it. On a `Mesh` it is interpolated on a grid of 64 cells along each side, and the values are
    exact to the size of its cells only: next to edges of the surface it is off by a few thousandths of a side.

    !!! example
        u(x, 0) = sin x exactly: `HardConstraint(net, lambda u, x, t: jnp.sin(x) + t * u, domain)`; u = g on all of the
        boundary: `HardConstraint(net, lambda u, distance, x, y: g(x, y) + distance * u, domain)`
    """

    network: Callable[..., Any]
    function: Callable[..., Any] = eqx.field(static=True)
    domain: Box
    unknowns: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        network: Callable[..., Any],
        function: Callable[..., Any],
        domain: Box,
        unknowns: tuple[str, ...] = ("u",),
    ):
        check_settled(domain)
        self.network, self.function, self.domain, self.unknowns = network, function, domain, tuple(unknowns)
        known = (*self.unknowns, *domain.names, DISTANCE)
        for name in signature(function, "HardConstraint", taken=known):
            if name not in known:
                raise ValueError(
                    f"HardConstraint: `function` may use the unknowns {checks.listed(self.unknowns)} and the "
                    f"coordinates {checks.listed(domain.names)} and `{DISTANCE}`, but no derivatives, got "
                    f"{checks.listed([name])}." + checks.nearest(name, known)
                )

    def __call__(self, z: Point) -> Float[Array, " m"]:
        values = dict(zip(self.domain.names, z, strict=True))
        values |= dict(zip(self.unknowns, jnp.atleast_1d(self.network(z)), strict=True))
        names = signature(self.function, "HardConstraint")
        if DISTANCE in names:
            values.setdefault(DISTANCE, self.domain.distance(z))
        found = self.function(*(values[name] for name in names))
        return jnp.stack([jnp.asarray(part) for part in (found if isinstance(found, tuple | list) else (found,))])


class Plus(eqx.Module):
    """The sum of two models, for solutions that are smooth but for a front, say:  u(z) = first(z) + second(z).

    !!! example
        `Plus(MLP(domain, key=key), Chebyshev(domain, terms=16))`
    """

    first: Callable[..., Any]
    second: Callable[..., Any]

    def __call__(self, z: Point) -> Float[Array, " m"]:
        return jnp.atleast_1d(self.first(z)) + jnp.atleast_1d(self.second(z))
