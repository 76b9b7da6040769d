"""What a user holds after a problem was solved: call it, put it on a grid, check it, plot it."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lazy_loader
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from .._base import checks, precision
from .._laws import word
from .._problem import Problem
from . import axes as axes_of
from . import constraints, evaluate, quantities
from .abstract import AbstractSolution, figures, moving_pictures
from .estimates import Estimate, estimates
from .page import least_reliable
from .prices import settled
from .record import number
from .report import Mark, Report
from .report import check as examined

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_loader.load("xarray")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Solution(AbstractSolution):
    """A trained network with the problem that it solves; see `AbstractSolution` for what is not listed here.

    !!! example
        `solution(x=1.0, t=0.5)`; `solution.grid(x=256, t=100)["u"].plot()`; `print(solution.check())`
    """

    problem: Problem
    told: list[str] = dataclasses.field(default_factory=list, init=False)  # what was warned of already

    # --- values ---

    def _points(self, owner: str, coordinates: Mapping[str, Any]) -> tuple[Array, tuple[int, ...]]:
        return axes_of.points(self.problem, self.parameters, owner, coordinates)

    def _tell_outside(self, owner: str, coordinates: Mapping[str, Any], shape: bool = False) -> None:
        """Says once that values outside the domain, its shape or the range of a family, are extrapolated."""
        beyond = None if self.told else evaluate.beyond(self.problem, coordinates, shape)
        if beyond is not None:
            self.told.append(beyond)
            warnings.warn(
                f"{owner}: {beyond}: values there are extrapolated. This is said once for each solution.", stacklevel=3
            )

    def _values(self, coordinates: Mapping[str, Any]) -> dict[str, np.ndarray]:
        with precision.of(self.model):
            points, shape = self._points("solution", coordinates)
            found = np.asarray(evaluate.values(self.problem, self.model, points)).T.reshape(-1, *shape)
        return dict(zip(self.problem.unknowns, found, strict=True))

    def _quantity(self, name: str, coordinates: Mapping[str, Any]) -> np.ndarray:
        with precision.of(self.model):
            points, shape = self._points("solution", coordinates)
            found = np.asarray(quantities.by_name(self.problem, self.model, name, points))
        return found.reshape(shape + found.shape[1:])

    def __call__(self, *quantity: Any, **coordinates: Any) -> Array | dict[str, Array]:
        """The solution at named coordinates, which broadcast; a dict by name for several unknowns. With the name of a
        quantity first, that quantity: a derivative, a gradient (whose components are the last axis), a Laplacian, a
        derived quantity.

        It is a function of JAX: under `grad`, `vmap` and `jit` it is computed in the precision of the moment.

        !!! example
            `solution(x=1.0, t=0.5)`; `solution("u_xx", x=xs, t=0.5)`; `jax.grad(lambda x: solution(x=x, t=0.5))(1.0)`
        """
        name = self._word(quantity)
        given, coordinates = coordinates, {**self._indifferent(name), **coordinates}
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(coordinates)):
            points, shape = self._points("solution", coordinates)
            found = quantities.differentiable(self.problem, self.model, name, points)
            if name is not None:
                return found.reshape(shape + found.shape[1:])
            values = {u: found[:, k].reshape(shape) for k, u in enumerate(self.problem.unknowns)}
        elif name is not None:
            found = jnp.asarray(self._quantity(name, coordinates))
            self._tell_outside("solution", given, shape=True)
            return found
        else:
            values = {u: jnp.asarray(array) for u, array in self._values(coordinates).items()}
            self._tell_outside("solution", given, shape=True)
        return values[self.problem.unknowns[0]] if len(values) == 1 else values

    def _indifferent(self, name: str | None) -> dict[str, float]:
        """A value for each coordinate on which a quantity does not depend, a coefficient of few coordinates say."""
        words, domain = self.problem.vocabulary, self.problem.domain
        asked = () if name is None or not any(words.pins) else word(name, words, "solution").asked
        unknowns = {u for q in asked for u in [getattr(q, "unknown", None)] if u is not None}
        free = [{domain.names[i] for i, _ in words.pins[u]} for u in unknowns]
        left = set.intersection(*free) if free else set()
        return {n: sum(domain.ends(n)) / 2 for n in left}

    def _word(self, quantity: tuple[Any, ...]) -> str | None:
        """The name of a quantity that stands before the coordinates."""
        first, *others = quantity or (None,)
        if others or not isinstance(first, str | None):
            named = ", ".join(f"{name}=0.5" for name in self.problem.domain.names)
            raise TypeError(f"solution: name the coordinates, as in solution({named}); got {first!r:.60} alone.")
        if first is not None:
            word(first, self.problem.vocabulary, "solution")  # a name that is not known fails before anything else
        return first

    def integrate(self, quantity: Any = None, over: Any = None, **coordinates: Any) -> float | xr.DataArray:
        """The integral of a quantity, by name or a function by argument name (default: the only unknown).

        `over` is names of coordinates, a place in space such as `domain.boundary`, or all of space by default. Where
        coordinates remain, time say, the result has a value for each of theirs: as in `grid`, an array, a number of
        equally spaced points, or a single value; left out, those of the test grid.

        !!! example
            `solution.integrate("u", over=("x",)).plot()`; `solution.integrate(lambda u_x, u_y: u_x**2 + u_y**2)`
        """
        domain = self.problem.domain
        if quantity is None:
            quantity, *others = self.problem.unknowns
            if others:
                raise ValueError(f"integrate: name a quantity, one of {checks.listed(self.problem.vocabulary.fields)}.")
        over = domain.space if over is None else over
        axes = axes_of.grid(self.problem, "integrate", coordinates)
        with precision.of(self.model):
            found = quantities.integrals(self.problem, self.model, quantity, over, axes)
        for name in coordinates:
            if name not in found.coords:
                raise ValueError(
                    f"integrate: the integral is over `{name}`; {checks.listed(map(str, found.coords))} remain."
                )
        return found if found.dims else float(found)

    def grid(self, *names: str, **coordinates: Any) -> xr.Dataset:
        """The solution on a product grid, one variable for each unknown, or for each quantity of `names`.

        A coordinate is an array, a number of equally spaced points (an int), or a single value (a float); left out, it
        has the points of the test grid. Outside a domain's shape values are NaN.
        """
        axes = axes_of.grid(self.problem, "grid", coordinates)
        checks.points("grid", " × ".join(axes), math.prod(map(len, axes.values())))
        self._tell_outside("grid", axes)
        mesh = dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True))
        with precision.of(self.model):
            points, shape = self._points("grid", mesh)
            inside = evaluate.inside(self.problem, points).reshape(shape)
        for name in names:
            self._word((name,))
        values = {name: self._quantity(name, mesh) for name in names} or self._values(mesh)
        for name in (name for name, array in values.items() if array.ndim > len(axes)):
            raise ValueError(f"grid: `{name}` is a vector; ask for its components, u_x and u_y say.")
        found = {name: np.where(inside, a, np.nan) for name, a in values.items()}
        return xr.Dataset({name: (tuple(axes), a) for name, a in found.items()}, coords=axes)

    def residual(self, name: str, **coordinates: Any) -> Array | tuple[Array, ...]:
        """The residual of the law `name` at named coordinates; a tuple for a system.

        Laws are named by their constraint, terms of the objective by their condition (`initial`, `periodic_x`, …).
        """
        terms = {term.name: term for term in self.problem.terms}
        if name not in terms:
            raise ValueError(
                f"residual: no law `{name}`; there are {checks.listed(terms)}." + checks.nearest(name, terms)
            )
        law = terms[name].law
        fixed = dict(law.place.constants)
        for coordinate, value in fixed.items():
            if not np.allclose(coordinates.get(coordinate, value), value):
                raise ValueError(f"residual: `{name}` lives at {coordinate} = {value}; leave `{coordinate}` out.")
        chart = law.place.chart.names
        if not set(chart) <= set(self.problem.domain.names):
            raise ValueError(f"residual: `{name}` lives on several faces or on data; use check() for it.")
        # An integral or an average has no value of the coordinates over which it is taken.
        inner = {n: self.problem.domain.ends(n)[0] for n in self.problem.domain.names if n not in (*chart, *fixed)}
        for coordinate in (coordinate for coordinate in coordinates if coordinate in inner):
            raise ValueError(f"residual: `{name}` is taken over `{coordinate}`; leave `{coordinate}` out.")
        with precision.of(self.model):
            points, shape = self._points("residual", {**coordinates, **fixed, **inner})
            w = points[:, jnp.asarray([self.problem.domain.names.index(n) for n in chart], dtype=int)]
            rows = np.asarray(eqx.filter_jit(law.rows)(self.model, self.problem.bare().parameters, w)).T
        self._tell_outside("residual", coordinates, shape=True)
        parts = [jnp.asarray(row.reshape(shape)) for row in rows]
        return parts[0] if len(parts) == 1 else tuple(parts)

    # --- verdicts ---

    @functools.cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The unknown coefficients of the problem: value, deviation, 95 % interval, and whether the data determine
        them.

        !!! example
            `print(solution.estimates["D"])`
        """
        if not self.problem.sought:
            return {}
        with precision.of(self.model):
            return estimates(self.problem, self.model)

    def hardest(self, n: int = 5, name: str | None = None) -> xr.Dataset:
        """The `n` samples of `each(...)` with the largest multipliers, hardest first: their numbers, multipliers,
        values, tolerances and places. Wrong measurements are among them.

        `name` is a constraint, where several have samples.

        !!! example
            `solution.hardest(5).to_dataframe()`
        """
        with precision.of(self.model):
            return constraints.hardest(self.problem, self.model, self.multipliers, n, name)

    def check(self, points: int = 1_000_000, seed: int = 1) -> Report:
        """Does every law hold, and where is it worst? On `points` independent points for each law."""
        with precision.of(self.model):
            return examined(
                self.problem,
                self.model,
                self.multipliers,
                points=points,
                seed=seed,
                unpriced=self.unpriced,
                settled=[name for name in self.multipliers if settled(self.history, name)],
                fitted=self._fitted,
                remarks=constraints.remarks(self.tempered, self.relaxed),
                unfinished=self._unfinished,
                failures=self.failures,
            )

    @property
    def _fitted(self) -> bool:
        """Whether it is polynomials that were fitted to all laws at once; a file does not say by which method."""
        return getattr(self.model if self.method is None else self.method, "fitted", False)

    def error(self, reference: Any = None) -> float | None:
        """The relative L2 error against `reference` (default: the problem's); None where there is none.

        A reference is a function by argument name, an xarray Dataset, or values at points, a dict of arrays or a
        DataFrame with coordinates and unknowns as columns.

        !!! example
            `solution.error({"x": x, "t": t, "u": measured})`
        """
        with precision.of(self.model):
            return evaluate.relative_l2(self.problem, self.model, reference)

    def error_map(self, reference: Any = None, progress: bool = True, **parameters: Any) -> xr.DataArray | None:
        """The relative L2 error at each parameter of a family; None where there is no reference.

        A parameter is an array of values or their number; left out, it has the values of the test grid (100, or 20 for
        each of two). One is evaluated at a time, in bounded memory.

        !!! example
            `solution.error_map(beta=1000).max()`
        """
        axes = axes_of.family(self.problem, "error_map", parameters)
        self._tell_outside("error_map", axes)
        with precision.of(self.model):
            return evaluate.error_map(self.problem, self.model, reference, axes, progress)

    def residual_map(self, law: str | None = None, progress: bool = True, **parameters: Any) -> xr.Dataset:
        """The residual's root mean square and largest size at each parameter of a family; it needs no reference.

        `law` is a law of the interior, default the first; parameters as in `error_map`.

        !!! example
            `solution.residual_map(beta=1000)["rms"].plot()`
        """
        axes = axes_of.family(self.problem, "residual_map", parameters)
        self._tell_outside("residual_map", axes)
        with precision.of(self.model):
            return evaluate.residual_map(self.problem, self.model, law, axes, progress)

    def plot(
        self, path: str | os.PathLike[str] | None = None, quantities: Sequence[str] = (), **coordinates: float
    ) -> Any:
        """A figure of the solution, the error where there is a reference, and the residual; saved to `path` if given.

        With `quantities` it shows those instead, such as `("u_x", "lap_u")`. Coordinates beyond two, and parameters of
        a family, are held at the values given here (default: the middle).
        """
        with precision.of(self.model):
            shown = (quantities,) if isinstance(quantities, str) else tuple(quantities)
            figure = figures().solution(self.problem, self.model, path=path, at=coordinates, quantities=shown)
        self._tell_outside("plot", coordinates)
        return figure

    def plot_family(self, path: str | os.PathLike[str] | None = None, progress: bool = True, **parameters: Any) -> Any:
        """A figure of error (where there is a reference) and residual over the parameters of a family, one or two of
        them; parameters as in `error_map`."""
        errors = self.error_map(progress=progress, **parameters)
        return figures().family(errors, self.residual_map(progress=progress, **parameters), path=path)

    def animate(
        self,
        path: str | os.PathLike[str],
        quantities: Sequence[str] = (),
        over: str | None = None,
        frames: int = 60,
        fps: int = 12,
        **coordinates: float,
    ) -> Path:
        """Writes a moving picture: `.gif`, `.mp4` (extra `view`), or `.html`, a page with a slider.

        `over` is the coordinate that moves: time by default, or a parameter of a family. The others beyond two are held
        at the values given here (default: the middle). `quantities` as in `plot`; default: the unknowns.

        !!! example
            `solution.animate("u.gif")`; `solution.animate("family.html", over="beta")`
        """
        with precision.of(self.model):
            return moving_pictures().moving(self.problem, self.model, path, quantities, over, frames, fps, coordinates)

    def to_vtk(
        self, path: str | os.PathLike[str], quantities: Sequence[str] = (), points: int = 0, **coordinates: Any
    ) -> list[Path]:
        """Writes the solution for ParaView, by pyvista (extra `view`), with `points` along each side of space. A shape
        is cut along its boundary. With time: a file for each of its values and `u.pvd`, which shows them as a series.

        Coordinates are as in `grid`: `t=20` is so many times, `beta=2.0` the value of a parameter (default: the
        middle). `quantities` are written beside the unknowns.

        !!! example
            `solution.to_vtk("u.vtu", t=20)`
        """
        from . import volumes

        return volumes.write(self, path, quantities, points, coordinates)

    def plot_samples(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the worst-case points (ψ_α) at several stages of training."""
        return figures().samples(self.problem, self.history, path=path)

    def plot_marginals(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of the density of ψ_α along each coordinate, parameters included, at several stages of training."""
        return figures().marginals(self.problem, self.history, path=path)

    def pictures(self, checked: Report | None = None) -> dict[str, Any]:
        family, fields = self.problem.domain.parameters, [n for n, p in self.problem.sought.items() if p.coordinates]
        found = {"solution": self._marked(checked)}
        worst = None if checked is None else least_reliable(checked)
        if worst is not None and all(name in worst.where for name in family):
            found["member"] = self._marked(checked, **{name: worst.where[name] for name in family})
        if fields:
            found["coefficients"] = self.plot(quantities=fields)
        if 0 < len(family) <= 2:
            found["family"] = self.plot_family(progress=False)
        found |= {"history": self.plot_history(), "samples": self.plot_samples()}
        if 0 < len(family) <= 2:
            found["marginals"] = self.plot_marginals()
        return {name: figure for name, figure in found.items() if figure is not None}

    def _marked(self, checked: Report | None, **at: float) -> Any:
        """The figure of the solution with the worst point of each law."""
        findings = () if checked is None else checked.findings
        marks = [Mark(number, f.where) for number, f in enumerate(findings, start=1)]
        with precision.of(self.model):
            return figures().solution(self.problem, self.model, at=at, marks=marks)

    def details(self, errors: xr.DataArray | None) -> dict[str, Any]:
        """Median and worst error over the parameters of a family, and where the worst is."""
        if errors is None or not errors.dims:
            return {}
        worst = errors.isel(errors.argmax(...))
        return {
            "relative_l2_median": number(float(errors.median())),
            "relative_l2_worst": number(float(worst)),
            "worst_parameters": {str(name): float(worst.coords[name]) for name in errors.dims},
        }
