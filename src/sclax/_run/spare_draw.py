"""The controller of second-order runs, which looks at a spare draw that trained no state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PyTree

from .._base import Points, Scalar
from .._methods import Merit, State
from .._problem import AbstractProblem, Term
from .._result import RESULTS, History, Tempered
from ..samplers import AbstractSampler, Grid, ImportanceWeights, Sobol, effective_sample_size
from . import rules
from .best import TIE, Watch, best_state, first_watch, total
from .controller import AbstractController, Action, Clock, Go, Restart, Stop, found, stop_or_go
from .run import Run, Task
from .stage import Curbs, Stage

SPARE = 2048  # points of the spare draw
ENOUGH = 1e-3  # of what tolerances ask for, in squares: conditions thirty times as exact
# Of a law that became an average: by how much it resists bending, first and last, in units in which the law, the
# unknowns' variation and the domain's sides are 1; and for how many times as long as training took until then.
STIFF, SUPPLE, LONG = 3e-2, 5e-4, 6
SETTLE, SHORTEST = 0.85, 0.03  # when, as a share of a run, steps begin to shrink, and how short they get


def _spare(problem: AbstractProblem, worst: bool) -> AbstractProblem:
    """The problem on even points, with the weights of ψ_α for worst cases, or with averages for them."""

    def choose(term: Term) -> AbstractSampler:
        if term.chosen.fixed and not term.law.place.finite:
            return term.chosen  # a law at given points and nowhere else
        even = Grid() if term.law.place.finite else Sobol(max(SPARE // term.law.inner, 16), crowd=True)
        return ImportanceWeights(proposal=even) if term.worst and worst else even

    return problem.resampled(choose)


@eqx.filter_jit
def _seen(worst, average, method, arrays, rest, points, many: bool) -> tuple[Merit, dict[str, Scalar]]:
    """The merit of a state; and of each worst case the largest loss, and the share of the points that carries the
    weight, which tells the same whatever draws the points of training."""

    def one(arrays):
        state = eqx.combine(arrays, rest)
        by_worst, by_average = (p.evaluate(state.model, points) for p in (worst, average))
        looks = {}
        for term, values in zip(worst.terms, by_worst.terms, strict=True):
            if term.worst:
                looks[f"peak.{term.name}"] = jnp.max(values.losses)
                looks[f"carried.{term.name}"] = effective_sample_size(values.weights) / len(values.losses)
        return method.merit(worst, state, by_worst, by_average), looks

    return (jax.vmap(one) if many else one)(arrays)


class SpareDraw(AbstractController):
    """Compares states on a spare draw that trained none of them, and steers by what it sees there:

    - a run that makes little progress starts again along time; one that stalls starts again from other weights;
    - a worst case that cannot be met everywhere becomes an average, which at first resists bending: of the many weak
      solutions of such a law the one with the fewest kinks is meant;
    - in the last part of a run that no longer falls fast, steps shrink, so that the noise of draws averages out;
    - the best state is the result, or the last one of a run that has settled, where both are equal within a quarter.
    """

    task: Task
    worst: AbstractProblem
    average: AbstractProblem
    points: tuple[Points, ...]

    def __init__(self, task: Task):
        self.task = task
        self.worst, self.average = _spare(task.problem, True), _spare(task.problem, False)
        keys = jr.split(jr.key(SPARE), len(task.problem.terms))
        self.points = tuple(t.chosen.init(t.law.place, k).points for t, k in zip(self.average.terms, keys, strict=True))

    def _seen(self, state: PyTree) -> tuple[Merit, dict[str, Scalar]]:
        task = self.task
        return _seen(self.worst, self.average, task.method, state, task.rest, self.points, task.many)

    @property
    def _by_objective(self) -> bool:
        """Whether there is an objective to compare feasible states by."""
        return any(term.owner is None for term in self.task.problem.terms)

    def init(self, state):
        return first_watch(state, self._seen(state)[0])

    def look(self, run, state, step):
        merit, seen = self._seen(state)
        watch: Watch = run.watch
        if run.stage.curbs and not self._width(run):
            # No merit tells which of many weak solutions is meant, so that those before have no say.
            watch = watch.since(self._supple_from(run))
        watch = watch.taking(state, merit, step, 1.0, self._by_objective)
        reach = state.reach.share if run.stage.direction else np.ones(watch.kept.shape)
        looks = {"merit": total(merit, merit), "kept": watch.kept, "reach": np.asarray(reach)}
        return watch, looks | {name: np.asarray(column) for name, column in seen.items()}

    def result(self, run):
        if run.settling:  # in the last state most noise has averaged out, by more than the spare draw can tell
            watch: Watch = run.watch
            run = run._replace(watch=watch.taking(run.state, watch.last, run.step, TIE, self._by_objective))
        return best_state(run)

    def restart(self, watch, state):
        return watch.moved(state)

    # --- rules, of which the first that fits decides ---

    def decide(self, run: Run, clock: Clock) -> Action:
        if not run.history.rows:
            return self.go(run, clock)
        if run.settling:
            return self._settle(run, clock)
        reason = self._reason(run, run.history)
        if clock.over(run) is not None:
            return stop_or_go(self, run, clock, reason)
        width = self._width(run)
        if width > 0:
            return self.go(run, clock)._replace(width=width)
        again = self._march(run, clock) or self._other_weights(run, clock) or self._average(run)
        if again is not None:
            return again
        at_the_end = clock.spent(run.step, run.seconds) >= SETTLE or (clock.open and reason is not None)
        if at_the_end and self._may_settle(run):
            return self._settle(run, clock)
        return stop_or_go(self, run, clock, reason)

    def _signs(self, history: History, stage: Stage) -> History:
        """The rows that tell something about the present stage."""
        return history.since(rules.signs_from(history, stage.began))

    def _reason(self, run: Run, history: History) -> RESULTS | None:
        """Why the run may end by itself, by its history so far; of a law that became an average nobody says that it
        holds."""
        merits = self._signs(history, run.stage).looks["merit"]
        reason = found(self.task, history, merits, self._floor(run))
        if reason is RESULTS.converged and run.stage.averaged:
            return RESULTS.settled if rules.settled(merits) else None
        return reason

    def _floor(self, run: Run) -> np.ndarray:
        """An objective that is so small, against that of the network as it was built, that the tolerances ask for no
        more: they are to the sizes of their constraints what it is to its own."""
        units, limits = run.watch.best.units, self.task.problem.tolerances
        asked = [np.min(np.asarray(limits[name])) / np.max(np.asarray(units[name])) for name in limits]
        return ENOUGH * min(asked, default=0.0) * np.asarray(run.watch.first)

    def _hopeless(self, run: Run) -> list[str]:
        """The constraints whose worst case cannot be met, by the median of the seeds."""
        if not self.task.method.constrained:
            return []
        signs, units = self._signs(run.history, run.stage), run.watch.best.units
        middle = lambda rows: np.asarray([np.median(row) for row in rows])
        names = []
        for term in self.task.problem.terms:
            if term.worst and term.owner is not None and term.owner not in run.stage.tempered:
                violations = middle(signs.values[term.owner]) - float(self.task.problem.tolerances[term.owner])
                shares, peaks = (middle(signs.looks[f"{column}.{term.name}"]) for column in ("carried", "peak"))
                unit = float(np.median(np.asarray(units[term.owner])))
                if rules.cannot_hold(violations, middle(signs.multipliers[term.owner]), shares, peaks, unit):
                    names.append(term.owner)
        return names

    def _stuck(self, run: Run, clock: Clock) -> bool:
        """One seed has stalled far from a solution, and there is time for another attempt as long as all before."""
        if not self.task.source.fresh or self.task.many or run.stage.averaged or self._hopeless(run):
            return False
        if clock.limit is None or 2 * run.seconds > clock.limit:
            return False
        merits = self._signs(run.history, run.stage).looks["merit"]
        return rules.stuck(merits, float(run.history.looks["merit"][0]))

    def _march(self, run: Run, clock: Clock) -> Restart | None:
        """Along time, once, where time has a beginning: far from it a solution that fades away costs little, and steps
        that see all times at once leave it only slowly."""
        direction = self.task.problem.direction
        if run.stage.direction or run.stage.averaged or not direction:
            return None
        signs = self._signs(run.history, run.stage)
        slow = self.task.source.fresh and rules.slow([np.median(row) for row in signs.looks["merit"]])
        stuck = self._stuck(run, clock)
        early = clock.spent(run.step, run.seconds) <= 0.5
        if not (slow or (early and (stuck or self._hopeless(run)))):
            return None
        stage = Stage(run.stage.attempt + stuck, direction, (), run.history.rows)
        return Restart(stage, f"little progress until step {run.step}: starting again, along time")

    def _other_weights(self, run: Run, clock: Clock) -> Restart | None:
        if not self._stuck(run, clock):
            return None
        stage = run.stage._replace(attempt=run.stage.attempt + 1, began=run.history.rows)
        return Restart(stage, f"no progress on a spare draw at step {run.step}: starting again, other weights")

    def _average(self, run: Run) -> Restart | None:
        """Averages for the worst cases that cannot be met everywhere."""
        names = self._hopeless(run)
        if not names:
            return None
        new = tuple((name, Tempered(run.step, self._worst_place(run, name))) for name in names)
        said = [
            f"`{name}` cannot be met everywhere (worst near {_written(tempered.where)}): its multiplier grows, its "
            "violation stays, and few points carry the weight. Starting again with its average, at a fixed small price."
            for name, tempered in new
        ]
        curbs = run.stage.curbs + tuple((name, self._curbs(run, name)) for name in names)
        stage = run.stage._replace(direction=0, averaged=run.stage.averaged + new, began=run.history.rows, curbs=curbs)
        return Restart(stage, "\n".join(said))

    def _looked_at(self, run: Run, name: str) -> tuple[State, Term, Points]:
        """The best state so far, of the first seed, and the worst case of a constraint with its spare draw."""
        best = run.watch.best
        one = jax.tree.map(lambda a: a[0], best) if self.task.many else best
        pairs = zip(self.task.problem.terms, self.points, strict=True)
        term, w = next((t, w) for t, w in pairs if t.owner == name and t.worst)
        return eqx.combine(one, self.task.rest), term, w

    def _worst_place(self, run: Run, name: str) -> dict[str, float]:
        """Where on the spare draw the residual of a constraint is largest."""
        problem = self.task.problem
        state, term, w = self._looked_at(run, name)
        losses = term.law.losses(term.law.rows(state.model, problem.parameters, w))
        return term.law.place.by_name(w[jnp.argmax(losses)], problem.domain.names)

    def _curbs(self, run: Run, name: str) -> Curbs:
        """What makes second derivatives comparable with a law:  √unit · side² / (deviation of the unknown)."""
        state, term, w = self._looked_at(run, name)
        values = jax.vmap(lambda w: jnp.atleast_1d(state.model(term.law.place.embed(w))))(w)
        deviations = np.asarray(jnp.std(values, axis=0), float)
        unit = float(np.max(np.asarray(state.units[name])))
        scales = np.sqrt(unit) / np.where(deviations > 0, deviations, 1.0)
        return tuple(tuple((scale * self.task.problem.domain.lengths**2).tolist()) for scale in scales)

    def _width(self, run: Run) -> float:
        """By how much averages resist bending now: less and less, and then not at all. How long a run may take has no
        part in it, so that one that is cut and goes on is the same."""
        if not run.stage.curbs:
            return 0.0
        end = self._supple_from(run)
        share = 1 - (end - run.step) / (end * LONG / (1 + LONG))
        return STIFF * (SUPPLE / STIFF) ** share if share < 1 else 0.0

    def _supple_from(self, run: Run) -> float:
        """The step from which averages no longer resist bending."""
        return (1 + LONG) * int(run.history.step[run.stage.began - 1])

    def _may_settle(self, run: Run) -> bool:
        """Training is on the whole domain, and the noise of draws is what is left: full steps no longer fall fast."""
        merits = self._signs(run.history, run.stage).looks["merit"]
        return bool(np.all(run.history.looks["reach"][-1] == 1)) and not rules.falls_fast(merits)

    def _settle(self, run: Run, clock: Clock) -> Go | Stop:
        """Steps that shrink until the end, from the row at which that began."""
        shrunk = np.flatnonzero(run.history.share < 1)
        before = run.history.until(int(shrunk[0])) if len(shrunk) else run.history
        step, seconds = int(before.step[-1]), float(before.seconds[-1])
        reason = self._reason(run, before)
        if clock.open and reason is not None:
            clock = clock._replace(steps=int(step / SETTLE), seconds=clock.limit)
            over = None if clock.over(run) is None else reason
        else:
            over = clock.over(run)
        if over is not None:
            return Stop(over, reason is not None)
        length = clock.length(run.step, self.chunk)
        begin = clock.spent(step, seconds)
        share = (clock.spent(run.step + length, run.seconds + clock.pace) - begin) / (1 - begin)
        return Go(length, SHORTEST ** min(share, 1.0), save=not run.settling)


def _written(where: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in where.items())
