"""Figures that a scientist would put in a paper. Only modules with such names know matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from .._base import Model, Points, checks
from .._places import TIME
from .._problem import OperatorProblem, Problem, Samples, formula_at
from . import evaluate, plot_volume
from .history import History
from .plot_style import ACCENT, COLOURS, INK, SECOND, STYLE, Path_, label, mark, subplots
from .plot_style import finish as finish
from .plot_style import pieces as pieces
from .plot_style import shown_axes as shown_axes
from .plot_training import history as history
from .plot_training import marginals as marginals
from .plot_training import samples as samples
from .quantities import by_name
from .report import Mark


def _slice(
    problem: Problem, at: Mapping[str, float], shown: tuple[str, ...] | None
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    domain = problem.domain
    shown = shown_axes(problem) if shown is None else shown
    for name in at:
        if name not in domain.names or name in shown:
            rest = [n for n in domain.names if n not in shown]
            raise ValueError(
                f"plot: `{name}` cannot be held; the coordinates beyond the axes are {checks.listed(rest)}."
            )
    axes = {}
    for name, low, high in zip(domain.names, domain.lower, domain.upper, strict=True):
        if name in shown:
            axes[name] = np.linspace(low, high, 200)
        else:
            middle = (low + high) / 2 if abs(low + high) > 1e-9 * (high - low) else 0.0
            axes[name] = np.asarray([float(at.get(name, middle))])
    return shown, axes


def _image(figure: Figure, axis: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, title: str, **kwargs: Any) -> None:
    whole = bool(np.all(np.isfinite(z)))
    mesh = axis.pcolormesh(x, y, z, shading="gouraud" if whole else "nearest", rasterized=True, **kwargs)
    beyond = float(np.nanmax(z)) > kwargs.get("vmax", np.inf)
    bar = figure.colorbar(mesh, ax=axis, pad=0.02, extend="max" if beyond else "neither")
    bar.ax.tick_params(**STYLE)
    bar.outline.set_linewidth(0.4)  # pyright: ignore[reportCallIssue]
    axis.set_title(title, fontsize=10, color=INK)


def solution(
    problem: Problem,
    model: Model,
    path: Path_ = None,
    at: Mapping[str, float] | None = None,
    quantities: Sequence[str] = (),
    marks: Sequence[Mark] = (),
    shown: tuple[str, ...] | None = None,
) -> Figure:
    """For each unknown: the solution, its error where there is a reference; and the residuals of the interior. Or some
    quantities by name. `marks` are numbers at points, `shown` the coordinates of the axes."""
    shown, axes = _slice(problem, at or {}, shown)
    names = problem.domain.names
    fixed = {name: float(axes[name][0]) for name in names if name not in shown}
    family = {name: value for name, value in fixed.items() if name in problem.domain.parameters}
    truth = evaluate.truth(problem, problem.reference, **family)
    if truth is not None:
        # On the reference's own grid there is nothing to interpolate.
        truth = truth.sel({name: value for name, value in fixed.items() if name in truth.coords}, method="nearest")
        axes |= {name: np.atleast_1d(truth.coords[name]) for name in names if name in truth.coords}
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    points = jnp.asarray(np.stack([m.ravel() for m in mesh], axis=-1))
    size = mesh[0].shape
    order = [names.index(name) for name in shown]

    inside = evaluate.inside(problem, points)

    def field(flat: Any) -> np.ndarray:
        """A flat array as an image: the first shown coordinate across, the second up; NaN outside the domain."""
        array = np.where(inside, np.asarray(flat, float), np.nan)
        array = np.moveaxis(array.reshape(size), order, range(len(order)))
        return array.reshape(tuple(len(axes[name]) for name in shown)).T

    if quantities:
        panels = [(label(name), field(by_name(problem, model, name, points)), "solution") for name in quantities]
    else:
        panels = _panels(problem, model, points, truth, shown, field)
    solid = tuple(quantities) or problem.unknowns if len(problem.domain.space) == 3 and TIME not in shown else ()
    # At most four side by side, which still fit a page.
    count = len(panels) + plot_volume.PANELS * len(solid)
    columns = count if count <= 4 else -(-count // 2) if count <= 8 else 4
    figure, plots = subplots(columns, -(-count // columns))
    for spare in plots[count:]:
        spare.set_visible(False)
    for k, name in enumerate(solid):
        first = len(panels) + plot_volume.PANELS * k
        plot_volume.draw(figure, plots[first : first + plot_volume.PANELS], problem, model, name, fixed, _image)
    if fixed:
        text = ", ".join(f"{label(n)} = {axes[n][0]:.4g}" for n in fixed)
        figure.suptitle(text, fontsize=10, color=INK)
    for axis, (title, values, kind) in zip(plots, panels, strict=False):
        axis.set_xlabel(label(shown[0]), fontsize=10)
        if len(shown) == 1:
            axis.plot(axes[shown[0]], values, color=SECOND, lw=1.4)
            axis.set_title(title, fontsize=10, color=INK)
            mark(axis, shown, [problem.domain.ends(name) for name in shown], marks)
            continue
        axis.set_ylabel(label(shown[1]), fontsize=10)
        limit = float(np.nanmax(np.abs(values))) or 1.0
        look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        if kind == "size":
            # A residual often peaks in one corner: on a scale up to there, all the rest would be black.
            look = {"cmap": "magma", "vmin": 0.0, "vmax": float(np.nanquantile(values, 0.99)) or limit}
        elif kind == "solution" and float(np.nanmin(values)) >= 0:
            look = {"cmap": "viridis"}
        _image(figure, axis, axes[shown[0]], axes[shown[1]], values, title, **look)
        if problem.domain.shape is not None and TIME not in shown:
            _outline(axis, problem, shown, fixed)
        mark(axis, shown, [problem.domain.ends(name) for name in shown], marks)
    return finish(figure, path)


def _panels(
    problem: Problem,
    model: Model,
    points: Points,
    truth: xr.Dataset | None,
    shown: tuple[str, ...],
    field: Callable[[Any], np.ndarray],
) -> list[tuple[str, np.ndarray, str]]:
    """Title, image and kind of each panel: unknowns, errors, residuals."""
    found, names = evaluate.values(problem, model, points), problem.domain.names
    panels: list[tuple[str, np.ndarray, str]] = []
    true = None
    formula = None if problem.reference is None else problem.reference.formula()
    if formula is not None:
        true = np.asarray(formula_at(formula, problem.vocabulary, problem.parameters, points)).T
    elif truth is not None:
        true = [truth[u].transpose(*(n for n in names if n in shown)).values.ravel() for u in problem.unknowns]
    for u, name in enumerate(problem.unknowns):
        panels.append((f"{label(name)}", field(found[:, u]), "solution"))
        if true is not None:
            panels.append((f"error of {label(name)}", field(found[:, u]) - field(true[u]), "signed"))
    for term in problem.terms:
        if term.law.place.chart.names == names:
            height = evaluate.residual_size(term, evaluate.losses(problem, model, term, points))
            panels.append((f"|residual| of {term.name}", field(height), "size"))
    return panels


def _outline(axis: Any, problem: Problem, shown: tuple[str, ...], fixed: Mapping[str, float]) -> None:
    """The boundary of the domain's shape in the plane that is shown."""
    domain, shape = problem.domain, problem.domain.shape
    assert shape is not None
    x, y = (np.linspace(*_widened(domain.ends(name)), 401) for name in shown)
    mesh = dict(zip(shown, np.meshgrid(x, y, indexing="ij"), strict=True))
    at = {name: jnp.asarray(value) for name, value in fixed.items()}
    spots = jnp.asarray(
        np.stack([np.broadcast_to(mesh[n] if n in mesh else fixed[n], (401, 401)) for n in shape.names], axis=-1)
    )
    level = jax.vmap(jax.vmap(lambda spot: shape.level(spot, at)))(spots)
    axis.contour(x, y, np.asarray(level).T, levels=[0.0], colors=[INK], linewidths=0.8)
    axis.set_aspect("equal")


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    """A little further to both sides, so that a contour along the ends is seen."""
    margin = 0.02 * (ends[1] - ends[0])
    return ends[0] - margin, ends[1] + margin


def family(
    errors: xr.DataArray | None,
    residuals: xr.Dataset,
    path: Path_ = None,
    here: Mapping[str, float] | None = None,
) -> Figure:
    """Relative error, where it is known, and root mean square of the residual over one or two parameters; `here` is a
    member that is marked."""
    panels = [("rms residual", residuals["rms"])]
    if errors is not None:
        panels.insert(0, ("relative $L_2$ error", errors))
    names = [str(name) for name in residuals["rms"].dims]
    if len(names) > 2:
        raise ValueError(f"plot_family: a figure shows one or two parameters, the family has {checks.listed(names)}.")
    figure, plots = subplots(len(panels), width=3.6, height=2.9)
    for axis, (title, values) in zip(plots, panels, strict=True):
        axis.set_xlabel(label(names[0]), fontsize=10)
        x = values.coords[names[0]].values
        if len(names) == 1:
            axis.semilogy(x, values.values, color=SECOND, lw=1.4)
            axis.set_title(title, fontsize=10, color=INK)
            if here is not None:
                axis.axvline(here[names[0]], color=ACCENT, lw=1.6)
            continue
        axis.set_ylabel(label(names[1]), fontsize=10)
        error_image(figure, axis, values, title)
        if here is not None:
            axis.plot(*([here[name]] for name in names), "o", ms=9, mfc="none", mec=ACCENT, mew=2)
    return finish(figure, path)


def error_image(figure: Figure, axis: Any, values: xr.DataArray, title: str, **limits: float) -> None:
    """An error over two parameters, coloured by its logarithm."""
    x, y = (values.coords[name].values for name in values.dims)
    floor = float(values.where(values > 0).min())
    norm = LogNorm(limits.get("vmin", floor), limits.get("vmax", float(values.max())))
    mesh = axis.pcolormesh(x, y, values.values.T, shading="nearest", rasterized=True, norm=norm, cmap="viridis")
    bar = figure.colorbar(mesh, ax=axis, pad=0.02)
    bar.ax.tick_params(**STYLE)
    bar.outline.set_linewidth(0.4)  # pyright: ignore[reportCallIssue]
    axis.set_title(f"{title}, mean {float(values.mean()):.2g}", fontsize=10, color=INK)


def operator(problem: OperatorProblem, samples: Samples, sample: int, found: np.ndarray, path: Path_ = None) -> Figure:
    """One sample of an operator: its input, its solution, what the network gives, and the difference. Of three
    coordinates, the first frame is the input's and the last one is shown."""
    values, truth = np.asarray(samples.inputs[sample, ..., 0]), np.asarray(samples.outputs[sample, ..., 0])
    names, axes = problem.domain.names, problem.axes
    given = names[len(names) - values.ndim :]
    frame = truth.ndim > 2
    if frame:
        truth, found = truth[-1], found[-1]
    shown, across = (names[-2:], axes[-2:]) if truth.ndim == 2 else (names, axes)
    figure, plots = subplots(4, width=3.0)
    figure.suptitle(f"sample {sample}" + (f", {label(names[0])} = {axes[0][-1]:.4g}" if frame else ""), fontsize=10)
    limit = float(np.abs(truth).max()) or 1.0
    panels = (("input", values), ("solution", truth), ("network", found), ("error", found - truth))
    for axis, (title, field) in zip(plots, panels, strict=True):
        where = given if title == "input" else shown
        lines = axes[len(names) - values.ndim :] if title == "input" else across
        if field.ndim == 0:
            axis.set_title(f"{title}: {float(field):.4g}", fontsize=10, color=INK)
            axis.set_axis_off()
            continue
        if field.ndim == 1:
            axis.plot(lines[0], field, color=SECOND, lw=1.4)
            axis.set_title(title, fontsize=10, color=INK)
            axis.set_xlabel(label(where[0]), fontsize=10)
            continue
        top = float(np.abs(field).max()) or 1.0 if title in ("input", "error") else limit
        # The first coordinate, time where there is one, runs across.
        _image(figure, axis, lines[0], lines[1], field.T, title, cmap="RdBu_r", vmin=-top, vmax=top)
        axis.set_xlabel(label(where[0]), fontsize=10)
        axis.set_ylabel(label(where[1]), fontsize=10)
    return finish(figure, path)


def multipliers(
    problem: OperatorProblem,
    history: History,
    prices: np.ndarray,
    errors: Mapping[str, np.ndarray],
    path: Path_ = None,
) -> Figure:
    """What the multipliers of samples tell: see `OperatorSolution.plot_multipliers`."""
    figure, (size, growth, spread, boxes, easy, hard) = subplots(3, 2, width=3.3, height=2.7)
    inputs = np.asarray(problem.train.inputs[..., 0])
    magnitude = np.sqrt(np.mean(inputs.reshape(len(inputs), -1) ** 2, axis=1))
    size.plot(magnitude, prices, ".", ms=4, mew=0, color=SECOND, alpha=0.7)
    size.set_xlabel("root mean square of the input", fontsize=9)
    size.set_ylabel("multiplier", fontsize=9)
    rows = next(a for a in history.multipliers.values() if a.ndim == 2)
    for low, high, alpha in ((0, 100, 0.15), (10, 90, 0.25), (25, 75, 0.35)):
        band = np.percentile(rows, [low, high], axis=1)
        growth.fill_between(history.step, *band, color=SECOND, alpha=alpha, lw=0)
    growth.plot(history.step, np.median(rows, axis=1), color=INK, lw=1.2)
    growth.set_xlabel("step", fontsize=9)
    growth.set_title("multipliers over training", fontsize=10, color=INK)
    spread.hist(prices, bins=30, color=SECOND)
    spread.set_xlabel("multiplier", fontsize=9)
    spread.set_ylabel("samples", fontsize=9)
    boxes.boxplot(list(errors.values()), tick_labels=list(errors), flierprops={"ms": 3}, medianprops={"color": ACCENT})
    boxes.set_yscale("log")
    boxes.set_ylabel("relative $L_2$ error", fontsize=9)
    if inputs.ndim == 1:  # numbers, of which the first panel shows all there is
        easy.set_visible(False)
        hard.set_visible(False)
        return finish(figure, path)
    order = np.argsort(prices)
    names, axes = problem.domain.names[-(inputs.ndim - 1) :], problem.axes[-(inputs.ndim - 1) :]
    # Of an input over a plane, the line through its middle.
    middle = tuple(size // 2 for size in inputs.shape[2:])
    fixed = ", ".join(f"{label(n)} = {a[k]:.2g}" for n, a, k in zip(names[1:], axes[1:], middle, strict=True))
    for axis, chosen, title in (
        (easy, order[:3], "smallest multipliers"),
        (hard, order[::-1][:3], "largest multipliers"),
    ):
        for i, colour in zip(chosen, COLOURS, strict=False):
            axis.plot(axes[0], inputs[(i, slice(None), *middle)], color=colour, lw=1.2, label=f"{i}: {prices[i]:.2g}")
        axis.set_title(f"inputs with the {title}", fontsize=10, color=INK)
        axis.set_xlabel(label(names[0]) + (f" at {fixed}" if fixed else ""), fontsize=9)
        axis.legend(frameon=False, fontsize=8)
    return finish(figure, path)
