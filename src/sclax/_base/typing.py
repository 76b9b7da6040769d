"""Shapes and names that every layer shares. One row is one point, one column one coordinate."""

from collections.abc import Callable
from typing import Any, TypeAlias

from jaxtyping import Array, Float, PRNGKeyArray

Scalar: TypeAlias = Float[Array, ""]
Point: TypeAlias = Float[Array, " d"]
Points: TypeAlias = Float[Array, "n d"]
Losses: TypeAlias = Float[Array, " n"]
Key: TypeAlias = PRNGKeyArray
Model: TypeAlias = Callable[..., Any]
Density: TypeAlias = Callable[[Float[Array, "n d"]], Float[Array, " n"]]
