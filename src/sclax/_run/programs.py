"""What is compiled: the first state, the steps that make it ready, and a chunk of iterations.

Each runs from step `start` to step `stop`, numbers that the compiled code gets as arguments: one program serves chunks
of every length, and a chunk of no steps compiles it, so that seconds of training hold no compilation.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import PyTree

from .._methods import AbstractMethod, Info, State, finite
from .._problem import AbstractProblem


class Summary(NamedTuple):
    """A chunk of iterations in numbers: means over its steps, multipliers and weights of points at its end."""

    objective: Any
    values: dict[str, Any]
    multipliers: dict[str, Any]
    acceptance: tuple[Any, ...]
    sample_size: tuple[Any, ...]
    weights: tuple[Any, ...]
    evaluations: Any
    finite: Any


class _Totals(NamedTuple):
    """A summary in the making: sums over the steps so far."""

    objective: Any
    values: dict[str, Any]
    seen: dict[str, Any]
    acceptance: tuple[Any, ...]
    sample_size: tuple[Any, ...]
    evaluations: Any
    finite: Any
    multipliers: dict[str, Any]
    weights: tuple[Any, ...]

    @staticmethod
    def none(problem: AbstractProblem, state: State) -> "_Totals":
        zero, by_constraint = jnp.zeros(()), jax.tree.map(jnp.zeros_like, problem.tolerances)
        each = tuple(zero for _ in problem.terms)
        return _Totals(
            objective=zero,
            values=by_constraint,
            seen=jax.tree.map(lambda t: jnp.zeros(t.shape, jnp.int32), problem.tolerances),
            acceptance=each,
            sample_size=each,
            evaluations=jnp.asarray(0, jnp.int32),
            finite=jnp.asarray(True),
            multipliers=state.multipliers,
            weights=tuple(jnp.zeros(len(s.points)) for s in state.samplers),
        )

    def after(self, info: Info) -> "_Totals":
        add = lambda total, new: jax.tree.map(lambda a, b: a + b.astype(a.dtype), total, new)
        known = jax.tree.map(lambda value, seen: jnp.where(seen, value, 0), info.values, info.seen)
        return _Totals(
            objective=add(self.objective, info.objective),
            values=add(self.values, known),
            seen=add(self.seen, info.seen),
            acceptance=add(self.acceptance, info.acceptance),
            sample_size=add(self.sample_size, info.sample_size),
            evaluations=add(self.evaluations, info.evaluations),
            finite=self.finite & info.finite,
            multipliers=info.multipliers,
            weights=info.weights,
        )

    def over(self, steps: Any) -> Summary:
        mean = lambda total: jax.tree.map(lambda a: a / jnp.maximum(steps, 1), total)
        # NaN for a sample that no batch contained.
        of_seen = lambda total, count: jnp.where(count > 0, total / jnp.maximum(count, 1), jnp.nan)
        return Summary(
            objective=mean(self.objective),
            values=jax.tree.map(of_seen, self.values, self.seen),
            multipliers=self.multipliers,
            acceptance=mean(self.acceptance),
            sample_size=mean(self.sample_size),
            weights=self.weights,
            evaluations=self.evaluations,
            finite=self.finite,
        )


def _strong(leaf: Any) -> Any:
    """An array without JAX's weak type, which would make the first chunk differ from the rest and compile twice."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf


@eqx.filter_jit
def build(problem: AbstractProblem, method: AbstractMethod, source: Any, keys: Any, many: bool) -> tuple[Any, Any]:
    """The first states, arrays of all seeds side by side and apart from everything else, which all seeds share."""

    def make(key):
        key_model, key_state, _ = jr.split(key, 3)
        model = problem.with_sought(source(problem.domain, len(problem.unknowns), key_model), key_model)
        problem.fits(model)
        return jax.tree.map(_strong, method.init(problem, model, key_state))

    if not many:
        return eqx.partition(make(keys), eqx.is_array)
    rest = eqx.filter(eqx.filter_eval_shape(make, keys[0]), lambda leaf: hasattr(leaf, "shape"), inverse=True)
    return jax.vmap(lambda key: eqx.filter(make(key), eqx.is_array))(keys), rest


@eqx.filter_jit
def warm(
    problem: AbstractProblem, method: AbstractMethod, arrays: PyTree, rest: PyTree, keys: Any, stop: Any, many: bool
):
    """The states with networks made ready by the first `stop` steps of the primal's start."""
    start = method.primal.start

    def one(arrays, key):
        _, key_state, _ = jr.split(key, 3)
        # Not one of the keys that `init` uses, which are folds by small numbers.
        steps = jr.split(jr.fold_in(key_state, 2**31), start.steps)
        state: State = eqx.combine(arrays, rest)
        weights, others = eqx.partition(state.model, eqx.is_inexact_array)

        def body(k, carry):
            weights, memory = carry
            model, memory = start.step(problem, eqx.combine(weights, others), memory, state.units, steps[k])
            new = eqx.filter(model, eqx.is_inexact_array), memory
            good = finite(new[0])  # a draw on which a law is NaN is left out
            return jax.tree.map(lambda a, b: jnp.where(good, a, b) if eqx.is_array(a) else a, new, carry)

        weights, _ = jax.lax.fori_loop(0, stop, body, (weights, start.init(state.model)))
        model = eqx.combine(weights, others)
        # A network as it was built is nearly flat: an equation's size is that of its terms once conditions are met.
        later = start.units(problem, model, jr.fold_in(key_state, 2**31 + 1))
        units = jax.tree.map(lambda unit, new: jnp.where(stop > 0, jnp.maximum(unit, new), unit), state.units, later)
        return eqx.filter(state._replace(model=model, primal=method.primal.init(model), units=units), eqx.is_array)

    return (jax.vmap(one) if many else one)(arrays, keys)


@eqx.filter_jit
def advance(
    problem: AbstractProblem,
    method: AbstractMethod,
    arrays: PyTree,
    rest: PyTree,
    keys: Any,
    start: Any,
    stop: Any,
    share: Any,
    many: bool,
) -> tuple[PyTree, Summary]:
    """Iterations `start` to `stop`, for one seed or `many` by vmap, whose steps go a `share` of their length.

    The key of an iteration depends on its number alone, so chunks may be cut anywhere. A seed that left the finite
    numbers keeps its last good state.
    """

    def one(arrays, key):
        _, _, stream = jr.split(key, 3)

        def body(k, carry):
            arrays, totals = carry
            state, info = method.step(problem, eqx.combine(arrays, rest), jr.fold_in(stream, k), share)
            return eqx.filter(state, eqx.is_array), totals.after(info)

        totals = _Totals.none(problem, eqx.combine(arrays, rest))
        arrays, totals = jax.lax.fori_loop(start, stop, body, (arrays, totals))
        return arrays, totals.over(stop - start)

    new, summary = (jax.vmap(one) if many else one)(arrays, keys)
    keep = lambda a, b: jnp.where(summary.finite.reshape(summary.finite.shape + (1,) * (a.ndim - many)), a, b)
    return jax.tree.map(keep, new, arrays), summary
