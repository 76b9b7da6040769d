"""Does every law hold, and where is it worst? Reads a problem, a model and its multipliers; never trains."""

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .._base import Key, Model, Points, checks, precision
from .._problem import AbstractProblem, Term
from . import evaluate
from .conflicts import conflict
from .prices import BINDS, Standing, in_words
from .prices import price as price_of
from .verdict import Question, Verdict, percent

FAR = 2.0  # times its tolerance: a violation that no draw explains


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an independent sample says about one law. `estimate` and `violation` are in the units of the tolerance.

    `price` is what the tolerance costs the objective, None where nobody can tell; `sample` the worst one of `each`.
    For a family `least_reliable` is the part of the parameters' ranges where the mean square of the residual is
    largest, and `excess` how many times the median part's it is.
    """

    name: str
    kind: str
    estimate: float
    largest_residual: float
    where: dict[str, float]
    least_reliable: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    excess: float = 1.0
    tolerance: float | None = None
    violation: float | None = None
    multiplier: float | None = None
    price: float | None = None
    sample: int | None = None
    verdict: str = ""


class Mark(NamedTuple):
    """A number at a point, by coordinate."""

    number: int
    where: Mapping[str, float]


COLUMNS = ("law", "measure", "of its size", "tolerance", "estimate", "violation", "multiplier", "max |r|", "worst at")


def cells(f: Finding, relative: Mapping[str, float]) -> tuple[str, ...]:
    """A finding as a row of the table with `COLUMNS`."""
    place = ", ".join(f"{k}={v:.4g}" for k, v in f.where.items())
    share = percent(relative[f.name]) if f.name in relative else "–"
    numbers = (f.tolerance, f.estimate, f.violation, f.multiplier, f.largest_residual)
    return (f.name, f.kind, share, *("–" if x is None else f"{x:.3g}" for x in numbers), place)


@dataclasses.dataclass(frozen=True)
class Report:
    """The answer of `solution.check()`; `print` it. `holds` is True if no tolerance is violated, `solved` if it is a
    solution: `verdict` has the rule. The verdict is found when it is first asked for, which takes some seconds.

    !!! example
        `report.solved`, `report.estimated_error` (a relative L2 error; None where there is no estimate), believed to be
        right within a factor of `report.error_factor`, and `report.relative["pde"]`, what is left of a law, of its size
    """

    findings: tuple[Finding, ...]
    points: int
    notes: tuple[str, ...]
    drawn: str = ""  # what was looked at, where it is no sample of points
    unfinished: str = ""  # how training ended, where that was before it had converged
    question: Question | None = dataclasses.field(default=None, repr=False, compare=False)

    @functools.cached_property
    def verdict(self) -> Verdict:
        """Whether it is a solution, and how good."""
        if self.question is None:
            return Verdict(self.holds, "Nobody has asked whether this is a solution.")
        return self.question.verdict()

    @property
    def solved(self) -> bool:
        return self.verdict.solved

    @property
    def estimated_error(self) -> float | None:
        return self.verdict.estimated_error

    @property
    def error_factor(self) -> float | None:
        return self.verdict.error_factor

    @property
    def relative(self) -> dict[str, float]:
        """What is left of each law, of the size of what it prescribes and of its largest terms."""
        return self.verdict.relative

    @property
    def holds(self) -> bool:
        return all(np.isfinite(f.estimate) and (f.violation is None or f.violation <= 0) for f in self.findings)

    @functools.cached_property
    def conflict(self) -> tuple[str, ...]:
        """The smallest set of constraints, or samples, that cannot hold together; empty where none was found."""
        far = {f.name for f in self.findings if f.tolerance is not None and f.estimate > FAR * f.tolerance}
        if self.question is None or not far or not all(np.isfinite(f.estimate) for f in self.findings):
            return ()
        problem, model = self.question
        owners = [str(term.owner) for term in problem.terms if term.name in far]
        if not problem.pointwise:
            return ()
        with precision.of(model):
            return tuple(map(str, conflict(problem.bare(), model, owners)))

    @property
    def sup_residual(self) -> dict[str, float]:
        """max |r| for each law."""
        return {f.name: f.largest_residual for f in self.findings}

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"no law `{name}`; there are {checks.listed(f.name for f in self.findings)}.")

    def to_dict(self) -> dict[str, Any]:
        plain = dataclasses.asdict(dataclasses.replace(self, question=None))
        del plain["question"]
        names = ("solved", "estimated_error", "error_factor", "relative", "conflict")
        about = {name: getattr(self, name) for name in names}
        notes = (*self.notes, *self.verdict.notes)
        return {"holds": self.holds, "points": self.points, **about, **plain, "notes": notes}

    @property
    def head(self) -> str:
        """Whether the constraints hold, in one line."""
        words = "Every constraint holds" if self.holds else "Some constraint is violated"
        return f"{words} on {self.drawn or f'an independent sample of {self.points:,} points'}."

    def _repr_html_(self) -> str:
        from . import page

        return page.of_report(self)

    @property
    def beside(self) -> str:
        """What else holds where constraints contradict each other: the objective, which may be one side of it."""
        names = [f"`{f.name}`" for f in self.findings if f.tolerance is None]
        return f" beside the objective ({', '.join(names)})" if names else ""

    def __str__(self) -> str:
        lines = [self.verdict.words, self.head, *([self.unfinished] if self.unfinished else []), ""]
        rows: list[tuple[str, ...]] = [COLUMNS, *(cells(f, self.relative) for f in self.findings)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(lines.index("") + 2, "  ".join("─" * w for w in widths))
        lines += ["", *(f"{f.name}: {f.verdict}" for f in self.findings)]
        if self.conflict:
            lines.append(
                f"CONFLICT: {' and '.join(self.conflict)} cannot hold together{self.beside}: each gets better only "
                "where another gets worse. Raise a tolerance, or let solve(relax=True) do it."
            )
        lines += [f"Note: {note}" for note in (*self.notes, *self.verdict.notes)]
        return "\n".join(lines)

    __repr__ = __str__


def check(
    problem: AbstractProblem,
    model: Model,
    multipliers: Mapping[str, Any],
    *,
    points: int = 1_000_000,
    seed: int = 1,
    unpriced: Collection[str] = (),
    settled: Collection[str] = (),
    fitted: bool = False,
    remarks: Mapping[str, str] | None = None,
    unfinished: str = "",
    failures: Mapping[str, tuple[float, ...]] | None = None,
) -> Report:
    """Draws `points` independent uniform points for each law and says whether and where it holds.

    `unpriced` are the constraints whose multiplier is a fixed weight or sits at its cap, and prices nothing; `settled`
    those whose multiplier came to rest; polynomials that were `fitted` have none. `remarks` by constraint are added to
    the verdicts. `unfinished` says how a run ended that had not converged. `failures` are points at which laws were not
    finite in training; they are looked at too.
    """
    points, question, problem = checks.points("check", "points", points), Question(problem, model), problem.bare()
    key = jr.key(np.uint32(checks.seed("check", seed)) ^ np.uint32(0x5C1A))  # not a key that training used
    samples = [
        _examine(problem, model, evaluate.whole(problem, t), points, jr.fold_in(key, i), (failures or {}).get(t.name))
        for i, t in enumerate(problem.terms)
    ]
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
        # Each sample of a constraint that is trained in batches pushes in a share of the steps only.
        share = min(term.points / term.law.place.measure, 1.0) if term.separate else 1.0
        share *= any(t.owner is None for t in problem.terms)
        about = Standing(term.owner not in unpriced, share, term.owner in settled, fitted)
        price = None
        if term.owner is not None and tolerance is not None:
            entries = np.asarray(multipliers[term.owner])
            multiplier = float(entries[sample.sample] if term.separate else entries)
            price = price_of(float(estimate), float(tolerance), multiplier, about)
        finding = Finding(
            name=term.name,
            kind="each" if term.separate else "worst case" if term.worst else "average",
            estimate=float(estimate),
            largest_residual=sample.largest,
            where=sample.where,
            least_reliable=sample.least_reliable,
            excess=sample.excess,
            tolerance=None if tolerance is None else float(tolerance),
            violation=violation,
            multiplier=multiplier,
            price=price,
            sample=sample.sample if term.separate else None,
        )
        remark = (remarks or {}).get(term.owner or "", "")
        if term.name in (failures or {}) and np.isfinite(finding.estimate):
            remark += " Training ended at a point where its gradient in the weights is NaN or infinite."
        verdict = f"{_verdict(finding, about)} {remark} {_reliability(finding)}".strip()
        findings.append(dataclasses.replace(finding, verdict=verdict))
    return Report(tuple(findings), points, tuple(_notes(problem)), unfinished=unfinished, question=question)


@dataclasses.dataclass(frozen=True)
class _Sample:
    estimate: float
    largest: float
    where: dict[str, float]
    least_reliable: dict[str, tuple[float, float]]
    excess: float
    sample: int  # the worst sample, of a law on finitely many


def _examine(problem: AbstractProblem, model: Model, term: Term, n: int, key: Key, failure: Any = None) -> _Sample:
    finite = term.law.place.finite
    w = term.law.place.grid(0) if finite else term.law.place.uniform(max(n // term.law.inner, 1), key)
    if failure is not None and not finite:
        w = jnp.concatenate([w, jnp.asarray(failure, w.dtype)[None]])
    losses = np.asarray(evaluate.losses(problem, model, term, w), float)
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
    where = term.law.place.by_name(at, problem.domain.names)
    parts = _by_parameters(problem, term, np.asarray(w), losses)
    return _Sample(float(estimate), float(evaluate.residual_size(term, largest)), where, *parts, best)


def _by_parameters(
    problem: AbstractProblem, term: Term, w: np.ndarray, losses: np.ndarray
) -> tuple[dict[str, tuple[float, float]], float]:
    """Where in a family's ranges the mean loss is largest, and by what factor against the median part; ten parts of one
    range, five of each of several."""
    chart = term.law.place.chart
    names = [name for name in problem.domain.parameters if name in chart.names]
    if not names or not np.all(np.isfinite(losses)):
        return {}, 1.0
    parts = 10 if len(names) == 1 else 5
    shape = (parts,) * len(names)
    edges = {name: np.linspace(*chart.ends(name), parts + 1) for name in names}
    bins = [np.digitize(w[:, chart.names.index(name)], edges[name][1:-1]) for name in names]
    flat = np.ravel_multi_index(tuple(bins), shape)
    sums = np.bincount(flat, weights=losses, minlength=parts ** len(names))
    means = sums / np.maximum(np.bincount(flat, minlength=parts ** len(names)), 1)
    top = np.unravel_index(int(np.argmax(means)), shape)
    where = {name: (float(edges[name][i]), float(edges[name][i + 1])) for name, i in zip(names, top, strict=True)}
    middle = float(np.median(means))
    return where, float(means.max()) / middle if middle > 0 else 1.0


@eqx.filter_jit
def _polish(problem: AbstractProblem, model: Model, term: Term, w: Points) -> tuple[Points, Float[Array, " n"]]:
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


def _verdict(f: Finding, about: Standing) -> str:
    """A finding in words."""
    if not np.isfinite(f.estimate):
        return "NOT A NUMBER: the residual is NaN or infinite at the point shown; look for a division by zero or a log."
    if f.tolerance is None:
        return f"part of the objective; its mean loss is {f.estimate:.3g}, at worst |r| = {f.largest_residual:.3g}."
    words = in_words(f.estimate, f.tolerance, f.multiplier, about)
    worst = "" if f.sample is None else f"Its worst is sample {f.sample}. "
    if f.violation is not None and f.violation > 0:
        ratio = f"{f.estimate / f.tolerance:.3g} times its tolerance" if f.tolerance > 0 else "above its tolerance of 0"
        network, polynomials = "Train longer, enlarge the network", "Give `Spectral` more `terms`, train a network"
        return f"VIOLATED: {ratio}. {worst}{polynomials if about.fitted else network}, or raise the tolerance. {words}"
    if f.multiplier and about.priced and about.settled and f.estimate > BINDS * f.tolerance:
        return f"holds, and the tolerance is what limits the accuracy: lower it for more. {worst}{words}"
    return f"holds. {worst}{words}".rstrip()


def _reliability(f: Finding) -> str:
    """Where in a family the surrogate is least reliable, in words."""
    if not f.least_reliable or f.tolerance is None:
        return ""
    where = ", ".join(f"{name} in [{a:.3g}, {b:.3g}]" for name, (a, b) in f.least_reliable.items())
    return (
        f"Over the family it is least reliable for {where}: its mean square there is {f.excess:.3g} times the median."
    )


def _notes(problem: AbstractProblem) -> list[str]:
    """Where the paper's theory does not cover the problem."""
    dimension = len(problem.domain.space) or 1
    notes = []
    for term in problem.terms:
        if term.worst and term.law.place.chart.names == problem.domain.names and term.law.order > 0:
            limit = 4 * term.law.order - 1
            if dimension > limit:
                notes.append(
                    f"{term.name} has order k' = {term.law.order} in d = {dimension} dimensions of space: the paper's "
                    f"Proposition 3.1 (d ≤ 4k' − 1 = {limit}) does not promise that a small worst case is a weak "
                    "solution."
                )
    return notes
