"""From an experiment to what `solve` takes: problem, model, method and budget."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .. import nn, zoo
from .._base import Key, Model, changed
from .._laws import Initial, Invariance, Periodic
from .._methods import Penalty, PrimalDual, soap
from .._places import Box
from .._problem import AbstractProblem, Problem, average, worst_case
from ..samplers import R3, ImportanceWeights, MetropolisHastings, PersistentChains, Uniform
from . import pinnacle
from ._records import Experiment, Mode, Run

PHYSICS = 1e-3  # the tolerance of Burgers' equation on an operator's output


class Posed(NamedTuple):
    """What `solve` needs, and how the result is measured: at how many stages, on how many points, at how many values of
    each parameter of a family (None: those of the test grid)."""

    problem: AbstractProblem
    model: Any = None
    method: Any = None
    steps: int | None = None
    seconds: float | None = None
    seed: int = 0
    stages: int = 1
    check: int = 100_000
    family: int | None = None


def posed(run: Run) -> Posed:
    """What a run trains. Stages are for methods that take no notice of how far their end is: their runs are cut
    without a trace."""
    row = BUILDERS[run.experiment.kind](run)
    scale = run.scale
    second_order = row.method is None
    if run.scale.reduced and run.experiment.kind != "operator":
        row = row._replace(model=_small)
    if run.experiment.kind == "operator":
        steps, seconds = row.steps, None  # the scale is in its data and its epochs
    elif second_order:
        steps, seconds = scale.second_order, scale.seconds if scale.second_order is None else None
    else:
        steps, seconds = row.steps if scale.steps is None else scale.steps, None
    stages = 1 if second_order or run.experiment.kind == "operator" else scale.stages
    return Posed(row.problem, row.model, row.method, steps, seconds, run.seed, stages, scale.check, scale.family)


def _small(domain: Any, outputs: int, key: Key) -> Model:
    return nn.MLP(domain, outputs, width=6, depth=2, key=key)


def _shared(experiment: Experiment) -> Any:
    """The paper's settings, the same for all problems with the same weights: every optax object compiles anew."""
    settings: Any = zoo.paper_settings(experiment.problem, **dict(experiment.arguments))
    blank = {"tolerance": 1.0, "scales": (), "steps": 1, "decay": 1.0, "width": 6, "keep": 8, "grids": ()}
    return dataclasses.replace(settings, **blank)


REDUCED = MetropolisHastings(2, 4, 8)


def _bvp(run: Run) -> zoo.Row:
    """A boundary value problem of the zoo by the mode, or by a baseline of the paper."""
    experiment, arguments = run.experiment, dict(run.experiment.arguments)
    entry = zoo.entry(experiment.problem)
    if experiment.method != "scl":
        return _baseline(run, entry, arguments)
    if run.mode is Mode.fast:
        return zoo.ROWS["scl"](entry, **arguments)
    row = zoo.ROWS["paper"](entry, **arguments)
    settings: Any = zoo.paper_settings(experiment.problem, **arguments)
    chains = PersistentChains(8 if run.scale.reduced else settings.keep)
    if run.scale.reduced:
        row = row._replace(problem=row.problem.sampled_by(REDUCED), method=_shared(experiment).method())
    return row._replace(problem=row.problem.sampled_by(chains)) if run.mode is Mode.chains else row


def _baseline(run: Run, entry: zoo.Entry, arguments: dict[str, Any]) -> zoo.Row:
    """A weighted sum of losses on uniform or on retained points, or at some values of a family's parameters."""
    experiment = run.experiment
    names = [name for name, value in arguments.items() if isinstance(value, tuple | list)]
    at = dict.fromkeys(names, experiment.at)
    if not run.scale.reduced:
        more = {"at": at} if at else {}
        return zoo.ROWS["pinn" if at else experiment.method](entry, **more, **arguments)
    problem = zoo.ROWS["paper"](entry, **arguments).problem
    few = {"pinn": Uniform(8), "r3": R3(8)}.get(experiment.method, Uniform(8))
    problem = problem.discretised(at, n=1) if at else problem.sampled_by(few)
    return zoo.Row(problem, None, _shared(experiment).penalty())


def _operator(run: Run) -> zoo.Row:
    """An operator from data: a multiplier for each sample, the average loss, or one of two controls."""
    experiment = run.experiment
    entry, arguments = zoo.entry(experiment.problem), {**dict(experiment.arguments), "scale": run.scale.name}
    if experiment.method == "physics":
        return zoo.ROWS["scl"](entry, physics=PHYSICS, **arguments)
    if experiment.method != "control":
        return zoo.ROWS[experiment.method](entry, **arguments)
    # The average loss as one constraint: what it gains is not due to telling samples apart.
    row = zoo.ROWS["average"](entry, **arguments)
    (term,) = row.problem.terms
    tolerances = {"data": jnp.asarray(row.model.settings.tolerance)}
    one = changed(row.problem, terms=(dataclasses.replace(term, owner="data"),), tolerances=tolerances)
    return row._replace(problem=one)


def _wave(x):
    return jnp.sin(x)


def _transport(u_t, u_x):
    return u_t + 30 * u_x


def _exact(x, t):
    return jnp.sin(x - 30 * t)


def _period(t):
    return t + 2 * jnp.pi / 30


@functools.cache
def _first_order() -> tuple[Penalty, PrimalDual]:
    """The paper's methods, made once: every optax object compiles anew."""
    settings: Any = zoo.paper_settings("convection", beta=30.0)
    return settings.penalty(), settings.method()


@functools.cache
def _quick_penalty() -> Penalty:
    return Penalty(soap(1e-3), weights={"objective": 100.0})


def _unscaled(domain: Any, outputs: int, key: Key) -> Model:
    """The paper's network, of the bare coordinates."""
    return eqx.nn.MLP(domain.dimension, outputs, 50, 4, jnp.tanh, key=key)


def _invariance(run: Run) -> zoo.Row:
    """The paper's section 4.3: convection at β = 30 on 100 points that are drawn once, with and without its period.

    By first order it is posed as the paper's code has it, with the start as a constraint, which its text has in the
    objective. Between the start and the first of the points a network may leave it, in a layer so thin that chains
    which are carried on do not enter it: `chains` has fresh points in their place.
    """
    points = np.random.default_rng(run.seed).uniform((0, 0), (2 * np.pi, 1), (100, 2))
    # Of its text these are the variances, of its code the deviations.
    samplers = {
        Mode.paper: REDUCED if run.scale.reduced else MetropolisHastings(scale={"x": 0.5, "t": 0.1}),
        Mode.chains: ImportanceWeights(8 if run.scale.reduced else 1000, proposal=Uniform()),
        Mode.fast: None,
    }
    fast, sum_of_losses = run.mode is Mode.fast, run.experiment.method == "pinn"
    # The paper's tolerance lets u be off by 3 % from one period to the next; the default can ask for a tenth of that.
    tolerance = 1e-5 if fast else 1e-3
    start, ends = average(Initial(_wave), n=256), average(Periodic("x"), n=100)
    constraints = {"pde": average(_transport, points=points) <= tolerance}
    if not (fast or sum_of_losses):
        constraints["start"] = start <= 1e-5
    if run.experiment.method == "scl":
        constraints["period"] = worst_case(Invariance(t=_period), sampler=samplers[run.mode]) <= tolerance
    problem = Problem(
        domain=Box(x=(0, 2 * jnp.pi), t=(0, 1)),
        objective=ends if "start" in constraints else start + ends,
        constraints=constraints,
        reference=_exact,
    )
    penalty, primal_dual = _first_order()
    if fast:
        return zoo.Row(problem, nn.MLP, _quick_penalty() if sum_of_losses else None, 200_000)
    return zoo.Row(problem, _unscaled, penalty if sum_of_losses else primal_dual, 200_000)


def _suite(run: Run) -> zoo.Row:
    return zoo.Row(pinnacle.BUILD[run.experiment.problem](run.scale.reduced))


BUILDERS: dict[str, Callable[[Run], zoo.Row]] = {
    "bvp": _bvp,
    "operator": _operator,
    "invariance": _invariance,
    "suite": _suite,
}
