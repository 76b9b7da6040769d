"""Double precision where a method or a model needs it, without touching the user's configuration of JAX."""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def double(needed: bool = True) -> contextlib.AbstractContextManager[Any]:
    """A context with float64 switched on; nothing changes where it is not needed."""
    return jax.enable_x64(True) if needed else contextlib.nullcontext()


def of(model: Any) -> contextlib.AbstractContextManager[Any]:
    """The context in which a model's weights keep their precision."""
    return double(any(getattr(leaf, "dtype", None) == jnp.float64 for leaf in jax.tree.leaves(model)))


def as_now() -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """The context of the present precision, for another thread, which has one of its own."""
    now = jnp.result_type(float) == jnp.float64
    return lambda: jax.enable_x64(now)
