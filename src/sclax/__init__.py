"""Differential equations by science-constrained learning: state what is known, with tolerances; get a network that
satisfies it in the worst case, and a report that says whether and where each law holds.

    import jax.numpy as jnp
    import sclax as scl

    problem = scl.Problem(
        domain=scl.Box(x=(0, 2 * jnp.pi), t=(0, 1)),
        parameters={"beta": 10.0},
        objective=scl.average(scl.Initial(lambda x: jnp.sin(x))) + scl.average(scl.Periodic("x")),
        constraints={"pde": scl.worst_case(lambda u_t, u_x, beta: u_t + beta * u_x) <= 1e-3},
    )
    solution = scl.solve(problem)
    print(solution.check())
"""

import importlib.metadata
import os
from typing import Any

from . import data as data
from . import nn as nn
from . import reference as reference
from . import zoo as zoo
from ._laws import AbstractCondition as AbstractCondition
from ._laws import AbstractLoss as AbstractLoss
from ._laws import AbstractResidual as AbstractResidual
from ._laws import Data as Data
from ._laws import Dirichlet as Dirichlet
from ._laws import Inequality as Inequality
from ._laws import Initial as Initial
from ._laws import Invariance as Invariance
from ._laws import Law as Law
from ._laws import MeanSquare as MeanSquare
from ._laws import Neumann as Neumann
from ._laws import Observations as Observations
from ._laws import Operator as Operator
from ._laws import Periodic as Periodic
from ._laws import RelativeL2 as RelativeL2
from ._laws import Robin as Robin
from ._laws import Vocabulary as Vocabulary
from ._laws import field_residual as field_residual
from ._methods import AbstractDual as AbstractDual
from ._methods import AbstractMethod as AbstractMethod
from ._methods import AbstractPrimal as AbstractPrimal
from ._methods import AugmentedLagrangian as AugmentedLagrangian
from ._methods import DualAscent as DualAscent
from ._methods import GaussNewton as GaussNewton
from ._methods import NuPI as NuPI
from ._methods import Penalty as Penalty
from ._methods import PrimalDual as PrimalDual
from ._methods import soap as soap
from ._places import AbstractPlace as AbstractPlace
from ._places import Box as Box
from ._problem import AbstractProblem as AbstractProblem
from ._problem import OperatorProblem as OperatorProblem
from ._problem import Problem as Problem
from ._problem import Solved as Solved
from ._problem import average as average
from ._problem import each as each
from ._problem import worst_case as worst_case
from ._result import RESULTS as RESULTS
from ._result import AbstractSolution as AbstractSolution
from ._result import History as History
from ._result import OperatorSolution as OperatorSolution
from ._result import Report as Report
from ._result import Solution as Solution
from ._result import load_solution as _load_solution
from ._result import versions as versions
from ._run import AbstractController as AbstractController
from ._run import Clock as Clock
from ._run import Go as Go
from ._run import Restart as Restart
from ._run import Run as Run
from ._run import Stage as Stage
from ._run import Stop as Stop
from ._run import Task as Task
from ._run import solve as solve
from .samplers import R3 as R3
from .samplers import RAD as RAD
from .samplers import AbstractSampler as AbstractSampler
from .samplers import Batches as Batches
from .samplers import Grid as Grid
from .samplers import ImportanceWeights as ImportanceWeights
from .samplers import Langevin as Langevin
from .samplers import MetropolisHastings as MetropolisHastings
from .samplers import PersistentChains as PersistentChains
from .samplers import SamplerInfo as SamplerInfo
from .samplers import SamplerState as SamplerState
from .samplers import Sobol as Sobol
from .samplers import Uniform as Uniform

__version__ = importlib.metadata.version("sclax")


def load(path: str | os.PathLike[str], problem: Problem | None = None, model: Any = None) -> Solution:
    """Reads a solution that `solution.save(path)` wrote. Nothing in the file is executed.

    A problem of the zoo is built again by its name. For a problem of your own pass `problem`, since a file holds no
    equations; for a model of your own pass a `model` of the same shape.

    !!! example
        `scl.load("convection.scl")(x=1.0, t=0.5)`
    """
    return _load_solution(path, problem, model, zoo.build)
