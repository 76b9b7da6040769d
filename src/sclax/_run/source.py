"""Where a run's network comes from: one that exists, or a function that builds it."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._base import Key, Model
from .._problem import AbstractProblem


class AbstractSource(eqx.Module):
    """Gives a network for (domain, outputs, key). A `fresh` one is not trained yet, and may be replaced."""

    fresh: ClassVar[bool]

    @abc.abstractmethod
    def __call__(self, domain: Any, outputs: int, key: Key) -> Model:
        """The network."""


class Ready(AbstractSource):
    """A network that exists already; its weights may be good ones, and are kept."""

    model: Model

    fresh: ClassVar[bool] = False

    def __call__(self, domain, outputs, key):
        return _in_precision(self.model)


class Factory(AbstractSource):
    """A user's function that builds a network. What is not an array in it, functions made on the way for instance, is
    that of the first one built, so that all of a run's networks have one structure."""

    function: Callable[..., Any] = eqx.field(static=True)
    structure: Any = eqx.field(static=True, default=None)

    fresh: ClassVar[bool] = True

    def __call__(self, domain, outputs, key):
        model = _in_precision(_called(self.function, domain, outputs, key))
        return model if self.structure is None else jax.tree.unflatten(self.structure, jax.tree.leaves(model))


def source_of(problem: AbstractProblem, model: Any) -> tuple[AbstractSource, int]:
    """`model` as a function (domain, outputs, key) → model, and its number of weights. What has weights is a model,
    what has none builds one."""
    model = problem.network() if model is None else model
    if not callable(model):
        raise ValueError(
            "solve: `model` must be a network (a callable pytree) or a function (domain, outputs, key) that builds "
            f"one, got {model!r:.80}."
        )
    given = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    if given:
        if not all(np.all(np.isfinite(leaf)) for leaf in given):
            raise ValueError("solve: `model` has weights that are NaN or infinite; give one whose weights are numbers.")
        return Ready(model), _weights(model)
    shape = eqx.filter_eval_shape(Factory(model), problem.domain, len(problem.unknowns), jax.random.key(0))
    return Factory(model, jax.tree.structure(shape)), _weights(shape)


def _weights(model: Model) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(model) if hasattr(leaf, "size"))


def _in_precision(model: Model) -> Model:
    precision = jnp.result_type(float)
    return jax.tree.map(lambda x: x.astype(precision) if eqx.is_inexact_array(x) else x, model)


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
