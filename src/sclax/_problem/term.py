"""One law under one measure, ready to evaluate."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Losses
from .._laws import Law
from ..samplers import AbstractSampler


class Term(eqx.Module):
    """One law under one measure, ready to evaluate. `owner` is the constraint's name, None for the objective."""

    law: Law
    sampler: AbstractSampler | None
    alpha: Float[Array, ""]
    scale: Float[Array, ""]
    name: str = eqx.field(static=True)
    owner: str | None = eqx.field(static=True)
    separate: bool = eqx.field(static=True)  # each sample has a multiplier of its own
    worst: bool = eqx.field(static=True)
    n: int | None = eqx.field(static=True)

    @property
    def chosen(self) -> AbstractSampler:
        """The sampler, once `problem.completed()` has made every open choice."""
        if self.sampler is None:
            raise ValueError(f"Problem: no points are chosen yet for `{self.name}`; call problem.completed() first.")
        return self.sampler.on(self.law.place)

    @property
    def points(self) -> int:
        """How many points a pass has."""
        return self.chosen.count(self.law.place)

    def density(self, losses: Losses) -> Losses:
        """ψ_α up to a factor:  [ℓ − α max ℓ]₊."""
        return jnp.maximum(losses - self.alpha * jnp.max(losses), 0.0)

    def weights(self, losses: Losses, averaged: Any = 0.0) -> Losses:
        """The weight of each point's loss; `averaged` is the share of an even weight in it."""
        density, sampler = self.density(losses), self.chosen
        return (1 - averaged) * sampler.weights(density) + averaged * sampler.even(density)


def plain_term(
    law: Law,
    sampler: AbstractSampler | None,
    alpha: float,
    scale: float,
    owner: str | None,
    *,
    separate: bool = False,
    worst: bool = False,
    n: int | None = None,
) -> Term:
    return Term(law, sampler, jnp.asarray(alpha), jnp.asarray(scale), law.name, owner, separate, worst, n)
