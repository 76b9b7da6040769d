"""Bad input fails at construction, with a message that names the argument, its value and the remedy."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._base import checks as _checks
from sclax._places import columns
from sclax.nn import MLP, FourierFeatures, HardConstraint, PeriodicEmbedding

BOX = scl.Box(x=(0, 1), t=(0, 2))
PLANE = scl.Box(x=(0, 1), y=(0, 1))
DATA = {"x": [0.1, 0.2], "t": [0.5, 1.0]}


def problem(objective=None, domain=BOX, **options):
    return scl.Problem(domain, objective=objective, **options)


def objective(condition, domain=BOX, **options):
    return problem(scl.average(condition), domain, **options)


def constrained(measure, tolerance=0.1, domain=BOX, **options):
    return scl.Problem(domain, constraints={"law": measure <= tolerance}, **options)


RESIDUAL = lambda u: u

BAD = {
    # domains
    "box without coordinates": (lambda: scl.Box(), ["Box", "at least one coordinate", "Box(x=(0, 1)"]),
    "inverted interval": (lambda: scl.Box(x=(1, 0)), ["Box", "`x`", "(1.0, 0.0)", "Swap"]),
    "empty interval": (lambda: scl.Box(x=(1, 1)), ["Box", "`x`", "(1.0, 1.0)", "widen"]),
    "interval with three ends": (lambda: scl.Box(x=(0, 1, 2)), ["Box", "`x`", "(low, high)", "(0, 1, 2)"]),
    "number for an interval": (lambda: scl.Box(x=3), ["Box", "`x`", "(low, high)", "3"]),
    "infinite interval": (lambda: scl.Box(t=(0, np.inf)), ["Box", "`t`", "finite", "inf"]),
    "text for an end": (lambda: scl.Box(x=(0, "one")), ["Box", "`x`", "number", "'one'"]),
    "underscore in a name": (lambda: scl.Box(x_1=(0, 1)), ["Box", "`x_1`", "underscore", "`x1`"]),
    "face of nothing": (lambda: BOX.face(), ["Box.face", "domain.face(x=0)"]),
    "face outside": (lambda: BOX.face(x=1.5), ["Box.face", "`x`", "end", "(0.0, 1.0)", "1.5"]),
    "face of an unknown coordinate": (lambda: BOX.face(xx=0), ["Box.face", "`xx`", "`x`, `t`", "Did you mean `x`"]),
    "boundary without space": (lambda: scl.Box(t=(0, 1)).boundary, ["Box.boundary", "no space coordinate", "face(t="]),
    "faces of different dimension": (
        lambda: objective(scl.Dirichlet(0.0, on=[PLANE.face(x=0), PLANE.face(x=0, y=1)]), PLANE),
        ["Faces", "same number of coordinates", "one condition for each"],
    ),
    "slope at given points": (
        lambda: objective(scl.Neumann(0.0, on={"x": [0.0], "t": [1.0]})),
        ["no normal", "on=domain.face(...)"],
    ),
    "slope on an edge": (
        lambda: objective(scl.Neumann(0.0, on=PLANE.face(x=0, y=0)), PLANE),
        ["normal", "exactly one"],
    ),
    "slope at a time": (lambda: objective(scl.Neumann(0.0, on=BOX.face(t=0))), ["normal", "one of space", "'t'"]),
    "points lack a coordinate": (lambda: columns("law", {"x": [1.0]}, BOX), ["law", "lack", "`t`", "`x`, `t`"]),
    "points have one too many": (
        lambda: columns("law", {"x": [1.0], "t": [1.0], "tt": [1.0]}, BOX),
        ["law", "`tt`", "no coordinate", "Did you mean `t`"],
    ),
    "points of different length": (
        lambda: columns("law", {"x": [1.0, 2.0], "t": [1.0, 2.0, 3.0]}, BOX),
        ["law", "one shape", "'x': (2,)", "'t': (3,)"],
    ),
    "no points": (lambda: columns("law", {"x": [], "t": []}, BOX), ["law", "empty"]),
    "NaN in points": (
        lambda: columns("law", {"x": [0.0, np.nan], "t": [1.0, 1.0]}, BOX),
        ["law", "`x`", "1 NaN", "index (1,)", "Drop these points"],
    ),
    "text in points": (
        lambda: columns("law", {"x": ["a"], "t": [1.0]}, BOX),
        ["law", "`x`", "array of numbers", "'a'"],
    ),
    # names
    "unknown argument": (lambda: objective(lambda u_tt, u_z: 0.0), ["`u_z`", "`u_x`, `u_t`", "Did you mean"]),
    "unknown parameter": (
        lambda: objective(lambda u, bet: 0.0, parameters={"beta": 1.0}),
        ["`bet`", "Did you mean `beta`"],
    ),
    "arguments without names": (lambda: objective(lambda *q: 0.0), ["`*q`", "name each argument"]),
    "ambiguous derivative": (
        lambda: objective(lambda u_xx: u_xx, scl.Box(x=(0, 1), xx=(0, 1))),
        ["`u_xx`", "ambiguous", "Rename a coordinate"],
    ),
    "one name for two things": (
        lambda: objective(RESIDUAL, parameters={"x": 2.0}),
        ["Problem", "`x`", "two things", "Rename one"],
    ),
    "an unknown named as a coordinate": (
        lambda: objective(RESIDUAL, unknowns=("u", "t")),
        ["`t`", "two things", "Rename"],
    ),
    "name with a space": (
        lambda: objective(RESIDUAL, unknowns=("u", "my v")),
        ["`my v`", "not a valid name", "letters"],
    ),
    "no unknowns": (lambda: objective(RESIDUAL, unknowns=()), ["Problem", "`unknowns` is empty", "('u',)"]),
    # conditions
    "initial without time": (lambda: objective(scl.Initial(0.0), PLANE), ["Initial", "`t`", "`x`, `y`", "Dirichlet"]),
    "negative order": (lambda: scl.Initial(0.0, order=-1), ["Initial", "`order`", "at least 0", "-1"]),
    "periodic in an unknown": (lambda: objective(scl.Periodic("z")), ["Periodic", "`z`", "`x`, `t`"]),
    "value by an unknown name": (lambda: objective(scl.Dirichlet(lambda y: y)), ["Dirichlet", "`y`", "`x`, `t`"]),
    "value that is text": (lambda: objective(scl.Dirichlet("zero")), ["Dirichlet", "`value`", "number", "'zero'"]),
    "infinite value": (lambda: objective(scl.Dirichlet(np.inf)), ["Dirichlet", "`value`", "finite", "inf"]),
    "missing unknown": (
        lambda: objective(scl.Initial(0.0), unknowns=("a", "b")),
        ["Initial", "`a`, `b`", 'unknown="a"'],
    ),
    "wrong unknown": (lambda: objective(scl.Initial(0.0, unknown="w")), ["Initial", "unknown='w'", "`u`"]),
    "power of an inequality": (lambda: scl.Inequality(RESIDUAL, power=3), ["Inequality", "`power`", "1 or 2", "3"]),
    "invariance without maps": (lambda: scl.Invariance(), ["Invariance", "at least one map", "x=lambda x: -x"]),
    "invariance of an unknown": (lambda: objective(scl.Invariance(y=lambda x: x)), ["Invariance", "`y`", "`x`, `t`"]),
    "NaN in data": (
        lambda: objective(scl.Observations(DATA, [0.0, np.nan])),
        ["Observations", "values['u']", "1 NaN", "index (1,)", "Drop"],
    ),
    "data of another shape": (
        lambda: objective(scl.Observations(DATA, [0.0, 1.0, 2.0])),
        ["Observations", "`values` of `u`", "shape (2,)", "got (3,)"],
    ),
    "no data": (lambda: objective(scl.Observations(DATA)), ["Observations", "`values` is missing", "`u`"]),
    "no such column": (lambda: scl.Observations(DATA, "temp"), ["Observations", "values='temp'", "`x`, `t`"]),
    "missing column": (lambda: objective(scl.Observations({"x": [0.1]}, [1.0])), ["Observations", "lack", "`t`"]),
    "negative noise": (
        lambda: scl.Observations(DATA, [0, 1], noise=-1.0),
        ["Observations", "`noise`", "positive", "-1.0"],
    ),
    "noise of another shape": (
        lambda: objective(scl.Observations(DATA, [0, 1], noise=[1.0, 2.0, 3.0])),
        ["Observations", "`noise`", "(2,)", "(3,)"],
    ),
    "relative to nothing": (
        lambda: constrained(scl.each(scl.Observations(DATA, [0.0, 1.0]), scl.RelativeL2())),
        ["RelativeL2", "zero everywhere", "MeanSquare()"],
    ),
    # measures
    "measure of a number": (lambda: scl.average(3.0), ["average", "`residual`", "function by argument name", "3.0"]),
    "no points asked for": (lambda: scl.average(RESIDUAL, n=0), ["average", "`n`", "at least 1", "0"]),
    "negative n": (lambda: scl.worst_case(RESIDUAL, n=-5), ["worst_case", "`n`", "at least 1", "-5"]),
    "alpha of one": (lambda: scl.worst_case(RESIDUAL, alpha=1.0), ["worst_case", "`alpha`", "[0, 1)", "1.0"]),
    "negative alpha": (lambda: scl.worst_case(RESIDUAL, alpha=-0.1), ["worst_case", "`alpha`", "[0, 1)", "-0.1"]),
    "over an unknown": (
        lambda: constrained(scl.worst_case(RESIDUAL, over=("betta",)), parameters={"beta": (1.0, 2.0)}),
        ["worst_case", "`over`", "`betta`", "Did you mean `beta`"],
    ),
    "over a fixed coordinate": (
        lambda: constrained(scl.worst_case(scl.Initial(0.0), over="t")),
        ["worst_case", "`over`", "`t`", "initial"],
    ),
    "over with data": (
        lambda: constrained(scl.worst_case(scl.Observations(DATA, [0.0, 1.0]), over="t")),
        ["worst_case", "`over`", "`t`", "given points"],
    ),
    "points outside": (
        lambda: problem(scl.average(RESIDUAL, points=[[0.5, 0.5], [0.5, 3.0]])),
        ["average", "`t` is 3.0 at index 1", "[0.0, 2.0]", "1 of the 2 points are outside", "widen the domain"],
    ),
    "points with a wrong width": (
        lambda: problem(scl.average(RESIDUAL, points=np.zeros((4, 3)))),
        ["average", "`points`", "`x`, `t`", "(4, 3)"],
    ),
    "negative tolerance": (lambda: scl.average(RESIDUAL) <= -1.0, ["tolerance", "negative", "-1.0"]),
    "NaN tolerance": (lambda: scl.average(RESIDUAL) <= np.nan, ["tolerance", "NaN"]),
    "negative factor": (lambda: -2 * scl.average(RESIDUAL), ["factor", "negative", "-2.0"]),
    "sum with a number": (lambda: scl.average(RESIDUAL) + 1.0, ["only measures can be added", "1.0"]),
    "each of a function": (lambda: scl.each(RESIDUAL), ["each", "Observations(...)"]),
    "each in the objective": (
        lambda: problem(scl.each(scl.Observations(DATA, [0.0, 1.0]))),
        ["each", "no objective", "average(observations)"],
    ),
    "each added to another": (
        lambda: constrained(scl.each(scl.Observations(DATA, [0.0, 1.0])) + scl.average(RESIDUAL)),
        ["`law`", "each(...)", "two constraints"],
    ),
    "tolerances of a wrong shape": (
        lambda: constrained(scl.each(scl.Observations(DATA, [0.0, 1.0])), [1.0, 2.0, 3.0]),
        ["tolerance of `law`", "2 numbers", "(3,)"],
    ),
    "several tolerances for one value": (
        lambda: constrained(scl.average(RESIDUAL), [1.0, 2.0]),
        ["tolerance of `law`", "a number", "(2,)"],
    ),
    # problems
    "nothing to solve": (lambda: problem(), ["Problem", "neither an `objective` nor a constraint"]),
    "constraint without tolerance": (
        lambda: scl.Problem(BOX, constraints={"law": scl.average(RESIDUAL)}),
        ["`law`", "measure <= tolerance", "Add `<= tolerance`"],
    ),
    "inverted family": (
        lambda: objective(RESIDUAL, parameters={"beta": (3.0, 1.0)}),
        ["parameters", "`beta`", "(3.0, 1.0)", "Swap"],
    ),
    "infinite parameter": (lambda: objective(RESIDUAL, parameters={"beta": np.inf}), ["parameters", "`beta`", "inf"]),
    # samplers
    "keep no multiple of chains": (
        lambda: scl.MetropolisHastings(chains=3, steps=10, keep=10),
        ["MetropolisHastings", "`keep`", "multiple", "30", "10 with 3 chains"],
    ),
    "keep more than there are": (
        lambda: scl.MetropolisHastings(chains=2, steps=10, keep=40),
        ["MetropolisHastings", "`keep`", "at most", "20", "40"],
    ),
    "no chains": (lambda: scl.MetropolisHastings(chains=0), ["MetropolisHastings", "`chains`", "at least 1", "0"]),
    "no steps": (lambda: scl.PersistentChains(steps=0), ["PersistentChains", "`steps`", "at least 1", "0"]),
    "target beyond one": (lambda: scl.PersistentChains(target=1.2), ["PersistentChains", "`target`", "[0, 1)", "1.2"]),
    "jump below zero": (lambda: scl.PersistentChains(jump=-0.1), ["PersistentChains", "`jump`", "[0, 1)", "-0.1"]),
    "scale of zero": (
        lambda: constrained(scl.worst_case(RESIDUAL, sampler=scl.PersistentChains(scale=0.0))),
        ["PersistentChains", "`scale`", "positive", "0.0"],
    ),
    "scale without a coordinate": (
        lambda: constrained(scl.worst_case(RESIDUAL, sampler=scl.MetropolisHastings(scale={"x": 0.1}))),
        ["MetropolisHastings", "`scale`", "`t`", "`x`, `t`"],
    ),
    "no Langevin scale": (lambda: scl.Langevin(scale=-1.0), ["Langevin", "`scale`", "positive", "-1.0"]),
    "proposal that looks at the loss": (
        lambda: scl.ImportanceWeights(proposal=scl.R3()),
        ["ImportanceWeights", "`proposal`", "Uniform()", "R3"],
    ),
    "pool smaller than n": (lambda: scl.RAD(100, pool=50), ["RAD", "`pool`", "at least 100", "50"]),
    "negative power of RAD": (lambda: scl.RAD(k=-1.0), ["RAD", "`k`", "negative", "-1.0"]),
    "no uniform points": (lambda: scl.Uniform(0), ["Uniform", "`n`", "at least 1", "0"]),
    # models
    "no width": (lambda: MLP(BOX, width=0, key=jr.key(0)), ["MLP", "`width`", "at least 1", "0"]),
    "embedding of an unknown": (
        lambda: PeriodicEmbedding(BOX, "xx"),
        ["PeriodicEmbedding", "`xx`", "Did you mean `x`"],
    ),
    "no harmonics": (lambda: PeriodicEmbedding(BOX, "x", 0), ["PeriodicEmbedding", "`harmonics`", "at least 1", "0"]),
    "no Fourier scale": (lambda: FourierFeatures(BOX, scale=0.0, key=jr.key(0)), ["FourierFeatures", "`scale`", "0.0"]),
    "derivative in a hard constraint": (
        lambda: HardConstraint(lambda z: z[:1], lambda u, u_x: u, BOX),
        ["HardConstraint", "`function`", "no derivatives", "`u_x`"],
    ),
    "model with two outputs for one unknown": (
        lambda: (
            problem(scl.average(scl.Observations(DATA, [0.0, 1.0])))
            .completed()
            .evaluate(lambda z: z, (jnp.zeros((1, 1)),))
        ),
        ["`model`", "shape (2,) to shape (1,)", "got shape (2,)"],
    ),
    # checks that annotations would catch first in this test suite, not in a user's session
    "half a point": (lambda: _checks.count("average", "n", 2.5), ["average", "`n`", "whole number", "2.5"]),
    "number as text": (lambda: _checks.positive("Langevin", "scale", "x"), ["Langevin", "`scale`", "number", "'x'"]),
}


@pytest.mark.parametrize("case", BAD)
def test_the_message_names_argument_value_and_remedy(case):
    construct, fragments = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        construct()
    missing = [fragment for fragment in fragments if fragment not in str(error.value)]
    assert not missing, str(error.value)


def raised(make):
    with pytest.raises(ValueError) as caught:
        make()
    return str(caught.value)


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (
            lambda: scl.Problem(scl.Box(t=(0, 1)), {"k": 1.0}, scl.average(lambda u_t, k=3.0: u_t + k)),
            ("`k` has a default, 3.0", "remove the default"),
        ),
        (lambda: scl.Problem(scl.Box(t=(0, 1)), objective=eval_keyword_only()), ("keyword-only", "`u`")),
        (
            lambda: scl.Problem(
                scl.Box(x=(0, 1)),
                {"a": (1, 2)},
                scl.worst_case(scl.Inequality(lambda u: u, power=1), over=("a",)),
            ),
            ("linear loss", "power=2"),
        ),
        (
            lambda: scl.Problem(scl.Box(x=(0, 1), y=(0, 1)), objective=scl.average(scl.Dirichlet(0.0), points=[[0.0]])),
            ("`x`, `y`", "(1, 1)"),
        ),
        (lambda: scl.NuPI(1e-3, kp=-3.0), ("kp", "-3.0")),
        (lambda: scl.AugmentedLagrangian(1.0, rate=-5.0), ("rate", "-5.0")),
        (lambda: scl.Box(x=(1e6, 1e6 + 0.5)).face(x=1e6 + 0.7), ("lie in its interval", "1000000.7")),
    ],
)
def test_findings_of_a_first_user_stay_mended(make, fragments):
    message = raised(make)
    for fragment in fragments:
        assert fragment in message


def eval_keyword_only():
    def law(u_t, *, u):
        return u_t + u

    return scl.average(law)
