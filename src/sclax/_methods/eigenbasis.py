"""SOAP, a first-order method that knows in which directions a weight matrix is stretched."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from .._base import checks
from .dual import Rate


class _Leaf(NamedTuple):
    """The state of one leaf as a matrix; `None` in place of a side's matrices says that this side is not rotated."""

    mean: Float[Array, "..."]  # M, in the eigenbases
    square: Float[Array, "..."]  # V, in the eigenbases
    grams: tuple[Any, ...]  # L, R
    bases: tuple[Any, ...]  # Q_L, Q_R


class SoapState(NamedTuple):
    steps: Int[Array, ""]
    leaves: PyTree


def soap(
    learning_rate: Rate,
    b1: float = 0.95,
    b2: float = 0.95,
    eps: float = 1e-8,
    every: int = 10,
    largest: int = 1024,
) -> optax.GradientTransformation:
    """SOAP (Vyas et al. 2024): Adam in the eigenbases of Shampoo's preconditioner. For the gradient G of a matrix W,

        G̃ = Q_Lᵀ G Q_R,   M ← β₁ M + (1 − β₁) G̃,   V ← β₂ V + (1 − β₂) G̃²,
        W ← W − η Q_L [M̂ / (√V̂ + ε)] Q_Rᵀ,   M̂ = M / (1 − β₁ᵗ),   V̂ = V / (1 − β₂ᵗ),
        L ← β₂ L + (1 − β₂) G Gᵀ,   R ← β₂ R + (1 − β₂) Gᵀ G.

    The first gradient only sets Q_L and Q_R, the eigenvectors of L and R, and moves no matrix. Every `every` steps they
    follow L and R by one power iteration, Q ← qr(L Q), columns by falling diag(Qᵀ L Q); M and V move along. Scalars and
    vectors take plain Adam; an array of more dimensions is a matrix of its first axis by all others.

    **Arguments:**

    - `learning_rate`: η, a number or an optax schedule.
    - `b1`, `b2`: decay β₁ of M, and β₂ of V, L and R.
    - `eps`: ε, against division by zero.
    - `every`: steps between two refreshes of the eigenbases.
    - `largest`: a longer side is not rotated, which saves its matrices; with neither side rotated this is Adam.

    Good values: the defaults with a rate of 3e-3 that decays. A smaller `every` follows better and costs more.

    !!! example
        `PrimalDual(primal=soap(3e-3), dual=DualAscent(1e-4))`
    """
    if not callable(learning_rate):
        checks.positive("soap", "learning_rate", learning_rate)
    b1, b2 = _decay("b1", b1), _decay("b2", b2)
    eps = checks.positive("soap", "eps", eps)
    every, largest = checks.count("soap", "every", every), checks.count("soap", "largest", largest)

    def init(params: PyTree) -> SoapState:
        return SoapState(jnp.zeros((), jnp.int32), jax.tree.map(lambda leaf: _init(jnp.asarray(leaf), largest), params))

    def step(leaf: _Leaf, gradient: Array, steps: Array) -> tuple[Array, _Leaf]:
        g = gradient.reshape(leaf.mean.shape)
        rotated = _rotate(g, leaf.bases)
        mean = b1 * leaf.mean + (1 - b1) * rotated
        square = b2 * leaf.square + (1 - b2) * rotated**2
        # The zero bases of the first step have turned its gradient into nothing, so it is no step of a rotated leaf.
        t = jnp.maximum(steps, 1) if jax.tree.leaves(leaf.bases) else steps + 1
        unbias = lambda moment, decay: moment / (1 - decay**t).astype(moment.dtype)
        scaled = unbias(mean, b1) / (jnp.sqrt(unbias(square, b2)) + eps)
        grams = tuple(
            None if gram is None else b2 * gram + (1 - b2) * _matmul(x, x.T)
            for gram, x in zip(leaf.grams, (g, g.T), strict=True)
        )
        update = _rotate(scaled, _transposed(leaf.bases)).reshape(gradient.shape)
        return update, _Leaf(mean, square, grams, leaf.bases)

    def update(updates: PyTree, state: Any, params: PyTree = None) -> tuple[PyTree, SoapState]:
        gradients, structure = jax.tree.flatten(updates)
        leaves = structure.flatten_up_to(state.leaves)
        pairs = [step(leaf, gradient, state.steps) for leaf, gradient in zip(leaves, gradients, strict=True)]
        # After the step, so that a gradient never chooses the basis in which it is divided by its own size.
        leaves = jax.lax.cond(
            state.steps % every == 0,
            lambda leaves: jax.lax.cond(state.steps == 0, _first, _follow, leaves),
            lambda leaves: leaves,
            [leaf for _, leaf in pairs],
        )
        new = SoapState(state.steps + 1, structure.unflatten(leaves))
        return structure.unflatten([update for update, _ in pairs]), new

    return optax.chain(optax.GradientTransformation(init, update), optax.scale_by_learning_rate(learning_rate))


def _decay(name: str, value: Any) -> float:
    result = checks.number("soap", name, value)
    if not 0 <= result < 1:
        raise ValueError(f"soap: `{name}` must be in [0, 1), got {result}.")
    return result


def _init(leaf: Array, largest: int) -> _Leaf:
    shape = leaf.shape if leaf.ndim < 2 else (leaf.shape[0], math.prod(leaf.shape[1:]))
    sides = shape if len(shape) == 2 else (1, 1)
    zeros = lambda *shape: jnp.zeros(shape, leaf.dtype)
    # A side of length one has nothing to rotate.
    square = lambda: tuple(zeros(side, side) if 1 < side <= largest else None for side in sides)
    return _Leaf(zeros(*shape), zeros(*shape), square(), square())


def _matmul(a: Array, b: Array) -> Array:
    # Accelerators round matrix products to few digits by default, and the bases would not stay orthogonal.
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def _rotate(x: Array, bases: tuple[Any, ...]) -> Array:
    """Q_Lᵀ X Q_R."""
    left, right = bases
    x = x if left is None else _matmul(left.T, x)
    return x if right is None else _matmul(x, right)


def _transposed(matrices: tuple[Any, ...]) -> tuple[Any, ...]:
    return jax.tree.map(jnp.transpose, matrices)


def _first(leaves: list[_Leaf]) -> list[_Leaf]:
    """Eigenvectors by falling eigenvalue; the moments are still zero."""
    basis = lambda gram: jnp.linalg.eigh(gram)[1][:, ::-1]
    return [leaf._replace(bases=jax.tree.map(basis, leaf.grams)) for leaf in leaves]


def _follow(leaves: list[_Leaf]) -> list[_Leaf]:
    """One power iteration of all bases, in which M is rotated and V, which has no direction, is reordered."""
    new = []
    for leaf in leaves:
        square, bases = leaf.square, list(leaf.bases)
        for axis, (gram, basis) in enumerate(zip(leaf.grams, leaf.bases, strict=True)):
            if basis is not None:
                power = _matmul(gram, basis)
                order = jnp.argsort(-jnp.sum(basis * power, axis=0))
                square = jnp.take(square, order, axis=axis)
                bases[axis] = jnp.linalg.qr(power[:, order])[0]
        mean = _rotate(_rotate(leaf.mean, _transposed(leaf.bases)), tuple(bases))
        new.append(leaf._replace(mean=mean, square=square, bases=tuple(bases)))
    return new
