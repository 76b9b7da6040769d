"""Polynomials in place of a network: for smooth solutions on boxes each degree more is another digit."""

import functools
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Key, Point, checks
from .._places import Box
from ._embeddings import Rescale

MOST = 20_000  # coefficients, each a column of a least-squares problem


class Chebyshev(eqx.Module):
    """Products of Chebyshev polynomials on the box, scaled to [−1, 1]^d:

        u(z) = Σ_a c_a T_{a₁}(ẑ₁) ⋯ T_{a_d}(ẑ_d).

    It is linear in its coefficients, and derivatives are matrix products, since T′ = D T. Smooth solutions converge
    with the number of terms faster than any power of it. A step needs more rows than there are coefficients, which are
    not determined otherwise: with n coefficients in two dimensions `GaussNewton(rows=n)` or more.

    **Arguments:**

    - `domain`: a `Box`; `problem.domain` includes the parameters of a family.
    - `outputs`: one for each unknown.
    - `terms`: how many polynomials along each coordinate, one number for all or one for each. Good values: 16 to 32 for
      a few waves.
    - `key`: not used; all coefficients begin at 0.

    !!! example
        For `problem = scl.zoo.helmholtz(tolerance=1e-16)`, with 484 coefficients and more rows:
        ```python
        model = scl.nn.Chebyshev(problem.domain, terms=22)
        method = scl.PrimalDual(scl.GaussNewton(rows=800, guard=1.0), scl.DualAscent(0.3, clip=1.0, cap=2.0))
        scl.solve(problem, model, method, steps=30)
        ```
    """

    coefficients: Float[Array, "m *terms"]
    rescale: Rescale

    def __init__(self, domain: Box, outputs: int = 1, terms: int | Sequence[int] = 16, *, key: Key | None = None):
        if not isinstance(domain, Box):
            raise ValueError(f"Chebyshev: `domain` must be a Box, such as problem.domain, got {domain!r}.")
        d = domain.dimension
        along = (terms,) * d if isinstance(terms, int) else tuple(terms)
        if len(along) != d:
            raise ValueError(f"Chebyshev: `terms` must be one number, or {d}, one for each coordinate, got {terms!r}.")
        along = tuple(checks.count("Chebyshev", "terms", n) for n in along)
        outputs = checks.count("Chebyshev", "outputs", outputs)
        if outputs * math.prod(along) > MOST:
            raise ValueError(
                f"Chebyshev: `terms` {along} make {outputs * math.prod(along)} coefficients, more than {MOST}; take "
                "fewer, or a network such as MLP, whose size does not grow with the dimension."
            )
        self.coefficients = jnp.zeros((outputs, *along))
        self.rescale = Rescale(domain)

    def __call__(self, z: Point) -> Float[Array, " m"]:
        values = self.coefficients
        for x, n in reversed(list(zip(self.rescale(z), self.coefficients.shape[1:], strict=True))):
            values = values @ polynomials(x, n)
        return values


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def polynomials(x: Float[Array, ""], n: int) -> Float[Array, " n"]:
    """T₀(x), …, T_{n−1}(x); outside of [−1, 1] too, where they grow."""
    k, inside = jnp.arange(n), jnp.abs(x) <= 1
    within = jnp.cos(k * jnp.arccos(jnp.where(inside, x, 0.0)))
    beyond = jnp.cosh(k * jnp.arccosh(jnp.where(inside, 1.0, jnp.abs(x)))) * jnp.where(x < 0, (-1.0) ** k, 1.0)
    return jnp.where(inside, within, beyond)


@polynomials.defjvp
def _derivative(n, primals, tangents):
    values = polynomials(*primals, n)
    return values, jnp.asarray(differentiation(n), values.dtype) @ values * tangents[0]


@functools.cache
def differentiation(n: int) -> np.ndarray:
    """The matrix D of  T′ = D T:  T_k′ = 2k (T_{k−1} + T_{k−3} + …), with half of T₀ where it ends there.

    !!! example
        `differentiation(5) @ coefficients` has its use in `Chebyshev`'s derivatives.
    """
    matrix = np.zeros((n, n))
    for k in range(1, n):
        matrix[k, k - 1 :: -2] = 2 * k
        matrix[k, 0] /= 2
    return matrix
