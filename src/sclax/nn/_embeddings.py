"""First layers without training: they bring a point's coordinates to numbers of order one."""

import math
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from .._base import Key, Point, checks
from .._places import Box


def check_settled(domain: Box) -> None:
    """Refuses a domain whose shape depends on parameters that nobody has given yet: it has no ends to scale by."""
    if domain.shape is None:
        return
    missing = [name for name in domain.shape.parameters if name not in domain.names]
    if missing:
        raise ValueError(
            f"domain: its shape depends on {checks.listed(missing)}, which only a problem's `parameters` give: build "
            "the model on `problem.domain`, or leave it to solve(problem, model=lambda domain, outputs, key: ...)."
        )


class Rescale(eqx.Module):
    """The affine map of a box onto [−1, 1]^d.

    !!! example
        `Rescale(scl.Box(x=(0, 4)))(jnp.array([4.0]))` is [1.]
    """

    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, domain: Box):
        check_settled(domain)
        self.lower, self.upper = domain.lower, domain.upper

    @property
    def size(self) -> int:
        return len(self.lower)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        lower, upper = jnp.asarray(self.lower, z.dtype), jnp.asarray(self.upper, z.dtype)
        return (2 * z - lower - upper) / (upper - lower)


class Corners(eqx.Module):
    """Rescaled coordinates, and at each corner that points into a plane domain the functions

        r^α cos αφ,   r^α sin αφ,   α = π / (angle of the domain at the corner),

    of the distance r and the direction φ from its middle: what solutions of Laplace's equation look like there. Their
    slope is infinite at the corner, which no smooth network comes close to. The default of an `MLP` on such a domain.

    !!! example
        `MLP(domain, embedding=Corners(domain), key=key)`
    """

    rescale: Rescale
    columns: tuple[int, int] = eqx.field(static=True)
    corners: tuple[tuple[float, ...], ...] = eqx.field(static=True)  # x, y, exponent, direction of the middle
    length: float = eqx.field(static=True)

    def __init__(self, domain: Box):
        if not domain.corners:
            raise ValueError("Corners: no corner of the domain points into it; leave the embedding out.")
        self.rescale = Rescale(domain)
        first, second = (domain.names.index(name) for name in domain.space)
        self.columns = first, second
        self.corners = tuple((c.x, c.y, math.pi / c.angle, c.middle) for c in domain.corners)
        self.length = max(domain.ends(name)[1] - domain.ends(name)[0] for name in domain.space) / 2

    @property
    def size(self) -> int:
        return self.rescale.size + 2 * len(self.corners)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        features = [self.rescale(z)]
        for x, y, exponent, middle in self.corners:
            dx, dy = ((z[i] - c) / self.length for i, c in zip(self.columns, (x, y), strict=True))
            # Turned so that the cut of the angle is where the domain is not.
            across, up = dx * math.cos(middle) + dy * math.sin(middle), dy * math.cos(middle) - dx * math.sin(middle)
            squares = across**2 + up**2
            at = squares > 0
            size = jnp.where(at, jnp.exp(exponent / 2 * jnp.log(jnp.where(at, squares, 1.0))), 0.0)
            angle = exponent * jnp.arctan2(jnp.where(at, up, 0.0), jnp.where(at, across, 1.0))
            features.append(jnp.stack([size * jnp.cos(angle), size * jnp.sin(angle)]))
        return jnp.concatenate(features)


class Holes(eqx.Module):
    """Inputs of an `inner` embedding, and for each hole of a shape the potential of a charge in its middle,

        log(ρ/R) in two dimensions,   (R/ρ)^(d−2) in more,

    of the distance ρ to it, R being the hole's radius, scaled to [−1, 1]. Solutions vary over lengths like R round a
    hole, and over all of the domain elsewhere: as a function of these inputs they are smooth at both scales. The
    default of an `MLP` on a shape with holes, round ones or others, that depends on no parameter.

    **Arguments:** `domain`; `inner`, `Rescale(domain)` by default.

    !!! example
        `MLP(domain, embedding=Holes(domain), key=key)`
    """

    inner: Any
    columns: tuple[int, ...] = eqx.field(static=True)
    middles: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    radii: tuple[float, ...] = eqx.field(static=True)
    farthest: tuple[float, ...] = eqx.field(static=True)  # of the domain's bounding box, from each middle

    def __init__(self, domain: Box, inner: Any = None):
        if domain.shape is None or not domain.holes:
            raise ValueError("Holes: the domain has no hole, or one that depends on parameters; leave it out.")
        self.inner = Rescale(domain) if inner is None else inner
        names = domain.shape.names
        self.columns = tuple(domain.names.index(name) for name in names)
        self.middles = tuple(hole.middle for hole in domain.holes)
        self.radii = tuple(hole.radius for hole in domain.holes)
        ends = [domain.ends(name) for name in names]
        reach = lambda middle: (max(c - low, high - c) for c, (low, high) in zip(middle, ends, strict=True))
        self.farthest = tuple(math.hypot(*reach(middle)) for middle in self.middles)

    @property
    def size(self) -> int:
        return self.inner.size + len(self.radii)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        middles, radii, farthest = (jnp.asarray(a, z.dtype) for a in (self.middles, self.radii, self.farthest))
        away = jnp.sqrt(jnp.sum((z[jnp.asarray(self.columns)] - middles) ** 2, axis=1)) / radii
        power = len(self.columns) - 2
        share = jnp.log(away) / jnp.log(farthest / radii) if power == 0 else away**-power
        return jnp.concatenate([self.inner(z), 2 * share - 1])


class PeriodicEmbedding(eqx.Module):
    """Exact periodicity:  c ↦ (cos 2πkc/L, sin 2πkc/L), k = 1 … `harmonics`;  other coordinates are rescaled.

    **Arguments:** `domain`, the names of the periodic `coordinates` (their periods are the sides of the box), and
    `harmonics`. Good values: one harmonic; more for solutions with fine detail.

    !!! example
        `MLP(domain, embedding=PeriodicEmbedding(domain, "x"), key=key)`
    """

    rescale: Rescale
    periodic: tuple[int, ...] = eqx.field(static=True)
    harmonics: int = eqx.field(static=True)

    def __init__(self, domain: Box, coordinates: str | Iterable[str], harmonics: int = 1):
        coordinates = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        for name in coordinates:
            if name not in domain.names:
                raise ValueError(
                    f"PeriodicEmbedding: unknown coordinate `{name}`; the domain has {checks.listed(domain.names)}."
                    + checks.nearest(name, domain.names)
                )
        self.rescale = Rescale(domain)
        self.periodic = tuple(domain.names.index(name) for name in coordinates)
        self.harmonics = checks.count("PeriodicEmbedding", "harmonics", harmonics)

    @property
    def size(self) -> int:
        return self.rescale.size + len(self.periodic) * (2 * self.harmonics - 1)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        unit = self.rescale(z)
        features = []
        for i in range(self.rescale.size):
            if i in self.periodic:
                angles = math.pi * unit[i] * jnp.arange(1, self.harmonics + 1)
                features += [jnp.cos(angles), jnp.sin(angles)]
            else:
                features.append(unit[i : i + 1])
        return jnp.concatenate(features)


class FourierFeatures(eqx.Module):
    """Random Fourier features:  z ↦ (cos 2πBẑ, sin 2πBẑ),  B ~ N(0, scale²), ẑ rescaled to [−1, 1]; B is not trained.

    Good values: 16 to 64 `features` (pairs), `scale` 1; more for solutions that oscillate fast.

    !!! example
        `MLP(domain, embedding=FourierFeatures(domain, 64, key=key), key=key)`
    """

    rescale: Rescale
    frequencies: Float[Array, "features d"]

    def __init__(self, domain: Box, features: int = 32, scale: float = 1.0, *, key: Key):
        self.rescale = Rescale(domain)
        count = checks.count("FourierFeatures", "features", features)
        self.frequencies = checks.positive("FourierFeatures", "scale", scale) * jr.normal(
            key, (count, domain.dimension)
        )

    @property
    def size(self) -> int:
        return 2 * self.frequencies.shape[0]

    def __call__(self, z: Point) -> Float[Array, " m"]:
        angles = 2 * math.pi * (jax.lax.stop_gradient(self.frequencies) @ self.rescale(z))
        return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)])
