"""Solutions from files, with the problems of the zoo built again by name."""

import inspect
import os
from typing import Any, overload

from .._problem import AbstractProblem, OperatorProblem, Problem, Recipe
from .._result import OperatorSolution, Promise, Solution, load_solution
from ._registry import OPERATORS, build


@overload
def load(path: str | os.PathLike[str], problem: Problem, model: Any = ...) -> Solution: ...
@overload
def load(path: str | os.PathLike[str], problem: OperatorProblem, model: Any = ...) -> OperatorSolution: ...
@overload
def load(path: str | os.PathLike[str], problem: AbstractProblem | None = ..., model: Any = ...) -> Any: ...
def load(path: str | os.PathLike[str], problem: AbstractProblem | None = None, model: Any = None) -> Any:
    """Reads a solution that `solution.save(path)` wrote. Nothing in the file is executed.

    A problem of the zoo is built again by its name; the data of an operator are made when `solution.problem` is first
    needed, not to apply it. For a problem of your own pass `problem`, since a file holds no equations: it must be the
    one that was solved. For a model of your own pass a `model` of the same shape.

    !!! example
        `scl.load("convection.scl")(x=1.0, t=0.5)`
    """
    return load_solution(path, problem, model, _built)


def _built(recipe: Recipe) -> AbstractProblem | Promise:
    """The problem; of an operator the promise of one, since it comes with its data: a file must not start such work."""
    if recipe.name not in OPERATORS:
        return build(recipe)
    arguments = ", ".join(f"{name}={value!r}" for name, value in recipe.arguments)
    inspect.signature(OPERATORS[recipe.name].build).bind(**dict(recipe.arguments))
    return Promise(lambda: build(recipe), f"{recipe.name}({arguments})")
