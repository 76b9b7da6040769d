"""The boundary of a shape."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base import Key, Point, checks
from .box import ROUNDING, Box
from .parts import Along, filtered_grid, share_of
from .place import AbstractPlace
from .rejection import kept
from .shapes import Leaf
from .sides import ASIDE, bounds_it, size_of
from .subdomains import alike, part_of, reaches_less, surfaces_of
from .surfaces import picked


class Boundary(AbstractPlace):
    """The boundary of a domain with a shape, at all times and parameters, uniform by length or area.

    The first chart coordinate runs along the surfaces one after the other; those parts of them that do not bound the
    domain are left out. Where sizes depend on a family's parameters, those in the middle of their ranges say how many
    points each surface has. `boundary["hole"]` is the part that bounds the shape of that name, `boundary.where(...)`
    the part where a condition on the coordinates holds.
    """

    domain: Box
    leaves: tuple[Leaf, ...]
    numbers: tuple[int, ...] = eqx.field(static=True)  # of the surfaces among those of the shape
    sizes: tuple[float, ...] = eqx.field(static=True)
    share: float = eqx.field(static=True)
    aside: float = eqx.field(static=True)
    name: str | None = eqx.field(static=True)

    def __init__(self, domain: Box, name: str | None = None, surfaces: tuple[int, ...] | None = None):
        assert domain.shape is not None
        at, every = domain.middle, domain.shape.leaves()
        self.domain, self.name = domain, name
        chosen = [
            i for i, leaf in enumerate(every) if name in (None, leaf.name) and (surfaces is None or i in surfaces)
        ]
        if not chosen:
            names = [leaf.name for leaf in every if leaf.name is not None]
            others = f"there are {checks.listed(names)}.{checks.nearest(str(name), names)}"
            none = 'no shape has a name; give it one, for example Disk(..., name="hole").'
            raise ValueError(f"boundary: no part is named {name!r}; {others if names else none}")
        self.leaves, self.numbers = tuple(every[i] for i in chosen), tuple(chosen)
        self.sizes = tuple(leaf.surface.size(at) for leaf in self.leaves)
        self.aside = ASIDE * size_of(domain.shape, at)
        self.share = 1.0
        self.share = share_of(self)
        if self.share == 0:
            raise ValueError(
                f"boundary: {'nothing' if name is None else f'no point of the surface named {name!r}'} bounds the "
                "domain; look at how the shapes lie to each other."
            )

    def __getitem__(self, name: str) -> "Boundary":
        return Boundary(self.domain, name)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.domain.names

    @property
    def chart(self) -> Box:
        columns = max(leaf.surface.columns for leaf in self.leaves)
        box = Box(**{f"w{i}": (0.0, 1.0) for i in range(columns)})
        return box.times(self.domain.beyond_space)

    @property
    def _columns(self) -> int:
        return self.chart.dimension - self.domain.beyond_space.dimension

    @property
    def measure(self) -> float:
        return sum(self.sizes) * self.share * self.domain.beyond_space.measure

    @property
    def fullness(self) -> float:
        return self.share

    def within(self, domain: Box) -> "Boundary":
        """The same boundary of a domain with more or fewer coordinates; of another shape, those of its surfaces that
        bound the domain too."""
        if alike(self.domain.shape, domain.shape):
            return Boundary(domain, self.name, self.numbers)
        surfaces = surfaces_of(self.leaves, domain)
        if not surfaces:
            raise ValueError(
                "on: this is the boundary of a shape that the domain is not made of; use domain.boundary, parts of it "
                "by name or by `where`, or given points."
            )
        return Boundary(domain, None, surfaces)

    def _parts(self, w: Float[Array, " k"]) -> tuple[Array, Float[Array, " j"], Float[Array, " r"]]:
        """The number of the surface, the coordinates on it, and those beyond space."""
        which, along = picked(w[0], np.asarray(self.sizes))
        return which, w[: self._columns].at[0].set(along), w[self._columns :]

    def _of_each(self, w: Float[Array, " k"], function: Callable[..., Array]) -> Array:
        """What a function (leaf, surface coordinates, parameters) gives for the surface on which a point lies."""
        which, v, rest = self._parts(w)
        at = dict(zip(self.domain.beyond_space.names, rest, strict=True))
        found = [function(leaf, v[: leaf.surface.columns], at) for leaf in self.leaves]
        return jnp.stack(found)[which] if len(found) > 1 else found[0]

    def _with_rest(self, x: Float[Array, " d"], rest: Float[Array, " r"]) -> Point:
        space, beyond = iter(x), iter(rest)
        names = self.domain.beyond_space.names
        return jnp.stack([next(beyond) if name in names else next(space) for name in self.domain.names])

    def embed(self, w: Float[Array, " k"]) -> Point:
        x = self._of_each(w, lambda leaf, v, at: leaf.surface.embed(v, at))
        return self._with_rest(x, w[self._columns :])

    def normal(self, w: Float[Array, " k"]) -> Point:
        n = self._of_each(w, lambda leaf, v, at: leaf.outward(v, at))
        return self._with_rest(n, jnp.zeros_like(w[self._columns :]))

    def contains(self, w: Float[Array, " k"]) -> Bool[Array, ""]:
        shape = self.domain.shape
        assert shape is not None
        which, _, rest = self._parts(w)
        # Where it is and how it points in one array: each surface is looked at once.
        x, outward = self._of_each(w, lambda leaf, v, at: jnp.stack([leaf.surface.embed(v, at), leaf.outward(v, at)]))
        at = dict(zip(self.domain.beyond_space.names, rest, strict=True))
        number = jnp.asarray(self.numbers)[which]
        return self.chart.contains(w) & bounds_it(shape, number, x, outward, at, self.aside)

    def uniform(self, n: int, key: Key) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.uniform(m, key), self.contains, n, self.share)

    def sobol(self, n: int, key: Key | None = None) -> Float[Array, "n k"]:
        return kept(lambda m: self.chart.sobol(m, key), self.contains, n, self.share)

    def grid(self, n: int) -> Float[Array, "n k"]:
        return filtered_grid(self, n, self.share)


def face_within(own: Box, fixed: tuple[tuple[str, float], ...], domain: Box) -> AbstractPlace:
    """A face of a box or shape in another domain: where that has its surface, the part of the boundary that lies there,
    else the face as far as the box reaches."""
    if not reaches_less(own, domain) and (own.shape is None or alike(own.shape, domain.shape)):
        return domain.face(**dict(fixed))
    surfaces = surfaces_of(own.as_shape().leaves(), domain)
    if not surfaces:
        return part_of(own, domain).face(**dict(fixed))
    slack = {name: ROUNDING * (own.ends(name)[1] - own.ends(name)[0]) for name, _ in fixed}
    bounds = tuple((name, value - slack[name], value + slack[name]) for name, value in fixed)
    return Along(Boundary(domain, None, surfaces), bounds)
