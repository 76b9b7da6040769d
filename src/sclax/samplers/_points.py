"""Points that do not look at the loss, and weights that do."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .._base import Key, Losses, Scalar, checks
from .._places import AbstractPlace, kept
from ._base import AbstractSampler, SamplerState, effective_sample_size, guarded, info, normalised, optional_count

LOOKS = 2**13  # points that say how much of its chart a place is


class Uniform(AbstractSampler):
    """`n` fresh uniform points for every pass (default 1000): the average loss, as PINNs use it.

    !!! example
        `average(residual, points=Uniform(1000))`
    """

    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        optional_count("Uniform", self.n)

    def sized(self, n: int | None) -> "Uniform":
        return self if n is None else Uniform(n)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return SamplerState(place.uniform(self.n or 1000, key))

    def step(self, place, density, state, key):
        return SamplerState(place.uniform(len(state.points), key)), info()

    @property
    def fresh(self) -> bool:
        return True


class Sobol(AbstractSampler):
    """`n` points of a Sobol sequence, shifted at random for every pass (default 1024): evener than uniform ones.

    With `crowd` the parameters of a family crowd towards the ends of their ranges as Chebyshev points do,

        p = low + (high − low) (1 − cos πs) / 2,   s even in [0, 1],

    since a family fitted at even ones is least accurate at the ends. Other coordinates stay even.

    !!! example
        `average(residual, points=Sobol(2048))`
    """

    n: int | None = eqx.field(static=True, default=None)
    crowd: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        optional_count("Sobol", self.n)

    def sized(self, n: int | None) -> "Sobol":
        return self if n is None else Sobol(n, self.crowd)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return SamplerState(self._drawn(place, self.n or 1024, key))

    def step(self, place, density, state, key):
        return SamplerState(self._drawn(place, len(state.points), key)), info()

    @property
    def fresh(self) -> bool:
        return True

    def _drawn(self, place: AbstractPlace, n: int, key: Key) -> Float[Array, "n k"]:
        if not self.crowd or not place.parameter_columns:
            return place.sobol(n, key)
        if place.fullness == 1:
            return self._crowded(place, place.sobol(n, key))
        # Where the shape depends on a parameter, a point that is moved along that one may leave the shape.
        chart = place.chart.bounding
        with jax.ensure_compile_time_eval():
            looks = self._crowded(place, chart.sobol(LOOKS, jr.key(0)))
            share = float(np.mean(jax.vmap(place.contains)(looks)))
        return kept(lambda m: self._crowded(place, chart.sobol(m, key)), place.contains, n, share)

    def _crowded(self, place: AbstractPlace, w: Float[Array, "n k"]) -> Float[Array, "n k"]:
        chart = place.chart
        for i in place.parameter_columns:
            low, high = chart.ends(chart.names[i])
            w = w.at[:, i].set(low + (high - low) * (1 - jnp.cos(jnp.pi * (w[:, i] - low) / (high - low))) / 2)
        return w


class Grid(AbstractSampler):
    """At most `n` fixed points on a regular grid, ends included (default 256).

    !!! example
        `average(Initial(f), points=Grid(256))`
    """

    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        optional_count("Grid", self.n)

    def sized(self, n: int | None) -> "Grid":
        return self if n is None else Grid(n)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return SamplerState(place.grid(self.n or 256))

    def step(self, place, density, state, key):
        return state, info()

    @property
    def fixed(self) -> bool:
        return True


class Fixed(AbstractSampler):
    """The given chart points, for every pass.

    !!! example
        `average(residual, points=array)` makes one of an array of points
    """

    points: Float[Array, "n k"]

    def sized(self, n: int | None) -> "Fixed":
        return self

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return SamplerState(self.points)

    def step(self, place, density, state, key):
        return state, info()

    @property
    def fixed(self) -> bool:
        return True


class Batches(AbstractSampler):
    """`n` of finitely many samples (default 20), each once in an epoch, in an order that is drawn for every epoch. What
    does not fill a batch waits for the next epoch.

    !!! example
        `Batches(20)`; `OperatorProblem(data, batch=20)` uses it
    """

    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        optional_count("Batches", self.n)

    def sized(self, n: int | None) -> "Batches":
        return self if n is None else Batches(n)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        order = place.grid(0)
        n = min(self.n or 20, len(order))
        return SamplerState(order[:n], (order, jnp.asarray(0, jnp.int32)))

    def step(self, place, density, state, key):
        (order, batch), n = state.memory, len(state.points)
        order = jnp.where(batch == 0, jr.permutation(key, order), order)
        points = jax.lax.dynamic_slice_in_dim(order, batch * n, n)
        return SamplerState(points, (order, (batch + 1) % (len(order) // n))), info()

    @property
    def fresh(self) -> bool:
        return True


class ImportanceWeights(AbstractSampler):
    """Points of a `proposal` weighted by ψ_α:  w_i = ℓ_i / Σ ℓ  (α = 0), so that  E_ψ₀[ℓ] ≈ Σ ℓ² / Σ ℓ.

    No evaluation beyond the pass itself. The effective sample size tells how many points carry the weight: where it
    would fall below the share `guard` of all points, just as much of a uniform weight is mixed in as keeps it there,

        w = (1 − τ) ψ_α + τ / n,   1 / Σ w² = guard · n.

    !!! example
        `worst_case(residual, sampler=ImportanceWeights(1000))`
    """

    n: int | None = eqx.field(static=True, default=None)
    proposal: AbstractSampler = Uniform()
    guard: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        optional_count("ImportanceWeights", self.n)
        if not 0 <= checks.number("ImportanceWeights", "guard", self.guard) <= 1:
            raise ValueError(f"ImportanceWeights: `guard` is a share in [0, 1], got {self.guard}.")
        if not (isinstance(self.proposal, AbstractSampler) and self.proposal.blind):
            raise ValueError(
                "ImportanceWeights: `proposal` must be a sampler that does not look at the loss, such as Uniform() or "
                f"Sobol(), got {self.proposal!r}."
            )

    def sized(self, n: int | None) -> "ImportanceWeights":
        return self if n is None else ImportanceWeights(n, self.proposal, self.guard)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return self.proposal.sized(self.n).init(place, key)

    def step(self, place, density, state, key):
        return self.proposal.sized(self.n).step(place, density, state, key)

    def observe(self, place, density, state, values, key):
        return self.proposal.sized(self.n).observe(place, density, state, values, key)

    @property
    def fresh(self) -> bool:
        return self.proposal.fresh

    def weights(self, values: Losses) -> Float[Array, " n"]:
        return guarded(normalised(values), self.even(values), self.guard)

    def effective(self, values: Losses) -> Scalar:
        return effective_sample_size(normalised(values))  # what the guard guards against
