"""One law under one measure, ready to evaluate."""

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
    temper: Float[Array, ""]  # the share of an average in a worst case that cannot be met everywhere
    march: Float[Array, ""]  # 1 where training goes forwards from the first time, -1 backwards from the last, 0 neither

    @property
    def chosen(self) -> AbstractSampler:
        """The sampler, once `problem.completed()` has made every open choice."""
        if self.sampler is None:
            raise ValueError(f"Problem: no points are chosen yet for `{self.name}`; call problem.completed() first.")
        return self.sampler

    def density(self, losses: Losses) -> Losses:
        """ψ_α up to a factor:  [ℓ − α max ℓ]₊."""
        return jnp.maximum(losses - self.alpha * jnp.max(losses), 0.0)

    def weights(self, losses: Losses) -> Losses:
        """The weight of each point's loss."""
        return (1 - self.temper) * self.chosen.weights(self.density(losses)) + self.temper / losses.shape[0]


def plain_term(law, sampler, alpha, scale, owner, *, separate=False, worst=False, n=None) -> Term:
    none = jnp.zeros(())
    return Term(law, sampler, jnp.asarray(alpha), jnp.asarray(scale), law.name, owner, separate, worst, n, none, none)
