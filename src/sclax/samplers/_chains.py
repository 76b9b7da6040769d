"""Markov chains whose law is ψ_α."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from .._base import Key, Losses, checks
from .._places import AbstractPlace
from ._base import AbstractSampler, SamplerState, among, info


def _frozen(scale: Any) -> Any:
    """A hashable copy, so that samplers with equal scales share their compiled code."""
    if isinstance(scale, Mapping):
        return tuple((str(name), float(value)) for name, value in scale.items())
    return tuple(scale) if isinstance(scale, Sequence) else scale


def _scales(place: AbstractPlace, scale: Any, owner: str) -> Float[Array, " k"]:
    """Standard deviations of a proposal: a number is a fraction of each side, pairs by name are in the user's units."""
    chart = place.chart
    if not isinstance(scale, tuple):
        return jnp.asarray(checks.positive(owner, "scale", scale) * chart.lengths, jnp.result_type(float))
    by_name = dict(scale) if scale and isinstance(scale[0], tuple) else dict(zip(chart.names, scale, strict=False))
    missing = [name for name in chart.names if name not in by_name]
    if missing:
        raise ValueError(
            f"{owner}: `scale` has no entry for `{missing[0]}`; the place has {checks.listed(chart.names)}."
        )
    return jnp.asarray([checks.positive(owner, f"scale of {n}", by_name[n]) for n in chart.names])


def _accept(
    density: Float[Array, " n"], proposed: Float[Array, " n"], inside: Bool[Array, " n"], chance: Float[Array, " n"]
) -> Bool[Array, " n"]:
    """Metropolis: accept with probability min(1, ψ'/ψ), written without the division, so that ψ needs no floor.
    `chance` is uniform on [0, 1).

    Where ψ = 0 nothing is known yet: any proposal inside is accepted, and the chain wanders until it meets the law's
    violations.
    """
    return inside & ((chance * density < proposed) | (density == 0))


class MetropolisHastings(AbstractSampler):
    """The paper's sampler: `chains` Gaussian random walks of `steps` steps, run anew for every pass.

    Proposals outside the place are rejected. Of the chains × steps states the last `keep` are used.

    **Arguments:**

    - `scale`: standard deviation of a proposal: a fraction of each side, or a dict by coordinate in the user's units.
    - `restart`: whether chains start from uniform points for every pass (the paper), or where the last pass left them.

    Good values: the paper's, 20 chains of 250 steps, last 1000 kept, about 30 % accepted.

    !!! example
        `worst_case(residual, sampler=MetropolisHastings(scale={"x": 0.5, "t": 0.1}))`
    """

    chains: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    keep: int = eqx.field(static=True)
    scale: Any = eqx.field(static=True)
    restart: bool = eqx.field(static=True)

    def __init__(self, chains: int = 20, steps: int = 250, keep: int = 1000, scale: Any = 0.1, restart: bool = True):
        self.chains = checks.points("MetropolisHastings", "chains", chains)
        self.steps = checks.count("MetropolisHastings", "steps", steps)
        self.keep = checks.points("MetropolisHastings", "keep", keep)
        checks.points("MetropolisHastings", "chains × steps", self.chains * self.steps)
        self.scale, self.restart = _frozen(scale), bool(restart)
        if keep % chains or keep > chains * steps:
            raise ValueError(
                f"MetropolisHastings: `keep` must be a multiple of `chains` and at most chains × steps = "
                f"{chains * steps}, got {keep} with {chains} chains."
            )

    def sized(self, n: int | None) -> "MetropolisHastings":
        keep = self.keep if n is None else n
        return MetropolisHastings(self.chains, self.steps, keep, self.scale, self.restart)

    def thinned(self, n: int) -> "MetropolisHastings":
        return self.sized(max(n // self.chains, 1) * self.chains)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        _scales(place, self.scale, "MetropolisHastings")
        key_points, key_chains = jr.split(key)
        return SamplerState(place.uniform(self.keep, key_points), place.uniform(self.chains, key_chains))

    def step(self, place, density, state, key):
        key_start, key_noise, key_accept = jr.split(key, 3)
        start = place.uniform(self.chains, key_start) if self.restart else state.memory
        scales = _scales(place, self.scale, "MetropolisHastings").astype(start.dtype)
        # All randomness is drawn at once: inside the loop, a step on 20 points costs less than its random numbers.
        noise = jr.normal(key_noise, (self.steps, *start.shape)) * scales
        chances = jr.uniform(key_accept, (self.steps, self.chains))

        def walk(chain, randomness):
            points, values, moves = chain
            move, chance = randomness
            proposal = points + move
            inside = jax.vmap(place.contains)(proposal)
            proposed = density(proposal)
            accepted = _accept(values, proposed, inside, chance)
            points = jnp.where(accepted[:, None], proposal, points)
            values = jnp.where(accepted, proposed, values)
            return (points, values, moves + accepted), points

        begin = (start, density(start), jnp.zeros(self.chains))
        (last, _, moves), trail = jax.lax.scan(walk, begin, (noise, chances))
        points = trail[-(self.keep // self.chains) :].reshape(self.keep, start.shape[1])
        return SamplerState(points, last), info(jnp.mean(moves) / self.steps, self.chains * (self.steps + 1))

    def weights(self, values: Losses) -> Float[Array, " n"]:
        return among(values)


def _wrapped(place: AbstractPlace, points: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Points that left through a periodic side come back through the other."""
    chart = place.chart
    wraps = jnp.asarray([name in chart.periodic for name in chart.names], dtype=bool)
    lower, lengths = jnp.asarray(chart.lower), jnp.asarray(chart.lengths, points.dtype)
    return jnp.where(wraps, lower + jnp.mod(points - lower, lengths), points)


class PersistentChains(AbstractSampler):
    """Chains carried from pass to pass, because the weights move slowly:  `steps` Metropolis steps on each.

    The densities at the chains are those that the pass just computed, so one step costs one evaluation per chain. The
    proposal's scale is adapted to an acceptance of `target`; periodic coordinates wrap around; a share `jump` of the
    proposals is uniform on the place, so that chains can change between far regions.

    Good values: 1000 chains × 1 step.

    !!! example
        `worst_case(residual, sampler=PersistentChains(1000, steps=2))`
    """

    chains: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    scale: Any = eqx.field(static=True)
    target: float = eqx.field(static=True)
    jump: float = eqx.field(static=True)

    def __init__(self, chains: int = 1000, steps: int = 1, scale: Any = 0.1, target: float = 0.3, jump: float = 0.1):
        self.chains = checks.points("PersistentChains", "chains", chains)
        self.steps = checks.count("PersistentChains", "steps", steps)
        self.scale, self.target, self.jump = _frozen(scale), float(target), float(jump)
        for name, value in (("target", self.target), ("jump", self.jump)):
            if not 0 <= value < 1:
                raise ValueError(f"PersistentChains: `{name}` must be in [0, 1), got {value}.")

    def sized(self, n: int | None) -> "PersistentChains":
        return PersistentChains(n or self.chains, self.steps, self.scale, self.target, self.jump)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        _scales(place, self.scale, "PersistentChains")
        return SamplerState(place.uniform(self.chains, key), jnp.asarray(0.0))

    def step(self, place, density, state, key):
        return state, info()

    def observe(self, place, density, state, values, key):
        points, log_factor = state
        scales = _scales(place, self.scale, "PersistentChains").astype(points.dtype)
        acceptance = jnp.asarray(0.0)
        for key_step in jr.split(key, self.steps):
            key_move, key_jump, key_where, key_accept = jr.split(key_step, 4)
            local = points + jnp.exp(log_factor) * scales * jr.normal(key_move, points.shape)
            jumps = jr.uniform(key_jump, values.shape) < self.jump
            anywhere = place.uniform(self.chains, key_where)
            proposal = jnp.where(jumps[:, None], anywhere, _wrapped(place, local))
            inside = jax.vmap(place.contains)(proposal)
            proposed = density(proposal)
            accepted = _accept(values, proposed, inside, jr.uniform(key_accept, values.shape))
            points = jnp.where(accepted[:, None], proposal, points)
            values = jnp.where(accepted, proposed, values)
            # Only local moves tell about the scale.
            rate = jnp.sum(accepted & ~jumps) / jnp.maximum(jnp.sum(~jumps), 1)
            # Robbins-Monro with a fixed gain: the target moves with the weights, so the gain must not die out.
            log_factor = jnp.clip(log_factor + 0.05 * (rate - self.target), -9.0, 9.0)
            acceptance = acceptance + rate / self.steps
        return SamplerState(points, log_factor), info(acceptance, self.chains * self.steps)

    def weights(self, values: Losses) -> Float[Array, " n"]:
        return among(values)


class Langevin(AbstractSampler):
    """Metropolis-adjusted Langevin chains (MALA), carried from pass to pass:

        z' = z + τ²/2 ∇log ψ(z) + τ ξ,   ξ ~ N(0, 1),   τ = scale × side,

    accepted with the Metropolis-Hastings ratio. The gradient steers chains towards large losses; it costs a
    derivative of the residual in space. The scale is adapted to an acceptance of 57 %, the best for MALA.

    !!! example
        `worst_case(residual, sampler=Langevin(chains=500))`
    """

    chains: int = eqx.field(static=True, default=1000)
    steps: int = eqx.field(static=True, default=1)
    scale: float = eqx.field(static=True, default=0.05)

    def __check_init__(self):
        checks.points("Langevin", "chains", self.chains)
        checks.count("Langevin", "steps", self.steps)
        checks.positive("Langevin", "scale", self.scale)

    def sized(self, n: int | None) -> "Langevin":
        return Langevin(n or self.chains, self.steps, self.scale)

    def init(self, place: AbstractPlace, key: Key) -> SamplerState:
        if place.finite:
            raise ValueError("Langevin: given points have no gradient between them; use MetropolisHastings.")
        return SamplerState(place.uniform(self.chains, key), jnp.asarray(0.0))

    def step(self, place, density, state, key):
        return state, info()

    def observe(self, place, density, state, values, key):
        points, log_factor = state
        sides = jnp.asarray(place.chart.lengths, points.dtype)

        def drift(points):
            """ψ, and ∇log ψ in units of the sides; a bound keeps steps near zeros of ψ finite."""
            values, pull = jax.vjp(density, points)
            (slope,) = pull(jnp.ones_like(values))
            slope = slope * sides / jnp.where(values > 0, values, jnp.inf)[:, None]
            size = jnp.linalg.norm(slope, axis=1, keepdims=True)
            return values, slope / jnp.maximum(1.0, size * tau)

        tau = jnp.exp(log_factor) * self.scale
        acceptance = jnp.asarray(0.0)
        values, slope = drift(points)
        for key_step in jr.split(key, self.steps):
            key_move, key_accept = jr.split(key_step)
            noise = jr.normal(key_move, points.shape)
            moved = points + sides * (tau**2 / 2 * slope + tau * noise)
            proposal = _wrapped(place, moved)
            proposed, proposed_slope = drift(proposal)
            inside = jax.vmap(place.contains)(proposal)
            back = (points - moved) / (sides * tau) - tau / 2 * proposed_slope
            # log q(z | z') − log q(z' | z)
            log_ratio = 0.5 * (jnp.sum(noise**2, axis=1) - jnp.sum(back**2, axis=1))
            odds = proposed * jnp.exp(jnp.minimum(log_ratio, 60.0))
            accepted = _accept(values, odds, inside, jr.uniform(key_accept, values.shape))
            points = jnp.where(accepted[:, None], proposal, points)
            values = jnp.where(accepted, proposed, values)
            slope = jnp.where(accepted[:, None], proposed_slope, slope)
            acceptance = acceptance + jnp.mean(accepted) / self.steps
        # Between passes only: a scale that changed between two steps would break their balance.
        log_factor = jnp.clip(log_factor + 0.05 * (acceptance - 0.57), -9.0, 9.0)
        return SamplerState(points, log_factor), info(acceptance, self.chains * (self.steps + 1))

    def weights(self, values: Losses) -> Float[Array, " n"]:
        return among(values)
