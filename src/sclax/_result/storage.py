"""Solutions from files."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import nn
from .._base import Model, checks, precision, read_archive
from .._problem import AbstractProblem, Recipe
from .abstract import AbstractSolution
from .history import History, Tempered
from .operator_solution import OperatorSolution
from .outcome import RESULTS
from .solution import Solution

Builder = Callable[[Recipe], AbstractProblem]  # makes a problem of the zoo


def load_solution(
    path: str | os.PathLike[str],
    problem: AbstractProblem | None,
    model: Model | None,
    build: Builder,
) -> AbstractSolution:
    """See `sclax.load`; `build` makes a problem from a recipe of the zoo."""
    with precision.double():  # arrays keep the precision that they have in the file
        return _load(path, problem, model, build)


def _load(path: Any, problem: AbstractProblem | None, model: Model | None, build: Builder) -> AbstractSolution:
    about, arrays = read_archive(Path(path))
    if problem is None:
        if about["recipe"] is None:
            raise ValueError(
                f"load: {str(path)!r} holds no equations, only weights: pass the problem it solves, "
                "load(path, problem=problem)."
            )
        arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in about["recipe"]["arguments"].items()}
        problem = build(Recipe(about["recipe"]["name"], tuple(arguments.items())))
    if list(problem.domain.names) != about["coordinates"] or list(problem.unknowns) != about["unknowns"]:
        raise ValueError(
            f"load: {str(path)!r} solves for {about['unknowns']} over {about['coordinates']}, but `problem` is for "
            f"{list(problem.unknowns)} over {list(problem.domain.names)}. Pass the problem it was saved with."
        )
    description = about["model"]
    if "leaves" not in description:
        model = _rebuilt(path, description, arrays)
    elif model is None:
        raise ValueError(
            f"load: {str(path)!r} holds the weights of a model of your own: pass one of the same shape, "
            "load(path, model=model)."
        )
    else:
        model = _poured(path, model, [arrays[f"leaf{i}"] for i in range(description["leaves"])])
    multipliers = {
        name: arrays[f"multipliers/{name}"] for name in problem.constraints if f"multipliers/{name}" in arrays
    }
    if set(multipliers) != set(problem.constraints):
        raise ValueError(f"load: {str(path)!r} has no multipliers for {checks.listed(problem.constraints)}.")
    flat = {name.removeprefix("history/"): a for name, a in arrays.items() if name.startswith("history/")}
    history, result = History.unflattened(flat), RESULTS[about["result"]]
    tempered = {name: Tempered(entry["step"], entry["where"]) for name, entry in about["tempered"].items()}
    return solution_of(
        problem,
        model,
        None,
        multipliers,
        history,
        result,
        about["seed"],
        tempered,
        tuple(about["unpriced"]),
        about.get("converged", True),
    )


def solution_of(problem: Any, *parts: Any, **more: Any) -> AbstractSolution:
    """A solution of the kind that the problem has; further arguments as `AbstractSolution` has fields."""
    return (Solution if problem.pointwise else OperatorSolution)(problem, *parts, **more)


def _rebuilt(path: Any, description: Any, arrays: Mapping[str, np.ndarray]) -> Model:
    try:
        return nn.rebuild(description, arrays)
    except (KeyError, ValueError) as error:
        raise ValueError(f"load: {str(path)!r} describes no model that this version knows ({error}).") from error


def _poured(path: Any, model: Model, leaves: list[np.ndarray]) -> Model:
    arrays, rest = eqx.partition(model, eqx.is_array)
    old, structure = jax.tree.flatten(arrays)
    shapes = [a.shape for a in old]
    if shapes != [a.shape for a in leaves]:
        raise ValueError(f"load: {str(path)!r} has arrays of shapes {[a.shape for a in leaves]}, `model` has {shapes}.")
    return eqx.combine(jax.tree.unflatten(structure, [jnp.asarray(a) for a in leaves]), rest)
