"""Laws: residuals on places. The loss at a point is the sum of the squared components of the residual (the Euclidean
norm itself where `power` is 1)."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Model, Scalar, checks
from .._places import AbstractPlace, Box, Discretised, Pinned
from ..nn import numbers_of
from .losses import AbstractLoss
from .words import Asked, Vocabulary

Parameters = Mapping[str, Scalar]


class AbstractResidual(eqx.Module):
    """A vector that must vanish at every point of a place.

    !!! example
        The class `Mirror` of `examples/extend.py`: `model(place.embed(w)) - model(1 - place.embed(w))`.
    """

    @abc.abstractmethod
    def __call__(
        self, model: Model, parameters: Parameters, place: AbstractPlace, w: Float[Array, " k"]
    ) -> Float[Array, " c"]:
        """The residual at chart coordinates `w` of `place`."""

    @property
    def asked(self) -> Asked:
        """The quantities that the residual names; None where nobody can see them."""
        return None

    def seen(
        self, parameters: Parameters, place: AbstractPlace, w: Float[Array, " k"]
    ) -> Float[Array, "points d"] | None:
        """The points around which the residual looks at the network; None where nobody can tell."""
        return None

    @property
    def measured(self) -> tuple[np.ndarray, bool] | None:
        """For measurements, the factors that turn rows into deviations of the data, by sample, and whether the noise
        is known; None for laws."""
        return None

    def prescribed(self, parameters: Parameters, place: AbstractPlace) -> dict[int, float]:
        """The root mean squares of the values that it prescribes or has measured, by the numbers of the unknowns."""
        return {}

    def written(self) -> tuple[str, ...]:
        """The law as people write it, in MathML, one equation for each component; none where nobody can."""
        return ()

    @property
    def one_sided(self) -> bool:
        """Whether it is an inequality, which binds at some points and says nothing at others."""
        return False

    @property
    def uncut(self) -> "AbstractResidual":
        """What an inequality cuts off below zero: it shows everywhere what the residual looks at. A law is its own."""
        return self

    def sound(self, parameters: Parameters, place: AbstractPlace) -> None:
        """Raises an error where the law says nothing at these parameters."""
        return


class AbstractNamed(AbstractResidual):
    """A residual that names all that it asks for, in the functions that it is made of."""

    @property
    def asked(self) -> Asked:
        parts = jax.tree.leaves(self, is_leaf=lambda part: hasattr(part, "quantities"))
        found = [part.asked for part in parts if hasattr(part, "quantities")]
        return None if None in found else tuple(quantity for quantities in found for quantity in quantities)

    def seen(self, parameters, place, w):
        return None if self.asked is None else place.embed(w)[None]


class Law(eqx.Module):
    """A residual on a place. `order` is the highest derivative in it, `power` the exponent of its loss.

    !!! example
        `Law(Mirror(), domain, "symmetry", 0)`, as a condition's `bind` returns it; see `examples/extend.py`
    """

    residual: AbstractResidual
    place: AbstractPlace
    name: str = eqx.field(static=True)
    order: int = eqx.field(static=True)
    power: int = eqx.field(static=True, default=2)
    # How many evaluations of the residual one point of the place stands for (more than one after `over=`).
    inner: int = eqx.field(static=True, default=1)

    def rows(self, model: Model, parameters: Parameters, w: Float[Array, "n k"]) -> Float[Array, "n c"]:
        """The residual's components at each chart point."""
        return jax.vmap(lambda w: self.at(model, parameters, w))(w)

    def at(self, model: Model, parameters: Parameters, w: Float[Array, " k"]) -> Float[Array, " c"]:
        """The residual's components at one chart point, with the parameters that the model has learned."""
        return self.residual(model, {**parameters, **numbers_of(model)}, self.place, w)

    @property
    def uncut(self) -> "Law":
        """The law by which it shows what it looks at, wherever an inequality binds."""
        return Law(self.residual.uncut, self.place, self.name, self.order, self.power, self.inner)

    def losses(self, rows: Float[Array, "n c"]) -> Float[Array, " n"]:
        """The loss at each point, from the residual's components there."""
        squares = jnp.sum(rows**2, axis=-1)
        if self.power == 2:
            return squares
        # The root has no derivative at zero, where the loss has a minimum: take zero for it.
        return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


class OnSamples(Protocol):
    """What an operator's problem offers to conditions: the laws that make sense on the samples of a data set."""

    def law_of_data(self, loss: AbstractLoss) -> Law: ...

    def law_of_equation(self, function: Callable[..., Any]) -> Law: ...


class AbstractCondition(eqx.Module):
    """A residual as its user writes it, before it knows the problem. One of your own defines `bind`.

    !!! example
        `examples/extend.py` has one in ten lines.
    """

    @abc.abstractmethod
    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        """The condition on the places and with the names of a problem."""

    @property
    def wraps(self) -> tuple[str, ...]:
        """The coordinates that the condition makes periodic."""
        return ()

    def on_samples(self, samples: OnSamples) -> Law:
        """The condition on the outputs of an operator, where it makes sense there."""
        raise ValueError(
            "OperatorProblem: a measure is of Data(), or of an equation by argument name, got "
            f"{type(self).__name__}: conditions hold in the data already."
        )


class AbstractSampled(AbstractCondition):
    """A condition on samples, each of which `each` gives a multiplier of its own."""

    loss: eqx.AbstractVar[AbstractLoss]

    @abc.abstractmethod
    def bind_each(self, vocabulary: Vocabulary, domain: Box, loss: AbstractLoss) -> Law:
        """The condition with one point a sample and the sample's loss."""


def unknown_index(owner: str, unknown: str | None, vocabulary: Vocabulary) -> int:
    """The number of an unknown or of a derived quantity; the only unknown, where none is named."""
    if unknown is None:
        if len(vocabulary.states) > 1:
            one, other = vocabulary.states[:2]
            raise ValueError(
                f"{owner}: the problem has the unknowns {checks.listed(vocabulary.states)}; "
                f'say which one with `unknown="{one}"`, or give a dict, {{"{one}": ..., "{other}": ...}}.'
            )
        return 0
    if unknown not in vocabulary.fields:
        raise ValueError(
            f"{owner}: `unknown={unknown!r}` is not one of {checks.listed(vocabulary.fields)}."
            + checks.nearest(unknown, vocabulary.fields)
        )
    return vocabulary.fields.index(unknown)


# --- averaging over some coordinates ------------------------------------------------------------------------------


class SliceResidual(AbstractResidual):
    """The residual on all of a grid of inner coordinates, divided so that its square is the mean over the grid."""

    residual: AbstractResidual
    inner: AbstractPlace
    grid: Float[Array, "m k"]
    names: tuple[str, ...] = eqx.field(static=True)
    over: tuple[str, ...] = eqx.field(static=True)

    @property
    def asked(self) -> Asked:
        return self.residual.asked

    def written(self):
        return self.residual.written()

    def __call__(self, model, parameters, place, w):
        pinned = Pinned(self.inner, w, self.names, self.over)
        rows = jax.vmap(lambda v: self.residual(model, parameters, pinned, v))(self.grid)
        return (rows / jnp.sqrt(float(len(self.grid)))).ravel()


def _without(law: Law, domain: Box, over: tuple[str, ...], owner: str, argument: str) -> AbstractPlace:
    """The law's place in the domain without the coordinates `over`, which the user named in `argument`."""
    for name in over:
        if name not in domain.names:
            raise ValueError(
                f"{owner}: `{argument}` names `{name}`, which is no coordinate of the domain "
                f"({checks.listed(domain.names)})." + checks.nearest(name, domain.names)
            )
    if law.place.finite:
        raise ValueError(
            f"{owner}: `{argument}` cannot range over {checks.listed(over)}: {law.name} lives on given points; "
            "leave it out."
        )
    shaping = [name for name in over if domain.shape is not None and name in domain.shape.parameters]
    if shaping:
        raise ValueError(
            f"{owner}: the shape of the domain depends on {checks.listed(shaping)}, so that no points of the other "
            f"coordinates fit all values; leave `{argument}` out, and the measure ranges over all coordinates."
        )
    rest = domain.select(name for name in domain.names if name not in over)
    try:
        return law.place.within(rest)
    except ValueError:
        raise ValueError(
            f"{owner}: `{argument}` cannot range over {checks.listed(over)}, which {law.name} fixes."
        ) from None


def discretised(law: Law, domain: Box, at: Mapping[str, Any]) -> Law:
    """The law at the values `at` of some coordinates only, all combinations of them."""
    over = tuple(at)
    inner = _without(law, domain, over, "average", "at")
    place = Discretised(inner, combinations(domain, at), domain.names, over)
    return Law(law.residual, place, law.name, law.order, law.power, law.inner)


def combinations(domain: Box, at: Mapping[str, Any]) -> Float[Array, "m p"]:
    """All combinations of given values of coordinates, one a row; values outside the domain are refused."""
    columns = []
    for name, given in at.items():
        values = np.atleast_1d(checks.finite_array("average", f"at[{name!r}]", given))
        if name in domain.names:
            low, high = domain.ends(name)
            if values.ndim != 1 or not values.size or values.min() < low or values.max() > high:
                raise ValueError(
                    f"average: `at` must give `{name}` values in [{low}, {high}], got {np.array2string(values)}."
                )
        columns.append(values)
    return jnp.asarray(np.stack([m.ravel() for m in np.meshgrid(*columns, indexing="ij")], axis=-1))


def sliced(law: Law, domain: Box, over: tuple[str, ...], n: int) -> Law:
    """The law whose points are the coordinates `over` alone; the others are averaged on a fixed grid of `n` points."""
    inner = _without(law, domain, over, "worst_case", "over")
    if law.power == 1:
        raise ValueError(f"worst_case: `over` averages squares, but {law.name} has a linear loss; use `power=2`.")
    grid = inner.grid(n)
    residual = SliceResidual(law.residual, inner, grid, domain.names, over)
    return Law(residual, domain.select(over), law.name, law.order, law.power, len(grid))
