"""What a user holds afterwards: call it, put it on a grid, check it, plot it, save it."""

import dataclasses
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from . import _checks, _precision, nn, plot, report
from ._guide import Tempered
from ._records import largest
from ._typing import Array, Model
from .domains import Face
from .methods import AbstractMethod
from .operators import OperatorProblem, Samples, predictions, relative_errors
from .problem import Problem, Recipe

FORMAT = 2


class RESULTS(eqx.Enumeration):  # pyright: ignore[reportGeneralTypeIssues]
    """How training ended."""

    converged = "Every constraint held and the objective was flat."
    settled = "No further progress on a spare draw; the solution is the best state."
    steps_done = "All steps were made."
    time_up = "The time was up."
    interrupted = "It was interrupted; the solution is what was learned so far."
    nonfinite = (
        "A loss became NaN or infinite; the solution is the last good state. Lower the learning rate, "
        "or look for a division by zero in the residual."
    )


NAMES = ("converged", "settled", "steps_done", "time_up", "interrupted", "nonfinite")


def result_name(result: Any) -> str:
    """The short name of an outcome, as in the command's JSON."""
    return next(name for name in NAMES if getattr(RESULTS, name) == result)


class Solution:
    """A trained network with the problem that it solves.

    Attributes: `problem`, `model`, `method`, `multipliers` (by constraint; one per sample for `each`), `parameters`,
    `history` (arrays by name, one row a record), `result` (a member of `RESULTS`), `seconds`, `steps`,
    `operator_evaluations`, `seed`, `tempered` (the worst cases that could not be met and became averages, with step and
    place), `unpriced` (the constraints whose multiplier is a fixed weight or sits at its cap, and is no price).

    !!! example
        `solution(x=1.0, t=0.5)`; `solution.grid(x=256, t=100)["u"].plot()`; `print(solution.check())`
    """

    def __init__(
        self,
        problem: Problem,
        model: Model,
        method: AbstractMethod | None,
        multipliers: Mapping[str, Any],
        history: Mapping[str, Any],
        result: Any,
        seed: int,
        tempered: Mapping[str, Tempered] | None = None,
        unpriced: Iterable[str] = (),
    ):
        self.problem, self.model, self.method = problem, model, method
        self.tempered = dict(tempered or {})
        self.unpriced = tuple(unpriced)
        self.multipliers = {name: _plain(value) for name, value in multipliers.items()}
        self.history = dict(history)
        self.result, self.seed = result, seed

    # --- values ---

    @property
    def parameters(self) -> dict[str, float]:
        """The values of the fixed parameters."""
        return {name: float(value) for name, value in self.problem.parameters.items()}

    @property
    def seconds(self) -> float:
        return float(self.history["seconds"][-1]) if len(self.history["seconds"]) else 0.0

    @property
    def steps(self) -> int:
        return int(self.history["step"][-1]) if len(self.history["step"]) else 0

    @property
    def operator_evaluations(self) -> int:
        """Evaluations of differential operators in training, one per point and forward pass; samplers, warm-ups and
        line searches included, the spare draw on which states are compared not."""
        return int(self.history["evaluations"][-1]) if len(self.history["evaluations"]) else 0

    def _points(self, owner: str, coordinates: Mapping[str, Any]) -> tuple[Array, tuple[int, ...]]:
        names = self.problem.domain.names
        for name in coordinates:
            if name not in names:
                hint = f" `{name}` is fixed at {self.parameters[name]}." if name in self.parameters else ""
                raise ValueError(
                    f"{owner}: unknown coordinate `{name}`; the solution takes {_checks.listed(names)}.{hint}"
                    + _checks.nearest(name, names)
                )
        for name in names:
            if name not in coordinates:
                raise ValueError(
                    f"{owner}: coordinate `{name}` is missing; the solution takes {_checks.listed(names)}."
                )
        try:
            arrays = jnp.broadcast_arrays(*(jnp.asarray(coordinates[n], jnp.result_type(float)) for n in names))
        except ValueError:
            shapes = {n: np.shape(coordinates[n]) for n in names}
            raise ValueError(f"{owner}: the coordinates do not broadcast, their shapes are {shapes}.") from None
        return jnp.stack([a.ravel() for a in arrays], axis=-1), arrays[0].shape

    def _values(self, coordinates: Mapping[str, Any]) -> dict[str, np.ndarray]:
        with _precision.of(self.model):
            points, shape = self._points("solution", coordinates)
            found = np.asarray(report.values(self.problem, self.model, points)).T.reshape(-1, *shape)
        return dict(zip(self.problem.unknowns, found, strict=True))

    def __call__(self, **coordinates: Any) -> Array | dict[str, Array]:
        """The solution at named coordinates, which broadcast; a dict by name for several unknowns."""
        found = {name: jnp.asarray(array) for name, array in self._values(coordinates).items()}
        return found[self.problem.unknowns[0]] if len(found) == 1 else found

    def grid(self, **coordinates: Any) -> xr.Dataset:
        """The solution on a product grid, one variable for each unknown.

        A coordinate is an array, a number of equally spaced points (an int), or a single value (a float); left out, it
        has the points of the test grid.
        """
        axes = report.default_axes(self.problem)
        domain = self.problem.domain
        for name, value in coordinates.items():
            if name not in axes:
                raise ValueError(
                    f"grid: unknown coordinate `{name}`; the solution takes {_checks.listed(domain.names)}."
                    + _checks.nearest(name, domain.names)
                )
            axes[name] = self._axis("grid", name, value)
        mesh = dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True))
        return xr.Dataset({name: (tuple(axes), a) for name, a in self._values(mesh).items()}, coords=axes)

    def _axis(self, owner: str, name: str, value: Any) -> np.ndarray:
        """The values of a coordinate: given ones, or a number of equally spaced ones."""
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return np.linspace(*self.problem.domain.ends(name), _checks.count(owner, name, value))
        return np.atleast_1d(_checks.finite_array(owner, name, value))

    def residual(self, name: str, **coordinates: Any) -> Array | tuple[Array, ...]:
        """The residual of the law `name` at named coordinates; a tuple for a system.

        Laws are named by their constraint, terms of the objective by their condition (`initial`, `periodic_x`, …).
        """
        terms = {term.name: term for term in self.problem.terms}
        if name not in terms:
            raise ValueError(
                f"residual: no law `{name}`; there are {_checks.listed(terms)}." + _checks.nearest(name, terms)
            )
        law = terms[name].law
        fixed = dict(law.place.fixed) if isinstance(law.place, Face) else {}
        for coordinate, value in fixed.items():
            if not np.allclose(coordinates.get(coordinate, value), value):
                raise ValueError(f"residual: `{name}` lives at {coordinate} = {value}; leave `{coordinate}` out.")
        chart = law.place.chart.names
        if not set(chart) <= set(self.problem.domain.names):
            raise ValueError(f"residual: `{name}` lives on several faces or on data; use check() for it.")
        with _precision.of(self.model):
            points, shape = self._points("residual", {**coordinates, **fixed})
            w = points[:, jnp.asarray([self.problem.domain.names.index(n) for n in chart], dtype=int)]
            rows = np.asarray(eqx.filter_jit(law.rows)(self.model, self.problem.bare().parameters, w)).T
        parts = [jnp.asarray(row.reshape(shape)) for row in rows]
        return parts[0] if len(parts) == 1 else tuple(parts)

    # --- verdicts ---

    def check(self, points: int = 1_000_000, seed: int = 1) -> report.Report:
        """Does every law hold, and where is it worst? On `points` independent points for each law."""
        about = {
            name: "Its worst case could not be met, worst near "
            + ", ".join(f"{k} = {v:.3g}" for k, v in where.items())
            + f": from step {step} on its average was trained, at a fixed small price."
            for name, (step, where) in self.tempered.items()
        }
        with _precision.of(self.model):
            return report.check(
                self.problem,
                self.model,
                self.multipliers,
                points=points,
                seed=seed,
                unpriced=self.unpriced,
                remarks=about,
            )

    def error(self, reference: Any = None) -> float | None:
        """The relative L2 error against `reference` (default: the problem's); None where there is none."""
        with _precision.of(self.model):
            return report.relative_l2(self.problem, self.model, reference)

    def error_map(self, reference: Any = None, progress: bool = True, **parameters: Any) -> xr.DataArray | None:
        """The relative L2 error at each parameter of a family; None where there is no reference.

        A parameter is an array of values or their number; left out, it has the values of the test grid (100, or 20 for
        each of two). One is evaluated at a time, in bounded memory.

        !!! example
            `solution.error_map(beta=1000).max()`
        """
        axes = self._family_axes("error_map", parameters)
        with _precision.of(self.model):
            return report.error_map(self.problem, self.model, reference, axes, progress)

    def residual_map(self, law: str | None = None, progress: bool = True, **parameters: Any) -> xr.Dataset:
        """The residual's root mean square and largest size at each parameter of a family; it needs no reference.

        `law` is a law of the interior, default the first; parameters as in `error_map`.

        !!! example
            `solution.residual_map(beta=1000)["rms"].plot()`
        """
        axes = self._family_axes("residual_map", parameters)
        with _precision.of(self.model):
            return report.residual_map(self.problem, self.model, law, axes, progress)

    def _family_axes(self, owner: str, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
        family = self.problem.domain.parameters
        for name in parameters:
            if name not in family:
                raise ValueError(
                    f"{owner}: `{name}` is no parameter of the family; it has {_checks.listed(family) or 'none'}."
                    + _checks.nearest(name, family)
                )
        return {name: self._axis(owner, name, value) for name, value in parameters.items()}

    @property
    def objective(self) -> float:
        """The objective in training, in the record of the state that was kept."""
        return float(self.history["objective"][self._row]) if len(self.history["objective"]) else float("nan")

    @property
    def _row(self) -> int:
        """The record of the state that was kept: the last one, or the best on a spare draw."""
        kept = self.history.get("kept")
        return -1 if kept is None else int(np.searchsorted(self.history["step"], kept[-1]))

    @property
    def violations(self) -> dict[str, float]:
        """value − tolerance of each constraint in the record of the kept state, of the worst sample for `each`."""
        found = {}
        for name, tolerance in self.problem.tolerances.items():
            rows = self.history[f"values.{name}"]
            found[name] = largest(rows[self._row] - np.asarray(tolerance)) if len(rows) else float("nan")
        return found

    @property
    def feasible(self) -> bool:
        """Whether every constraint held in training; not where a worst case had to become an average."""
        return not self.tempered and all(violation <= 0 for violation in self.violations.values())

    def plot(self, path: str | os.PathLike[str] | None = None, **coordinates: float) -> Any:
        """A figure of the solution, the error where there is a reference, and the residual; saved to `path` if given.

        Coordinates beyond two, and parameters of a family, are held at the values given here (default: the middle).
        """
        with _precision.of(self.model):
            return plot.solution(self.problem, self.model, path=path, at=coordinates)

    def plot_history(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of objective, violations and multipliers over training."""
        return plot.history(self.problem, self.history, path=path)

    def plot_family(self, path: str | os.PathLike[str] | None = None, progress: bool = True, **parameters: Any) -> Any:
        """A figure of error (where there is a reference) and residual over the parameters of a family, one or two of
        them; parameters as in `error_map`."""
        errors = self.error_map(progress=progress, **parameters)
        return plot.family(errors, self.residual_map(progress=progress, **parameters), path=path)

    def plot_samples(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the worst-case points (ψ_α) at several stages of training."""
        return plot.samples(self.problem, self.history, path=path)

    def plot_marginals(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the density of ψ_α along each coordinate, parameters included, at several stages of training."""
        return plot.marginals(self.problem, self.history, path=path)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {v:+.2g}" for name, v in self.violations.items())
        return (
            f"Solution({', '.join(self.problem.unknowns)} of {', '.join(self.problem.domain.names)}; "
            f"{result_name(self.result)} after {self.steps} steps, {self.seconds:.1f} s; "
            f"objective {self.objective:.3g}; violations: {values or 'none'})"
        )

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes weights, multipliers and history to one file, atomically and without code; read it with `load`."""
        arrays: dict[str, np.ndarray] = {}
        try:
            description = nn.describe(self.model, arrays)
        except ValueError:
            # A model of the user's own: its weights by position; `load` needs the model to pour them into.
            arrays.clear()
            leaves = jax.tree.leaves(eqx.filter(self.model, eqx.is_array))
            arrays.update({f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)})
            description = {"leaves": len(leaves)}
        for name, value in self.multipliers.items():
            arrays[f"multipliers/{name}"] = np.asarray(value)
        for name, value in self.history.items():
            if isinstance(value, np.ndarray):
                arrays[f"history/{name}"] = value
        recipe = self.problem.recipe
        about = {
            "format": FORMAT,
            "unknowns": list(self.problem.unknowns),
            "coordinates": list(self.problem.domain.names),
            "recipe": None if recipe is None else {"name": recipe.name, "arguments": dict(recipe.arguments)},
            "model": description,
            "result": result_name(self.result),
            "seed": self.seed,
            "unpriced": list(self.unpriced),
            "tempered": {name: tempered._asdict() for name, tempered in self.tempered.items()},
        }
        write_archive(Path(path), about, arrays)


class OperatorSolution(Solution):
    """A trained operator with the data set that it learned from; see `Solution` for what is not listed here.

    !!! example
        `solution(initial)`; `solution.errors("test").max()`; `solution.hardest(5)`; `print(solution.check())`
    """

    problem: OperatorProblem

    def __call__(self, values: Any, **points: int) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The solution of an input function, or of many (along the first axis), on its own grid, fine or coarse.

        `points` are the numbers of points along coordinates that the input lacks; default: those of the data set.
        """
        problem, names = self.problem, self.problem.domain.names
        axes = problem.train.inputs.ndim - 2
        lacking = names[: len(names) - axes]
        for name in points:
            if name not in lacking:
                raise ValueError(
                    f"solution: `{name}` is no coordinate that the input lacks; these are "
                    f"{_checks.listed(lacking) or 'none'}." + _checks.nearest(name, lacking)
                )
        array = _checks.finite_array("solution", "values", values)
        if array.ndim not in (axes, axes + 1):
            raise ValueError(
                f"solution: `values` must have one axis for each of {_checks.listed(names[len(lacking) :])}, and may "
                f"have one for samples before, got shape {array.shape}."
            )
        several = array.ndim == axes + 1
        grid = tuple(_checks.count("solution", n, points.get(n, problem.train.grid[i])) for i, n in enumerate(lacking))
        with _precision.of(self.model):
            inputs = jnp.asarray(array[..., None] if several else array[None, ..., None])
            found = predictions(self.model, inputs, (*grid, *inputs.shape[1:-1]))[..., 0]
        return found if several else found[0]

    def errors(self, split: str = "test") -> np.ndarray:
        """The relative L2 error of each sample of `"train"`, `"validation"` or `"test"`."""
        return np.asarray(relative_errors(self.model, self._samples(split)))

    def _samples(self, split: str) -> Samples:
        splits = {"train": self.problem.train, "validation": self.problem.validation, "test": self.problem.test}
        if split not in splits:
            raise ValueError(f"errors: `split` must be {_checks.listed(splits)}, got {split!r}.")
        samples = splits[split]
        if samples is None:
            raise ValueError(f"errors: the problem keeps no samples for {split}; pass `{split}=` to OperatorProblem.")
        return samples

    def error(self, reference: Any = None) -> float | None:
        """The mean relative L2 error on the test samples; None where there are none."""
        return None if self.problem.test is None else float(self.errors("test").mean())

    def error_map(self, reference: Any = None, progress: bool = True, **parameters: Any) -> xr.DataArray | None:
        error = self.error()
        return None if error is None else xr.DataArray(error, name="relative_l2")

    @property
    def last_error(self) -> float | None:
        """The test error of the last state; `error()` is that of the state of lowest validation error."""
        found = self.history.get("last_errors")
        return None if found is None else float(np.mean(found))

    def hardest(self, n: int = 5) -> xr.Dataset:
        """The `n` training samples with the largest multipliers, hardest first, with their multipliers and errors.

        Without multipliers of samples, those with the largest errors.
        """
        n = min(_checks.count("hardest", "n", n), len(self.problem.train))
        errors = self.errors("train")
        prices = self.sample_multipliers
        order = np.argsort(errors if prices is None else prices)[::-1][:n]
        coordinates = dict(zip(self.problem.domain.names, self.problem.axes, strict=True))
        dims = tuple(coordinates)
        train = self.problem.train
        found = {
            "input": (("sample", *dims[len(dims) - train.inputs.ndim + 2 :]), np.asarray(train.inputs[order, ..., 0])),
            "solution": (("sample", *dims), np.asarray(train.outputs[order, ..., 0])),
            "error": ("sample", errors[order]),
        }
        if prices is not None:
            found["multiplier"] = ("sample", prices[order])
        return xr.Dataset(found, {**coordinates, "sample": order})

    @property
    def sample_multipliers(self) -> np.ndarray | None:
        """One multiplier for each training sample, of the first constraint that has them; None without one."""
        return next((np.asarray(m) for m in self.multipliers.values() if np.ndim(m) == 1), None)

    def check(self, points: int = 1_000_000, seed: int = 1) -> report.Report:
        """Does every law hold on the training samples, and which is the worst? With the errors on unseen samples."""
        with _precision.of(self.model):
            found = report.check(self.problem, self.model, self.multipliers, points=points, unpriced=self.unpriced)
        notes = list(found.notes)
        for split in ("validation", "test"):
            if getattr(self.problem, split) is not None:
                errors = self.errors(split)
                notes.append(
                    f"on {len(errors)} {split} samples the relative error is {errors.mean():.3g} on average and "
                    f"{errors.max():.3g} at worst (sample {int(errors.argmax())})."
                )
        return dataclasses.replace(found, points=len(self.problem.train), notes=tuple(notes))

    def grid(self, **coordinates: Any) -> xr.Dataset:
        raise ValueError("grid: an operator needs an input function: call solution(values), on any grid.")

    def residual(self, name: str, **coordinates: Any) -> Any:
        raise ValueError("residual: an operator's equations hold on grids; check() says how well.")

    def plot(self, path: str | os.PathLike[str] | None = None, sample: int = 0, **_: Any) -> Any:
        """A figure of one test sample (or training sample, without any): input, solution, network and error."""
        samples = self.problem.test if self.problem.test is not None else self.problem.train
        if not 0 <= sample < len(samples):
            raise ValueError(f"plot: `sample` must be one of 0 to {len(samples) - 1}, got {sample}.")
        found = predictions(self.model, samples.inputs[sample][None], samples.grid)[0, ..., 0]
        return plot.operator(self.problem, samples, sample, np.asarray(found), path=path)

    def plot_multipliers(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the samples' multipliers (against the size of the input, over training, distribution), of train
        and test errors, and of the inputs with the smallest and the largest multipliers; None without multipliers."""
        prices = self.sample_multipliers
        if prices is None:
            return None
        splits = [s for s in ("train", "validation", "test") if getattr(self.problem, s) is not None]
        errors = {split: self.errors(split) for split in splits}
        return plot.multipliers(self.problem, self.history, prices, errors, path=path)


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array


def write_archive(path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """A zip of `about.json` and .npy arrays, written beside its place and moved there when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("about.json", json.dumps(about))
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                archive.writestr(f"{name}.npy", buffer.getvalue())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_archive` wrote; a file that is anything else is an error that says so."""
    if not path.exists():
        raise ValueError(f"load: there is no file {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read("about.json"))
            arrays = {
                name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"load: {str(path)!r} is not a solution, or it is damaged ({error}). Nothing was loaded."
        ) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"load: {str(path)!r} has format {about.get('format')!r}; this version reads {FORMAT}.")
    return about, arrays


def load_solution(
    path: str | os.PathLike[str],
    problem: Problem | None,
    model: Model | None,
    build: Callable[[Recipe], Problem],
) -> Solution:
    """See `sclax.load`; `build` makes a problem from a recipe of the zoo."""
    with _precision.double():  # arrays keep the precision that they have in the file
        return _load(path, problem, model, build)


def _load(path: Any, problem: Problem | None, model: Model | None, build: Callable[[Recipe], Problem]) -> Solution:
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
        raise ValueError(f"load: {str(path)!r} has no multipliers for {_checks.listed(problem.constraints)}.")
    history = {name.removeprefix("history/"): a for name, a in arrays.items() if name.startswith("history/")}
    result = getattr(RESULTS, about["result"])
    tempered = {name: Tempered(entry["step"], entry["where"]) for name, entry in about["tempered"].items()}
    kind = OperatorSolution if isinstance(problem, OperatorProblem) else Solution
    return kind(problem, model, None, multipliers, history, result, about["seed"], tempered, about["unpriced"])


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
