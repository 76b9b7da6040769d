"""The escape hatch: residuals of the whole network and a point."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Model, Point, Scalar, Traced, checks
from .._places import AbstractPlace
from .fields import number, outputs
from .words import Vocabulary


class Nearby(dict):
    """A point by name (`point["x"]` or `point.x`), fixed parameters included."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"point has no `{name}`; it has {checks.listed(self)}.") from None


class Field(NamedTuple):
    """The network as a function of named coordinates; coordinates left out are those of the current point."""

    model: Model
    vocabulary: Vocabulary
    point: Nearby

    def __call__(self, where: Mapping[str, Any] | None = None, **coordinates: Any) -> Any:
        given = {**(where or {}), **coordinates}
        unknown = [name for name in given if name not in self.point]
        if unknown:
            raise ValueError(
                f"field_residual: field() got `{unknown[0]}`; the coordinates are "
                f"{checks.listed(self.vocabulary.coordinates)}."
            )
        z = jnp.stack([jnp.asarray(given.get(n, self.point[n])) for n in self.vocabulary.coordinates])
        values = outputs(self.model, z, self.vocabulary)
        if len(self.vocabulary.states) == 1:
            return values[0]
        return dict(zip(self.vocabulary.unknowns, values, strict=True))


class FieldFunction(eqx.Module):
    """A residual of the whole network and a point; made by `field_residual`."""

    function: Traced = eqx.field(static=True)
    vocabulary: Vocabulary
    # Nobody can see which derivatives the function takes: it counts as a first-order operator.
    order: int = eqx.field(static=True, default=1)

    @property
    def quantities(self) -> None:
        return None

    @property
    def asked(self) -> None:
        return None

    def written(self) -> tuple[str, ...]:
        return (f"<mi>{self.function.owner}</mi>",)

    def on(self, model: Model, parameters: Mapping[str, Scalar], place: AbstractPlace, w: Float[Array, " k"]) -> Any:
        return self.function(model, self.vocabulary, parameters, place.embed(w))


def _nonlocal(
    function: Callable[..., Any], model: Model, vocabulary: Vocabulary, parameters: Mapping[str, Any], z: Point
) -> Any:
    point = Nearby(zip(vocabulary.coordinates, z, strict=True))
    point.update(parameters)
    return function(Field(model, vocabulary, point), point)


def nonlocal_function(function: Any, vocabulary: Vocabulary, owner: str) -> FieldFunction:
    """A function of the network and a point, bound to a problem's names."""
    network = jax.tree_util.Partial(lambda z: jnp.full(len(vocabulary.unknowns), jnp.sin(z).sum()))  # stands for any
    parameters = dict.fromkeys(vocabulary.parameters, number())
    examples = (network, vocabulary, parameters, number((len(vocabulary.coordinates),)))
    return FieldFunction(Traced(functools.partial(_nonlocal, function), examples, owner), vocabulary)
