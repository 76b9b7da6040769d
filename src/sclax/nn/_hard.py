from collections.abc import Callable
from typing import Any

import equinox as eqx

from .. import _checks
from .._typing import Array, Float, Point
from ..domains import Box
from ..fields import Vocabulary, components, named, signature


class HardConstraint(eqx.Module):
    """A network whose output is transformed so that conditions hold by construction:  u(z) = fn(network(z), z).

    `function` gets the network's outputs by the names of the unknowns and the coordinates by theirs; for several
    unknowns it returns a tuple.

    !!! example
        u(x, 0) = sin x exactly: `HardConstraint(net, lambda u, x, t: jnp.sin(x) + t * u, domain)`
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
        self.network, self.function, self.domain, self.unknowns = network, function, domain, tuple(unknowns)
        bound = named(function, Vocabulary(domain.names, self.unknowns, ()), "HardConstraint")
        if bound.order > 0:
            names = [n for n in signature(function, "HardConstraint") if n not in (*domain.names, *self.unknowns)]
            raise ValueError(
                "HardConstraint: `function` may use unknowns and coordinates, but no derivatives, "
                f"got {_checks.listed(names)}."
            )

    def __call__(self, z: Point) -> Float[Array, " m"]:
        bound = named(self.function, Vocabulary(self.domain.names, self.unknowns, ()), "HardConstraint")
        return components(bound(self.network, {}, z), "HardConstraint")
