"""What unknown coefficients are, and how sure that is: by the curvature of the rows of data and laws."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree

from .._base import Points
from .._problem import Problem, Term

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")

INTERIOR, CONDITION = 600, 150  # points of laws
MOST_DATA = 3000  # rows of data that are looked at; of more sensors neighbours are taken together
TWO_SIDED = 1.96  # deviations of a 95 % interval
EXACT = 1e-5  # of its rows' size: to no better than this a law is taken to hold
FLAT = 0.5  # a deviation, in large changes, from which on nothing is known
ALONG = 25  # points of a field along each coordinate
BLOCK = 64  # rows of the Jacobian at once


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What an unknown coefficient was found to be: `value` and its standard `deviation`, a 95 % `interval`, and whether
    the data determine it. Numbers of an `Unknown`; of an `UnknownField` arrays on a grid of its coordinates, with a
    pair of arrays for the interval. `note` says in words what is not determined.

    !!! example
        `solution.estimates["D"].interval`
    """

    value: Any
    deviation: Any
    interval: tuple[Any, Any]
    identifiable: bool
    note: str = ""

    def __str__(self) -> str:
        if np.ndim(self.value):
            words = f"a field of size {float(np.sqrt(np.mean(np.square(self.value)))):.4g}"
            words += f" ± {float(np.sqrt(np.mean(np.square(self.deviation)))):.2g} on average"
        else:
            words = f"{self.value:.6g} ± {self.deviation:.2g}, 95 % in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        return words if self.identifiable else f"{words}; NOT DETERMINED: {self.note}"


def estimates(problem: Problem, model: Any) -> dict[str, Estimate]:
    """All estimates, by the linearised rows ρ of data (in units of their noise) and laws (in units of what is left of
    them), whose derivatives in the weights θ and the unknowns c are J_θ and J_c. With weights that may change by about
    one, rows have the covariance  C = Σ + J_θ J_θᵀ,  and the unknowns' information is  J_cᵀ C⁻¹ J_c."""
    bare = problem.bare()
    flat, unravel = ravel_pytree(eqx.filter(model, eqx.is_inexact_array))
    rest = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    rebuilt = lambda v: eqx.combine(unravel(v), rest)
    system = _System.of(bare, flat, rebuilt)
    found: dict[str, Estimate] = {}
    if model.unknown:
        found |= _numbers(model, system, _places(model, flat, unravel))
    for k, field in enumerate(model.fields):
        name = problem.vocabulary.unknowns[len(problem.vocabulary.states) + k]
        found[name] = _field(problem, field, k, name, system, flat, rebuilt)
    return {name: found[name] for name in problem.sought}


def _places(model: Any, flat: Any, unravel: Any) -> np.ndarray:
    """Where in the flat vector of weights the unknown numbers are."""
    numbered: Any = unravel(jnp.arange(flat.size, dtype=flat.dtype))
    return np.asarray([int(number.raw) for number in numbered.unknown])


@dataclasses.dataclass(frozen=True)
class _System:
    """Rows in units of their deviations, their Jacobian, and the factor of the covariance for given columns."""

    rows: np.ndarray
    jacobian: np.ndarray
    variances: np.ndarray

    @staticmethod
    def of(problem: Problem, flat: Any, rebuilt: Any) -> _System:
        rows, jacobians, variances = [], [], []
        for term in problem.terms:
            w, measured = _points(term)
            together = _together(problem, term, rebuilt(flat), w, measured)
            r, j = (np.asarray(a) for a in _linearised(problem, term, rebuilt, flat, *together))
            if measured is None:
                size = max(float(np.sqrt(np.mean(np.sum(j**2, axis=1)))), np.finfo(float).tiny)
                left = float(np.sqrt(np.mean(r**2)))
                r, j = r / size, j / size
                variances.append(np.full(len(r), max(left / size, EXACT) ** 2))
            else:
                known = measured[1]
                variances.append(np.full(len(r), 1.0 if known else max(float(np.mean(r**2)), np.finfo(float).tiny)))
            rows.append(r)
            jacobians.append(j)
        return _System(np.concatenate(rows), np.concatenate(jacobians), np.concatenate(variances))

    def covariance(self, columns: np.ndarray | slice) -> Any:
        """The factor of  Σ + J Jᵀ  over some columns of J."""
        j = self.jacobian[:, columns]
        matrix = j @ j.T
        matrix[np.diag_indices_from(matrix)] += self.variances
        floor = 1e-13 * float(np.max(np.diagonal(matrix)))
        matrix[np.diag_indices_from(matrix)] += floor
        return scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)


def _points(term: Term) -> tuple[Points, tuple[np.ndarray, bool] | None]:
    place, measured = term.law.place, term.law.residual.measured
    if place.finite:
        w = place.grid(0)
        return (w if measured is not None or len(w) <= CONDITION else w[:: -(-len(w) // CONDITION)]), measured
    return place.sobol(max((INTERIOR if term.worst else CONDITION) // term.law.inner, 8)), None


def _together(problem: Problem, term: Term, model: Any, w: Points, measured: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points in groups, and the factor of each component at each of them, by which the rows of a group add up to one:
    of the same noise as each, and where neighbours see the same with all that they say."""
    rows = jax.eval_shape(lambda w: term.law.at(model, problem.parameters, w), w[0])
    points, components = np.asarray(w), int(np.prod(rows.shape))
    if measured is None:
        return points[:, None], np.ones((len(points), 1, components))
    units = np.asarray(measured[0])[points[:, 0].astype(int)].reshape(len(points), components)
    size = -(-len(points) * components // MOST_DATA)
    where = np.asarray(jax.vmap(term.law.place.embed)(w), float)
    groups = _neighbours((where - where.min(0)) / np.maximum(np.ptp(where, axis=0), 1e-300), np.arange(len(w)), size)
    factors = np.zeros((len(groups), size, components))
    chosen = np.zeros((len(groups), size), int)
    for number, group in enumerate(groups):
        chosen[number, : len(group)] = group
        factors[number, : len(group)] = units[group] / np.sqrt(len(group))
    return points[chosen], factors


def _neighbours(z: np.ndarray, index: np.ndarray, size: int) -> list[np.ndarray]:
    """Points in groups of at most `size`, by halving along the longest side."""
    groups = -(-len(index) // size)
    if groups == 1:
        return [index]
    order = index[np.argsort(z[index, np.argmax(np.ptp(z[index], axis=0))], kind="stable")]
    cut = groups // 2 * size
    return _neighbours(z, order[:cut], size) + _neighbours(z, order[cut:], size)


@eqx.filter_jit
def _linearised(
    problem: Problem, term: Term, rebuilt: Any, flat: Any, w: np.ndarray, factors: np.ndarray
) -> tuple[Any, Any]:
    def one(group):
        def residual(v):
            found = jax.vmap(lambda w: term.law.at(rebuilt(v), problem.parameters, w))(group[0])
            total = jnp.sum(group[1] * found, axis=0)
            return total, total

        return jax.jacrev(residual, has_aux=True)(flat)

    j, r = jax.lax.map(one, (jnp.asarray(w), jnp.asarray(factors)), batch_size=BLOCK)
    return r.reshape(-1), j.reshape(-1, flat.size)


def _numbers(model: Any, system: _System, at: np.ndarray) -> dict[str, Estimate]:
    """The unknown numbers, all others being weights."""
    others = np.setdiff1d(np.arange(system.jacobian.shape[1]), at)
    factor = system.covariance(others)
    units = np.asarray([_unit(number) for number in model.unknown])
    own = system.jacobian[:, at] * units / np.asarray([_rate(number) for number in model.unknown])
    solved = scipy.linalg.cho_solve(factor, np.column_stack([own, system.rows]), check_finite=False)
    information, pull = own.T @ solved[:, :-1], own.T @ solved[:, -1]
    sizes, directions = np.linalg.eigh((information + information.T) / 2)
    sizes = np.maximum(sizes, 1e-12 * max(float(sizes[-1]), np.finfo(float).tiny))
    covariance = (directions / sizes) @ directions.T
    # How far the weights are from the optimum of the linearised rows: what training left counts as well.
    left = covariance @ pull
    deviations = np.sqrt(np.diagonal(covariance) + left**2)
    flat = [directions[:, k] for k, size in enumerate(sizes) if size**-0.5 > FLAT]
    found = {}
    for k, number in enumerate(model.unknown):
        value, unit, share = float(number.value), float(units[k]), float(deviations[k])
        with np.errstate(over="ignore"):
            spread = np.exp(TWO_SIDED * share) if number.positive else 0.0
        interval = (
            (value / spread, value * spread)
            if number.positive
            else (value - TWO_SIDED * unit * share, value + TWO_SIDED * unit * share)
        )
        open_ = [d for d in flat if abs(d[k]) > 0.1]
        note = _in_words(model, open_[0]) if open_ else ""
        if not open_ and not share <= FLAT:
            note = "training ended far from where the data and the laws would have it."
        found[number.name] = Estimate(value, unit * share, interval, not note, note)
    return found


def _rate(number: Any) -> float:
    """By how much a number changes with its `raw`."""
    return float(number.value) if number.positive else (abs(number.initial) or 1.0)


def _unit(number: Any) -> float:
    """A large change of a number: its own size, wherever it started, or that of its start, where it came near zero."""
    return max(abs(float(number.value)), _rate(number))


def _in_words(model: Any, direction: np.ndarray) -> str:
    """A direction along which the data do not change, in relative changes of the numbers."""
    changes = {}
    for number, share in zip(model.unknown, direction, strict=True):
        value = float(number.value)
        changes[number.name] = share * _unit(number) / (value or 1.0)
    largest = max(changes.values(), key=abs)
    parts = [
        f"`{name}` {'larger' if change / largest > 0 else 'smaller'} by {10 * abs(change / largest):.0f} %"
        for name, change in changes.items()
        if abs(change / largest) > 0.05
    ]
    if len(parts) == 1:
        return f"the data hardly change with {parts[0].split()[0]}."
    return f"{' and '.join(parts)} would fit the data as well."


def _field(problem: Problem, field: Any, number: int, name: str, system: _System, flat: Any, rebuilt: Any) -> Estimate:
    """An unknown function on a grid of its coordinates."""
    coordinates = [problem.domain.names[i] for i in field.which]
    axes = {n: np.linspace(*problem.domain.ends(n), ALONG if len(coordinates) > 1 else 4 * ALONG) for n in coordinates}
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    middle = [sum(problem.domain.ends(n)) / 2 for n in problem.domain.names]
    z = np.tile(middle, (mesh[0].size, 1))
    z[:, list(field.which)] = np.stack([m.ravel() for m in mesh], axis=-1)

    def raw(v, z):
        found = rebuilt(v).fields[number]
        value = found(z)
        return (jnp.log(value) if found.positive else value), value

    slopes, values = jax.lax.map(
        lambda z: jax.jacrev(lambda v: raw(v, z), has_aux=True)(flat), jnp.asarray(z), batch_size=BLOCK
    )
    slopes, values = np.asarray(slopes, float), np.asarray(values, float)
    seen = system.jacobian @ slopes.T
    solved = scipy.linalg.cho_solve(system.covariance(slice(None)), seen, check_finite=False)
    deviations = np.sqrt(np.maximum(np.sum(slopes**2, axis=1) - np.sum(seen * solved, axis=0), 0.0))
    grid = lambda array: xr.DataArray(array.reshape(mesh[0].shape), coords=axes, dims=tuple(axes), name=name)
    if field.positive:
        spread = np.exp(TWO_SIDED * deviations)
        interval, absolute = (grid(values / spread), grid(values * spread)), values * deviations
    else:
        interval = (grid(values - TWO_SIDED * deviations), grid(values + TWO_SIDED * deviations))
        absolute = deviations
    known = bool(np.median(absolute) < FLAT * np.sqrt(np.mean(values**2)))
    note = "" if known else "on half of its domain or more the data do not say what it is."
    return Estimate(grid(values), grid(absolute), interval, known, note)
