"""The best state of a run, and the controller that keeps the best on samples that train nothing."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .._base import Scalar
from .._methods import Merit
from .._problem import Samples, relative_errors
from .controller import AbstractController, Action, Clock, found, stop_or_go
from .run import Run, Task

TIE = 1.25  # merits that differ by less are equal, for all that a spare draw can tell


class Watch(NamedTuple):
    """The best state of each seed, its merit and step; the merit of the last state; the objective of the network as it
    was built; and the lowest merit of all."""

    best: PyTree
    merit: Merit
    kept: np.ndarray
    last: Merit
    first: Scalar
    lowest: Merit

    def taking(self, state: PyTree, merit: Merit, step: int, tie: float, by_objective: bool) -> "Watch":
        """The better one of a state and the best so far, seed by seed. A total that is lower by more than a tie
        decides: a state that just holds a tolerance may be far worse in all else. Of equal ones a feasible state is the
        better one, of two feasible ones that of lower objective. Equal to the lowest of all, not to the last best: many
        small losses would add up."""
        now, before = total(merit, merit), total(self.merit, merit)
        lower = now < total(self.lowest, merit)
        lowest = _where(lower, merit, self.lowest)
        limit = TIE * total(lowest, merit)
        holds, held = np.asarray(merit.feasible), np.asarray(self.merit.feasible)
        wins = now < tie * before
        if by_objective:
            wins = np.where(holds & held, merit.objective < tie * self.merit.objective, wins)
        wins = np.where(holds == held, wins, holds)
        better = (now <= limit) & (wins | ~(before <= limit))
        kept = np.where(better, step, self.kept)
        best, merit_of_best = _where(better, state, self.best), _where(better, merit, self.merit)
        return Watch(best, merit_of_best, kept, merit, self.first, lowest)

    def since(self, step: float) -> "Watch":
        """The same, of seeds whose best state is of an earlier step without it: the next one is their best."""
        none, early = _worst(self.merit), self.kept < step
        return self._replace(merit=_where(early, none, self.merit), lowest=_where(early, none, self.lowest))

    def moved(self, state: PyTree) -> "Watch":
        """The same with the points of another state, so that states of both are comparable."""
        return self._replace(best=self.best._replace(samplers=state.samplers, levels=state.levels))


def total(merit: Merit, weighing: Merit) -> np.ndarray:
    """Objective and averages in one number, with the weights of another state, to compare with it."""
    return np.asarray(merit.objective + jnp.sum(weighing.weights * merit.averages, axis=-1))


def _where(chosen: np.ndarray, new: PyTree, old: PyTree) -> PyTree:
    """The new state for the chosen seeds, the old one for the others."""
    pick = lambda a, b: jnp.where(chosen.reshape(chosen.shape + (1,) * (a.ndim - chosen.ndim)), a, b)
    return jax.tree.map(pick, new, old)


def _worst(merit: Merit) -> Merit:
    """One that every other is better than."""
    return merit._replace(objective=jnp.full_like(merit.objective, jnp.inf), feasible=jnp.zeros_like(merit.feasible))


def first_watch(built: PyTree, merit: Merit) -> Watch:
    """No state is the best yet; `merit` is that of the network as it was built."""
    worst = _worst(merit)
    return Watch(built, worst, np.zeros(merit.objective.shape, np.int64), worst, merit.objective, worst)


def best_state(run: Run) -> tuple[PyTree, Any]:
    """The best state, or the last where nobody has looked yet. Its multipliers are those of the last state, which have
    had more time to settle, unless that belongs to another stage."""
    watch: Watch = run.watch
    looked = np.isfinite(np.asarray(watch.merit.objective))
    best = _where(looked, watch.best, run.state)
    kept = np.where(looked, watch.kept, run.step)
    return (eqx.tree_at(lambda s: s.multipliers, best, run.state.multipliers) if run.stage.first else best), kept


# --- on samples that train nothing ----------------------------------------------------------------------------------


@eqx.filter_jit
def _validation_errors(state: PyTree, rest: PyTree, samples: Samples, many: bool):
    error = lambda state: jnp.mean(relative_errors(eqx.combine(state, rest).model, samples))
    return (jax.vmap(error) if many else error)(state)


class HeldOut(AbstractController):
    """Keeps the state of lowest mean relative error on samples that train nothing, as in the paper."""

    task: Task
    samples: Samples

    def _merits(self, state: PyTree) -> Merit:
        error = _validation_errors(state, self.task.rest, self.samples, self.task.many)
        none = jnp.zeros((*error.shape, 0))
        return Merit(error, none, none, jnp.zeros(error.shape, bool))

    def init(self, state):
        return first_watch(state, self._merits(state))

    def look(self, run, state, step):
        merit = self._merits(state)
        watch = run.watch.taking(state, merit, step, 1.0, by_objective=False)
        return watch, {"merit": np.asarray(merit.objective), "kept": watch.kept, "reach": np.ones(watch.kept.shape)}

    def decide(self, run: Run, clock: Clock) -> Action:
        merits = run.history.looks.get("merit", np.zeros(0))
        return stop_or_go(self, run, clock, found(self.task, run.history, merits))

    def result(self, run):
        return best_state(run)
