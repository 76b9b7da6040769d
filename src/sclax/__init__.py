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
from .conditions import Dirichlet as Dirichlet
from .conditions import Inequality as Inequality
from .conditions import Initial as Initial
from .conditions import Invariance as Invariance
from .conditions import Neumann as Neumann
from .conditions import Operator as Operator
from .conditions import Periodic as Periodic
from .conditions import Robin as Robin
from .conditions import field_residual as field_residual
from .domains import Box as Box
from .dual import AugmentedLagrangian as AugmentedLagrangian
from .dual import DualAscent as DualAscent
from .dual import NuPI as NuPI
from .gauss_newton import GaussNewton as GaussNewton
from .loading import load_solution as _load_solution
from .measures import Data as Data
from .measures import MeanSquare as MeanSquare
from .measures import RelativeL2 as RelativeL2
from .measures import average as average
from .measures import each as each
from .measures import worst_case as worst_case
from .methods import Penalty as Penalty
from .methods import PrimalDual as PrimalDual
from .observations import Observations as Observations
from .operator_solution import OperatorSolution as OperatorSolution
from .operators import OperatorProblem as OperatorProblem
from .problem import Problem as Problem
from .problem import Solved as Solved
from .report import Report as Report
from .samplers import R3 as R3
from .samplers import RAD as RAD
from .samplers import Batches as Batches
from .samplers import Grid as Grid
from .samplers import ImportanceWeights as ImportanceWeights
from .samplers import Langevin as Langevin
from .samplers import MetropolisHastings as MetropolisHastings
from .samplers import PersistentChains as PersistentChains
from .samplers import Sobol as Sobol
from .samplers import Uniform as Uniform
from .soap import soap as soap
from .solution import RESULTS as RESULTS
from .solution import Solution as Solution
from .solve import solve as solve

__version__ = importlib.metadata.version("sclax")


def load(path: str | os.PathLike[str], problem: Problem | None = None, model: Any = None) -> Solution:
    """Reads a solution that `solution.save(path)` wrote. Nothing in the file is executed.

    A problem of the zoo is built again by its name. For a problem of your own pass `problem`, since a file holds no
    equations; for a model of your own pass a `model` of the same shape.

    !!! example
        `scl.load("convection.scl")(x=1.0, t=0.5)`
    """
    return _load_solution(path, problem, model, zoo.build)
