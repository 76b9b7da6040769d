"""Figures of how a solution was learned: losses, multipliers, and where the worst case was."""

from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from .._problem import Problem
from .history import History
from .plot_style import ACCENT, COLOURS, INK, SECOND, Path_, finish, label, shown_axes, subplots

RAMP = colormaps["viridis_r"]


class Cloud(NamedTuple):
    """Points of ψ_α at one stage of training, with weights whose mean is 1."""

    step: int
    points: np.ndarray
    weights: np.ndarray


def history(problem: Problem, history: History, path: Path_ = None) -> Figure:
    """Objective and constraint values with their tolerances, and multipliers, over the steps of training."""
    figure, (left, right) = subplots(2, width=4.2, height=3.0)
    steps = history.step
    if np.any(history.objective > 0):
        left.semilogy(steps, history.objective, color=INK, lw=1.3, label="objective")
    for i, (name, tolerance) in enumerate(problem.tolerances.items()):
        colour = COLOURS[i % len(COLOURS)]
        values, prices = history.values[name], history.multipliers[name]
        if values.ndim > 1:  # one per sample: the worst, the median
            left.semilogy(steps, np.nanmax(values, axis=1), color=colour, lw=1.3, label=f"{name}: worst")
            left.semilogy(steps, np.nanmedian(values, axis=1), color=colour, lw=0.9, ls=":", label=f"{name}: median")
            right.plot(steps, prices, color=colour, lw=0.4, alpha=0.4)
        else:
            left.semilogy(steps, values, color=colour, lw=1.3, label=name)
            right.plot(steps, prices, color=colour, lw=1.3, label=name)
        limit = float(np.max(np.asarray(tolerance)))
        if limit > 0:
            left.axhline(limit, color=colour, lw=0.8, ls="--")
    left.set_title("losses (dashed: tolerances)", fontsize=10, color=INK)
    right.set_title("multipliers", fontsize=10, color=INK)
    for axis in (left, right):
        axis.set_xlabel("step", fontsize=10)
        for line in axis.lines if len(steps) == 1 else ():  # a line of one point is not seen
            line.set_marker("o" if len(line.get_xdata()) == 1 else "")
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=9)
    return finish(figure, path)


def _clouds(problem: Problem, history: History) -> tuple[str, list[Cloud]] | None:
    """The first worst case on the interior, and its points at up to four stages of training; None without one."""
    names = problem.domain.names
    for term in problem.terms:
        if term.worst and term.law.place.chart.names == names and term.name in history.snapshot:
            steps = history.snapshot_step
            points, weights = history.snapshot[term.name], history.snapshot_weights[term.name]
            stages = np.unique(np.linspace(0, len(steps) - 1, min(4, len(steps))).round().astype(int))
            return term.name, [Cloud(int(steps[i]), points[i], weights[i] / np.mean(weights[i])) for i in stages]
    return None


def samples(problem: Problem, history: History, path: Path_ = None) -> Figure | None:
    """The points of ψ_α at up to four stages of training, of the first worst case on the interior; None without one.

    A sampler that weighs its points instead of moving them shows its weights as areas.
    """
    found = _clouds(problem, history)
    if found is None:
        return None
    name, clouds = found
    shown = shown_axes(problem)
    figure, plots = subplots(len(clouds), width=2.4, height=2.5)
    for axis, cloud in zip(plots, clouds, strict=True):
        columns = [cloud.points[:, problem.domain.names.index(each)] for each in shown]
        if len(shown) == 1:
            axis.hist(columns[0], bins=40, weights=cloud.weights, color=SECOND)
        else:
            axis.scatter(*columns, s=4 * cloud.weights, linewidths=0, color=ACCENT, alpha=0.6)
            axis.set_ylabel(label(shown[1]), fontsize=10)
            axis.set_ylim(*problem.domain.ends(shown[1]))
        axis.set_xlim(*problem.domain.ends(shown[0]))
        axis.set_xlabel(label(shown[0]), fontsize=10)
        axis.set_title(f"step {cloud.step}", fontsize=10, color=INK)
    between = "\n" if len(clouds) == 1 else " "
    weighed = "" if all(np.allclose(cloud.weights, 1.0) for cloud in clouds) else f",{between}areas as their weights"
    figure.suptitle(f"worst-case points of {name}{weighed}", fontsize=10, color=INK)
    return finish(figure, path)


def marginals(problem: Problem, history: History, path: Path_ = None) -> Figure | None:
    """The density of ψ_α along each coordinate, at up to four stages of training; None without a worst case."""
    found = _clouds(problem, history)
    if found is None:
        return None
    name, clouds = found
    names = problem.domain.names
    figure, plots = subplots(len(names), width=2.6, height=2.6)
    shades = [RAMP(0.15 + 0.75 * i / max(len(clouds) - 1, 1)) for i in range(len(clouds))]
    for i, (axis, coordinate) in enumerate(zip(plots, names, strict=True)):
        low, high = problem.domain.ends(coordinate)
        # As many bins as the points can fill.
        bins = np.linspace(low, high, int(np.clip(np.sqrt(len(clouds[0].points)) / 1.5, 8, 30)) + 1)
        for shade, cloud in zip(shades, clouds, strict=True):
            height, _ = np.histogram(cloud.points[:, i], bins, weights=cloud.weights, density=True)
            axis.stairs(height * (high - low), bins, color=shade, lw=1.3, label=f"step {cloud.step}")
        axis.axhline(1.0, color=INK, lw=0.6, ls=":")
        axis.set_xlim(low, high)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(label(coordinate), fontsize=10)
    plots[0].set_ylabel("density over uniform", fontsize=10)
    plots[-1].legend(frameon=False, fontsize=8)
    figure.suptitle(f"marginals of the worst case of {name}", fontsize=10, color=INK)
    return finish(figure, path)
