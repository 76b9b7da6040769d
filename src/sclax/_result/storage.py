"""Solutions from files. Nothing that a file holds is believed before it was looked at, and nothing in it is run."""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import nn
from .._base import Model, checks, precision, read_archive
from .._problem import AbstractProblem, Layout, Recipe
from .abstract import AbstractSolution
from .history import History, Tempered
from .operator_solution import OperatorSolution
from .outcome import RESULTS
from .promise import Promise
from .record import versions
from .solution import Solution

Builder = Callable[[Recipe], AbstractProblem | Promise]  # makes a problem of the zoo, or promises to


def load_solution(
    path: str | os.PathLike[str],
    problem: AbstractProblem | None,
    model: Model | None,
    build: Builder,
) -> AbstractSolution:
    """See `sclax.load`; `build` makes a problem from a recipe of the zoo."""
    with precision.double():  # arrays keep the precision that they have in the file
        about, arrays = read_archive(Path(path))
        with _judged(path):
            stored = _Stored.read(about, arrays)
        if problem is not None:
            _compare(path, stored, problem)
        known = stored.built(path, build) if problem is None else problem
        return stored.solution(path, stored.model_with(path, model, arrays), known)


def solution_of(problem: Any, *parts: Any, **more: Any) -> AbstractSolution:
    """A solution of the kind that the problem has; further arguments as `AbstractSolution` has fields."""
    return (Solution if problem.pointwise else OperatorSolution)(problem, *parts, **more)


class _Stored(NamedTuple):
    """What a file says, each part of the type that it must have."""

    problem: dict[str, Any]
    versions: dict[str, str]
    recipe: Recipe | None
    description: Any
    multipliers: dict[str, np.ndarray]
    history: History
    result: RESULTS
    seed: int
    tempered: dict[str, Tempered]
    unpriced: tuple[str, ...]
    converged: bool
    failures: dict[str, tuple[float, ...]]
    relaxed: dict[str, np.ndarray]
    layout: Layout | None

    @staticmethod
    def read(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "_Stored":
        """Whatever is not as `save` wrote it raises something here."""
        under = lambda group: {n.removeprefix(group): a for n, a in arrays.items() if n.startswith(group)}
        recipe, layout = about["recipe"], about.get("layout")
        return _Stored(
            problem={
                "domain": [[str(name), float(low), float(high)] for name, low, high in about["problem"]["domain"]],
                "unknowns": [str(name) for name in about["problem"]["unknowns"]],
                "parameters": {str(name): float(value) for name, value in about["problem"]["parameters"].items()},
                "laws": {str(name): str(law) for name, law in about["problem"]["laws"].items()},
            },
            versions={str(name): str(version) for name, version in about["versions"].items()},
            recipe=None if recipe is None else Recipe(str(recipe["name"]), _arguments(recipe["arguments"])),
            description=about["model"],
            multipliers=under("multipliers/"),
            history=History.unflattened(under("history/")).checked(),
            result=RESULTS[about["result"]],
            seed=int(about["seed"]),
            tempered={
                str(name): Tempered(int(entry["step"]), {str(n): float(v) for n, v in entry["where"].items()})
                for name, entry in about["tempered"].items()
            },
            unpriced=tuple(map(str, about["unpriced"])),
            converged=bool(about["converged"]),
            failures={str(name): tuple(map(float, point)) for name, point in about["failures"].items()},
            relaxed=under("relaxed/"),
            layout=None if layout is None else _layout(layout, under("axes/")),
        )

    def model_with(self, path: Any, model: Model | None, arrays: Mapping[str, np.ndarray]) -> Model:
        """The network of the file; its weights poured into `model`, where that is one of the user's own."""
        with _judged(path):
            leaves = self.description.get("leaves")
            if leaves is None:
                found = nn.rebuild(self.description, {n: jnp.asarray(a) for n, a in arrays.items() if "/" not in n})
                if not callable(found):
                    raise ValueError("it describes no network")
                return _finite(found)
            weights = [arrays[f"leaf{i}"] for i in range(int(leaves))]
        if model is None:
            raise ValueError(
                f"load: {str(path)!r} holds the weights of a model of your own: pass one of the same shape, "
                "load(path, model=model)."
            )
        found = _poured(path, model, weights)
        with _judged(path):
            return _finite(found)

    def built(self, path: Any, build: Builder) -> AbstractProblem | Promise:
        """The problem of the zoo that the file names."""
        if self.recipe is None:
            raise ValueError(
                f"load: {str(path)!r} holds no equations, only weights: pass the problem it solves, "
                "load(path, problem=problem)."
            )
        with _judged(path):
            return build(self.recipe)

    def solution(self, path: Any, model: Model, problem: Any) -> AbstractSolution:
        def fitting(problem: AbstractProblem) -> AbstractProblem:
            """The problem, if it is one that the file can be the solution of."""
            here = {"coordinates": list(problem.domain.names), "unknowns": list(problem.unknowns)}
            there = {
                "coordinates": [name for name, _, _ in self.problem["domain"]],
                "unknowns": self.problem["unknowns"],
            }
            if here != there:
                raise ValueError(
                    f"load: {str(path)!r} solves for {there['unknowns']} over {there['coordinates']}, but `problem` is "
                    f"for {here['unknowns']} over {here['coordinates']}. Pass the problem it was saved with."
                )
            shapes = {name: np.shape(tolerance) for name, tolerance in problem.tolerances.items()}
            if shapes != {name: np.shape(value) for name, value in self.multipliers.items()}:
                raise ValueError(
                    f"load: {str(path)!r} has no multipliers for {checks.listed(problem.constraints)}, but for "
                    f"{checks.listed(self.multipliers)}. Pass the problem it was saved with."
                )
            with _judged(path):
                problem.fits(model)
            return problem

        rest: tuple[Any, ...] = (model, None, self.multipliers, self.history, self.result, self.seed)
        more = {name: getattr(self, name) for name in ("tempered", "unpriced", "converged", "failures", "relaxed")}
        if isinstance(problem, AbstractProblem):
            return solution_of(fitting(problem), *rest, **more)
        with _judged(path):
            if self.layout is None:
                raise ValueError("it does not say on which grid its functions are")
        words = f"of {problem.words}, whose data are made when they are needed"
        promise: Any = Promise(lambda: fitting(problem()), words)
        return OperatorSolution(promise, *rest, **more, _layout=self.layout)


@contextlib.contextmanager
def _judged(path: Any) -> Iterator[None]:
    """What goes wrong inside, goes wrong because of the file."""
    try:
        yield
    except Exception as error:  # of whatever kind: a file may hold anything
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"load: {str(path)!r} was not written by sclax, or it is damaged ({reason:.300}). Nothing was loaded; get "
            "the file again."
        ) from error


def _arguments(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Arguments of a problem of the zoo: numbers, ranges of two numbers, and words."""
    found = {str(name): tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    for name, value in found.items():
        parts = value if isinstance(value, tuple) else (value,)
        if len(parts) > 2 or not all(part is None or isinstance(part, bool | int | float | str) for part in parts):
            raise ValueError(f"the argument `{name}` of its problem is {value!r:.40}")
    return tuple(found.items())


def _layout(about: Mapping[str, Any], axes: Mapping[str, np.ndarray]) -> Layout:
    found = {str(name): axes[name] for name in about["axes"]}
    shared = int(about["shared"])
    if not found or any(a.ndim != 1 or not a.size or a.dtype.kind != "f" for a in found.values()):
        raise ValueError("its grid has an axis without points")
    if not 0 <= shared <= len(found):
        raise ValueError(f"{shared} of {len(found)} coordinates cannot be those of the input")
    return Layout(found, tuple(str(name) for name in about["periodic"]), shared)


def _finite(model: Model) -> Model:
    if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))):
        raise ValueError("its weights are NaN or infinite")
    return model


def _compare(path: Any, stored: _Stored, problem: AbstractProblem) -> None:
    """An error where a problem of the user's is not the one that the file was saved with."""
    now = problem.identity()
    for name in ("domain", "unknowns", "parameters"):
        if stored.problem[name] != now[name]:
            raise ValueError(
                f"load: {str(path)!r} solves another problem: its {name} are {stored.problem[name]!r:.120}, those of "
                f"`problem` are {now[name]!r:.120}. Pass the problem it was saved with."
            )
    # Tolerances say how well a law must hold, not what the solution is: to read them anew is what `check` is for.
    there, here = stored.problem["laws"], now["laws"]
    other = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if not other:
        return
    changed = [name for name, version in versions().items() if stored.versions.get(name) != version]
    if there.keys() == here.keys() and {"python", "jax", "sclax"} & set(changed):
        warnings.warn(
            f"load: {str(path)!r} was written with other versions of {checks.listed(changed)}, by which the laws "
            f"{checks.listed(other)} cannot be compared. See that `problem` is the one it was saved with.",
            stacklevel=4,
        )
        return
    raise ValueError(
        f"load: {str(path)!r} solves another problem: its laws are {checks.listed(there)}, those of `problem` "
        f"{checks.listed(here)}, and {checks.listed(other)} say something else. Pass the problem it was saved with."
    )


def _poured(path: Any, model: Model, leaves: list[np.ndarray]) -> Model:
    arrays, rest = eqx.partition(model, eqx.is_array)
    old, structure = jax.tree.flatten(arrays)
    shapes = [a.shape for a in old]
    if shapes != [a.shape for a in leaves]:
        raise ValueError(f"load: {str(path)!r} has arrays of shapes {[a.shape for a in leaves]}, `model` has {shapes}.")
    return eqx.combine(jax.tree.unflatten(structure, [jnp.asarray(a) for a in leaves]), rest)
