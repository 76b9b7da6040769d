"""Solutions from files, with the problems of the zoo built again by name."""

import os
from typing import Any, overload

from .._problem import AbstractProblem, OperatorProblem, Problem
from .._result import OperatorSolution, Solution, load_solution
from ._registry import build


@overload
def load(path: str | os.PathLike[str], problem: Problem, model: Any = ...) -> Solution: ...
@overload
def load(path: str | os.PathLike[str], problem: OperatorProblem, model: Any = ...) -> OperatorSolution: ...
@overload
def load(path: str | os.PathLike[str], problem: AbstractProblem | None = ..., model: Any = ...) -> Any: ...
def load(path: str | os.PathLike[str], problem: AbstractProblem | None = None, model: Any = None) -> Any:
    """Reads a solution that `solution.save(path)` wrote. Nothing in the file is executed.

    A problem of the zoo is built again by its name. For a problem of your own pass `problem`, since a file holds no
    equations; for a model of your own pass a `model` of the same shape.

    !!! example
        `scl.load("convection.scl")(x=1.0, t=0.5)`
    """
    return load_solution(path, problem, model, build)
