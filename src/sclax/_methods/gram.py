"""The Gram matrix J Jᵀ of residual rows in the weights, without J where the weights are those of dense layers.

A residual at one point meets a weight matrix W only in products W a and Wᵀ g, whatever derivatives it takes (in W A,
with a column for each direction, where it takes all at once), so its derivative in W is a sum over these uses of outer
products,  ∂r/∂W = Σ_u p_u q_uᵀ,  and

    ⟨∂r_i/∂W, ∂r_j/∂W⟩ = Σ_{u,v} (p_iu · p_jv) (q_iu · q_jv),

two small Gram matrices, multiplied entry by entry. The uses are found in the traced residual, so nothing is asked of a
model: a leaf that is used in any other way, a bias for instance, enters by its rows of J.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex
from jaxtyping import Array, Float, PyTree

Rows = Callable[[PyTree, Any], Float[Array, " c"]]  # (weights, chart point) -> residual components

TILE = 130  # rows of a tile of the Gram matrix: small enough for a core's cache


class _Operation(NamedTuple):
    equation: Any
    run: Callable[..., list[Any]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class _Use(NamedTuple):
    """The product of leaf `leaf` with a vector, or with several at once: operation number `operation` contracts
    dimension `contracted` of the leaf with dimension `along` of the operand; dimension `across` of the result, of
    shape `shape`, is the other one of the leaf."""

    leaf: int
    operation: int
    operand: int
    contracted: int
    along: int
    across: int
    shape: tuple[int, ...]

    @property
    def columns(self) -> int:
        """How many vectors the leaf is multiplied with."""
        return math.prod(self.shape) // self.shape[self.across]

    def vectors(self, array: Array, axis: int) -> Float[Array, "u r l"]:
        """The vectors along dimension `axis` of a matrix or a vector for each row, one after the other."""
        moved = jnp.moveaxis(array, 1 + axis, -1)
        return jnp.moveaxis(moved.reshape(len(array), self.columns, -1), 1, 0)


class Program:
    """A traced function of (leaves, point) as a list of operations, each made once and only where it is needed.

    Nested calls are opened, so that derivatives of several orders share what they have in common.
    """

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Array], point: Array):
        closed = jax.make_jaxpr(lambda leaves, point: function(leaves, point))(list(leaves), point)
        self.rows = closed.out_avals[0].size
        self._count = 0
        self._operations: list[_Operation] = []
        self._made: dict[Any, tuple[int, ...]] = {}  # the outputs of each operation, by what it is
        self.constants: list[tuple[int, Any]] = []
        self.inputs = [self._fresh() for _ in closed.jaxpr.invars]
        self.outputs = self._open(closed, self.inputs)
        self.operations = self._needed()

    def _fresh(self) -> int:
        self._count += 1
        return self._count - 1

    def _constant(self, value: Any) -> int:
        number = self._fresh()
        self.constants.append((number, value))
        return number

    def _open(self, closed: Any, inputs: Sequence[int]) -> list[int]:
        jaxpr = closed.jaxpr
        known = dict(zip(jaxpr.constvars, map(self._constant, closed.consts), strict=True))
        known.update(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            if equation.primitive.name in ("jit", "pjit", "closed_call"):
                inner = equation.params["jaxpr"] if "jaxpr" in equation.params else equation.params["call_jaxpr"]
                given = [self._constant(a.val) if isinstance(a, jex.Literal) else known[a] for a in equation.invars]
                found = self._open(inner, given)
            else:
                found = self._operate(equation, known)
            known.update(zip(equation.outvars, found, strict=True))
        return [self._constant(a.val) if isinstance(a, jex.Literal) else known[a] for a in jaxpr.outvars]

    def _operate(self, equation: Any, known: dict[Any, int]) -> tuple[int, ...]:
        literal = lambda atom: isinstance(atom, jex.Literal)
        variables = list(dict.fromkeys(atom for atom in equation.invars if not literal(atom)))
        what = tuple((str(a.aval), str(a.val)) if literal(a) else known[a] for a in equation.invars)
        key = (equation.primitive, what, tuple(sorted(equation.params.items(), key=lambda item: item[0])))
        try:
            hash(key)
        except TypeError:  # parameters that cannot be compared: take the operation for a new one
            key = self._count
        if key not in self._made:
            outputs = tuple(self._fresh() for _ in equation.outvars)
            run = _alone(equation, variables)
            self._operations.append(_Operation(equation, run, tuple(known[v] for v in variables), outputs))
            self._made[key] = outputs
        return self._made[key]

    def _needed(self) -> list[_Operation]:
        wanted, kept = set(self.outputs), []
        for operation in reversed(self._operations):
            if wanted & set(operation.outputs):
                kept.append(operation)
                wanted |= set(operation.inputs)
        return kept[::-1]

    def uses(self, leaf: int) -> list[_Use] | None:
        """All uses of a leaf, or None where one of them is not a product with vectors."""
        found: list[_Use] = []
        if self.inputs[leaf] in self.outputs:
            return None
        for k, operation in enumerate(self.operations):
            if self.inputs[leaf] not in operation.inputs:
                continue
            equation = operation.equation
            if equation.primitive.name != "dot_general" or len(operation.inputs) != 2:
                return None
            side = operation.inputs.index(self.inputs[leaf])
            contracted, batch = equation.params["dimension_numbers"]
            shape = equation.outvars[0].aval.shape
            # A matrix times a vector, or the vectors that are the columns or rows of a matrix.
            if any(batch) or len(contracted[side]) != 1 or len(shape) > 2:
                return None
            across = 0 if side == 0 else len(shape) - 1
            along = contracted[1 - side][0]
            found.append(_Use(leaf, k, operation.inputs[1 - side], contracted[side][0], along, across, shape))
        return found

    def run(self, leaves: Sequence[Array], point: Array, taps: dict[int, Array]) -> tuple[dict[int, Any], list[Any]]:
        """All intermediate values and the outputs, with `taps[k]` added to what operation k gives."""
        values: dict[int, Any] = dict(self.constants)
        values.update(zip(self.inputs, [*leaves, point], strict=True))
        for k, operation in enumerate(self.operations):
            found = operation.run(*(values[i] for i in operation.inputs))
            if k in taps:
                found = [found[0] + taps[k]]
            values.update(zip(operation.outputs, found, strict=True))
        return values, [values[i] for i in self.outputs]


def _alone(equation: Any, variables: Sequence[Any]) -> Callable[..., list[Any]]:
    """One equation as a function of its variables, by the interpreter's `bind`, which JAX documents."""
    primitive = equation.primitive

    def run(*values: Any) -> list[Any]:
        known = dict(zip(variables, values, strict=True))
        given = [atom.val if isinstance(atom, jex.Literal) else known[atom] for atom in equation.invars]
        found = primitive.bind(*given, **primitive.get_bind_params(equation.params))
        return list(found) if primitive.multiple_results else [found]

    return run


class Factors(NamedTuple):
    """The derivative of rows in the weights: `outer[l] = (p, q)` with ∂r/∂W_l = Σ_u p_u q_uᵀ, and `plain` rows of J."""

    outer: tuple[tuple[Float[Array, "u r o"], Float[Array, "u r i"]], ...]
    plain: Float[Array, "r m"]

    def tiles(self, most: int) -> "list[Factors]":
        """Pieces of at most `most` rows, as equal as can be."""
        pieces = -(-len(self.plain) // most)
        cuts = [len(self.plain) * i // pieces for i in range(pieces + 1)]
        cut = lambda a, b: Factors(tuple((p[:, a:b], q[:, a:b]) for p, q in self.outer), self.plain[a:b])
        return [cut(a, b) for a, b in itertools.pairwise(cuts)]

    def scaled(self, factors: Float[Array, " r"]) -> "Factors":
        """The derivatives of the rows times `factors`."""
        outer = tuple((p * factors[:, None], q) for p, q in self.outer)
        return Factors(outer, self.plain * factors[:, None])


class Tape(NamedTuple):
    """One law's residual at one point, traced, and the uses of the leaves whose rows of J need not be formed."""

    program: Program
    dense: dict[int, list[_Use]]

    def factors(self, leaves: Sequence[Array], points: Float[Array, "n k"]) -> tuple[Float[Array, "n c"], Factors]:
        """The rows at each point and their derivatives."""
        program = self.program
        uses = [use for found in self.dense.values() for use in found]
        rest = [i for i in range(len(leaves)) if i not in self.dense]
        dtype = jnp.result_type(*leaves)
        taps = {u.operation: jnp.zeros(u.shape, dtype) for u in uses}

        def traced(taps, others, point):
            full = list(leaves)
            for i, leaf in zip(rest, others, strict=True):
                full[i] = leaf
            values, (rows,) = program.run(full, point, taps)
            return rows, (rows, {u.operation: values[u.operand] for u in uses})

        def at(point):
            others = [leaves[i] for i in rest]
            (signals, plain), (rows, operands) = jax.jacrev(traced, argnums=(0, 1), has_aux=True)(taps, others, point)
            return rows, signals, plain, operands

        rows, signals, plain, operands = jax.vmap(at)(points)
        n, c = rows.shape
        outer = []
        for leaf, found in self.dense.items():
            o, i = leaves[leaf].shape
            p, q = [jnp.zeros((0, n * c, o), dtype)], [jnp.zeros((0, n * c, i), dtype)]
            for use in found:
                signal = use.vectors(signals[use.operation].reshape(n * c, *use.shape), use.across)
                operand = use.vectors(jnp.repeat(operands[use.operation], c, axis=0), use.along)
                p.append(signal if use.contracted == 1 else operand)
                q.append(operand if use.contracted == 1 else signal)
            outer.append((jnp.concatenate(p), jnp.concatenate(q)))
        flat = [block.reshape(n * c, -1) for block in plain]
        return rows, Factors(tuple(outer), jnp.concatenate([*flat, jnp.zeros((n * c, 0), dtype)], axis=1))


class _Law(NamedTuple):
    """One law's rows: traced residual, points, and a factor for the rows of each point."""

    tape: Tape
    points: Float[Array, "n k"]
    roots: Float[Array, " n"]

    def factors(self, leaves: Sequence[Array], start: Any = 0, count: int | None = None) -> Factors:
        """The derivatives of the scaled rows of `count` points from `start` on; all of them by default."""
        cut = lambda a: a if count is None else jax.lax.dynamic_slice_in_dim(a, start, count)
        rows, found = self.tape.factors(leaves, cut(self.points))
        return found.scaled(jnp.repeat(cut(self.roots), rows.shape[1]))

    def bytes(self, leaves: Sequence[Array]) -> int:
        """The size of the derivatives of all rows."""
        dense = self.tape.dense
        numbers = sum(leaf.size for i, leaf in enumerate(leaves) if i not in dense)
        numbers += sum(use.columns * sum(leaves[i].shape) for i, uses in dense.items() for use in uses)
        return len(self.points) * self.tape.program.rows * numbers * leaves[0].dtype.itemsize


def system(
    rows: Sequence[Rows],
    leaves: Sequence[Array],
    points: Sequence[Float[Array, "n k"]],
    roots: Sequence[Float[Array, " n"]],
    memory: float,
) -> tuple[Float[Array, "r r"], Callable[[Float[Array, " r"]], list[Array]]]:
    """J Jᵀ of the rows `roots[k] · rows[k](leaves, points[k])` of all k, and the map v ↦ Jᵀ v.

    Where J's factors for all rows at once do not fit into half of `memory` bytes, they are made again for every tile.
    """
    programs = [Program(f, leaves, jnp.zeros(p.shape[1:], p.dtype)) for f, p in zip(rows, points, strict=True)]
    dense = [i for i, leaf in enumerate(leaves) if leaf.ndim == 2 and all(p.uses(i) is not None for p in programs)]
    tapes = [Tape(p, {i: p.uses(i) or [] for i in dense}) for p in programs]
    laws = [_Law(*law) for law in zip(tapes, points, roots, strict=True)]
    held = [law.bytes(leaves) for law in laws]
    if sum(held) <= memory / 2:
        blocks = [law.factors(leaves) for law in laws]
        return _gram(blocks, TILE), lambda vector: _transposed(blocks, vector, leaves, dense)
    single = max(size / len(law.points) for size, law in zip(held, laws, strict=True))
    tile = int(memory / 4 / single)
    if tile < 1:
        raise ValueError(
            f"GaussNewton: the derivatives of one point need {single:.2g} bytes, more than a quarter of "
            f"`memory={memory:.2g}`. Raise it, or use a first-order primal such as soap(3e-3)."
        )

    def stacked(leaves):
        every = zip(rows, points, roots, strict=True)
        return jnp.concatenate([(f[:, None] * jax.vmap(lambda w, r=r: r(leaves, w))(p)).ravel() for r, p, f in every])

    return _gram_by_tiles(laws, leaves, tile), lambda vector: jax.vjp(stacked, list(leaves))[1](vector)[0]


def _gram(blocks: Sequence[Factors], tile: int) -> Float[Array, "r r"]:
    """J Jᵀ of all rows of all blocks, by tiles of its lower triangle."""
    tiles = [piece for block in blocks for piece in block.tiles(tile)]
    table: list[list[Any]] = [[None] * len(tiles) for _ in tiles]
    for i, a in enumerate(tiles):
        for j, b in enumerate(tiles[: i + 1]):
            table[i][j] = _product(a, b)
            table[j][i] = table[i][j].T
    return jnp.block(table)


def _gram_by_tiles(laws: Sequence[_Law], leaves: Sequence[Array], tile: int) -> Float[Array, "r r"]:
    """The same with two tiles of factors in memory at a time."""
    table: list[list[Any]] = [[None] * len(laws) for _ in laws]
    for i, a in enumerate(laws):
        for j, b in enumerate(laws[: i + 1]):
            table[i][j] = _tiled_product(a, b, leaves, tile)
            table[j][i] = table[i][j].T
    return jnp.block(table)


def _tiled_product(a: _Law, b: _Law, leaves: Sequence[Array], tile: int) -> Float[Array, "r s"]:
    tile = min(tile, max(len(a.points), len(b.points)))
    padded = []
    for law in (a, b):
        extra = -len(law.points) % tile
        points = jnp.concatenate([law.points, jnp.repeat(law.points[:1], extra, axis=0)])
        padded.append(law._replace(points=points, roots=jnp.pad(law.roots, (0, extra))))
    left, right = padded

    def strip(i):
        factors = left.factors(leaves, i, tile)
        parts = jax.lax.map(
            lambda j: _product(factors, right.factors(leaves, j, tile)), jnp.arange(0, len(right.points), tile)
        )
        return jnp.moveaxis(parts, 0, 1).reshape(parts.shape[1], -1)

    strips = jax.lax.map(strip, jnp.arange(0, len(left.points), tile))
    whole = strips.reshape(-1, strips.shape[-1])
    each = [size // len(law.points) for size, law in zip(whole.shape, padded, strict=True)]
    return whole[: len(a.points) * each[0], : len(b.points) * each[1]]


def _product(a: Factors, b: Factors) -> Float[Array, "r s"]:
    """J_a J_bᵀ of two tiles."""
    total = a.plain @ b.plain.T
    for (p, q), (s, t) in zip(a.outer, b.outer, strict=True):
        (u, r, o), (v, n, i) = p.shape, t.shape
        if u * v * (o + i) < o * i:
            both = (p.reshape(u * r, o) @ s.reshape(v * n, o).T) * (q.reshape(u * r, i) @ t.reshape(v * n, i).T)
            total += jnp.sum(both.reshape(u, r, v, n), axis=(0, 2))
        else:  # so many uses that these rows of J are cheaper
            total += jnp.einsum("uro,uri->roi", p, q).reshape(r, o * i) @ (
                jnp.einsum("uro,uri->roi", s, t).reshape(n, o * i).T
            )
    return total


def _transposed(
    blocks: Sequence[Factors], vector: Float[Array, " r"], leaves: Sequence[Array], dense: Sequence[int]
) -> list[Array]:
    """Jᵀ v, leaf by leaf."""
    parts = jnp.split(vector, list(itertools.accumulate(len(b.plain) for b in blocks))[:-1])
    found = [jnp.zeros_like(leaf) for leaf in leaves]
    for block, v in zip(blocks, parts, strict=True):
        for i, (p, q) in zip(dense, block.outer, strict=True):
            found[i] += jnp.einsum("uro,uri->oi", p * v[:, None], q)
        rest, start = [i for i in range(len(leaves)) if i not in dense], 0
        plain = v @ block.plain
        for i in rest:
            found[i] += plain[start : start + leaves[i].size].reshape(leaves[i].shape)
            start += leaves[i].size
    return found
