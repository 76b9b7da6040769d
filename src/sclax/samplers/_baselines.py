"""Heuristics of others, as baselines."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from .._base import Key, checks
from .._places import AbstractPlace
from ._base import AbstractSampler, SamplerState, info, optional_count


class R3(AbstractSampler):
    """Retain, resample, release (Daw et al. 2023): keep the points whose loss is above the mean, redraw the others.

    !!! example
        `average(residual, sampler=R3(1000))`
    """

    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        optional_count("R3", self.n)

    def sized(self, n: int | None) -> "R3":
        return self if n is None else R3(n)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        return SamplerState(place.uniform(self.n or 1000, key))

    def step(self, place, density, state, key):
        return state, info()

    def observe(self, place, density, state, values, key):
        retained = values > jnp.mean(values)
        fresh = place.uniform(len(values), key)
        points = jnp.where(retained[:, None], state.points, fresh)
        return SamplerState(points), info(jnp.mean(retained))


class RAD(AbstractSampler):
    """Residual-based adaptive distribution (Wu et al. 2023): every `every` passes, `n` points are drawn from a uniform
    pool without replacement, with probabilities proportional to  |r|ᵏ / mean |r|ᵏ + c.

    With `seeds=` every pass evaluates the pool, though only the due ones are used and counted.

    Good values: pool ten times `n`, k = 1, c = 1; k = 2, c = 0 is ψ₀ on the pool.

    !!! example
        `average(residual, sampler=RAD(1000, every=50))`
    """

    n: int | None = eqx.field(static=True, default=None)
    pool: int = eqx.field(static=True, default=10_000)
    every: int = eqx.field(static=True, default=100)
    k: float = eqx.field(static=True, default=1.0)
    c: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        optional_count("RAD", self.n)
        checks.points("RAD", "pool", self.pool, at_least=self.n or 1)
        checks.count("RAD", "every", self.every)
        for name, value in (("k", self.k), ("c", self.c)):
            if value < 0:
                raise ValueError(f"RAD: `{name}` must not be negative, got {value}.")

    def sized(self, n: int | None) -> "RAD":
        return self if n is None else RAD(n, max(self.pool, n), self.every, self.k, self.c)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        n = min(1000, self.pool) if self.n is None else self.n
        return SamplerState(place.uniform(n, key), jnp.asarray(0, jnp.int32))

    def step(self, place, density, state, key):
        points, passes = state
        key_pool, key_draw = jr.split(key)

        def redraw():
            pool = place.uniform(self.pool, key_pool)
            size = density(pool) ** (self.k / 2)
            mean = jnp.mean(size)
            odds = size / jnp.where(mean > 0, mean, 1.0) + jnp.where(mean > 0, self.c, 1.0)
            # The largest of log p + Gumbel noise are a draw without replacement.
            _, chosen = jax.lax.top_k(jnp.log(odds) + jr.gumbel(key_draw, odds.shape), len(points))
            return pool[chosen]

        due = passes % self.every == 0
        points = jax.lax.cond(due, redraw, lambda: points)
        return SamplerState(points, passes + 1), info(1.0, jnp.where(due, self.pool, 0))
