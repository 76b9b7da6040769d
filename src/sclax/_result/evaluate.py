"""Values, errors and residuals on grids and over the parameters of a family, in blocks of bounded memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
from jaxtyping import Array, Bool, Float
from rich.console import Console
from rich.progress import Progress

from .._base import Model, Points, checks
from .._laws import Vocabulary, outputs
from .._places import TIME, Box
from .._problem import AbstractProblem, AbstractReference, Problem, Term, as_reference, formula_at
from ..nn import member

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")

BLOCK = 16_384  # points evaluated at once, which bounds memory
MANY = 2**16  # even points, where a grid would have too many
PROBES, UNSEEN = 64, 1e-9  # points of a law that show whether a constant changes it, and by how little


def block(model: Model) -> int:
    """How many points are evaluated at once: fewer of a model that copies much for each."""
    return max(BLOCK * 100 // max(getattr(model, "looked_up", 0), 100), 1)


@eqx.filter_jit
def _values(model: Model, points: Points, vocabulary: Vocabulary) -> Float[Array, "n m"]:
    return jax.lax.map(
        lambda z: outputs(model, z, vocabulary)[: len(vocabulary.states)], points, batch_size=block(model)
    )


def values(problem: Problem, model: Model, points: Points) -> Float[Array, "n m"]:
    """The network at many points, in blocks of bounded memory."""
    return _values(model, points, problem.vocabulary)


def default_axes(problem: Problem) -> dict[str, np.ndarray]:
    """The test grid: 256 points along each coordinate of space (64 in 3-D), 100 in time, 100 or 20² of a family; where
    that would be more than fits into memory, errors are taken on even points instead."""
    domain = problem.domain
    family = 100 if len(domain.parameters) == 1 else 20
    along = 256 if len(domain.space) <= 2 else 64
    axes = {}
    for name, low, high in zip(domain.names, domain.lower, domain.upper, strict=True):
        count = family if name in domain.parameters else 100 if name == TIME else along
        axes[name] = np.linspace(low, high, count, endpoint=name not in domain.periodic)
    return axes


def relative_l2(problem: Problem, model: Model, reference: Any = None) -> float | None:
    """‖u − reference‖ / ‖reference‖ over the reference's grid, unknowns stacked; for families the mean over parameters.

    Without a reference there is no error to give: None.
    """
    errors = error_map(problem, model, reference)
    return None if errors is None else float(errors.mean())


def error_map(
    problem: Problem,
    model: Model,
    reference: Any = None,
    axes: Mapping[str, np.ndarray] | None = None,
    progress: bool = False,
) -> xr.DataArray | None:
    """The relative L2 error at each parameter of a family's grid; a single number without a family.

    `axes` are the values of parameters, where they are not those of the test grid. One parameter is evaluated at a
    time, so memory does not grow with their number.
    """
    known = as_reference("error", problem.reference if reference is None else reference)
    if known is None:
        return None
    scattered = known.scattered("error", problem.unknowns, problem.domain)
    if scattered is not None:  # whatever parameters of a family its points have
        found = np.asarray(values(problem, model, jnp.asarray(scattered.points)), float)[:, list(scattered.which)]
        free = [list(scattered.which).index(k) for k in free_constants(problem, model) if k in scattered.which]
        wrong = np.linalg.norm(without_constants(free, found - scattered.values)) / np.linalg.norm(scattered.values)
        return xr.DataArray(wrong, name="relative_l2")
    free = free_constants(problem, model)
    family = _family(problem, axes or {})
    for name in family:
        own = known.values(name, (axes or {}).get(name))
        family[name] = family[name] if own is None else own
    bare, formula = problem.bare(), known.formula()

    def error(values: tuple[float, ...]) -> float:
        inner = [name for name in problem.domain.names if name not in family]
        on_grid = truth(problem, known, **dict(zip(family, values, strict=True)))
        axes = default_axes(problem) if on_grid is None else _axes_of(problem, on_grid, inner)
        grid = tuple(jnp.asarray(axes[name]) for name in inner)
        if on_grid is None:
            points = _mesh if math.prod(map(len, grid)) <= checks.MOST_POINTS else _spread
            wrong, size = _squares(bare, model, grid, jnp.asarray(values), formula, points, free)
            return float(jnp.sqrt(wrong / size))
        found = np.asarray(_on_grid(bare, model, grid, jnp.asarray(values)), float)
        true = np.stack([on_grid[u].transpose(*inner).values.ravel() for u in problem.unknowns], axis=-1)
        # A reference on a shape is NaN outside, or goes on where nothing was trained.
        there = np.isfinite(true) & inside(problem, _mesh(bare, grid, jnp.asarray(values)))[:, None]
        wrong = without_constants(free, np.where(there, found - true, np.nan))
        return float(np.linalg.norm(wrong[there]) / np.linalg.norm(true[there]))

    errors = _over(family, error, "error", progress)
    return xr.DataArray(errors, coords=family, dims=tuple(family), name="relative_l2")


def truth(problem: Problem, reference: AbstractReference | None, **family: float) -> xr.Dataset | None:
    """A reference on its grid, at given parameters of a family; None where it is a formula, or there is none."""
    if reference is None:
        return None
    found = reference.grid({name: float(v) for name, v in problem.parameters.items()}, family)
    return found.to_dataset(name=problem.unknowns[0]) if isinstance(found, xr.DataArray) else found


def residual_map(
    problem: Problem,
    model: Model,
    name: str | None = None,
    axes: Mapping[str, np.ndarray] | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """The size of a law's residual at each parameter of a family's grid, root mean square (`rms`) and largest
    (`largest`), on 4096 even points of the other coordinates. It needs no reference."""
    names = problem.domain.names
    terms = [whole(problem, term) for term in problem.terms]
    laws = {t.name: t for t in terms if t.law.place.chart.names == names}
    if not laws or not problem.domain.parameters:
        raise ValueError("residual_map: a family is needed, parameters={...: (low, high)}, and a law on its interior.")
    if name is not None and name not in laws:
        raise ValueError(f"residual_map: no law `{name}` on the interior; there are {checks.listed(laws)}.")
    term = laws[name] if name is not None else next(iter(laws.values()))
    family, bare = _family(problem, axes or {}), problem.bare()

    def sizes(values: tuple[float, ...]) -> np.ndarray:
        points = problem.domain.at(dict(zip(family, values, strict=True))).sobol(4096)
        w = jnp.concatenate([points, jnp.broadcast_to(jnp.asarray(values), (len(points), len(values)))], axis=1)
        r = residual_size(term, _losses(bare, member(model, jnp.asarray(values)), term, w))
        return np.asarray([jnp.sqrt(jnp.mean(r**2)), jnp.max(r)])

    found = _over(family, sizes, "residual", progress)
    dims = tuple(family)
    return xr.Dataset({"rms": (dims, found[..., 0]), "largest": (dims, found[..., 1])}, coords=family)


def whole(problem: AbstractProblem, term: Term) -> Term:
    """The law over the whole range of the parameters, where it was trained at some of their values."""
    return dataclasses.replace(term, law=dataclasses.replace(term.law, place=term.law.place.whole(problem.domain)))


def _family(problem: Problem, axes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of each parameter of a family."""
    default = default_axes(problem)
    return {name: np.asarray(axes.get(name, default[name])) for name in problem.domain.parameters}


def _over(family: Mapping[str, np.ndarray], function: Callable[..., Any], what: str, progress: bool) -> np.ndarray:
    """A function at each combination of parameters, one after the other."""
    shape = tuple(len(axis) for axis in family.values())
    bar = Progress(console=Console(stderr=True), transient=True, disable=not progress)
    with bar:
        found = [
            function(tuple(float(axis[i]) for axis, i in zip(family.values(), index, strict=True)))
            for index in bar.track(list(np.ndindex(shape)), description=f"{what} over {', '.join(family)}")
        ]
    return np.reshape(np.asarray(found), shape + np.shape(found[0]))


def _mesh(problem: Problem, axes: tuple[Array, ...], values: Float[Array, " p"]) -> Points:
    """The points of a grid, at given values of the parameters, which are the last coordinates."""
    columns = [column.ravel() for column in jnp.meshgrid(*axes, indexing="ij")]
    return jnp.stack([*columns, *(jnp.full(columns[0].shape, v) for v in values)], axis=-1)


@eqx.filter_jit
def _on_grid(problem: Problem, model: Model, axes: tuple[Array, ...], values: Float[Array, " p"]):
    return _values(member(model, values), _mesh(problem, axes, values), problem.vocabulary)


def _spread(problem: Problem, axes: tuple[Array, ...], values: Float[Array, " p"]) -> Points:
    """Even points in the place of a grid, which in many dimensions would have too many."""
    domain = problem.domain
    # Of the box round a shape that depends on parameters: what is outside does not count.
    whole = domain.bounding if domain.shape is not None and domain.shape.parameters else domain
    points = whole.select(n for n in domain.names if n not in domain.parameters).sobol(MANY)
    return jnp.concatenate([points, jnp.broadcast_to(values, (MANY, len(values)))], axis=1)


@eqx.filter_jit
def _squares(
    problem: Problem,
    model: Model,
    axes: tuple[Array, ...],
    values: Float[Array, " p"],
    reference: Any,
    points_of: Callable[..., Points],
    free: tuple[int, ...],
):
    """Σ |u − reference|² and Σ |reference|² over those points of a grid that are in the domain, without the constants
    of unknowns that are `free`."""
    points = points_of(problem, axes, values)
    true = formula_at(reference, problem.vocabulary, problem.known(model), points)
    wrong = _values(member(model, values), points, problem.vocabulary) - true
    count = len(points)
    if problem.domain.shape is not None:
        inside = jax.vmap(problem.domain.contains)(points)[:, None]
        wrong, true = jnp.where(inside, wrong, 0.0), jnp.where(inside, true, 0.0)
        count = jnp.sum(inside)
    constants = sum((jnp.sum(wrong[:, k]) ** 2 / count for k in free), jnp.zeros(()))
    return jnp.sum(wrong**2) - constants, jnp.sum(true**2)


def without_constants(free: Iterable[int], wrong: np.ndarray) -> np.ndarray:
    """Differences without the constant of each unknown that is free."""
    for k in free:
        wrong[:, k] -= np.nanmean(wrong[:, k])
    return wrong


def free_constants(problem: Problem, model: Model) -> tuple[int, ...]:
    """The unknowns that laws see, but for a constant: a pure Neumann problem, a pressure."""
    free = []
    for k in range(len(problem.unknowns)):
        changes = np.asarray([_changes(problem.bare(), model, term, k) for term in problem.terms])
        constant, wave = np.max(changes, axis=0, initial=0.0)
        if constant < UNSEEN < wave:
            free.append(k)
    return tuple(free)


@eqx.filter_jit
def _moved(problem: Problem, model: Model, term: Term, w: Points, k: int) -> tuple[Array, ...]:
    constant = lambda z: jnp.atleast_1d(model(z)).at[k].add(1.0)
    wave = lambda z: jnp.atleast_1d(model(z)).at[k].add(jnp.sum(jnp.sin(z)))
    known, law = problem.known(model), term.law
    rows = lambda function: jax.vmap(lambda w: law.residual(function, known, law.place, w))(w)
    return rows(model), rows(constant), rows(wave)


def _changes(problem: Problem, model: Model, term: Term, k: int) -> list[float]:
    """By how much a law changes where an unknown is larger by one everywhere, and by a wave."""
    place = term.law.place
    w = place.grid(0)[:PROBES] if place.finite else place.sobol(PROBES)
    one, *others = (np.asarray(rows, float) for rows in _moved(problem, model, term, w, k))
    size = max(float(np.max(np.abs(one), initial=0.0)), 1.0)
    return [float(np.max(np.abs(one - other), initial=0.0)) / size for other in others]


def inside(problem: Problem, points: Points) -> np.ndarray:
    """Which points lie in the domain's shape; all of them where it has none."""
    if problem.domain.shape is None:
        return np.ones(len(points), bool)
    return np.asarray(_contained(problem.domain, points))


def beyond(problem: Problem, coordinates: Mapping[str, Any], shape: bool) -> str | None:
    """Which of some points lies outside the domain, in words, and on demand outside its shape; None where none does."""
    domain = problem.domain
    for name in (name for name in domain.names if name in coordinates):
        given = np.asarray(coordinates[name], float)
        outside = given[domain.select([name]).outside(given[..., None])[..., 0]]
        if outside.size:
            return f"`{name}` = {outside[0]} is outside {list(domain.ends(name))}, where nothing was trained"
    if not shape or domain.shape is None or not set(domain.names) <= set(coordinates):
        return None
    given = np.broadcast_arrays(*(np.asarray(coordinates[name], float) for name in domain.names))
    points = np.stack([array.ravel() for array in given], axis=-1)
    outside = points[~inside(problem, jnp.asarray(points))]
    for block in (outside[start : start + BLOCK] for start in range(0, len(outside), BLOCK)):
        far = domain.beyond_shape(block)
        if np.any(far):
            where = ", ".join(f"{n} = {v:.6g}" for n, v in zip(domain.names, block[far][0], strict=True))
            return f"{where} is outside the domain's shape"
    return None


@eqx.filter_jit
def _contained(domain: Box, points: Points) -> Bool[Array, " n"]:
    return jax.lax.map(domain.contains, points, batch_size=BLOCK)


def _axes_of(problem: Problem, truth: xr.Dataset, names: list[str]) -> dict[str, np.ndarray]:
    for name in problem.unknowns:
        if name not in truth:
            raise ValueError(
                f"error: the reference has no variable `{name}`, only {checks.listed(map(str, truth.data_vars))}."
            )
    for name in names:
        if name not in truth.coords:
            raise ValueError(
                f"error: the reference has no coordinate `{name}`, only {checks.listed(map(str, truth.coords))}."
            )
    return {name: np.asarray(truth.coords[name]) for name in names}


def residual_size(term: Term, losses: Any) -> Any:
    """|r| from the loss of a law."""
    return losses if term.law.power == 1 else losses**0.5


def losses(problem: AbstractProblem, model: Model, term: Term, w: Points) -> Float[Array, " n"]:
    """The loss of a law at many chart points, in blocks of bounded memory."""
    return _losses(problem.bare(), model, term, w)


@eqx.filter_jit
def _losses(problem: AbstractProblem, model: Model, term: Term, w: Points) -> Float[Array, " n"]:
    def loss(w):
        return term.law.losses(term.law.rows(model, problem.parameters, w[None]))[0]

    return jax.lax.map(loss, w, batch_size=max(block(model) // term.law.inner, 1))


def objective(problem: AbstractProblem, model: Model, points: int = 4096) -> float:
    """The objective on even points, for a run that has made no record."""
    total = 0.0
    for term in problem.terms:
        if term.owner is None:
            place = term.law.place
            w = place.grid(0) if place.finite else place.sobol(max(points // term.law.inner, 1))
            total += float(term.scale) * float(jnp.mean(losses(problem, model, term, w)))
    return total
