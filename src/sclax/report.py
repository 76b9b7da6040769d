"""Does every law hold, and where is it worst? Reads a problem, a model and its multipliers; never trains."""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import xarray as xr

from . import _checks
from ._typing import Array, Float, Key, Model, Points
from .domains import TIME, Box, PointSet
from .fields import outputs
from .measures import Term
from .problem import Problem, Solved

BLOCK = 16_384  # points evaluated at once, which bounds memory

# --- values and errors --------------------------------------------------------------------------------------------


@eqx.filter_jit
def _values(model: Model, points: Points, unknowns: int) -> Float[Array, "n m"]:
    return jax.lax.map(lambda z: outputs(model, z, unknowns), points, batch_size=BLOCK)


def values(problem: Problem, model: Model, points: Points) -> Float[Array, "n m"]:
    """The network at many points, in blocks of bounded memory."""
    return _values(model, points, len(problem.unknowns))


def default_axes(problem: Problem) -> dict[str, np.ndarray]:
    """The test grid: 256 points along each coordinate of space (64 in 3-D), 100 in time, 100 or 20² of a family."""
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


def error_map(problem: Problem, model: Model, reference: Any = None) -> xr.DataArray | None:
    """The relative L2 error at each parameter of a family's grid; a single number without a family."""
    reference = problem.reference if reference is None else reference
    if reference is None:
        return None
    if not callable(reference) and not isinstance(reference, Solved | xr.Dataset | xr.DataArray):
        raise ValueError(f"error: `reference` must be a function or an xarray Dataset, got {type(reference).__name__}.")
    axes = default_axes(problem)
    parameters = problem.domain.parameters
    if isinstance(reference, xr.Dataset | xr.DataArray):
        axes |= {name: np.asarray(reference.coords[name]) for name in parameters if name in reference.coords}
    family = {name: axes[name] for name in parameters}
    shape = tuple(len(axis) for axis in family.values())
    errors = np.empty(shape)
    for index in np.ndindex(shape):
        fixed = {name: float(axis[i]) for (name, axis), i in zip(family.items(), index, strict=True)}
        errors[index] = _error_at(problem, model, reference, axes, fixed)
    return xr.DataArray(errors, coords=family, dims=tuple(family), name="relative_l2")


def _error_at(problem: Problem, model: Model, reference: Any, axes: dict[str, np.ndarray], fixed: dict[str, float]):
    truth = problem.truth(reference, **fixed)
    inner = [name for name in problem.domain.names if name not in fixed]
    if truth is not None:
        axes = _axes_of(problem, truth, inner)
    mesh = dict(zip(inner, np.meshgrid(*(axes[name] for name in inner), indexing="ij"), strict=True))
    size = next(iter(mesh.values())).size
    columns = [mesh[n].ravel() if n in mesh else np.full(size, fixed[n]) for n in problem.domain.names]
    points = jnp.asarray(np.stack(columns, axis=-1))
    found = np.asarray(values(problem, model, points), float)
    if truth is None:
        true = np.asarray(_reference(problem.bare(), tuple(points.T), reference), float)
    else:
        true = np.stack([truth[u].transpose(*inner).values.ravel() for u in problem.unknowns], axis=-1)
    return np.linalg.norm(found - true) / np.linalg.norm(true)


@eqx.filter_jit
def _reference(problem: Problem, columns: tuple[Array, ...], reference: Callable[..., Any]) -> Float[Array, "n m"]:
    by_name = dict(zip(problem.domain.names, columns, strict=True))
    return jnp.stack(problem.reference_on(by_name, reference), axis=-1)


def _axes_of(problem: Problem, truth: xr.Dataset, names: list[str]) -> dict[str, np.ndarray]:
    for name in problem.unknowns:
        if name not in truth:
            raise ValueError(
                f"error: the reference has no variable `{name}`, only {_checks.listed(map(str, truth.data_vars))}."
            )
    for name in names:
        if name not in truth.coords:
            raise ValueError(
                f"error: the reference has no coordinate `{name}`, only {_checks.listed(map(str, truth.coords))}."
            )
    return {name: np.asarray(truth.coords[name]) for name in names}


# --- the check ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an independent sample says about one law. `estimate` and `violation` are in the units of the tolerance."""

    name: str
    kind: str
    estimate: float
    largest_residual: float
    where: dict[str, float]
    tolerance: float | None = None
    violation: float | None = None
    multiplier: float | None = None
    verdict: str = ""


@dataclasses.dataclass(frozen=True)
class Report:
    """The answer of `solution.check()`; `print` it. `holds` is True if no tolerance is violated."""

    findings: tuple[Finding, ...]
    points: int
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(np.isfinite(f.estimate) and (f.violation is None or f.violation <= 0) for f in self.findings)

    @property
    def sup_residual(self) -> dict[str, float]:
        """max |r| for each law."""
        return {f.name: f.largest_residual for f in self.findings}

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"no law `{name}`; there are {_checks.listed(f.name for f in self.findings)}.")

    def to_dict(self) -> dict[str, Any]:
        return {"holds": self.holds, "points": self.points, **dataclasses.asdict(self)}

    def __str__(self) -> str:
        head = "Every constraint holds" if self.holds else "Some constraint is violated"
        lines = [f"{head} on an independent sample of {self.points:,} points.", ""]
        columns = ("law", "measure", "tolerance", "estimate", "violation", "multiplier", "max |r|", "worst at")
        rows: list[tuple[str, ...]] = [columns]
        for f in self.findings:
            place = ", ".join(f"{k}={v:.4g}" for k, v in f.where.items())
            numbers = (f.tolerance, f.estimate, f.violation, f.multiplier, f.largest_residual)
            rows.append((f.name, f.kind, *("–" if x is None else f"{x:.3g}" for x in numbers), place))
        widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
        lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(3, "  ".join("─" * w for w in widths))
        lines += ["", *(f"{f.name}: {f.verdict}" for f in self.findings)]
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = __str__


def check(
    problem: Problem,
    model: Model,
    multipliers: Mapping[str, Any],
    *,
    points: int = 1_000_000,
    seed: int = 1,
    unpriced: Collection[str] = (),
    remarks: Mapping[str, str] | None = None,
) -> Report:
    """Draws `points` independent uniform points for each law and says whether and where it holds.

    `unpriced` are the constraints whose multiplier is a fixed weight or sits at its cap, and prices nothing; `remarks`
    by constraint are added to the verdicts.
    """
    points, problem = _checks.count("check", "points", points), problem.bare()
    key = jr.key(np.uint32(seed) ^ np.uint32(0x5C1A))  # not a key that training used
    samples = [_examine(problem, model, t, points, jr.fold_in(key, i)) for i, t in enumerate(problem.terms)]
    findings = []
    for term, sample in zip(problem.terms, samples, strict=True):
        estimate, tolerance = sample.estimate, None
        if term.owner is not None:
            family = [(t, s) for t, s in zip(problem.terms, samples, strict=True) if t.owner == term.owner]
            estimate = sum(float(t.scale) * s.estimate for t, s in family)
            limits = np.asarray(problem.tolerances[term.owner])
            tolerance = limits[sample.sample] if term.separate else limits
        violation = None if tolerance is None else float(estimate - tolerance)
        multiplier = None
        if term.owner is not None:
            entries = np.asarray(multipliers[term.owner])
            multiplier = float(entries[sample.sample] if term.separate else entries)
        finding = Finding(
            name=term.name,
            kind="each" if term.separate else "worst case" if term.worst else "average",
            estimate=float(estimate),
            largest_residual=sample.largest,
            where=sample.where,
            tolerance=None if tolerance is None else float(tolerance),
            violation=violation,
            multiplier=multiplier,
        )
        remark = (remarks or {}).get(term.owner or "", "")
        verdict = f"{_verdict(finding, term.owner not in unpriced)} {remark}".strip()
        findings.append(dataclasses.replace(finding, verdict=verdict))
    return Report(tuple(findings), points, tuple(_notes(problem)))


@dataclasses.dataclass(frozen=True)
class _Sample:
    estimate: float
    largest: float
    where: dict[str, float]
    sample: int  # the worst sample, of a law on finitely many


def _examine(problem: Problem, model: Model, term: Term, n: int, key: Key) -> _Sample:
    finite = isinstance(term.law.place, PointSet)
    w = term.law.place.grid(0) if finite else term.law.place.uniform(max(n // term.law.inner, 1), key)
    losses = np.asarray(_losses(problem, model, term, w), float)
    losses = np.where(np.isfinite(losses), losses, np.inf)  # NaN is no smaller than anything
    best = int(np.argmax(losses))
    if not np.isfinite(losses[best]):
        estimate = np.inf
    elif term.separate:
        limit = np.broadcast_to(np.asarray(problem.tolerances[term.owner]), losses.shape)  # pyright: ignore
        best = int(np.argmax(losses - limit))
        estimate = losses[best]
    elif term.worst:
        density = np.maximum(losses - float(term.alpha) * losses.max(), 0.0)
        estimate = float(np.sum(density * losses) / np.sum(density)) if density.sum() > 0 else 0.0
    else:
        estimate = losses.mean()
    at, largest = w[best], losses[best]
    if not finite and term.law.place.chart.dimension and np.isfinite(estimate):
        starts = w[np.argsort(losses)[-16:]]
        at, polished = (np.asarray(x) for x in _polish(problem, model, term, starts))
        if polished.max() > largest:
            largest, at = float(polished.max()), at[int(np.argmax(polished))]
        else:
            at = w[best]
    names = problem.domain.names
    place = term.law.place
    z = np.asarray(place.embed(jnp.asarray(at)))
    where = dict(zip(names if len(z) == len(names) else place.chart.names, map(float, z), strict=True))
    return _Sample(float(estimate), float(residual_size(term, largest)), where, best)


def residual_size(term: Term, losses: Any) -> Any:
    """|r| from the loss of a law."""
    return losses if term.law.power == 1 else losses**0.5


def losses(problem: Problem, model: Model, term: Term, w: Points) -> Float[Array, " n"]:
    """The loss of a law at many chart points, in blocks of bounded memory."""
    return _losses(problem.bare(), model, term, w)


@eqx.filter_jit
def _losses(problem: Problem, model: Model, term: Term, w: Points) -> Float[Array, " n"]:
    def loss(w):
        return term.law.losses(term.law.rows(model, problem.parameters, w[None]))[0]

    return jax.lax.map(loss, w, batch_size=max(BLOCK // term.law.inner, 1))


@eqx.filter_jit
def _polish(problem: Problem, model: Model, term: Term, w: Points) -> tuple[Points, Float[Array, " n"]]:
    """A few steps of projected ascent on the loss, with a step length that shrinks where it fails."""
    chart = term.law.place.chart
    lower, sides = jnp.asarray(chart.lower, w.dtype), jnp.asarray(chart.lengths, w.dtype)

    def loss(w):
        return term.law.losses(term.law.rows(model, problem.parameters, w[None]))[0]

    def climb(carry, _):
        w, best, length = carry
        slope = jax.grad(loss)(w) * sides
        slope = jnp.nan_to_num(slope / jnp.maximum(jnp.linalg.norm(slope), jnp.finfo(w.dtype).tiny))
        trial = jnp.clip(w + length * sides * slope, lower, lower + sides)
        value = loss(trial)
        better = term.law.place.contains(trial) & (value > best)
        return (jnp.where(better, trial, w), jnp.where(better, value, best), jnp.where(better, 1.5, 0.5) * length), None

    def from_one(w):
        (w, best, _), _ = jax.lax.scan(climb, (w, loss(w), jnp.asarray(0.01, w.dtype)), None, length=20)
        return w, best

    return jax.vmap(from_one)(w)


def _verdict(f: Finding, priced: bool) -> str:
    if not np.isfinite(f.estimate):
        return "NOT A NUMBER: the residual is NaN or infinite at the point shown; look for a division by zero or a log."
    if f.tolerance is None:
        return f"part of the objective; its mean square is {f.estimate:.3g}, at worst |r| = {f.largest_residual:.3g}."
    violated = f.violation is not None and f.violation > 0
    if f.multiplier is None or not priced:
        price = f"Its multiplier, {f.multiplier or 0.0:.3g}, is a fixed weight or sits at its cap: it prices nothing."
    elif violated and f.multiplier > 0:
        # Only at an optimum that holds is a multiplier a price.
        price = (
            f"Its multiplier is {f.multiplier:.3g}, which says how hard training pushes; if it keeps growing while the "
            "violation stays, the constraints may contradict each other."
        )
    elif f.multiplier > 0:
        price = (
            f"Its price is {f.multiplier:.3g}: a tolerance smaller by δ raises the objective by about "
            f"{f.multiplier:.3g} δ."
        )
    else:
        price = "Its multiplier is 0: at this tolerance it costs the objective nothing."
    if violated:
        ratio = f"{f.estimate / f.tolerance:.3g} times its tolerance" if f.tolerance > 0 else "above its tolerance of 0"
        return f"VIOLATED: {ratio}. Train longer, enlarge the network, or raise the tolerance. {price}"
    if f.multiplier and priced and f.estimate > 0.5 * f.tolerance:
        return f"holds, and the tolerance is what limits the accuracy: lower it for more. {price}"
    return f"holds. {price}"


def _notes(problem: Problem) -> list[str]:
    """Where the paper's theory does not cover the problem."""
    dimension = len(problem.domain.space) or 1
    notes = []
    for term in problem.terms:
        if term.worst and isinstance(term.law.place, Box) and term.law.order > 0:
            limit = 4 * term.law.order - 1
            if dimension > limit:
                notes.append(
                    f"{term.name} has order k' = {term.law.order} in d = {dimension} dimensions of space: the paper's "
                    f"Proposition 3.1 (d ≤ 4k' − 1 = {limit}) does not promise that a small worst case is a weak "
                    "solution."
                )
    return notes
