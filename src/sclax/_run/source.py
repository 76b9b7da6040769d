"""Where a run's network comes from: one that exists, or a function that builds it."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._base import Key, Model
from .._problem import Problem


class Ready(eqx.Module):
    """A network that exists already, where otherwise a function builds one."""

    model: Model

    def __call__(self, domain, outputs, key):
        return _in_precision(self.model)


class Factory(eqx.Module):
    """A user's function that builds a network. What is not an array in it, functions made on the way for instance, is
    that of the first one built, so that all of a run's networks have one structure."""

    function: Callable[..., Any] = eqx.field(static=True)
    structure: Any = eqx.field(static=True, default=None)

    def __call__(self, domain, outputs, key):
        model = _in_precision(_called(self.function, domain, outputs, key))
        return model if self.structure is None else jax.tree.unflatten(self.structure, jax.tree.leaves(model))


def _in_precision(model: Model) -> Model:
    precision = jnp.result_type(float)
    return jax.tree.map(lambda x: x.astype(precision) if eqx.is_inexact_array(x) else x, model)


def builder(problem: Problem, model: Any) -> Ready | Factory:
    """`model` as a function (domain, outputs, key) → model. What has weights is a model, what has none builds one."""
    model = problem.network() if model is None else model
    if not callable(model):
        raise ValueError(
            "solve: `model` must be a network (a callable pytree) or a function (domain, outputs, key) that builds "
            f"one, got {model!r:.80}."
        )
    return Ready(model) if jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)) else Factory(model)


def _called(build: Callable[..., Any], domain: Any, outputs: int, key: Key) -> Model:
    try:
        model = build(domain, outputs, key=key)
    except TypeError as error:
        raise ValueError(
            "solve: `model` has no weights, so it must be a function (domain, outputs, key) that builds a network, "
            f"but calling it so failed: {error}."
        ) from error
    if not jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        raise ValueError("solve: `model` built a network without weights: there is nothing to train.")
    return model
