"""Integrals over some coordinates or over a place, and laws on them."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Model, changed, checks, precision
from .._places import AbstractPlace, Box, Pinned, Where, locate
from .fields import Constant, NamedFunction, components, named, named_on
from .law import AbstractCondition, AbstractNamed, Law, Parameters
from .tables import Table, is_table
from .words import Coordinate, Vocabulary

NODES = {1: 32, 2: 24, 3: 10}  # of Gauss and Legendre along each coordinate, by their number
POINTS = 2048  # of Sobol in more dimensions and on curved places
FINE, MOMENTS = 2**18, 60  # cells that tell polynomials' means on shapes, and how many of these are right
MOVING = 8192  # of Sobol in the box round a shape that depends on parameters
SEEN = 64  # nodes of which each can be looked at by itself


class Part(NamedTuple):
    """A place with nodes on its chart, and their weights; and the domain outside of which nodes do not count, where its
    shape depends on the coordinates that remain."""

    place: AbstractPlace
    nodes: Float[Array, "m k"]
    weights: Float[Array, " m"]
    moving: Box | None = None

    def counted(self, points: Float[Array, "m d"]) -> Float[Array, " m"]:
        """The weights of nodes that are these points of the domain: next to the boundary in part, as if each stood for
        a cell round it."""
        if self.moving is None:
            return self.weights
        shape, names = self.moving.shape, self.moving.names
        assert shape is not None
        cell = self.weights[0] ** (1 / len(shape.names))
        level = jax.vmap(lambda z: shape.level(*shape.located(names, z)))(points)
        return self.weights * jnp.clip(0.5 - level / cell, 0.0, 1.0)


class Quadrature(eqx.Module):
    """Sums in the place of integrals over a part of the domain, for every value of the coordinates that `remain`."""

    parts: tuple[Part, ...]
    names: tuple[str, ...] = eqx.field(static=True)
    remain: tuple[str, ...] = eqx.field(static=True)

    @property
    def count(self) -> int:
        return sum(len(part.nodes) for part in self.parts)

    def _at(self, w: Float[Array, " k"]) -> list[Part]:
        """The parts where the remaining coordinates have the values `w`, in their precision."""
        return [
            Part(Pinned(place, w, self.names, self.remain), nodes.astype(w.dtype), weights.astype(w.dtype), moving)
            for place, nodes, weights, moving in self.parts
        ]

    def points(self, w: Float[Array, " k"]) -> Float[Array, "m d"]:
        """All nodes as points of the domain, where the remaining coordinates have the values `w`."""
        return jnp.concatenate([jax.vmap(part.place.embed)(part.nodes) for part in self._at(w)])

    def __call__(
        self,
        function: NamedFunction | Constant,
        model: Model,
        parameters: Parameters,
        w: Float[Array, " k"],
        owner: str = "Integral",
    ) -> Float[Array, " c"]:
        """The integral of a function where the remaining coordinates have the values `w`."""
        total = []
        for part in self._at(w):
            at = lambda v, place=part.place: components(function.on(model, parameters, place, v), owner)
            weights, found = part.counted(jax.vmap(part.place.embed)(part.nodes)), jax.vmap(at)(part.nodes)
            # Outside a function may be infinite.
            total.append(weights @ jnp.where(weights[:, None] > 0, found, 0.0))
        return jnp.sum(jnp.stack(total), axis=0)


def quadrature(owner: str, over: Any, domain: Box) -> Quadrature:
    """The sums for `over`: names of coordinates, over their whole intervals, or a place in space."""
    if isinstance(over, str):
        over = (over,)
    if isinstance(over, tuple | list) and over and all(isinstance(name, str) for name in over):
        for name in over:
            if name not in domain.names:
                raise ValueError(
                    f"{owner}: `over` names `{name}`, which is no coordinate of the domain "
                    f"({checks.listed(domain.names)})." + checks.nearest(name, domain.names)
                )
        if domain.shape is not None and 0 < len(set(over) & set(domain.space)) < len(domain.space):
            raise ValueError(
                f"{owner}: `over` has {checks.listed(over)}, but how far the domain reaches along one coordinate of "
                f"space depends on the others; take all of them, {checks.listed(domain.space)}."
            )
        if _moves(domain) and set(domain.space) <= set(over):
            return _over_moving(domain, over)
        inner = domain.select(name for name in domain.names if name in over)
        place: AbstractPlace = inner
    else:
        if _moves(domain):
            raise ValueError(
                f"{owner}: the shape depends on {checks.listed(domain.shape.parameters)}, so that `over` names "  # pyright: ignore[reportOptionalMemberAccess]
                f"coordinates, over=({', '.join(map(repr, domain.space))}), and no place."
            )
        inner = domain.select(domain.space)
        place = _in_space(owner, over, inner)
    remain = tuple(name for name in domain.names if name not in inner.names)
    # Not rounded to the precision of this moment: a method may solve in a higher one.
    with precision.double():
        return Quadrature(tuple(map(_part, place.parts or (place,))), domain.names, remain)


def _moves(domain: Box) -> bool:
    """Whether where space ends depends on parameters of a family."""
    return domain.shape is not None and bool(domain.shape.parameters)


def _over_moving(domain: Box, over: tuple[str, ...] | list[str]) -> Quadrature:
    """Even points of the box round a shape that depends on parameters, of which those count that are inside."""
    assert domain.shape is not None
    if len(over) > len(domain.space):
        raise ValueError(
            f"Integral: `over` is space alone, {checks.listed(domain.space)}, where its shape depends on parameters."
        )
    inner = domain.bounding.select(domain.space)
    cell = (inner.measure / MOVING) ** (1 / inner.dimension)
    # Beyond its ends too: of nodes next to a boundary half are outside.
    lower, upper = (tuple(end + sign * cell for end in side) for side, sign in ((inner.lower, -1), (inner.upper, 1)))
    with precision.double():
        wide = changed(inner, lower=lower, upper=upper)
        nodes = wide.sobol(MOVING)
        part = Part(wide, nodes, jnp.full(len(nodes), wide.measure / len(nodes)), domain)
    return Quadrature((part,), domain.names, tuple(name for name in domain.names if name not in domain.space))


def _in_space(owner: str, over: Where, space: Box) -> AbstractPlace:
    if over is None or not space.names:
        raise ValueError(f"{owner}: `over` must name coordinates or be a place in space, got {over!r:.60}.")
    try:
        place = locate(owner, over, space, "interior")
    except ValueError as error:
        raise ValueError(
            f'{owner}: `over` must name coordinates, as in over=("x",), or be a place in space, a face or a list of '
            f"faces. {error}"
        ) from None
    if place.finite:
        raise ValueError(f"{owner}: `over` is given points, on which there is no integral; name coordinates or a face.")
    return place


def _part(place: AbstractPlace) -> Part:
    chart = place.chart
    per_axis = NODES.get(chart.dimension)
    if chart.dimension == 0:
        return Part(place, jnp.zeros((1, 0)), jnp.ones(1))
    if per_axis is None or not place.parts:
        nodes = place.sobol(POINTS)
        shares = np.full(len(nodes), 1 / len(nodes)) if place.fullness == 1 else _fitted(place, np.asarray(nodes))
        return Part(place, nodes, jnp.asarray(shares * place.measure))
    unit, weights = np.polynomial.legendre.leggauss(per_axis)
    lower, lengths = np.asarray(chart.lower), chart.lengths
    mesh = np.stack([m.ravel() for m in np.meshgrid(*[unit] * chart.dimension, indexing="ij")], axis=-1)
    shares = np.prod(np.meshgrid(*[weights / 2] * chart.dimension, indexing="ij"), axis=0).ravel()
    return Part(place, jnp.asarray(lower + (mesh + 1) / 2 * lengths), jnp.asarray(shares * place.measure))


def _fitted(place: AbstractPlace, nodes: np.ndarray) -> np.ndarray:
    """The share of each node on a place that fills a part of its chart only: those next to equal ones that give low
    polynomials the mean that they have on a fine grid. Alone, so few points are wrong by up to a percent."""
    chart = place.chart
    degree = max(p for p in range(20) if p == 0 or math.comb(chart.dimension + p, p) <= MOMENTS)
    every = itertools.product(range(degree + 1), repeat=chart.dimension)
    powers = [power for power in every if sum(power) <= degree]

    def moments(points: np.ndarray) -> np.ndarray:
        unit = 2 * (points - np.asarray(chart.lower)) / chart.lengths - 1
        tables = [np.polynomial.legendre.legvander(unit[:, i], degree) for i in range(chart.dimension)]
        return np.stack([math.prod(tables[i][:, n] for i, n in enumerate(power)) for power in powers], axis=-1)

    cells = int(FINE ** (1 / chart.dimension))
    unit = (np.arange(cells) + 0.5) / cells
    mesh = np.stack([m.ravel() for m in np.meshgrid(*[unit] * chart.dimension, indexing="ij")], axis=-1)
    fine = np.asarray(chart.lower) + mesh * chart.lengths
    fine = fine[np.asarray(jax.jit(jax.vmap(place.contains))(fine))]
    # In blocks, which bound memory.
    totals = [moments(block).sum(axis=0) for block in np.array_split(fine, 16)]
    wanted = np.sum(totals, axis=0) / len(fine)
    matrix, equal = moments(nodes), np.full(len(nodes), 1 / len(nodes))
    return equal + np.linalg.lstsq(matrix.T, wanted - matrix.T @ equal, rcond=None)[0]


class IntegralResidual(AbstractNamed):
    """∫ fn − value, one component for each of fn."""

    function: NamedFunction | Constant
    value: NamedFunction | Constant
    quadrature: Quadrature

    def written(self):
        value = self.value.written()[0]
        return tuple(f"<mo>∫</mo><mrow>{part}</mrow><mo>=</mo>{value}" for part in self.function.written())

    def __call__(self, model, parameters, place, w):
        value = components(self.value(model, parameters, self.quadrature.points(w)[0]), "Integral")
        return self.quadrature(self.function, model, parameters, w) - value

    def seen(self, parameters, place, w):
        return self.quadrature.points(w) if self.quadrature.count <= SEEN else None


class Integral(AbstractCondition):
    """A law on integrals:  ∫ fn(u, u_x, …) d(over) = equals  for every value of the other coordinates.

    **Arguments:**

    - `function`: by argument name; a tuple makes several laws. On a face it may ask for `normal`.
    - `over`: names of coordinates, over their whole intervals, or a place in space such as `domain.face(x=1)` or
      `domain.boundary`; then the integral is taken at every time and every parameter of a family.
    - `equals`: a number, or a function or a table of the coordinates that remain.

    Sums are those of Gauss and Legendre, with 32 nodes (24² or 10³ of them in two or three dimensions), and of 2048
    even points in more dimensions and on curved places, with weights that low polynomials need; where the shape of a
    family depends on its parameters 8192 even points, good to about 5e-4.

    !!! example
        Mass that is conserved: `Integral(lambda u: u, over=("x",), equals=1.0)`; the flux out of a part:
        `Integral(lambda grad_u, normal: grad_u @ normal, over=domain.boundary)`.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    over: Any = ("x",)
    equals: Any = 0.0

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        sums = quadrature("Integral", self.over, domain)
        function = named_on(self.function, vocabulary, "Integral", sums.parts[0].place)
        data = Vocabulary(vocabulary.coordinates, (), vocabulary.parameters, vocabulary.families)
        value = named(self.equals, data, "Integral(equals=...)")
        for quantity in value.quantities:
            if isinstance(quantity, Coordinate) and domain.names[quantity.number] not in sums.remain:
                raise ValueError(
                    f"Integral: `equals` asks for `{domain.names[quantity.number]}`, over which the integral is taken; "
                    f"{checks.listed(sums.remain)} remain."
                )
        place = domain.select(sums.remain)
        if is_table(self.equals):
            Table("Integral", self.equals, data).covers(place, data)
        residual = IntegralResidual(function, value, sums)
        return Law(residual, place, "integral", function.order, inner=sums.count)
