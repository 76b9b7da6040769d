"""What a user holds after an operator was trained: it maps functions, and ranks the samples."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import lazy_loader
import numpy as np
from jaxtyping import Array

from .._base import Model, checks, precision
from .._problem import (
    Layout,
    OperatorProblem,
    Samples,
    interpolation,
    nearest_neighbour,
    predictions,
    relative_errors,
)
from .abstract import AbstractSolution, figures
from .prices import settled
from .report import Report
from .report import check as examined

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OperatorSolution(AbstractSolution):
    """A trained operator with the data set that it learned from; see `AbstractSolution` for what is not listed
    here.

    !!! example
        `solution(initial)`; `solution.errors("test").max()`; `solution.hardest(5)`; `print(solution.check())`
    """

    problem: OperatorProblem
    _layout: Layout | None = None  # of a file, so that an operator can be used where its data are not

    @property
    def layout(self) -> Layout:
        """Coordinates of inputs and outputs, with the points of the data set."""
        return self.problem.layout if self._layout is None else self._layout

    def _stored(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        layout = self.layout
        arrays |= {f"axes/{name}": axis for name, axis in layout.axes.items()}
        return {"layout": {"axes": list(layout.axes), "periodic": list(layout.periodic), "shared": layout.shared}}

    def __call__(self, values: Any, **points: int) -> Array:
        """The solution of an input function, or of many (along the first axis), on its own grid, fine or coarse.

        `points` are the numbers of points along coordinates that the input lacks, from the first to the last value of
        the data set; default: its own. Along a coordinate of the input, n points are those at low + j n₀ Δ₀ / n, where
        the data set has n₀ of spacing Δ₀: on a ring, all of it evenly.

        !!! example
            `solution(initial, t=51)` on 51 times.
        """
        names, axes = tuple(self.layout.axes), self.layout.shared
        lacking = names[: len(names) - axes]
        for name in points:
            if name not in lacking:
                raise ValueError(
                    f"solution: `{name}` is no coordinate that the input lacks; these are "
                    f"{checks.listed(lacking) or 'none'}." + checks.nearest(name, lacking)
                )
        array = checks.finite_array("solution", "values", values)
        if array.ndim not in (axes, axes + 1):
            raise ValueError(
                f"solution: `values` must have one axis for each of {checks.listed(names[len(lacking) :])}, and may "
                f"have one for samples before, got shape {array.shape}."
            )
        several = array.ndim == axes + 1
        along = [self._along(i, points.get(name)) for i, name in enumerate(lacking)]
        with precision.of(self.model):
            inputs = jnp.asarray(array[..., None] if several else array[None, ..., None])
            found = predictions(self.model, inputs, (*(n for n, _ in along), *inputs.shape[1:-1]))
            found = found[(slice(None), *(kept for _, kept in along), ..., 0)]
        return found if several else found[0]

    def _along(self, i: int, wanted: int | None) -> tuple[int, slice]:
        """On how many points the network has to be evaluated for those that are wanted, and which of them these are.

        The network sees n points as 0, 1/n, …, (n − 1)/n of a period that is n₀ spacings long, one more than from the
        first point to the last. So only multiples k n₀ keep the coordinates: every m-th of these, up to the last.
        """
        name, axis = list(self.layout.axes.items())[i]
        own = len(axis)
        wanted = own if wanted is None else checks.points("solution", name, wanted)
        if wanted == own:
            return own, slice(None)
        if name in self.layout.periodic:
            return wanted, slice(None)
        spacing = np.diff(axis)
        if wanted < 2 or not np.allclose(spacing, spacing[0], rtol=1e-3):
            raise ValueError(
                f"solution: `{name}` = {wanted} must be at least 2, and the data set's own {own} where it is not even."
            )
        common = math.gcd(wanted - 1, own - 1)
        k, m = (wanted - 1) // common, (own - 1) // common
        return k * own, slice(0, k * (own - 1) + 1, m)

    def errors(self, split: str = "test") -> np.ndarray:
        """The relative L2 error of each sample of `"train"`, `"validation"` or `"test"`."""
        return np.asarray(relative_errors(self.model, self._samples(split)))

    def _samples(self, split: str) -> Samples:
        splits = {"train": self.problem.train, "validation": self.problem.validation, "test": self.problem.test}
        if split not in splits:
            raise ValueError(f"errors: `split` must be {checks.listed(splits)}, got {split!r}.")
        samples = splits[split]
        if samples is None:
            raise ValueError(f"errors: the problem keeps no samples for {split}; pass `{split}=` to OperatorProblem.")
        return samples

    def error(self, reference: Any = None) -> float | None:
        """The mean relative L2 error on the test samples; None where there are none."""
        if reference is not None:
            raise ValueError("error: an operator's is on the samples of `test=`; it takes no `reference`.")
        return None if self.problem.test is None else float(self.errors("test").mean())

    def error_map(self, reference: Any = None, progress: bool = True, **parameters: Any) -> xr.DataArray | None:
        error = self.error(reference)
        return None if error is None else xr.DataArray(error, name="relative_l2")

    def compared_with(self, last: Model) -> "OperatorSolution":
        if self.problem.test is None:
            return self
        more = {**self.history.more, "last_errors": np.asarray(relative_errors(last, self.problem.test))}
        return dataclasses.replace(self, history=dataclasses.replace(self.history, more=more))

    @property
    def last_error(self) -> float | None:
        """The test error of the last state; `error()` is that of the state of lowest validation error."""
        found = self.history.more.get("last_errors")
        return None if found is None else float(np.mean(found))

    def hardest(self, n: int = 5) -> xr.Dataset:
        """The `n` training samples with the largest multipliers, hardest first, with their multipliers and errors.

        Without multipliers of samples, those with the largest errors.
        """
        n = min(checks.count("hardest", "n", n), len(self.problem.train))
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

    def check(self, points: int = 1_000_000, seed: int = 1) -> Report:
        """Does every law hold on the training samples, and which is the worst? With the errors on unseen samples."""
        with precision.of(self.model):
            found = examined(
                self.problem,
                self.model,
                self.multipliers,
                points=points,
                unpriced=self.unpriced,
                settled=[name for name in self.multipliers if settled(self.history, name)],
                unfinished=self._unfinished,
            )
        notes = list(found.notes)
        for split in ("validation", "test"):
            if getattr(self.problem, split) is not None:
                errors = self.errors(split)
                notes.append(
                    f"on {len(errors)} {split} samples the relative error is {errors.mean():.3g} on average and "
                    f"{errors.max():.3g} at worst (sample {int(errors.argmax())})."
                )
        count = len(self.problem.train)
        return dataclasses.replace(found, points=count, drawn=f"the {count:,} training samples", notes=tuple(notes))

    def plot(self, path: str | os.PathLike[str] | None = None, sample: int = 0) -> Any:
        """A figure of one test sample (or training sample, without any): input, solution, network and error."""
        samples = self.problem.test if self.problem.test is not None else self.problem.train
        if not 0 <= sample < len(samples):
            raise ValueError(f"plot: `sample` must be one of 0 to {len(samples) - 1}, got {sample}.")
        found = predictions(self.model, samples.inputs[sample][None], samples.grid)[0, ..., 0]
        return figures().operator(self.problem, samples, sample, np.asarray(found), path=path)

    def plot_multipliers(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the samples' multipliers (against the size of the input, over training, distribution), of train
        and test errors, and of the inputs with the smallest and the largest multipliers; None without multipliers."""
        prices = self.sample_multipliers
        if prices is None:
            return None
        splits = [s for s in ("train", "validation", "test") if getattr(self.problem, s) is not None]
        errors = {split: self.errors(split) for split in splits}
        return figures().multipliers(self.problem, self.history, prices, errors, path=path)

    def pictures(self, checked: Report | None = None) -> dict[str, Any]:
        found = {"solution": self.plot(), "history": self.plot_history(), "multipliers": self.plot_multipliers()}
        return {name: figure for name, figure in found.items() if figure is not None}

    def details(self, errors: xr.DataArray | None) -> dict[str, Any]:
        """The errors on each part of the data, of the last state, and of baselines without a network."""
        problem = self.problem
        found: dict[str, Any] = {"relative_l2_last": self.last_error}
        for split in ("train", "validation", "test"):
            if getattr(problem, split) is not None:
                of_samples = self.errors(split)
                found[f"{split}_errors"] = {"mean": float(of_samples.mean()), "worst": float(of_samples.max())}
        if problem.test is not None:
            found["nearest_neighbour"] = float(nearest_neighbour(problem.train, problem.test).mean())
            between = interpolation(problem.train, problem.test)
            if between is not None:
                found["interpolation"] = float(between.mean())
        return found
