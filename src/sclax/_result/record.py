"""Numbers that JSON holds, and what made them."""

import importlib.metadata
import platform

import numpy as np


def versions() -> dict[str, str]:
    """What ran: for records that can be compared later.

    !!! example
        `scl.versions()["jax"]`
    """
    packages = ("sclax", "jax", "equinox", "optax", "numpy")
    return {"python": platform.python_version(), **{p: importlib.metadata.version(p) for p in packages}}


def number(value: float | None) -> float | None:
    """A finite number, or None."""
    return None if value is None or not np.isfinite(value) else float(value)
