"""Even draws from ψ_α itself."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, UInt32

from .._base import Key, Losses, Scalar, checks
from .._places import AbstractPlace
from ._base import AbstractSampler, SamplerState, guarded, info, normalised, optional_count
from ._points import Grid, ImportanceWeights, Sobol

BISECTIONS = 40  # of an interval of 12 decades: the mean to 1e-11 of itself
LEAST = 1e-12  # of the largest density: the least mean that is looked for


class Drawn(AbstractSampler):
    """`n` points drawn afresh for every pass (default 1000), a `share` of them from ψ_α and the rest uniform:

        q = share · ψ_α + (1 − share) · uniform,
        w_i ∝ ψ_α(z_i) / q(z_i),   so that   E_ψ[ℓ] ≈ Σ w_i ℓ_i.

    Few even points miss a steep front; these crowd where the loss is large, and still see the whole place, by a shifted
    Sobol sequence. Densities are found at another one of `pool` · n points, ordered along a space-filling (Morton)
    curve; points at equal steps of the probability along it are nearly as even under ψ_α as the sequence is on the
    place. A point of large probability is drawn several times. The effective sample size is at least about share · n.
    Given points are not drawn: all are there for every pass, weighted by ψ_α. With a `guard` what is drawn densely need
    not weigh as much: uniform weight is mixed in as in `ImportanceWeights`, for the same worst case with less noise.

    **Arguments:**

    - `pool`: evaluations of the density for each drawn point.
    - `share`: 1 draws from ψ_α alone, 0 evenly.
    - `guard`: the least effective share of the place that carries the weight, see `ImportanceWeights`.
    - `crowd`: crowds the parameters of a family towards the ends of their ranges, see `Sobol`; "uniform" then means so.

    Good values: the defaults, and beside `GaussNewton` a guard of 0.5, as it has by itself. An eighth is enough at
    fronts that few even points miss and at corners where the gradient is infinite; half makes fronts better still, and
    smooth solutions worse.

    !!! example
        `worst_case(lambda u, u_t, u_x, u_xx: u_t + u * u_x - 0.003 * u_xx, sampler=Drawn(600)) <= 1e-6`
    """

    n: int | None = eqx.field(static=True, default=None)
    pool: int = eqx.field(static=True, default=16)
    share: float = eqx.field(static=True, default=0.125)
    crowd: bool = eqx.field(static=True, default=False)
    guard: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        optional_count("Drawn", self.n)
        checks.count("Drawn", "pool", self.pool)
        checks.points("Drawn", "pool · n", self._pooled(self.n or 1000))
        for name in ("share", "guard"):
            if not 0 <= checks.number("Drawn", name, getattr(self, name)) <= 1:
                raise ValueError(f"Drawn: `{name}` is in [0, 1], got {getattr(self, name)}.")

    def sized(self, n: int | None) -> "Drawn":
        return self if n is None else Drawn(n, self.pool, self.share, self.crowd, self.guard)

    def evenly(self, n: int) -> Sobol:
        return Sobol(n, self.crowd)  # an average needs no densities

    def on(self, place: AbstractPlace) -> AbstractSampler:
        return ImportanceWeights(proposal=Grid()) if place.finite else self

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return Sobol(self.n or 1000, self.crowd).init(place, key)

    def step(self, place, density, state, key):
        n, (key_pool, key_start, key_even) = len(state.points), jr.split(key, 3)
        drawn = self._from_density(n)
        even = Sobol(n - drawn, self.crowd).init(place, key_even).points if drawn < n else state.points[:0]
        if not drawn:
            return SamplerState(even), info()
        pool = Sobol(self._pooled(n), self.crowd).init(place, key_pool).points
        along = jnp.argsort(morton(place, pool))
        reached = jnp.cumsum(normalised(density(pool))[along])
        wanted = (jnp.arange(drawn) + jr.uniform(key_start)) / drawn * reached[-1]
        chosen = jnp.searchsorted(reached, wanted, side="right")
        points = pool[along[jnp.minimum(chosen, len(pool) - 1)]]
        return SamplerState(jnp.concatenate([even, points])), info(1.0, len(pool))

    @property
    def fresh(self) -> bool:
        return True

    @property
    def blind(self) -> bool:
        return False

    def weights(self, values: Losses) -> Float[Array, " n"]:
        sizes = _relative(values)
        worst = normalised(jnp.where(sizes > 0, sizes / self._odds(sizes), 0.0))
        return guarded(worst, self.even(values), self.guard)

    def even(self, values: Losses) -> Float[Array, " n"]:
        return normalised(1 / self._odds(_relative(values)))

    def _odds(self, sizes: Losses) -> Float[Array, " n"]:
        """q / uniform at points drawn from q."""
        share = self._from_density(len(sizes)) / len(sizes)
        return jnp.maximum(share * sizes / _mean(sizes, share) + 1 - share, LEAST)

    def _from_density(self, n: int) -> int:
        """How many of `n` points are drawn from ψ_α: some, unless none are asked for."""
        return math.ceil(self.share * n)

    def _pooled(self, n: int) -> int:
        return n * self.pool


def _relative(values: Losses) -> Losses:
    """Densities over the largest one; where all are zero, ψ_α is uniform."""
    largest = jnp.max(values)
    return jnp.where(largest > 0, values / jnp.where(largest > 0, largest, 1.0), 1.0)


def _mean(sizes: Losses, share: float) -> Scalar:
    """The mean of a density on the place, from its values of at most 1 at points drawn from q: the one for which

        1 = E_q[uniform / q] ≈ 1/n Σ 1 / (share · value / mean + 1 − share),

    whose right side grows with it. This is bridge sampling: no other estimate from these values has a lower variance.
    """

    def halve(_, ends):
        low, high = ends
        middle = jnp.sqrt(low * high)
        above = jnp.mean(1 / jnp.maximum(share * sizes / middle + 1 - share, LEAST)) > 1
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    low, high = jax.lax.fori_loop(0, BISECTIONS, halve, (jnp.asarray(LEAST, sizes.dtype), jnp.ones((), sizes.dtype)))
    return jnp.sqrt(low * high)


def morton(place: AbstractPlace, w: Float[Array, "n k"]) -> UInt32[Array, " n"]:
    """The number of each chart point's cell along a curve that fills the chart: the binary digits of its coordinates
    in turn, so that points that are near along the curve are near in the chart."""
    chart = place.chart
    code = jnp.zeros(len(w), jnp.uint32)
    dimension = chart.dimension
    if dimension == 0:
        return code
    digits = max(32 // dimension, 1)
    unit = (w - jnp.asarray(chart.lower)) / jnp.asarray(chart.lengths)
    # Of 24 binary digits at most, which single precision has.
    places = min(digits, 24)
    cells = jnp.clip(unit * 2.0**places, 0, 2.0**places - 1).astype(jnp.uint32)
    for digit in reversed(range(places)):
        for i in range(min(dimension, 32)):
            code = (code << 1) | ((cells[:, i] >> digit) & 1)
    return code
