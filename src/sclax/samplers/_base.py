"""What a sampler is: a value whose memory is its state."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from .._base import Density, Key, Losses, Scalar, checks
from .._places import AbstractPlace


class SamplerState(NamedTuple):
    """`points` are chart coordinates; `memory` is whatever else a sampler carries.

    !!! example
        `SamplerState(place.chart.from_unit(points))`; see `examples/extend.py`
    """

    points: Float[Array, "n k"]
    memory: Any = ()


class SamplerInfo(NamedTuple):
    """Acceptance rate (1 where nothing is rejected) and number of evaluations of the density.

    !!! example
        `SamplerInfo(jnp.asarray(1.0), jnp.asarray(0))`: all accepted, nothing evaluated; see `examples/extend.py`
    """

    acceptance: Scalar
    evaluations: Int[Array, ""]


def info(acceptance: Any = 1.0, evaluations: Any = 0) -> SamplerInfo:
    return SamplerInfo(jnp.asarray(acceptance, jnp.result_type(float)), jnp.asarray(evaluations, jnp.int32))


def effective_sample_size(weights: Float[Array, " n"]) -> Scalar:
    """(Σ w)² / Σ w²: how many equally weighted points the weighted ones are worth.

    !!! example
        `effective_sample_size(jnp.ones(10))` is 10
    """
    return jnp.sum(weights) ** 2 / jnp.maximum(jnp.sum(weights**2), jnp.finfo(weights.dtype).tiny)


def normalised(weights: Float[Array, " n"]) -> Float[Array, " n"]:
    """Weights that add up to 1; all zero (the law holds everywhere) counts as uniform."""
    total = jnp.sum(weights)
    return jnp.where(total > 0, weights / jnp.where(total > 0, total, 1.0), 1.0 / weights.shape[0])


def guarded(worst: Float[Array, " n"], even: Float[Array, " n"], guard: float) -> Float[Array, " n"]:
    """`worst` with just as much of `even` weights mixed in as keeps the effective share of the place that carries the
    weight, 1 / E_even[(w / even)²], at `guard`."""
    if guard == 0:
        return worst
    # E_even[(w / even)²] − 1 falls with the square of the share that is kept.
    excess = jnp.maximum(jnp.sum(worst**2 / even) - 1, jnp.finfo(worst.dtype).tiny)
    kept = jnp.sqrt(jnp.minimum((1 / guard - 1) / excess, 1.0))
    return kept * worst + (1 - kept) * even


class AbstractSampler(eqx.Module):
    """Gives `n` points of a place for every pass, and the weights of their losses. One of your own defines `sized`,
    `init` and `step`, and what else differs from the defaults here.

    !!! example
        `examples/extend.py` has one in ten lines.
    """

    @abc.abstractmethod
    def sized(self, n: int | None) -> "AbstractSampler":
        """The same sampler with `n` points for each pass; None keeps its own number."""

    @abc.abstractmethod
    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        """The first state."""

    @abc.abstractmethod
    def step(
        self, place: AbstractPlace, density: Density, state: SamplerState, key: Key
    ) -> tuple[SamplerState, SamplerInfo]:
        """Points for the coming pass."""

    def observe(
        self, place: AbstractPlace, density: Density, state: SamplerState, values: Losses, key: Key
    ) -> tuple[SamplerState, SamplerInfo]:
        """Moves the points after a pass that found the density to be `values` at them."""
        return state, info()

    def weights(self, values: Losses) -> Float[Array, " n"]:
        """Weights of the points, adding up to 1, given the density's `values` at them."""
        return jnp.full_like(values, 1.0 / values.shape[0])

    def even(self, values: Losses) -> Float[Array, " n"]:
        """Weights of the points, adding up to 1, under which they are even on the place."""
        return jnp.full_like(values, 1.0 / values.shape[0])

    def on(self, place: AbstractPlace) -> "AbstractSampler":
        """The sampler that this one is on a place: another one where it does not suit the place."""
        return self

    @property
    def fresh(self) -> bool:
        """Whether every pass has other points, whatever the last ones were."""
        return False

    @property
    def fixed(self) -> bool:
        """Whether all passes have the same points, chosen by the user."""
        return False

    @property
    def blind(self) -> bool:
        """Whether the points are chosen without a look at the loss."""
        return self.fresh or self.fixed

    def count(self, place: AbstractPlace) -> int:
        """How many points a pass has."""
        return jax.eval_shape(lambda: self.init(place, jr.key(0)).points).shape[0]

    def thinned(self, n: int) -> "AbstractSampler":
        """The same sampler with about `n` points, as near as it can."""
        return self.sized(n)

    def evenly(self, n: int) -> "AbstractSampler":
        """About `n` points for the average of a law, in place of its worst case."""
        return self.thinned(n)

    def effective(self, values: Losses) -> Scalar:
        """How many equally weighted points the worst case of these `values` is worth."""
        return effective_sample_size(self.weights(values))


def among(values: Losses) -> Float[Array, " n"]:
    """Equal weights for the points where the density is positive; elsewhere a chain has not arrived yet."""
    return normalised((values > 0).astype(values.dtype))


def optional_count(owner: str, n: int | None) -> None:
    if n is not None:
        checks.points(owner, "n", n)
