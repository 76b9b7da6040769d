"""One door: compiled chunks of iterations in a plain host loop, which reports, stops, saves and resumes."""

import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, PyTree

from .._base import checks, digest, precision
from .._methods import AbstractMethod, DualAscent, GaussNewton, PrimalDual, State, soap
from .._problem import OperatorProblem, Problem, relative_errors
from .._result import RESULTS, OperatorSolution, Records, Solution, Summary, Tempered, largest
from .checkpoint import Checkpoint
from .controller import Guide, Validation
from .progress import Reporter
from .source import Factory, Ready, builder

DEFAULT_SECONDS = 300.0
SAVE_EVERY = 20.0  # seconds between two checkpoints
SETTLE, SHORTEST = 0.85, 0.03  # when, as a share of a run, steps begin to shrink, and how short they get
MANY_WEIGHTS = 1_000_000

# Made once: every optax object compiles anew.
_FIRST_ORDER = PrimalDual(
    primal=soap(optax.exponential_decay(3e-3, transition_steps=2000, decay_rate=0.85)), dual=optax.adam(2e-3)
)
_OPERATORS = PrimalDual(
    primal=optax.adam(optax.exponential_decay(1e-3, transition_steps=2000, decay_rate=0.5)), dual=DualAscent(1e-2)
)


def default_method(problem: Problem, weights: int) -> PrimalDual:
    """The method of `solve` where none is given, by one rule for every problem.

    Gauss-Newton steps, on fresh points: for each dimension of the domain 150 of the interior and as many rows of every
    condition (65 points in up to two dimensions); plain dual ascent. A network of more than a million weights gets
    SOAP, whose step costs what a gradient costs, and an operator Adam.
    """
    if not problem.pointwise:
        return _OPERATORS
    if weights > MANY_WEIGHTS:
        return _FIRST_ORDER
    primal = GaussNewton()
    worst_case, average = primal.samplers(problem)
    dual = DualAscent(0.3, clip=1.0, cap=2.0)
    return PrimalDual(primal=primal, dual=dual, worst_case=worst_case, average=average)


def _run(
    problem: Problem, method: AbstractMethod, arrays: PyTree, rest: PyTree, key: Any, start: Any, length: int
) -> tuple[PyTree, Summary]:
    """`length` iterations. The key of an iteration depends on its number alone, so chunks may be cut anywhere."""
    _, _, stream = jr.split(key, 3)

    def body(arrays, k):
        state, info = method.step(problem, eqx.combine(arrays, rest), jr.fold_in(stream, k))
        return eqx.filter(state, eqx.is_array), info

    arrays, infos = jax.lax.scan(body, arrays, start + jnp.arange(length))
    mean, last = lambda leaf: jnp.mean(leaf, axis=0), lambda leaf: leaf[-1]
    summary = Summary(
        objective=mean(infos.objective),
        values=jax.tree.map(_mean_of_seen, infos.values, infos.seen),
        multipliers=jax.tree.map(last, infos.multipliers),
        acceptance=jax.tree.map(mean, infos.acceptance),
        sample_size=jax.tree.map(mean, infos.sample_size),
        weights=jax.tree.map(last, infos.weights),
        evaluations=jnp.sum(infos.evaluations),
        finite=jnp.all(infos.finite),
    )
    return arrays, summary


def _mean_of_seen(values: Array, seen: Array) -> Array:
    """The mean over steps of what was seen; NaN for a sample that no batch contained."""
    count = jnp.sum(seen, axis=0)
    return jnp.where(count > 0, jnp.sum(jnp.where(seen, values, 0.0), axis=0) / count, jnp.nan)


@eqx.filter_jit
def _chunk(problem, method, arrays, rest, keys, start, length: int, many: bool):
    """One seed, or `many` by vmap; a seed that left the finite numbers keeps its last good state."""
    run = lambda arrays, key: _run(problem, method, arrays, rest, key, start, length)
    new, summary = (jax.vmap(run) if many else run)(arrays, keys)
    keep = lambda a, b: jnp.where(summary.finite.reshape(summary.finite.shape + (1,) * (a.ndim - many)), a, b)
    return jax.tree.map(keep, new, arrays), summary


def _strong(leaf: Any) -> Any:
    """An array without JAX's weak type, which would make the first chunk differ from the rest and compile twice."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf


@eqx.filter_jit
def _initial(problem, method, build, keys, many: bool):
    """The first states, arrays of all seeds side by side and apart from everything else, which all seeds share."""

    def make(key):
        key_model, key_state, _ = jr.split(key, 3)
        model = build(problem.domain, len(problem.unknowns), key_model)
        problem.fits(model)
        state = method.init(problem, model, key_state)
        if not isinstance(build, Ready):  # weights that exist already are kept
            # Not one of the keys that `init` uses, which are folds by small numbers.
            state = method.warm(problem, state, jr.fold_in(key_state, 2**31))
        return jax.tree.map(_strong, state)

    rest = eqx.filter(make(keys[0] if many else keys), eqx.is_array, inverse=True)
    arrays = lambda key: eqx.filter(make(key), eqx.is_array)
    return (jax.vmap(arrays) if many else arrays)(keys), rest


def solve(
    problem: Problem,
    model: Any = None,
    method: AbstractMethod | None = None,
    *,
    seed: int = 0,
    steps: int | None = None,
    seconds: float | None = None,
    seeds: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Any:
    """Trains a network that satisfies the problem's constraints and minimises its objective.

    **Arguments:**

    - `model`: a network, or a function `(domain, outputs, key)` that builds one; default: an MLP of 4 × 50, tanh, or a
      small FNO for an operator.
    - `method`: `PrimalDual(...)` or `Penalty(...)`; default: Gauss-Newton steps and dual ascent, by one rule for all
      problems; `print(solution.method)` shows what was chosen.
    - `seed`: of the weights and of all draws; same seed, same result. A network that exists already keeps its weights.
    - `steps`, `seconds`: when to stop. With neither, training ends when every constraint holds and the objective is
      flat, or when a second-order method makes no progress any more, after 5 minutes at the latest.
    - `seeds`: trains that many at once by `vmap`, with seeds `seed`, `seed + 1`, …, and gives a list of solutions,
      feasible ones first, then by objective.
    - `checkpoint`: a directory for the full state. The same call resumes there, bit for bit.
    - `progress`: whether to report on standard error.

    Runs with the same objects (residuals, method, model function) share their compiled code: in a sweep, make these
    once, outside the loop. Ctrl-C ends training and returns what was learned. NaN rolls back to the last good state,
    and `result` says so.

    !!! example
        `solution = scl.solve(scl.zoo.convection(beta=30), seed=0)`
    """
    if not isinstance(problem, Problem):
        raise ValueError(f"solve: `problem` must be a Problem, got {problem!r:.80}.")
    if method is not None and not isinstance(method, AbstractMethod):
        raise ValueError(f"solve: `method` must be PrimalDual(...) or Penalty(...), got {method!r:.80}.")
    budget = _Budget(
        steps=None if steps is None else checks.count("solve", "steps", steps),
        seconds=None if seconds is None else checks.positive("solve", "seconds", seconds),
    )
    seeds = None if seeds is None else checks.count("solve", "seeds", seeds)
    seed = checks.count("solve", "seed", seed, at_least=0)
    build = builder(problem, model)
    shape = eqx.filter_eval_shape(build, problem.domain, len(problem.unknowns), jr.key(0))
    if isinstance(build, Factory):
        build = Factory(build.function, jax.tree.structure(shape))
    if method is None:
        weights = sum(leaf.size for leaf in jax.tree.leaves(shape) if hasattr(leaf, "size"))
        method = default_method(problem, weights)
    with precision.double(method.primal.double):
        return _train(problem, build, method, seed, seeds, budget, checkpoint, progress)


class _Budget(NamedTuple):
    """How long a run may take; with neither given, until it has converged, or the default time is up."""

    steps: int | None
    seconds: float | None

    @property
    def open(self) -> bool:
        return self.steps is None and self.seconds is None

    @property
    def limit(self) -> float | None:
        return DEFAULT_SECONDS if self.open else self.seconds

    def spent(self, step: int, elapsed: float) -> float:
        """The share of the run that is over."""
        return max(
            0.0 if self.steps is None else step / self.steps, 0.0 if self.limit is None else elapsed / self.limit
        )


def _train(problem, build, method, seed, seeds, budget: _Budget, checkpoint, progress) -> Any:
    """See `solve`; everything here runs in the precision that the method needs."""
    began = time.monotonic()
    posed = method.prepare(problem)
    # Compiled code sees the bare problem: two speeds of one equation share it.
    problem, many = posed.bare(), seeds is not None
    keys = jnp.stack([jr.key(seed + k) for k in range(seeds)]) if many else jr.key(seed)
    shapes, rest = eqx.filter_eval_shape(_initial, problem, method, build, keys, many)
    done = 0 if isinstance(build, Ready) else method.primal.start_evaluations(problem)
    records, step, tree = Records(problem, done), 0, {}
    store = None
    if checkpoint is not None:
        run = fingerprint(problem, method, seed, seeds, shapes, rest)
        if isinstance(posed, OperatorProblem):
            run["validation"] = digest(posed.validation)  # which decides what state is the best
        store = Checkpoint(checkpoint, run)
        step, tree = store.latest() or (0, {})
    if step:
        arrays = _restored(shapes, tree["state"], checkpoint)
        records.restore(tree.get("history", {}))
        began -= float(records.rows["seconds"][-1])
    else:
        arrays, _ = _initial(problem, method, build, keys, many)
    guide = _guide(posed, problem, method, arrays, rest, many)
    if step and guide is not None:
        problem = guide.restore(problem, tree["guide"], _restored(shapes, tree["best"], checkpoint))

    result, saved = RESULTS.steps_done, time.monotonic()
    found = None  # the reason to end before the budget does
    # The share of the run after which its last part began: steps shrink, so that the noise of fresh draws averages out.
    # No checkpoint holds this part: a run that goes on does so from the state before.
    ending = None
    limit, chunk = budget.limit, problem.epoch or method.primal.chunk

    def keep(say: Callable[[str], Any]) -> None:
        """Saves the state. A disk that is full costs the checkpoint, not what was learned."""
        if store is None:
            return
        try:
            store.save(step, _tree(arrays, records, guide))
        except OSError as error:
            say(f"solve: no checkpoint was written at step {step} ({error}); training goes on.")

    try:
        with Reporter(progress) as reporter:
            if step:
                reporter.say(f"resumed at step {step}")
            pace, first = 0.0, True
            while True:
                elapsed = time.monotonic() - began
                if budget.steps is not None and step >= budget.steps:
                    result = RESULTS.steps_done if found is None else found
                    break
                if limit is not None and elapsed + pace > limit:
                    result = RESULTS.time_up if found is None else found
                    break
                spent = budget.spent(step, elapsed)
                if ending is None and guide is not None and spent >= SETTLE and guide.may_settle(records):
                    keep(reporter.say)
                    ending = spent
                # Chunks end at the same steps however a run is cut, so that its states are compared at the same ones.
                length = chunk - step % chunk
                length = length if budget.steps is None else min(length, budget.steps - step)
                if ending is not None:
                    over = (budget.spent(step + length, elapsed + pace) - ending) / (1 - ending)
                    shorter = method.primal.slowed(arrays.primal, SHORTEST ** min(over, 1.0))
                    arrays = arrays._replace(primal=shorter)
                chunk_began = time.monotonic()
                after, summary = _chunk(
                    problem, method, arrays, rest, guide.keys(keys) if guide else keys, jnp.asarray(step), length, many
                )
                summary = jax.tree.map(np.asarray, summary)  # waits for the chunk
                if not np.any(summary.finite):
                    reporter.say(f"NaN or infinity between steps {step} and {step + length}: rolled back to {step}")
                    result = RESULTS.nonfinite
                    break
                # Together, so that Ctrl-C never finds the state of one step under the number of another.
                arrays, step = after, step + length
                now = time.monotonic()
                # The first chunk contains compilation and tells nothing about the pace.
                pace, first = 0.0 if first else now - chunk_began, False
                records.add(step, now - began, summary, eqx.combine(arrays, rest))
                _report(reporter, problem, summary, step, budget, now - began, pace, length)
                if guide is not None:
                    guide.look(arrays, step, records)
                if ending is not None:
                    continue
                if guide is not None:
                    hopeless = guide.hopeless(problem, records)
                    fresh = not isinstance(build, Ready)  # weights that exist already may be good ones
                    stuck = not hopeless and fresh and guide.stuck(records, now - began, limit)
                    stopped = (hopeless or stuck) and budget.spent(step, now - began) <= 0.5
                    march = (stopped or (fresh and guide.slow(records))) and guide.may_march(problem)
                    if hopeless or stuck or march:
                        again, _ = _initial(problem, method, build, guide.keys(keys, stuck), many)
                        # From here on nothing takes time: Ctrl-C finds the run before all of it, or after.
                        if stuck:
                            guide.restart(records)
                        if march:
                            problem = guide.march(problem)
                            reporter.say(f"little progress until step {step}: starting again, along time")
                        elif stuck:
                            reporter.say(f"no progress on a spare draw at step {step}: starting again, other weights")
                        else:
                            for name in hopeless:
                                problem = guide.temper(problem, name, step, records)
                                reporter.say(_said(name, guide.tempered[name]))
                        arrays = again
                        records.spend(done)
                if budget.open:
                    if not (guide and guide.tempered) and records.flat_and_feasible():
                        found = RESULTS.converged
                    elif guide is not None and guide.settled(records):
                        found = RESULTS.settled
                    if found is not None:
                        may_settle = guide is not None and guide.may_settle(records)
                        budget = _Budget(int(step / SETTLE) if may_settle else step, limit)
                if now - saved > SAVE_EVERY:
                    keep(reporter.say)
                    saved = time.monotonic()
    except KeyboardInterrupt:
        result = RESULTS.interrupted
    finally:
        if step and ending is None:
            keep(warnings.warn)
        if store is not None:
            store.close()
    last = arrays
    if guide is not None and step:
        if ending is not None:
            guide.prefer(arrays, step, records)
        arrays = guide.result(arrays)

    def solution(k: int | None) -> Solution:
        of_seed = lambda arrays: arrays if k is None else jax.tree.map(lambda leaf: leaf[k], arrays)
        state: State = eqx.combine(of_seed(arrays), rest)
        outcome = result
        history = records.of_seed(k)
        if k is not None and not np.all(np.isfinite(history["objective"])):
            outcome = RESULTS.nonfinite
        kind = Solution
        if isinstance(posed, OperatorProblem):
            kind = OperatorSolution
            if posed.test is not None:
                end: State = eqx.combine(of_seed(last), rest)
                history["last_errors"] = np.asarray(relative_errors(end.model, posed.test))
        return kind(
            posed,
            state.model,
            method,
            state.multipliers,
            history,
            outcome,
            seed + (k or 0),
            tempered={} if guide is None else guide.tempered,
            unpriced={*method.unpriced(state), *(guide.tempered if guide else ())},
        )

    if not many:
        return solution(None)
    return sorted((solution(k) for k in range(len(keys))), key=_rank)


def _guide(posed: Problem, problem: Problem, method: AbstractMethod, arrays: PyTree, rest: PyTree, many: bool):
    """Who compares the states of a run, if anyone."""
    if isinstance(posed, OperatorProblem) and posed.validation is not None:
        return Validation(problem, posed.validation, method, arrays, rest, many)
    return Guide(problem, method, arrays, rest, many) if method.primal.watched else None


def _rank(solution: Solution) -> tuple[bool, bool, float]:
    return bool(solution.result == RESULTS.nonfinite), not solution.feasible, solution.objective


def _report(reporter, problem, summary, step, budget, elapsed, chunk_seconds, length) -> None:
    steps, limit = budget.steps, budget.limit
    worst = [largest(summary.values[n] - np.asarray(t)) for n, t in problem.tolerances.items()]
    by_steps = None if steps is None or not chunk_seconds else (steps - step) * chunk_seconds / length
    by_time = None if limit is None else max(limit - elapsed, 0.0)
    left = min((t for t in (by_steps, by_time) if t is not None), default=None)
    reporter.update(
        step=step,
        fraction=budget.spent(step, elapsed),
        left=left,
        rate=length / chunk_seconds if chunk_seconds else None,
        objective=float(np.mean(summary.objective)),
        violation=max(worst) if worst else None,
        multipliers={n: float(np.max(v)) for n, v in summary.multipliers.items()},
    )


def _said(name: str, tempered: Tempered) -> str:
    place = ", ".join(f"{k} = {v:.3g}" for k, v in tempered.where.items())
    return (
        f"`{name}` cannot be met everywhere (worst near {place}): its multiplier grows, its violation stays, and few "
        "points carry the weight. Starting again with its average, at a fixed small price."
    )


def _tree(arrays: PyTree, records: Records, guide: Guide | None) -> dict[str, dict[str, np.ndarray]]:
    numbered = lambda tree: {f"{i:04d}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(tree))}
    tree = {"state": numbered(arrays), "history": records.arrays()}
    return tree if guide is None else {**tree, "best": numbered(guide.best), "guide": guide.arrays()}


def _restored(arrays: PyTree, stored: dict[str, Any], path: Any) -> PyTree:
    leaves, structure = jax.tree.flatten(arrays)
    new = []
    for i, leaf in enumerate(leaves):
        found = stored.get(f"{i:04d}", np.zeros(leaf.shape) if not leaf.size else None)
        if found is None or np.shape(found) != leaf.shape:
            raise ValueError(
                f"solve: `checkpoint={str(path)!r}` has an array of another shape than this run. Nothing was written; "
                "give another directory, or remove this one to start again."
            )
        new.append(jnp.asarray(found, leaf.dtype))
    return jax.tree.unflatten(structure, new)


def fingerprint(
    problem: Problem, method: AbstractMethod, seed: int, seeds: int | None, arrays: PyTree, rest: PyTree
) -> dict[str, Any]:
    """What makes a run this run and no other; everything but how long it may take."""
    domain = problem.domain
    return {
        "domain": [[n, a, b] for n, a, b in zip(domain.names, domain.lower, domain.upper, strict=True)],
        "unknowns": list(problem.unknowns),
        "parameters": {name: float(value) for name, value in problem.parameters.items()},
        "tolerances": {name: digest(tolerance) for name, tolerance in problem.tolerances.items()},
        "laws": [[t.name, t.owner, str(t.sampler)] for t in problem.terms],
        "equations": digest(problem.terms),
        "method": f"{type(method).__name__} {digest(method)}",
        "model": digest(rest.model),
        "seed": seed,
        "seeds": seeds,
        "state": [[str(leaf.dtype), *leaf.shape] for leaf in jax.tree.leaves(arrays)],
    }
