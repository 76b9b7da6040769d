"""One door: what a user asks for, made ready, trained and handed over."""

import contextlib
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, TypedDict, Unpack, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import threadpoolctl

from .._base import checks, digest, precision, refreshed
from .._methods import AbstractMethod, DualAscent, GaussNewton, MirrorAscent, PrimalDual, State, soap
from .._problem import AbstractProblem, OperatorProblem, Problem, Samples, Term
from .._result import RESULTS, AbstractSolution, OperatorSolution, Solution, solution_of
from .._spectral import Spectral, Unsuited
from . import programs
from .best import HeldOut
from .checkpoint import Checkpoint
from .controller import AbstractController, Clock, KeepLast, Steering
from .polynomials import better, polynomials
from .progress import Callback, Reporter
from .relax import relaxing
from .run import Task
from .source import source_of
from .spare_draw import SpareDraw
from .stage import Stage
from .train import Store, Trained, train

MANY_WEIGHTS = 1_000_000
MANY_SEEDS = 1000
SIDE_BY_SIDE = ": all are in memory side by side; solve the others in another run, with another `seed`"

# Made once: every optax object compiles anew.
_FIRST_ORDER = PrimalDual(
    primal=soap(optax.exponential_decay(3e-3, transition_steps=2000, decay_rate=0.85)), dual=optax.adam(2e-3)
)
_OPERATORS = PrimalDual(
    primal=optax.adam(optax.exponential_decay(1e-3, transition_steps=2000, decay_rate=0.5)), dual=DualAscent(1e-2)
)


def default_method(problem: AbstractProblem, weights: int) -> PrimalDual:
    """The method of `solve` where none is given, by one rule for every problem.

    Gauss-Newton steps, on fresh points: for each dimension of the domain 300 of the interior and 130 of every
    condition in up to two dimensions, beyond them 150 and as many rows of every condition; `MirrorAscent`. A
    network of more than a million weights gets SOAP, whose step costs what a gradient costs, and an operator Adam. So
    does an equation on given points only: a Gauss-Newton step could meet it there and forget it in between, where the
    many small steps of a first-order method stay smooth.
    """
    if not problem.pointwise:
        return _OPERATORS
    if weights > MANY_WEIGHTS or any(_on_given_points(term) for term in problem.terms):
        return _FIRST_ORDER
    # With too few points a step forgets elsewhere what it learns on them; in more dimensions more would cost too much.
    primal = GaussNewton(rows=300 if problem.domain.dimension <= 2 else 150)
    worst_case, average = primal.samplers(problem)
    return PrimalDual(primal=primal, dual=MirrorAscent(), worst_case=worst_case, average=average)


def _on_given_points(term: Term) -> bool:
    """Whether a differential equation is to hold at some points of the domain, the same in all steps."""
    fixed = term.sampler is not None and term.sampler.fixed and not term.law.place.finite
    return fixed and term.law.order > 0 and term.law.place.chart.dimension > 1 and not term.law.place.constants


def default_controller(task: Task, held_out: Samples | None) -> AbstractController:
    """Who steers a run: by samples that were held out, by a spare draw where the primal's states are compared, else
    by nothing but its own numbers."""
    if held_out is not None:
        return HeldOut(task, held_out)
    return SpareDraw(task) if task.method.primal.watched else KeepLast(task)


Directory = str | os.PathLike[str]


class Options(TypedDict, total=False):
    """The options of `solve` that do not change what comes back."""

    seed: int
    steps: int | None
    seconds: float | None
    checkpoint: Directory | None
    relax: bool
    controller: Steering | None
    callback: Callback | None
    progress: bool


Method = AbstractMethod | Spectral | None


@overload
def solve(
    problem: Problem, model: Any = ..., method: Method = ..., *, seeds: None = ..., **options: Unpack[Options]
) -> Solution: ...
@overload
def solve(
    problem: Problem, model: Any = ..., method: Method = ..., *, seeds: int, **options: Unpack[Options]
) -> list[Solution]: ...
@overload
def solve(
    problem: OperatorProblem, model: Any = ..., method: Method = ..., *, seeds: None = ..., **options: Unpack[Options]
) -> OperatorSolution: ...
@overload
def solve(
    problem: OperatorProblem, model: Any = ..., method: Method = ..., *, seeds: int, **options: Unpack[Options]
) -> list[OperatorSolution]: ...
@overload
def solve(
    problem: AbstractProblem,
    model: Any = ...,
    method: Method = ...,
    *,
    seeds: int | None = ...,
    **options: Unpack[Options],
) -> Any: ...
def solve(
    problem: AbstractProblem,
    model: Any = None,
    method: Method = None,
    *,
    seed: int = 0,
    steps: int | None = None,
    seconds: float | None = None,
    seeds: int | None = None,
    checkpoint: Directory | None = None,
    relax: bool = False,
    controller: Steering | None = None,
    callback: Callback | None = None,
    progress: bool = True,
) -> Any:
    """Finds a function that satisfies the problem's constraints and minimises its objective.

    With neither model nor method, polynomials on tiles are tried first (`Spectral`), where the domain has up to four
    dimensions, for a family too; they take seconds and say whether they converge. Where they do not, a network is
    trained, and the better of both by the laws on spare points is the solution.

    **Arguments:**

    - `model`: a network, or a function `(domain, outputs, key)` that builds one; default: an MLP of 4 × 50, tanh, or a
      small FNO for an operator.
    - `method`: `PrimalDual(...)`, `Penalty(...)` or `Spectral()`; default for networks: Gauss-Newton steps and dual
      ascent, by one rule for all problems; `print(solution.method)` shows what was chosen.
    - `seed`: of the weights and of all draws; same seed, same result. A network that exists already keeps its weights.
    - `steps`, `seconds`: when to stop; steps are those of a network, which is then trained at once; seconds are those
      of training, without compilation. With neither, training ends when every constraint holds and the objective is
      flat; or, of a second-order method, far below what the tolerances ask for, or without progress any more; after
      5 minutes at the latest. `solution.converged` says whether it came to such an end.
    - `seeds`: trains that many at once by `vmap`, with seeds `seed`, `seed + 1`, …, and gives a list of solutions,
      feasible ones first, then by objective.
    - `checkpoint`: a directory for the full state. The same call resumes there, bit for bit.
    - `relax`: where constraints contradict each other, raises the tolerances whose multipliers say that it costs the
      least, and trains on; `solution.relaxed` and `check()` say by how much.
    - `controller`: a function of the run's `Task` that gives an `AbstractController` of your own, which steers the run
      and chooses its result.
    - `callback`: a function that gets a dict of plain numbers whenever a chunk of steps is done: `by` (`"network"` or
      `"polynomials"`), `step`, `seconds`, `evaluations`, `objective`, and by constraint `values`, `violations` and
      `multipliers`; `sclax.tracking` has some. Where it raises `KeyboardInterrupt`, training ends as by Ctrl-C.
    - `progress`: whether to report on standard error, or in a notebook.

    Runs with the same objects (residuals, method, model function) share their compiled code: in a sweep, make these
    once, outside the loop. Ctrl-C ends training and returns what was learned. NaN rolls back to the last good state,
    and `result` says so.

    !!! example
        `solution = scl.solve(scl.zoo.convection(beta=30), seed=0)`
    """
    if not isinstance(problem, AbstractProblem):
        raise ValueError(f"solve: `problem` must be a Problem, got {problem!r:.80}.")
    if method is not None and not isinstance(method, AbstractMethod | Spectral):
        raise ValueError(f"solve: `method` must be PrimalDual(...), Penalty(...) or Spectral(), got {method!r:.80}.")
    if callback is not None and not callable(callback):
        raise ValueError(f"solve: `callback` must be a function of a dict, got {callback!r:.60}.")
    clock, seed, seeds = asked_for(steps, seconds, seed, seeds)
    problem = refreshed(problem)  # a global that a law computes with may have changed since it was stated
    if isinstance(method, Spectral):
        _only_polynomials(model, steps, seeds, controller)
        with Reporter(progress, callback) as reporter:
            try:
                return polynomials(problem, method, seed, seconds, checkpoint, reporter).solution
            except Unsuited as reason:
                raise ValueError(
                    f"solve: `method={method!r}` does not solve this problem: {reason}. Leave `method` out, and a "
                    "network is trained."
                ) from reason
    if relax:
        if seeds is not None:
            raise ValueError(f"solve: `relax=True` goes on from one solution, got `seeds={seeds}`; leave one out.")

        def train(posed: Any, model: Any, clock: Clock, where: Directory | None) -> Any:
            return solve(
                posed,
                model,
                method,
                seed=seed,
                steps=clock.steps,
                seconds=clock.seconds,
                checkpoint=where,
                controller=controller,
                callback=callback,
                progress=progress,
            )

        return relaxing(problem, train, model, clock, checkpoint, Reporter(progress).say)
    if model is method is steps is seeds is controller is None:
        return _polynomials_first(problem, seed, clock, checkpoint, lambda: Reporter(progress, callback))
    return _network(problem, model, method, clock, seed, seeds, checkpoint, controller, Reporter(progress, callback))


def _only_polynomials(model: Any, steps: Any, seeds: Any, controller: Any) -> None:
    given = {"model": model, "steps": steps, "seeds": seeds, "controller": controller}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"solve: `{name}` is for networks, and Spectral() trains none; leave it out.")


def _polynomials_first(
    problem: AbstractProblem, seed: int, clock: Clock, checkpoint: Directory | None, reporting: Callable[[], Reporter]
) -> Any:
    """Polynomials where they converge, else a network, and of both the better one."""
    reporter = reporting()
    began = time.monotonic()
    candidate = None
    try:
        with reporter:
            # Half of the time, so that a network that has to do it after all has as much; all of it on the way.
            found = polynomials(problem, Spectral(), seed, clock.seconds, checkpoint, reporter, on_time=0.5)
            if found.good:
                return found.solution
            candidate = found.solution
            reporter.say(
                "polynomials do not converge: their last coefficients stay large. Training a network; the better of "
                "both is the solution."
            )
    except Unsuited as reason:
        reporter.say(f"no polynomials ({reason}): training a network.")
    if clock.seconds is not None:
        clock = clock._replace(seconds=max(clock.seconds - (time.monotonic() - began), clock.seconds / 4))
    network = _network(problem, None, None, clock, seed, None, checkpoint, None, reporting())
    return network if candidate is None else better(candidate, network)


def _network(
    problem: AbstractProblem,
    model: Any,
    method: AbstractMethod | None,
    clock: Clock,
    seed: int,
    seeds: int | None,
    checkpoint: Directory | None,
    controller: Steering | None,
    reporter: Reporter,
) -> Any:
    """Trains a network."""
    source, weights = source_of(problem, model)
    method = default_method(problem, weights) if method is None else method
    with contextlib.ExitStack() as stack:
        # First of all, so that a directory that cannot be used is told before anything is compiled.
        kept = None if checkpoint is None else stack.enter_context(contextlib.closing(Checkpoint(checkpoint)))
        stack.enter_context(precision.double(method.primal.double))
        # Its threads would wait on cores that the rest of a step needs: steps take a fifth longer then.
        stack.enter_context(threadpoolctl.threadpool_limits(1, user_api="blas"))
        posed = method.prepare(problem)
        # Compiled code sees the bare problem: two speeds of one equation share it.
        bare, many = posed.bare(), seeds is not None
        keys = jnp.stack([jr.key(seed + k) for k in range(seeds)]) if seeds is not None else jr.key(seed)
        stack.enter_context(reporter)
        built, rest = programs.build(Stage().pose(bare), method, source, keys, many)
        task = Task(bare, method, source, keys, built, rest, many, method.primal.start.evaluations(bare))
        if kept is not None:
            kept.belongs_to(fingerprint(task, seed, seeds, posed.held_out))
        steer = controller or (lambda task: default_controller(task, posed.held_out))
        return conduct(task, posed, steer, Store(task, kept), clock, reporter, seed)


def asked_for(steps: int | None, seconds: float | None, seed: int, seeds: int | None) -> tuple[Clock, int, int | None]:
    """When `solve` has to stop, and its seeds, where they make sense."""
    clock = Clock(
        steps=None if steps is None else checks.count("solve", "steps", steps),
        seconds=None if seconds is None else checks.positive("solve", "seconds", seconds),
    )
    seeds = None if seeds is None else checks.count("solve", "seeds", seeds, at_most=MANY_SEEDS, why=SIDE_BY_SIDE)
    return clock, checks.seed("solve", seed, seeds or 1), seeds


def conduct(
    task: Task, posed: AbstractProblem, steer: Steering, store: Store, clock: Clock, reporter: Reporter, seed: int
) -> Any:
    """Trains and hands over, whatever a person at the keyboard does in between."""
    trained = train(task, steer, store, clock, reporter)
    while True:  # Ctrl-C once more does not lose what was learned
        try:
            store.save(trained.run, warnings.warn)
            return _solutions(task, posed, trained, seed)
        except KeyboardInterrupt:
            trained = trained._replace(result=RESULTS.interrupted)


def _solutions(task: Task, posed: AbstractProblem, trained: Trained, seed: int) -> Any:
    """The solution, or a list of them: finite ones first, then feasible ones, then by objective."""
    run, controller, result, converged, failed = trained
    best, kept = controller.result(run)
    history = run.history.keeping(kept) if run.history.rows else run.history
    tempered = run.stage.tempered

    def solution(k: int | None) -> AbstractSolution:
        of_seed = lambda arrays: arrays if k is None else jax.tree.map(lambda leaf: leaf[k], arrays)
        state: State = eqx.combine(of_seed(best), task.rest)
        own = history if k is None else history.of_seed(k)
        finite = bool(np.all(np.isfinite(own.objective)))
        found = solution_of(
            posed,
            state.model,
            task.method,
            state.multipliers,
            own,
            result if finite else RESULTS.nonfinite,
            seed + (k or 0),
            tempered=tempered,
            unpriced=(*task.method.unpriced(state), *tempered),
            converged=converged and finite,
            failures={} if failed is None else {failed.law: failed.point},
        )
        return found.compared_with(eqx.combine(of_seed(run.state), task.rest).model)

    if not task.many:
        return solution(None)
    rank = lambda s: (s.result is RESULTS.nonfinite, not s.feasible, s.objective)
    return sorted((solution(k) for k in range(len(task.keys))), key=rank)


def fingerprint(task: Task, seed: int, seeds: int | None, held_out: Samples | None) -> dict[str, Any]:
    """What makes a run this run and no other; everything but how long it may take."""
    problem, method = task.problem, task.method
    domain = problem.domain
    return {
        "domain": [[n, a, b] for n, a, b in zip(domain.names, domain.lower, domain.upper, strict=True)],
        "unknowns": list(problem.unknowns),
        "parameters": {name: float(value) for name, value in problem.parameters.items()},
        "tolerances": {name: digest(tolerance) for name, tolerance in problem.tolerances.items()},
        "laws": [[t.name, t.owner, str(t.sampler)] for t in problem.terms],
        "equations": digest(problem.terms),
        "method": f"{type(method).__name__} {digest(method)}",
        "model": digest(task.rest.model),
        "seed": seed,
        "seeds": seeds,
        "state": [[str(leaf.dtype), *leaf.shape] for leaf in jax.tree.leaves(task.built)],
        # Samples that train nothing decide what state is the best.
        "validation": None if held_out is None else digest(held_out),
    }
