"""What a place is: a chart (a box of intrinsic coordinates) and a map from it to points."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point

if TYPE_CHECKING:
    from .box import Box
    from .parts import Part

TIME = "t"


class AbstractPlace(eqx.Module):
    """A set of points of the domain, parametrised by a `chart`.

    Points are drawn in the chart, where uniform is uniform on the place. A place that fills only a part of its chart
    gives `contains` and `uniform` of its own: so curved shapes join.

    !!! example
        `scl.Box(x=(0, 1), t=(0, 1))` and `domain.face(x=0)` are places; `place.chart`, `place.embed(w)` and
        `place.sobol(n)` are what samplers and laws need of one.
    """

    @property
    @abc.abstractmethod
    def chart(self) -> "Box":
        """The box of intrinsic coordinates."""

    @abc.abstractmethod
    def embed(self, w: Float[Array, " k"]) -> Point:
        """The point of the domain at chart coordinates `w`."""

    @abc.abstractmethod
    def normal(self, w: Float[Array, " k"]) -> Point:
        """The outward unit normal at chart coordinates `w`."""

    @property
    @abc.abstractmethod
    def measure(self) -> float:
        """Volume, area or length: what shares are divided by."""

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        """Whether chart coordinates `w` belong to the place."""
        return self.chart.contains(w)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        """`n` chart points, uniform on the place."""
        return self.chart.uniform(n, key)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        """`n` chart points of low discrepancy, shifted at random if there is a `key`."""
        return self.chart.sobol(n, key)

    def grid(self, n: int) -> Float[Array, "n k"]:
        """At most `n` chart points on a regular grid."""
        return self.chart.grid(n)

    def by_name(self, w: Float[Array, " k"], names: tuple[str, ...]) -> dict[str, float]:
        """The point at chart coordinates `w` by name, for people; `names` are the domain's coordinates."""
        z = np.asarray(self.embed(jnp.asarray(w)))
        return dict(zip(names if len(z) == len(names) else self.chart.names, map(float, z), strict=True))

    @property
    def fullness(self) -> float:
        """The share of the chart that belongs to the place."""
        return 1.0

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the domain's coordinates."""
        raise ValueError(f"{type(self).__name__}: it has no coordinates by name, on which a condition could be.")

    def where(self, condition: Callable[..., Any]) -> "Part":
        """The part where a condition on the coordinates holds: `domain.boundary.where(lambda x, y: x > 0)`."""
        from .parts import Part

        return Part(self, condition, self.coordinates)

    @property
    def finite(self) -> bool:
        """Whether the place is finitely many points, all of which every measure honours."""
        return False

    @property
    def constants(self) -> tuple[tuple[str, float], ...]:
        """The coordinates that have one value on the whole place, with these values."""
        return ()

    @property
    def parts(self) -> tuple["AbstractPlace", ...]:
        """The place as places whose charts are coordinates of the domain; none where it is not made of such."""
        return ()

    @property
    def parameter_columns(self) -> tuple[int, ...]:
        """The chart coordinates that are parameters of a family."""
        return tuple(map(self.chart.names.index, self.chart.parameters))

    def whole(self, domain: "Box") -> "AbstractPlace":
        """The place over the whole ranges of the parameters, where it has some of their values only."""
        return self

    def within(self, domain: "Box") -> "AbstractPlace":
        """The same place of a domain with more or fewer coordinates: one joined by the parameters of a family, say."""
        raise ValueError(f"{type(self).__name__}: this place belongs to one domain only.")
