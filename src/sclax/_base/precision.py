"""Double precision where a method or a model needs it, without touching the user's configuration of JAX."""

import contextlib
from typing import Any

import jax
import jax.numpy as jnp


def double(needed: bool = True) -> contextlib.AbstractContextManager[Any]:
    """A context with float64 switched on; nothing changes where it is not needed."""
    return jax.enable_x64(True) if needed else contextlib.nullcontext()


def of(model: Any) -> contextlib.AbstractContextManager[Any]:
    """The context in which a model's weights keep their precision."""
    return double(any(getattr(leaf, "dtype", None) == jnp.float64 for leaf in jax.tree.leaves(model)))
