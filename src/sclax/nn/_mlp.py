from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from .._base import Key, Point, checks
from .._places import Box
from ._embeddings import Corners, Holes, Rescale


class Dense(eqx.Module):
    """x ↦ W x + b, with Glorot-normal W and b = 0.

    !!! example
        `Dense(2, 50, key=jax.random.key(0))(jnp.zeros(2))` has shape (50,)
    """

    weight: Float[Array, "o i"]
    bias: Float[Array, " o"]

    def __init__(self, in_size: int, out_size: int, *, key: Key):
        # Glorot & Bengio: variance 2 / (in + out) keeps signals and gradients of order one through tanh layers.
        self.weight = jr.normal(key, (out_size, in_size)) * (2.0 / (in_size + out_size)) ** 0.5
        self.bias = jnp.zeros(out_size)

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        return self.weight @ x + self.bias


class MLP(eqx.Module):
    """A multilayer perceptron on coordinates scaled to [−1, 1]:  u = W_L σ(… σ(W_1 ẑ + b_1) …) + b_L.

    **Arguments:**

    - `domain`: scales the inputs; `problem.domain` includes the parameters of a family.
    - `outputs`: one for each unknown.
    - `width`, `depth`: neurons of a hidden layer, number of hidden layers. Good values: the paper's 4 × 50.
    - `embedding`: a first layer in place of the scaling, such as `PeriodicEmbedding(domain, "x")`; where corners point
      into the domain, `Corners(domain)` by default, and where it has holes, `Holes(domain)`, or one after the other.
    - `scale`: the size of each output, which is multiplied by it; 1 by default. `solve` takes that of the values which
      a problem prescribes, where these are far from one.

    !!! example
        `MLP(problem.domain, width=50, depth=4, key=jax.random.key(0))`
    """

    embedding: Any
    layers: tuple[Dense, ...]
    activation: Callable[..., Any] = eqx.field(static=True)
    scale: tuple[float, ...] = eqx.field(static=True)

    def __init__(
        self,
        domain: Box,
        outputs: int = 1,
        width: int = 50,
        depth: int = 4,
        activation: Callable[..., Any] = jnp.tanh,
        embedding: Any = None,
        scale: tuple[float, ...] = (),
        *,
        key: Key,
    ):
        if not isinstance(domain, Box):
            raise ValueError(f"MLP: `domain` must be a Box, such as problem.domain, got {domain!r}.")
        width, depth = checks.count("MLP", "width", width), checks.count("MLP", "depth", depth)
        self.embedding = _inputs(domain) if embedding is None else embedding
        sizes = [self.embedding.size, *[width] * depth, checks.count("MLP", "outputs", outputs)]
        keys = jr.split(key, len(sizes) - 1)
        self.layers = tuple(Dense(i, o, key=k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True))
        self.activation = activation
        self.scale = tuple(checks.positive("MLP", "scale", size) for size in scale)
        if self.scale and len(self.scale) != sizes[-1]:
            raise ValueError(f"MLP: `scale` must have a number for each of {sizes[-1]} outputs, got {scale!r}.")

    def __call__(self, z: Point) -> Float[Array, " m"]:
        x = self.embedding(z)
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        values = self.layers[-1](x)
        return values * jnp.asarray(self.scale, values.dtype) if self.scale else values


def _inputs(domain: Box) -> Any:
    """Coordinates, and what solutions look like at corners and round holes."""
    plain = Corners(domain) if domain.corners else Rescale(domain)
    return Holes(domain, plain) if domain.holes else plain


class Sized(eqx.Module):
    """Builds an `MLP` whose outputs have given sizes.

    !!! example
        `solve(problem, Sized((1.0, 100.0)))`, where the second unknown is about a hundred
    """

    scale: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, domain: Box, outputs: int, *, key: Key) -> MLP:
        return MLP(domain, outputs, scale=self.scale, key=key)
