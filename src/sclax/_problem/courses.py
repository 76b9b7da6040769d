"""How training goes just now, as arrays: one compiled program serves every stage of a run."""

from collections.abc import Collection, Iterable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._base import Scalar


class Course(eqx.Module):
    """Which constraints' worst cases are averages for the time being (1, else 0), and from which end of time training
    goes on: 1 from the first, -1 back from the last, 0 everywhere at once."""

    averaged: dict[str, Scalar]
    direction: Scalar

    @property
    def given_up(self) -> Bool[Array, ""]:
        """Whether some law cannot hold everywhere: its average keeps a residual, on other points at every draw."""
        return jnp.max(jnp.asarray([0.0, *self.averaged.values()])) > 0


def course(constraints: Iterable[str], averaged: Collection[str] = (), direction: int = 0) -> Course:
    number = lambda value: jnp.asarray(value, jnp.result_type(float))  # never of JAX's weak type, which compiles anew
    return Course({name: number(name in averaged) for name in constraints}, number(direction))
