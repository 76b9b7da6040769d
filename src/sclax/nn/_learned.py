"""Coefficients that are learned with a network."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Key, Model, Point, Scalar
from .._places import Box
from ._mlp import MLP


class Number(eqx.Module):
    """An unknown number:  initial + size · raw,  or  initial · exp(raw)  where it is positive. A change of `raw` by one
    is a large one, whatever the units of the number are.

    !!! example
        `scl.Unknown(0.3, positive=True)` in `parameters` makes one.
    """

    raw: Scalar
    name: str = eqx.field(static=True)
    initial: float = eqx.field(static=True)
    positive: bool = eqx.field(static=True)

    @property
    def value(self) -> Scalar:
        return _shaped(self.raw, self.initial, self.positive)


class Coefficient(eqx.Module):
    """An unknown function of some of the coordinates, shaped as a `Number` is."""

    network: Any
    which: tuple[int, ...] = eqx.field(static=True)
    initial: float = eqx.field(static=True)
    positive: bool = eqx.field(static=True)

    def __call__(self, z: Point) -> Scalar:
        raw = jnp.atleast_1d(self.network(z[jnp.asarray(self.which)]))[0]
        return _shaped(raw, self.initial, self.positive)


def _shaped(raw: Scalar, initial: float, positive: bool) -> Scalar:
    return initial * jnp.exp(raw) if positive else initial + (abs(initial) or 1.0) * raw


def coefficient(domain: Box, names: Sequence[str], initial: float, positive: bool, *, key: Key) -> Coefficient:
    """One that is about `initial` everywhere, by a small network of the coordinates `names`.

    !!! example
        `scl.UnknownField(("x", "y"), positive=True)` in `parameters` makes one.
    """
    which = tuple(domain.names.index(name) for name in names)
    sides = Box(**{name: domain.ends(name) for name in names})
    return Coefficient(MLP(sides, width=30, depth=3, key=key), which, initial, positive)


class Learned(eqx.Module):
    """A network with the unknown coefficients of its problem: `fields` are further outputs, `numbers` stand for
    parameters. What `solve` trains where a problem has `Unknown` or `UnknownField` parameters.

    !!! example
        `solution.model.numbers` are the numbers as the weights have them; `solution.estimates` says how sure they are.
    """

    network: Model
    fields: tuple[Coefficient, ...]
    unknown: tuple[Number, ...]

    def __call__(self, z: Point) -> Float[Array, " m"]:
        return jnp.concatenate([jnp.atleast_1d(self.network(z)), *(field(z)[None] for field in self.fields)])

    @property
    def numbers(self) -> dict[str, Scalar]:
        """The values of unknown parameters."""
        return {number.name: number.value for number in self.unknown}


def numbers_of(model: Model) -> dict[str, Scalar]:
    """The parameters that a model has learned, by name; none of most models.

    !!! example
        `numbers_of(solution.model)` is empty where nothing was unknown.
    """
    return getattr(model, "numbers", {})
