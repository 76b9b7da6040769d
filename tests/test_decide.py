"""Every rule that steers a run, on made-up histories: nothing is trained, nothing is patched."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl
from sclax._result import Row
from sclax._run import best, controller, rules
from sclax._run.rules import EARLY, LOOKS, SPAN, cannot_hold, falls_fast, settled, signs_from, slow, stalled, stuck
from sclax._run.source import Factory, Ready
from sclax._run.spare_draw import SETTLE, SHORTEST, SpareDraw

from . import small

# --- signs -----------------------------------------------------------------------------------------------------------


def test_a_plateau_is_a_stall_and_a_slow_fall_is_not():
    falling = np.geomspace(1.0, 0.1, 4 * LOOKS)
    assert not stalled(falling)
    assert stalled(np.concatenate([falling, np.full(3 * LOOKS, 0.1)]))
    assert not stalled(np.full(2 * LOOKS, 1.0))  # too early to say
    rng = np.random.default_rng(0)
    assert not stalled(falling * rng.uniform(0.7, 1.3, falling.size))


def test_several_seeds_have_settled_when_each_has():
    flat, falling = np.ones(3 * LOOKS), np.geomspace(1.0, 1e-3, 3 * LOOKS)
    assert settled(np.stack([flat, flat], axis=1))
    assert not settled(np.stack([flat, falling], axis=1))
    assert not settled(np.zeros(0))


def test_a_run_is_stuck_where_it_stalls_far_from_a_solution():
    flat = np.ones(3 * LOOKS)
    assert stuck(flat, first=1.0)
    assert not stuck(1e-4 * flat, first=1.0)
    assert not stuck(np.geomspace(1.0, 0.1, 3 * LOOKS), first=1.0)


def test_a_run_is_slow_once_and_early():
    falling = np.geomspace(1.0, 0.5, EARLY)
    assert slow(falling)
    assert not slow(falling[:-1])
    assert not slow(np.append(falling, 0.5))
    assert not slow(np.geomspace(1.0, 0.05, EARLY))


def test_a_run_falls_fast_while_any_seed_does():
    flat, falling = np.ones(SPAN + 1), np.geomspace(1.0, 0.09, SPAN + 1)
    assert falls_fast(falling)
    assert not falls_fast(flat)
    assert falls_fast(flat[:-1])  # too early to say
    assert falls_fast(np.stack([flat, falling], axis=1))


SIGNS = {
    "violations": np.full(LOOKS, 0.3),
    "multipliers": np.linspace(1.0, 2.0, LOOKS),
    "shares": np.full(LOOKS, 0.1),
    "peaks": np.full(LOOKS, 0.99),
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"multipliers": np.full(LOOKS, 2.0)}, True),  # at its cap
        ({"multipliers": np.linspace(2.0, 1.0, LOOKS)}, False),  # settling
        ({"violations": np.geomspace(0.5, 0.1, LOOKS)}, False),  # getting better
        ({"violations": np.full(LOOKS, 1e-5)}, False),  # small against what it was
        ({"shares": np.full(LOOKS, 0.6)}, False),  # spread out: the whole residual is large, not a kink
        ({name: values[:-1] for name, values in SIGNS.items()}, False),  # too early to say
    ],
)
def test_a_law_cannot_hold_where_all_signs_agree(changed, expected):
    assert cannot_hold(**{**SIGNS, **changed}, unit=1.0) is expected


# The largest losses on the spare draw of three real runs: steps 70 to 360 of a front (Burgers, ν = 0.01/π),
# 190 to 480 of the tent in test_steering.py, and 70 to 360 of the gear's distance, whose kinks
# have a floor from about there on.
FRONT = """16 31 25 28 18 14 3.8 7.9 3.9 2.1 1.4 7.8 8.2 4.4 2.0 0.90 4.0 1.0 5.6 1.3 6.8 10 2.0 0.50 1.4 2.3 2.4 2.5
    2.3 2.4"""
TENT = """0.988 0.991 0.990 0.983 4.29 2.72 1.00 0.984 0.985 0.999 0.995 0.999 2.63 0.996 0.988 0.999 0.995 0.990 0.996
    4.40 0.995 1.44 0.996 0.999 0.990 0.971 0.975 0.980 0.986 0.995"""
GEAR = """5.03 2.14 3.21 1.74 5.61 3.53 1.69 1.62 1.34 2.24 2.35 4.63 1.05 1.26 6.37 4.52 1.19 1.91 5.13 4.44 1.41 1.54
    4.22 6.02 3.36 6.34 3.90 6.42 1.43 0.948"""


def recorded(numbers):
    return np.asarray(numbers.split(), float)


def test_a_kink_has_a_floor_and_a_front_has_none():
    """All other signs may agree: only the kink is a law that cannot hold."""
    falling = np.geomspace(4.0, 1.0, LOOKS)
    for peaks, expected in (
        (recorded(TENT), True),
        (recorded(GEAR), True),
        (recorded(FRONT), False),
        (falling, False),
    ):
        assert len(peaks) == LOOKS
        assert rules.has_floor(peaks) is expected
        assert cannot_hold(**{**SIGNS, "peaks": peaks}, unit=1.0) is expected


def test_a_front_is_left_alone_by_the_run():
    signs = {**HOPELESS, "peak": np.resize(recorded(FRONT), 100)}
    assert isinstance(SpareDraw(task(steady())).decide(run(SINKING, **signs), clock()), scl.Go)


# --- made-up runs ----------------------------------------------------------------------------------------------------


def task(problem=None, *, fresh=True, many=False, method=None):
    """What is trained, with nothing compiled."""
    method = method or scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=8), scl.DualAscent(0.3, clip=1.0, cap=2.0))
    problem = method.prepare(problem or evolution()).bare()
    source = Factory(scl.nn.MLP) if fresh else Ready(small.value())
    state = method.init(problem, small.value(), jax.random.key(0))
    built, rest = eqx.partition(state, eqx.is_array)
    return scl.Task(problem, method, source, jax.random.key(0), built, rest, many)


def evolution():
    return scl.Problem(
        scl.Box(x=(0, 1), t=(0, 1)),
        objective=scl.average(scl.Initial(0.0)),
        constraints={"pde": scl.worst_case(lambda u_t, u_x: u_t + u_x) <= 0.1},
    )


def steady():
    return scl.Problem(
        scl.Box(x=(0, 1)),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda u_x, x: u_x - 1 + 4 * (x - 0.25) ** 2) <= 0.1},
    )


def run(merits, *, seconds=1.0, stage=None, first=1.0, **columns):
    """A run whose chunks of ten steps had these merits, each taking so many `seconds`; other columns broadcast."""
    default = {
        "values": 1.0,
        "objective": 1.0,
        "multipliers": 0.5,
        "carried": 1.0,
        "reach": 1.0,
        "share": 1.0,
        "peak": 1.0,
    }
    assert columns.keys() <= default.keys()
    count = len(merits)
    spread = lambda column: np.broadcast_to(np.asarray(column, float), (count,))
    columns = [spread(column) for column in {**default, **columns}.values()]
    history = scl.History.of(("pde",))
    for i, (merit, value, aim, price, carried, far, part, peak) in enumerate(zip(merits, *columns, strict=True)):
        looks = {"merit": merit, "kept": 10 * (i + 1), "reach": far, "peak.pde": peak, "carried.pde": carried}
        step, time = 10 * (i + 1), seconds * (i + 1)
        laws = ({"pde": value}, {"pde": price}, {"pde": 1.0}, {"pde": 1e3}, {}, {}, looks)
        history = history.after(Row(step, time, 0, aim, part, *laws))
    units = Stated({"pde": jnp.asarray(1.0)})
    watch = best.Watch(units, None, np.asarray(10 * count), None, np.asarray(first), None)
    return scl.Run(10 * count, None, stage or scl.Stage(), watch, history, seconds * count)


class Stated:
    """Of a state, all that is asked for here."""

    def __init__(self, units):
        self.units = units


FALLING = np.geomspace(1.0, 1e-12, 100)  # to 0.06 in ten records
SINKING = np.geomspace(1.0, 1e-2, 100)  # slowly: to 0.63 in ten records
FLAT = np.concatenate([[1.0], np.full(117, 1e-6)])
FAR = np.concatenate([[1.0], np.full(99, 0.5)])


def clock(**options):
    return scl.Clock(**{"seconds": 1000.0, **options})


# --- the budget ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SpareDraw, controller.KeepLast])
def test_the_first_chunk_is_always_made(kind):
    assert kind(task()).decide(run([]), clock(seconds=1e-9, pace=5.0)) == scl.Go(kind(task()).chunk)


@pytest.mark.parametrize("kind", [SpareDraw, controller.KeepLast])
def test_a_run_ends_with_its_budget_and_says_that_it_has_not_converged(kind):
    decide = kind(task()).decide
    assert decide(run(FALLING), clock(steps=1000)) == scl.Stop(scl.RESULTS.steps_done, False)
    assert decide(run(FALLING), clock(seconds=100.5, pace=1.0)) == scl.Stop(scl.RESULTS.time_up, False)
    # Flat and feasible: whatever ended it, it has converged.
    done = run(FALLING, values=0.0)
    assert decide(done, clock(steps=1000)) == scl.Stop(scl.RESULTS.steps_done, True)


def test_chunks_end_at_the_same_steps_however_a_run_is_cut():
    decide = SpareDraw(task()).decide
    assert decide(run(FALLING)._replace(step=1004), clock()).length == 6
    assert decide(run(FALLING)._replace(step=1000), clock(steps=1007)).length == 7


def test_a_checkpoint_is_due_after_a_while():
    decide = SpareDraw(task()).decide
    assert not decide(run(FALLING), clock(unsaved=1.0)).save
    assert decide(run(FALLING), clock(unsaved=100.0)).save


def test_an_open_budget_ends_flat_and_feasible_or_settled():
    keep = controller.KeepLast(task())
    assert keep.decide(run(FALLING, values=0.0), scl.Clock()) == scl.Stop(scl.RESULTS.converged, True)
    violated = run(FALLING, values=0.2)
    assert isinstance(keep.decide(violated, scl.Clock()), scl.Go)
    falling = run(FALLING, values=0.0, objective=np.geomspace(1.0, 1e-3, 100))
    assert isinstance(keep.decide(falling, scl.Clock()), scl.Go)
    assert not rules.flat_and_feasible(run(FALLING, values=0.0, reach=0.5).history, {"pde": 0.1})  # not everywhere yet
    over = run(FALLING, values=0.2, seconds=3.0)
    assert keep.decide(over, scl.Clock(pace=3.0)) == scl.Stop(scl.RESULTS.time_up, False)  # five minutes


def test_an_objective_below_what_tolerances_ask_for_is_enough():
    """A tolerance of a tenth of its constraint's size: conditions a thousandth of what they were at first."""
    decide, falling = SpareDraw(task(steady())).decide, np.geomspace(1.0, 1e-12, 100)
    end = scl.Clock(steps=1000)
    assert decide(run(FALLING, values=0.0, objective=falling), end) == scl.Stop(scl.RESULTS.steps_done, True)
    assert decide(run(FALLING, values=0.0, objective=falling, first=1e-8), end) == scl.Stop(
        scl.RESULTS.steps_done, False
    )
    assert decide(run(FALLING, values=0.2, objective=falling), end) == scl.Stop(scl.RESULTS.steps_done, False)


# --- starting again --------------------------------------------------------------------------------------------------


def test_a_slow_run_starts_again_along_time_once():
    early = run(np.geomspace(1.0, 0.5, EARLY))
    found = SpareDraw(task()).decide(early, clock())
    assert found.stage == scl.Stage(0, 1, (), EARLY)
    assert "along time" in found.why
    again = early._replace(stage=scl.Stage(direction=1))
    assert isinstance(SpareDraw(task()).decide(again, clock()), scl.Go)
    assert isinstance(SpareDraw(task(steady())).decide(early, clock()), scl.Go)  # there is no time
    assert isinstance(SpareDraw(task(fresh=False)).decide(early, clock()), scl.Go)  # weights of the user's own


def test_a_stuck_run_gets_other_weights_where_there_is_time_for_them():
    decide = SpareDraw(task(steady())).decide
    found = decide(run(FAR), clock())
    assert found.stage == scl.Stage(1, 0, (), 100)
    assert "other weights" in found.why
    assert isinstance(decide(run(FAR), clock(seconds=150.0)), scl.Go)  # not as long as all before
    assert isinstance(decide(run(FAR), scl.Clock(steps=5000)), scl.Go)  # a number of steps says nothing about time
    for other in ({"fresh": False}, {"many": True}):
        assert isinstance(SpareDraw(task(steady(), **other)).decide(run(FAR), clock()), scl.Go)


def test_a_stuck_run_with_a_time_goes_along_it_first():
    found = SpareDraw(task()).decide(run(FAR), clock())
    assert found.stage == scl.Stage(1, 1, (), 100)
    late = SpareDraw(task()).decide(run(FAR)._replace(step=600), clock(steps=1000))
    assert late.stage == scl.Stage(1, 0, (), 100)  # too late for a march, not for other weights


HOPELESS = {"values": 0.9, "multipliers": np.linspace(1.0, 2.0, 100), "carried": 0.1}


def test_a_worst_case_that_cannot_be_met_becomes_an_average():
    """Of u = 0 the residual is largest at x = 1, which is said."""
    posed = task(steady())
    state = posed.method.init(posed.problem, small.value(), jax.random.key(0))
    hopeless = run(SINKING, **HOPELESS)
    hopeless = hopeless._replace(watch=hopeless.watch._replace(best=eqx.filter(state, eqx.is_array)))
    found = SpareDraw(posed).decide(hopeless, clock())
    (name, (step, where)), *_ = found.stage.averaged
    assert (name, step) == ("pde", 1000)
    assert where["x"] == pytest.approx(1.0, abs=1e-2)
    assert found.stage.began == 100
    assert "worst near x = 1" in found.why
    assert isinstance(SpareDraw(posed).decide(hopeless._replace(stage=found.stage), clock()), scl.Go)


def test_fixed_weights_promise_no_tolerance():
    weighted = scl.Penalty(scl.GaussNewton(warm_up=0, rows=8))
    assert isinstance(SpareDraw(task(steady(), method=weighted)).decide(run(SINKING, **HOPELESS), clock()), scl.Go)


def test_a_law_that_looks_hopeless_early_goes_along_time_first():
    found = SpareDraw(task()).decide(run(SINKING, **HOPELESS), clock())
    assert found.stage == scl.Stage(0, 1, (), 100)


def test_no_sign_counts_before_training_has_come_to_the_end_of_time():
    reach = np.concatenate([np.linspace(0.05, 0.99, 95), np.ones(5)])
    assert signs_from(run(FAR, reach=reach).history, began=10) == 95
    assert signs_from(run(FAR).history, began=10) == 10
    marching = run(FAR, reach=reach, stage=scl.Stage(direction=1))
    assert isinstance(SpareDraw(task()).decide(marching, clock()), scl.Go)


# --- settling --------------------------------------------------------------------------------------------------------


def test_steps_shrink_at_the_end_of_a_run_that_no_longer_falls_fast():
    decide = SpareDraw(task(steady())).decide
    assert decide(run(SINKING), scl.Clock(steps=2000)).share == 1.0  # half of it is over
    end = scl.Clock(steps=int(1000 / SETTLE))
    first = decide(run(SINKING), end)
    assert first.save  # no checkpoint holds what follows
    assert first.share < 1
    assert decide(run(FALLING), end).share == 1.0
    assert decide(run(SINKING, reach=0.9), end).share == 1.0


def test_shrinking_steps_end_at_the_shortest_and_are_not_saved():
    decide = SpareDraw(task(steady())).decide
    share = np.where(np.arange(100) < 85, 1.0, 0.5)
    found = decide(run(SINKING, share=share)._replace(step=990), scl.Clock(steps=1000))
    assert found == scl.Go(10, pytest.approx(SHORTEST), False)
    assert decide(run(SINKING, share=share), scl.Clock(steps=1000)) == scl.Stop(scl.RESULTS.steps_done, False)


def test_an_open_run_that_has_settled_ends_with_shrinking_steps():
    decide = SpareDraw(task(steady())).decide
    first = decide(run(FLAT[:100]), scl.Clock())
    assert first.share < 1
    steps = int(1000 / SETTLE)
    share = np.where(np.arange(118) < 100, 1.0, 0.5)
    last = run(FLAT, share=share)._replace(step=steps)
    assert decide(last, scl.Clock()) == scl.Stop(scl.RESULTS.settled, True)


def test_of_a_law_that_became_an_average_nobody_says_that_it_holds():
    stage = scl.Stage(averaged=(("pde", (10, {"x": 0.5})),))
    found = SpareDraw(task(steady())).decide(run(SINKING, values=0.0, stage=stage), scl.Clock(steps=1000))
    assert found == scl.Stop(scl.RESULTS.steps_done, False)


# --- the result ------------------------------------------------------------------------------------------------------


def test_the_last_state_of_a_run_that_has_settled_wins_a_tie():
    problem = task(small.bounded(), method=scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=8), optax.sgd(0.1)))
    chooses = SpareDraw(problem)
    merit = lambda objective: best.Merit(jnp.asarray(objective), jnp.zeros(1), jnp.ones(1), jnp.asarray(True))
    states = [problem.method.init(problem.problem, small.value(v), jax.random.key(0)) for v in (1.0, 2.0)]
    for factor, settling, kept in ((1.2, True, 20), (1.3, True, 10), (1.2, False, 10)):
        watch = best.Watch(states[0], merit(1.0), np.asarray(10), merit(factor), jnp.asarray(1.0), merit(1.0))
        share = 0.5 if settling else 1.0
        ended = run([1.0, factor], share=[1.0, share])._replace(state=states[1], watch=watch)
        state, step = chooses.result(ended)
        assert int(step) == kept
        assert float(state.model.value) == {10: 1.0, 20: 2.0}[kept]


def test_the_best_state_has_the_last_multipliers_unless_another_stage_made_them():
    problem = task(small.bounded(), method=scl.PrimalDual(scl.GaussNewton(warm_up=0, rows=8), optax.sgd(0.1)))
    merit = best.Merit(jnp.asarray(1.0), jnp.zeros(1), jnp.ones(1), jnp.asarray(True))
    first, last = (
        problem.method.init(problem.problem, small.value(v), jax.random.key(0))._replace(
            multipliers={"size": jnp.asarray(v)}
        )
        for v in (1.0, 2.0)
    )
    watch = best.Watch(first, merit, np.asarray(10), merit, jnp.asarray(1.0), merit)
    ended = run([1.0, 1.0])._replace(state=last, watch=watch)
    assert SpareDraw(problem).result(ended)[0].multipliers == {"size": 2.0}
    other = ended._replace(stage=scl.Stage(attempt=1))
    assert SpareDraw(problem).result(other)[0].multipliers == {"size": 1.0}


def watched(*merits, by_objective=True):
    """The number of the best of states, each (objective, average of a law of unit 1, feasible)."""
    as_merit = lambda objective, average, feasible: best.Merit(
        jnp.asarray(objective), jnp.asarray([average]), jnp.ones(1), jnp.asarray(feasible)
    )
    watch = best.first_watch(jnp.asarray(0), as_merit(1.0, 1.0, False))
    for number, merit in enumerate(merits, start=1):
        watch = watch.taking(jnp.asarray(number), as_merit(*merit), number, 1.0, by_objective)
    assert int(watch.kept) == int(watch.best)
    return int(watch.kept)


def test_a_state_that_is_better_in_all_is_kept_whatever_is_feasible():
    """A tolerance that both hold, or that the worse one holds by luck, is no reason to lose three digits."""
    assert watched((1e-9, 1e-9, False), (1e-9, 1e-6, True)) == 1
    assert watched((1e-9, 1e-6, True), (1e-9, 1e-9, False)) == 2
    assert watched((1e-9, 1e-9, True), (1e-10, 1e-6, True)) == 1


def test_of_equal_states_a_feasible_one_is_kept_and_then_that_of_lower_objective():
    """A tolerance that binds: an objective that cannot vanish makes totals equal."""
    assert watched((2.4, 1.1, False), (2.5, 1.0, True)) == 2
    assert watched((2.5, 1.0, True), (2.4, 1.0, False)) == 1
    assert watched((2.7, 0.7, True), (2.5, 1.0, True)) == 2
    assert watched((2.7, 0.7, True), (2.5, 1.0, True), by_objective=False) == 1


def test_small_losses_do_not_add_up():
    """Each has a lower objective than the one before, and a total that is a fifth larger."""
    assert watched(*((1.0 / (k + 1), 10 * 1.2**k, True) for k in range(10))) == 2
    assert watched((float("nan"), 1.0, True), (1.0, 1.0, False), (1.0, float("nan"), True)) == 2
