"""What to say of a step that left the finite numbers: how far training came, and which law failed where."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PyTree

from .._methods import AbstractMethod, State
from .._problem import AbstractProblem, Term
from .run import Run, Task

BLOCK = 16  # points whose gradients in the weights are held at once


class Failure(NamedTuple):
    """The law whose value, or its gradient in the weights, is NaN or infinite; the point on its chart; and its
    coordinates for people."""

    law: str
    point: tuple[float, ...]
    where: dict[str, float]

    def __str__(self) -> str:
        place = ", ".join(f"{name} = {value:.6g}" for name, value in self.where.items())
        return f"`{self.law}` or its gradient is NaN or infinite at {place or 'its only point'}"


def failure(task: Task, run: Run, share: float, width: float = 0.0) -> Failure | None:
    """The first law that fails in the step after `run`; None where all are finite, and the step itself went too far."""
    problem = run.stage.pose(task.problem, width)
    first = lambda tree: jax.tree.map(lambda leaf: leaf[0], tree) if task.many else tree
    state, keys = first(run.state), first(run.stage.keys(task.keys))
    tried = _tried(problem, task.method, state, task.rest, keys, jnp.asarray(run.step), jnp.asarray(share))
    for term, (points, bad) in zip(problem.terms, tried, strict=True):
        if np.any(bad):
            w = points[int(np.argmax(bad))]
            where = term.law.place.by_name(w, problem.domain.names)
            return Failure(term.name, tuple(np.asarray(w, float).tolist()), where)
    return None


@eqx.filter_jit
def _tried(
    problem: AbstractProblem, method: AbstractMethod, arrays: PyTree, rest: PyTree, key: Any, step: Any, share: Any
) -> list[tuple[Any, Any]]:
    """The points of a step, law by law, and at which of them it fails."""
    state: State = eqx.combine(arrays, rest)
    _, _, stream = jr.split(key, 3)
    after, _ = method.step(problem, state, jr.fold_in(stream, step), share)
    weights, others = eqx.partition(state.model, eqx.is_inexact_array)

    def fails(term: Term, w: Any) -> Any:
        loss = lambda weights: jnp.sum(term.law.rows(eqx.combine(weights, others), problem.parameters, w[None]) ** 2)
        found = jax.tree.leaves(jax.value_and_grad(loss)(weights))
        return ~jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in found]))

    found = []
    for term, sampler in zip(problem.terms, after.samplers, strict=True):
        block = max(BLOCK // term.law.inner, 1)
        bad = jax.lax.map(lambda w, term=term: fails(term, w), sampler.points, batch_size=block)
        found.append((sampler.points, bad))
    return found
