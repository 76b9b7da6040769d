"""Laws that became averages, and resist bending for a while."""

import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax._laws import smoothed
from sclax._result import Tempered
from sclax._run.spare_draw import LONG, STIFF, SUPPLE, SpareDraw

from .test_decide import clock, run, steady, task

SINKING = np.geomspace(1.0, 1e-2, 100)
AVERAGED = (("pde", Tempered(500, {"x": 0.25})),)


def two_unknowns():
    return scl.Problem(
        scl.Box(x=(0, 2), y=(0, 1)),
        parameters={"c": (1.0, 2.0)},
        unknowns=("u", "v"),
        objective=scl.average(scl.Dirichlet(0.0, unknown="u")),
        constraints={"pde": scl.worst_case(lambda u_x, v_y, c: u_x - c * v_y) <= 0.1},
    )


def test_bending_is_the_second_derivatives_along_coordinates_and_not_parameters():
    """u = x² y, v = y³ c: u_xx = 2y, v_yy = 6 y c, all else 0; the law's own rows stay."""
    problem = two_unknowns()
    model = lambda z: jnp.stack([z[0] ** 2 * z[1], z[1] ** 3 * z[2]])
    term = next(t for t in problem.terms if t.worst)
    curbs = jnp.asarray([[1.0, 10.0, 5.0], [100.0, 1000.0, 5.0]])
    law = smoothed(term.law, curbs, (0, 1), problem.vocabulary)
    w = jnp.asarray([[1.5, 0.5, 1.2]])
    plain = term.law.rows(model, problem.parameters, w)
    np.testing.assert_allclose(
        law.rows(model, problem.parameters, w), [[plain[0, 0], 1.0 * 1.0, 1000 * 6 * 0.5 * 1.2]], rtol=1e-6
    )


def test_a_width_of_zero_is_the_plain_problem_and_files_keep_the_stage():
    problem = task(steady()).problem
    stage = scl.Stage(averaged=AVERAGED, began=3, curbs=(("pde", ((2.0,),)),))
    plain, wide = (next(t for t in stage.pose(problem, width).terms if t.worst) for width in (0.0, 0.5))
    np.testing.assert_allclose(plain.law.rows(lambda z: z**2, {}, jnp.asarray([[0.25]])), [[0.5 - 1]])
    np.testing.assert_allclose(wide.law.rows(lambda z: z**2, {}, jnp.asarray([[0.25]])), [[0.5 - 1, 0.5 * 2.0 * 2.0]])
    assert scl.Stage.from_json(stage.as_json()) == stage


def test_resistance_falls_evenly_in_orders_of_magnitude_and_then_is_gone():
    """The stage began after 10 chunks, and resistance lasts LONG times as long, however long the run may be."""
    decide = SpareDraw(task(steady())).decide
    stage = scl.Stage(averaged=AVERAGED, began=10, curbs=(("pde", ((1.0,),)),))
    for steps in (1000, 10_000):
        at = lambda rows, steps=steps: decide(run(SINKING[:rows], stage=stage), clock(seconds=None, steps=steps))
        assert at(10).width == pytest.approx(STIFF)
        assert at(10 + 10 * LONG // 2).width == pytest.approx((STIFF * SUPPLE) ** 0.5)
        assert at(10 + 10 * LONG).width == 0
    assert decide(run(SINKING, stage=stage), clock(steps=1000)) == scl.Stop(scl.RESULTS.steps_done, False)


@pytest.mark.slow
def test_a_kink_is_one_kink():
    """|u'| = 1 on [0, 3] with u = 0 at both ends has a solution for every zigzag; the tent has one kink."""
    problem = scl.Problem(
        scl.Box(x=(0.0, 3.0)),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={
            "slope": scl.worst_case(lambda u_x: jnp.abs(u_x) - 1) <= 1e-6,
            "sign": scl.worst_case(scl.Inequality(lambda u: -u)) <= 1e-6,
        },
        reference=lambda x: jnp.minimum(x, 3 - x),
    )
    solution = scl.solve(problem, scl.nn.MLP, steps=2000, progress=False)
    assert "slope" in solution.tempered
    assert solution.error() < 2e-2  # another zigzag is at least 0.3 off
