"""One door: compiled chunks of iterations in a plain host loop, which reports, stops, saves and resumes."""

import functools
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from . import _checks, nn
from ._checkpoint import Checkpoint
from ._digest import digest
from ._progress import Reporter
from ._typing import Key, Model, PyTree
from .fields import outputs
from .methods import AbstractMethod, PrimalDual, State
from .problem import Problem
from .solution import RESULTS, Solution

DEFAULT_SECONDS = 300.0
SAVE_EVERY = 20.0  # seconds between two checkpoints


@functools.cache
def default_method() -> AbstractMethod:
    """The method of `solve` where none is given, the same for every problem.

    Adam on the weights, decayed; Adam on the multipliers. Cached, so that runs share compiled code.
    """
    decay = optax.exponential_decay(2e-3, transition_steps=2000, decay_rate=0.85)
    return PrimalDual(primal=optax.adam(decay), dual=optax.adam(2e-3))


def default_model(domain: Any, outputs: int, key: Key) -> Model:
    """The network of `solve` where none is given: the paper's MLP, 4 hidden layers of 50, tanh."""
    return nn.MLP(domain, outputs, key=key)


class Summary(NamedTuple):
    """A chunk of iterations in numbers: means over its steps, multipliers at its end."""

    objective: Any
    values: dict[str, Any]
    multipliers: dict[str, Any]
    acceptance: tuple[Any, ...]
    sample_size: tuple[Any, ...]
    evaluations: Any
    finite: Any


def _run(
    problem: Problem, method: AbstractMethod, arrays: PyTree, rest: PyTree, key: Any, start: Any, length: int
) -> tuple[PyTree, Summary]:
    """`length` iterations. The key of an iteration depends on its number alone, so chunks may be cut anywhere."""
    _, _, stream = jr.split(key, 3)

    def body(arrays, k):
        state, info = method.step(problem, eqx.combine(arrays, rest), jr.fold_in(stream, k))
        return eqx.filter(state, eqx.is_array), info

    arrays, infos = jax.lax.scan(body, arrays, start + jnp.arange(length))
    mean = lambda leaf: jnp.mean(leaf, axis=0)
    summary = Summary(
        objective=mean(infos.objective),
        values=jax.tree.map(mean, infos.values),
        multipliers=jax.tree.map(lambda leaf: leaf[-1], infos.multipliers),
        acceptance=jax.tree.map(mean, infos.acceptance),
        sample_size=jax.tree.map(mean, infos.sample_size),
        evaluations=jnp.sum(infos.evaluations),
        finite=jnp.all(infos.finite),
    )
    return arrays, summary


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
        _fits(model, problem)
        return jax.tree.map(_strong, method.init(problem, model, key_state))

    rest = eqx.filter(make(keys[0] if many else keys), eqx.is_array, inverse=True)
    arrays = lambda key: eqx.filter(make(key), eqx.is_array)
    return (jax.vmap(arrays) if many else arrays)(keys), rest


def _fits(model: Model, problem: Problem) -> None:
    """A network of the wrong size fails here, with names, and not deep inside a derivative."""
    names = problem.domain.names
    point = jnp.zeros(len(names))
    try:
        jax.eval_shape(lambda z: outputs(model, z, len(problem.unknowns)), point)
    except TypeError as error:
        raise ValueError(
            f"solve: `model` does not take a point of the {len(names)} coordinates {_checks.listed(names)} ({error}). "
            "Build it with problem.domain, which includes the parameters of a family."
        ) from error


class _Ready(eqx.Module):
    """A network that exists already, where otherwise a function builds one."""

    model: Model

    def __call__(self, domain, outputs, key):
        return self.model


class _Factory(eqx.Module):
    """A user's function that builds a network."""

    function: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, domain, outputs, key):
        return _called(self.function, domain, outputs, key)


def _builder(model: Any) -> _Ready | _Factory:
    """`model` as a function (domain, outputs, key) → model. What has weights is a model, what has none builds one."""
    model = default_model if model is None else model
    if not callable(model):
        raise ValueError(
            "solve: `model` must be a network (a callable pytree) or a function (domain, outputs, key) that builds "
            f"one, got {model!r:.80}."
        )
    return _Ready(model) if jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)) else _Factory(model)


def _called(build: Callable[..., Any], domain: Any, outputs: int, key: Key) -> Model:
    try:
        model = build(domain, outputs, key=key)
    except TypeError as error:
        raise ValueError(
            "solve: `model` has no weights, so it must be a function (domain, outputs, key) that builds a network, "
            f"but calling it so failed: {error}."
        ) from error
    if not jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)):
        raise ValueError("solve: `model` built a network without weights: there is nothing to train.")
    return model


class _Records:
    """History as it grows: one row a chunk, and the worst-case points at chunks 1, 2, 4, 8, …"""

    def __init__(self, problem: Problem):
        self._problem = problem
        names = ["step", "seconds", "evaluations", "objective"]
        names += [f"{what}.{name}" for what in ("values", "multipliers") for name in problem.tolerances]
        self.rows: dict[str, list[Any]] = {name: [] for name in names}
        self.worst = [i for i, t in enumerate(problem.terms) if t.worst]

    def add(self, step: int, seconds: float, summary: Summary, state: State) -> None:
        rows = self.rows
        before = rows["evaluations"][-1] if rows["evaluations"] else np.zeros_like(summary.evaluations, np.int64)
        new = {
            "step": step,
            "seconds": seconds,
            "evaluations": before + np.asarray(summary.evaluations, np.int64),
            "objective": summary.objective,
        }
        for name in summary.values:
            new[f"values.{name}"] = summary.values[name]
            new[f"multipliers.{name}"] = summary.multipliers[name]
        for term, a, n in zip(self._problem.terms, summary.acceptance, summary.sample_size, strict=True):
            if term.worst:
                new[f"acceptance.{term.name}"] = a
                new[f"sample_size.{term.name}"] = n
        count = len(rows["step"]) + 1
        if count & (count - 1) == 0 and self.worst:
            rows.setdefault("snapshot_step", []).append(np.asarray(step))
            for i in self.worst:
                rows.setdefault(f"snapshot.{self._problem.terms[i].name}", []).append(
                    np.asarray(state.samplers[i].points)
                )
        for name, value in new.items():
            rows.setdefault(name, []).append(np.asarray(value))

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.stack(rows) if rows else np.zeros((0,)) for name, rows in self.rows.items()}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.rows = {**self.rows, **{name: list(np.asarray(rows)) for name, rows in arrays.items()}}

    def of_seed(self, k: int | None) -> dict[str, np.ndarray]:
        shared = ("step", "seconds", "snapshot_step")
        return {n: a if k is None or n in shared or not len(a) else a[:, k] for n, a in self.arrays().items()}

    def flat_and_feasible(self) -> bool:
        """Every constraint held in the last quarter of the run, and the objective fell by less than 2 % in it."""
        count = len(self.rows["step"])
        window = max(10, count // 4)
        if count < 2 * window:
            return False
        for name, tolerance in self._problem.tolerances.items():
            if np.any(np.stack(self.rows[f"values.{name}"][-window:]) > np.asarray(tolerance)):
                return False
        recent = np.mean(self.rows["objective"][-window:], axis=0)
        before = np.mean(self.rows["objective"][-2 * window : -window], axis=0)
        return bool(np.all(recent >= 0.98 * before))


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

    - `model`: a network, or a function `(domain, outputs, key)` that builds one; default: an MLP of 4 × 50, tanh.
    - `method`: `PrimalDual(...)` or `Penalty(...)`; default: the same for every problem, see `solution.method`.
    - `seed`: of the weights and of all draws; same seed, same result. A network that exists already keeps its weights.
    - `steps`, `seconds`: when to stop. With neither, training ends when every constraint holds and the objective is
      flat, after 5 minutes at the latest.
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
    method = default_method() if method is None else method
    if not isinstance(method, AbstractMethod):
        raise ValueError(f"solve: `method` must be PrimalDual(...) or Penalty(...), got {method!r:.80}.")
    steps = None if steps is None else _checks.count("solve", "steps", steps)
    seconds = None if seconds is None else _checks.positive("solve", "seconds", seconds)
    seeds = None if seeds is None else _checks.count("solve", "seeds", seeds)
    seed = _checks.count("solve", "seed", seed, at_least=0)
    open_ended = steps is None and seconds is None
    limit = DEFAULT_SECONDS if open_ended else seconds

    began = time.monotonic()
    posed = method.prepare(problem)
    # Compiled code sees the bare problem: two speeds of one equation share it.
    problem, many = posed.bare(), seeds is not None
    keys = jnp.stack([jr.key(seed + k) for k in range(seeds)]) if seeds is not None else jr.key(seed)
    arrays, rest = _initial(problem, method, _builder(model), keys, many)
    records, step = _Records(problem), 0

    store = None
    if checkpoint is not None:
        store = Checkpoint(checkpoint, fingerprint(problem, method, seed, seeds, arrays, rest))
        found = store.latest()
        if found is not None:
            step, tree = found
            arrays = _restored(arrays, tree["state"], checkpoint)
            records.restore(tree.get("history", {}))
            began -= float(records.rows["seconds"][-1])

    result, saved = RESULTS.steps_done, time.monotonic()
    try:
        with Reporter(progress) as reporter:
            if step:
                reporter.say(f"resumed at step {step}")
            pace = 0.0
            while True:
                elapsed = time.monotonic() - began
                if steps is not None and step >= steps:
                    break
                if limit is not None and elapsed + pace > limit:
                    result = RESULTS.time_up
                    break
                length = method.chunk if steps is None else min(method.chunk, steps - step)
                chunk_began = time.monotonic()
                after, summary = _chunk(problem, method, arrays, rest, keys, jnp.asarray(step), length, many)
                summary = jax.tree.map(np.asarray, summary)  # waits for the chunk
                if not np.any(summary.finite):
                    reporter.say(f"NaN or infinity between steps {step} and {step + length}: rolled back to {step}")
                    result = RESULTS.nonfinite
                    break
                # Together, so that Ctrl-C never finds the state of one step under the number of another.
                arrays, step = after, step + length
                now = time.monotonic()
                # The first chunk contains compilation and tells nothing about the pace.
                pace = now - chunk_began if records.rows["step"] else 0.0
                records.add(step, now - began, summary, eqx.combine(arrays, rest))
                _report(reporter, problem, summary, step, steps, now - began, limit, pace, length)
                if open_ended and records.flat_and_feasible():
                    result = RESULTS.converged
                    break
                if store is not None and now - saved > SAVE_EVERY:
                    store.save(step, _tree(arrays, records))
                    saved = time.monotonic()
    except KeyboardInterrupt:
        result = RESULTS.interrupted
    finally:
        if store is not None:
            if step:
                store.save(step, _tree(arrays, records))
            store.close()

    def solution(k: int | None) -> Solution:
        one = arrays if k is None else jax.tree.map(lambda leaf: leaf[k], arrays)
        state: State = eqx.combine(one, rest)
        outcome = result
        history = records.of_seed(k)
        if k is not None and not np.all(np.isfinite(history["objective"])):
            outcome = RESULTS.nonfinite
        return Solution(posed, state.model, method, state.multipliers, history, outcome, seed + (k or 0))

    if not many:
        return solution(None)
    return sorted((solution(k) for k in range(len(keys))), key=_rank)


def _rank(solution: Solution) -> tuple[bool, bool, float]:
    return bool(solution.result == RESULTS.nonfinite), not solution.feasible, solution.objective


def _report(reporter, problem, summary, step, steps, elapsed, limit, chunk_seconds, length) -> None:
    worst = [float(np.max(summary.values[n] - np.asarray(t))) for n, t in problem.tolerances.items()]
    by_steps = None if steps is None or not chunk_seconds else (steps - step) * chunk_seconds / length
    by_time = None if limit is None else max(limit - elapsed, 0.0)
    left = min((t for t in (by_steps, by_time) if t is not None), default=None)
    reporter.update(
        step=step,
        fraction=max(0.0 if steps is None else step / steps, 0.0 if limit is None else elapsed / limit),
        left=left,
        rate=length / chunk_seconds if chunk_seconds else None,
        objective=float(np.mean(summary.objective)),
        violation=max(worst) if worst else None,
        multipliers={n: float(np.max(v)) for n, v in summary.multipliers.items()},
    )


def _tree(arrays: PyTree, records: _Records) -> dict[str, dict[str, np.ndarray]]:
    leaves = jax.tree.leaves(arrays)
    return {"state": {f"{i:04d}": np.asarray(a) for i, a in enumerate(leaves)}, "history": records.arrays()}


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
