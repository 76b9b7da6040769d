"""A look at a run between chunks, on a spare draw that trained no state and without knowing the solution: which state
is the best so far, whether the run has stalled, and whether a law cannot hold everywhere."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PyTree
from numpy.typing import ArrayLike

from .._methods import AbstractMethod, Merit, PrimalDual
from .._places import PointSet
from .._problem import Problem, Samples, Term, relative_errors
from .._result import Records, Tempered
from ..samplers import AbstractSampler, Grid, ImportanceWeights, Sobol

SPARE = 2048  # points of the spare draw
LOOKS = 30  # the shortest stretch of records that says anything
TIE = 1.25  # merits that differ by less are equal, for all that the spare draw can tell
SPAN = 10  # records over which a run that has more to gain by full steps still falls to a tenth
EARLY = 20  # records after which a run must have come a good part of its way


def stalled(merits: ArrayLike) -> bool:
    """The best merit so far fell by less than a tenth in the last third of the run."""
    best = np.minimum.accumulate(np.asarray(merits, float))
    window = max(LOOKS, len(best) // 3)
    return len(best) > 2 * window and bool(best[-1] > 0.9 * best[-1 - window])


def slow(merits: ArrayLike) -> bool:
    """The best merit of an early stretch is still a tenth of the first one."""
    merits = np.asarray(merits, float)
    return len(merits) == EARLY and bool(merits.min() > 0.1 * merits[0])


def cannot_hold(violations: ArrayLike, multipliers: ArrayLike, shares: ArrayLike, unit: float) -> bool:
    """A constraint that cannot be met everywhere: its multiplier does not fall; its violation stays, and stays large
    against the size `unit` that its value had at the start; and a small share of the points carries the weight."""
    v, m, s = (np.asarray(a, float)[-LOOKS:] for a in (violations, multipliers, shares))
    if len(v) < LOOKS:
        return False
    half = LOOKS // 2
    stays = np.median(v[half:]) > 0.8 * np.median(v[:half])
    return bool(stays and np.median(v) > 1e-3 * unit and m[-1] >= m[0] > 0 and np.median(s) < 0.25)


def _spare(problem: Problem, worst: bool) -> Problem:
    """The problem on even points, with the weights of ψ_α for worst cases, or with averages for them."""

    def choose(term: Term) -> AbstractSampler:
        even = Grid() if isinstance(term.law.place, PointSet) else Sobol(max(SPARE // term.law.inner, 16), crowd=True)
        return ImportanceWeights(proposal=even) if term.worst and worst else even

    return problem.resampled(choose)


@eqx.filter_jit
def _merit(worst, average, method, arrays, rest, points, many: bool):
    def one(arrays):
        state = eqx.combine(arrays, rest)
        passes = (p.evaluate(state.model, points) for p in (worst, average))
        return method.merit(worst, state, *passes)

    return (jax.vmap(one) if many else one)(arrays)


def _total(merit: Merit, weighing: Merit) -> np.ndarray:
    """Objective and averages in one number, with the weights of another state, to compare with it."""
    return np.asarray(merit.objective + jnp.sum(weighing.weights * merit.averages, axis=-1))


def _where(chosen: np.ndarray, new: PyTree, old: PyTree) -> PyTree:
    """The new state for the chosen seeds, the old one for the others."""
    pick = lambda a, b: jnp.where(chosen.reshape(chosen.shape + (1,) * (a.ndim - chosen.ndim)), a, b)
    return jax.tree.map(pick, new, old)


class Guide:
    """Keeps the best state of each seed, so that the end does not depend on where the clock stopped."""

    def __init__(self, problem: Problem, method: AbstractMethod, arrays: PyTree, rest: PyTree, many: bool):
        self._method, self._rest, self._many = method, rest, many
        self._draw(problem)
        self._problem = problem  # as it is trained
        seeds = jax.tree.leaves(arrays)[0].shape[:1] if many else ()
        self.best, self._kept = arrays, np.zeros(seeds, np.int64)
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(self._compare, arrays))
        self._merit = zeros._replace(objective=jnp.full(seeds, jnp.inf))  # of the best state
        self.tempered: dict[str, Tempered] = {}
        self.marched = False
        self._attempt = 0
        self._began = 0  # the record with which the present attempt began

    def _draw(self, problem: Problem) -> None:
        self._worst, self._average = _spare(problem, True), _spare(problem, False)
        keys = jr.split(jr.key(SPARE), len(problem.terms))
        self._points = tuple(
            t.chosen.init(t.law.place, k).points for t, k in zip(self._average.terms, keys, strict=True)
        )

    def look(self, arrays: PyTree, step: int, records: Records) -> None:
        """Compares a state with the best one, and records its merit and the step of the state that is kept."""
        merit = self._take(arrays, step, 1.0)
        reach = self._reach(arrays)
        records.extend(merit=_total(merit, merit), kept=self._kept, reach=reach)
        if np.any(reach < 1):
            self._began = len(records.rows["step"])  # no sign counts before training has come to the end of time

    def prefer(self, arrays: PyTree, step: int, records: Records) -> None:
        """Takes the last state of a run that has settled, unless the best one is clearly better: in the last one most
        noise has averaged out, by more than the spare draw can tell."""
        self._take(arrays, step, TIE)
        records.rows["kept"][-1] = self._kept

    def _take(self, arrays: PyTree, step: int, tie: float) -> Merit:
        merit, best = self._compare(arrays), self._merit
        holds, held = np.asarray(merit.feasible), np.asarray(best.feasible)
        lower = _total(merit, merit) < tie * _total(best, merit)
        if any(term.owner is None for term in self._problem.terms):
            lower = np.where(holds & held, merit.objective < tie * best.objective, lower)
        better = np.where(holds == held, lower, holds)
        self._kept = np.where(better, step, self._kept)
        self._merit, self.best = _where(better, merit, best), _where(better, arrays, self.best)
        return merit

    def may_settle(self, records: Records) -> bool:
        """Training is on the whole domain, and the noise of draws is what is left: full steps no longer fall fast."""
        merits = np.asarray(records.rows.get("merit", []))[self._began :]
        if len(merits) <= SPAN or np.any(np.asarray(records.rows["reach"][-1]) < 1):
            return False
        best = np.minimum.accumulate(merits, axis=0)
        return bool(np.all(best[-1] > 0.1 * best[-1 - SPAN]))

    def _reach(self, arrays: PyTree) -> np.ndarray:
        one = lambda arrays: self._method.primal.reach(self._problem, eqx.combine(arrays, self._rest).primal)
        return np.asarray((jax.vmap(one) if self._many else one)(arrays))

    def _compare(self, arrays: PyTree) -> Merit:
        return _merit(self._worst, self._average, self._method, arrays, self._rest, self._points, self._many)

    def result(self, last: PyTree) -> PyTree:
        """The best state, with the multipliers of the last one, which have had more time to settle."""
        best = _where(np.isfinite(np.asarray(self._merit.objective)), self.best, last)  # else nobody has looked yet
        again = self._attempt or self.marched or self.tempered  # then the last ones belong to another run
        return best if again else eqx.tree_at(lambda s: s.multipliers, best, last.multipliers)

    def hopeless(self, problem: Problem, records: Records) -> list[str]:
        """The constraints whose worst case cannot be met, by the median of the seeds."""
        if not isinstance(self._method, PrimalDual):  # fixed weights promise no tolerance
            return []
        units = eqx.combine(self.best, self._rest).units
        middle = lambda name: np.asarray([np.median(row) for row in records.rows[name][self._began :]])
        found = []
        for term in problem.terms:
            if term.worst and term.owner is not None and term.owner not in self.tempered:
                violations = middle(f"values.{term.owner}") - float(problem.tolerances[term.owner])
                shares = middle(f"sample_size.{term.name}") / records.points[term.name]
                unit = float(np.median(np.asarray(units[term.owner])))
                if cannot_hold(violations, middle(f"multipliers.{term.owner}"), shares, unit):
                    found.append(term.owner)
        return found

    def may_march(self, problem: Problem) -> bool:
        """Time has a beginning, and it was not used yet."""
        return not self.marched and not self.tempered and problem.direction != 0

    def march(self, problem: Problem) -> Problem:
        """The problem trained from the end of time at which its conditions are: far from them a solution that fades
        away costs little, and steps that see all times at once leave it only slowly."""
        self.marched, self._problem = True, problem.marching(problem.direction)
        return self._problem

    def temper(self, problem: Problem, name: str, step: int, records: Records) -> Problem:
        """The problem with an average in place of the worst case."""
        one = jax.tree.map(lambda a: a[0], self.best) if self._many else self.best
        model = eqx.combine(one, self._rest).model
        for term, w in zip(self._worst.terms, self._points, strict=True):
            if term.owner == name and term.worst:
                losses = term.law.losses(term.law.rows(model, problem.parameters, w))
                where = term.law.place.where(w[jnp.argmax(losses)], problem.domain.names)
                self.tempered[name] = Tempered(step, where)
        self._began = len(records.rows["step"])
        self._problem = problem.tempered(name).marching(0)
        return self._problem

    def stuck(self, records: Records, elapsed: float, limit: float | None) -> bool:
        """One seed has stalled far from a solution, and there is time for another attempt as long as all before."""
        if self._many or self.tempered or limit is None or 2 * elapsed > limit:
            return False
        merits = records.rows["merit"][self._began :]
        return stalled(merits) and float(np.min(merits)) > 1e-3 * float(records.rows["merit"][0])

    def slow(self, records: Records) -> bool:
        """The seeds, by their median, have come no good part of their way."""
        return slow([np.median(row) for row in records.rows["merit"][self._began :]])

    def settled(self, records: Records) -> bool:
        """No seed makes progress any more."""
        merits = np.asarray(records.rows["merit"][self._began :])
        return len(merits) > 0 and all(stalled(column) for column in merits.reshape(len(merits), -1).T)

    def restart(self, records: Records) -> None:
        """Begins a new attempt with other weights."""
        self._attempt, self._began = self._attempt + 1, len(records.rows["step"])

    def keys(self, keys: Any, later: int = 0) -> Any:
        """The keys of the present attempt, or of one that is so much `later`."""
        attempt = self._attempt + later
        # Far from the numbers of steps, with which keys are folded too.
        return jr.fold_in(keys, 2**31 + attempt) if attempt else keys

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint needs besides the best state."""
        counts = {"attempt": self._attempt, "began": self._began, "marched": self.marched}
        found = {"kept": self._kept, **{name: np.asarray([count]) for name, count in counts.items()}}
        found |= {f"merit.{name}": part for name, part in self._merit._asdict().items()}
        for name, (step, where) in self.tempered.items():
            found[f"tempered.{name}"] = np.asarray([step, *where.values()], float)
        return found

    def restore(self, problem: Problem, arrays: dict[str, Any], best: PyTree) -> Problem:
        """Goes on where `arrays` were taken; the problem comes back as it was then."""
        if arrays["marched"][0]:
            problem = self.march(problem)
        for key, row in arrays.items():
            if key.startswith("tempered."):
                name, names = key.removeprefix("tempered."), problem.domain.names
                self.tempered[name] = Tempered(int(row[0]), dict(zip(names, map(float, row[1:]), strict=False)))
                problem = self._problem = problem.tempered(name).marching(0)
        self.best, self._kept = best, np.asarray(arrays["kept"])
        # Arrays without entries are not stored.
        self._merit = Merit(
            *(jnp.asarray(arrays.get(f"merit.{name}", part)) for name, part in self._merit._asdict().items())
        )
        self._attempt, self._began = int(arrays["attempt"][0]), int(arrays["began"][0])
        return problem


@eqx.filter_jit
def _validation_errors(arrays, rest, samples: Samples, many: bool):
    error = lambda arrays: jnp.mean(relative_errors(eqx.combine(arrays, rest).model, samples))
    return (jax.vmap(error) if many else error)(arrays)


class Validation(Guide):
    """Keeps the state of lowest mean relative error on samples that train nothing, as in the paper."""

    def __init__(
        self, problem: Problem, samples: Samples, method: AbstractMethod, arrays: PyTree, rest: PyTree, many: bool
    ):
        self._samples = samples
        super().__init__(problem, method, arrays, rest, many)

    def _draw(self, problem: Problem) -> None:
        """The validation samples take the place of a spare draw."""

    def _compare(self, arrays: PyTree) -> Merit:
        error = _validation_errors(arrays, self._rest, self._samples, self._many)
        none = jnp.zeros((*error.shape, 0))
        return Merit(error, none, none, jnp.zeros(error.shape, bool))

    def hopeless(self, problem: Problem, records: Records) -> list[str]:
        return []

    def may_march(self, problem: Problem) -> bool:
        return False

    def may_settle(self, records: Records) -> bool:
        return False

    def stuck(self, records: Records, elapsed: float, limit: float | None) -> bool:
        return False
