"""Pictures of data sets, drawn with matplotlib."""

import os
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .._base import checks
from ._files import space_of

INK, LINE = "#1b2a41", "#0072b2"


def _look(values: np.ndarray) -> dict[str, Any]:
    """Colours that tell the sign where there is one."""
    low, high = float(values.min()), float(values.max())
    if low >= 0:
        return {"cmap": "viridis", "vmin": low, "vmax": high if high > low else low + 1}
    limit = max(-low, high) or 1.0
    return {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}


def _mesh(axis: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, look: dict[str, Any]) -> None:
    axis.pcolormesh(x, y, values, shading="gouraud", rasterized=True, **look)


def _bar(figure: Figure, axes: list[Any], aspect: float) -> None:
    """One bar of colours for axes that share them."""
    bar = figure.colorbar(axes[0].collections[0], ax=axes, pad=0.02, aspect=aspect)
    bar.ax.tick_params(labelsize=8, width=0.6, length=3)
    bar.outline.set_linewidth(0.4)  # pyright: ignore[reportCallIssue]


def _lines(figure: Figure, axes: np.ndarray, chosen: xr.Dataset) -> None:
    """For each sample a row: u(x, 0), and u over t and x."""
    t, x = chosen["t"].values, chosen["x"].values
    inputs, solutions = chosen["input"].values, chosen["solution"].transpose("sample", "t", "x").values
    look = _look(solutions)
    low, high = min(inputs.min(), 0.0), max(inputs.max(), 0.0)
    room = 0.06 * ((high - low) or 1.0)
    for (left, right), start, solution, sample in zip(axes, inputs, solutions, chosen["sample"].values, strict=True):
        left.plot(x, start, color=LINE, lw=1.4)
        left.set(ylim=(low - room, high + room), xlim=(x[0], x[-1]))
        left.set_ylabel(f"sample {sample}\n$u(x, 0)$", fontsize=9)
        for side in ("top", "right"):
            left.spines[side].set_visible(False)
        _mesh(right, t, x, solution.T, look)
        right.set_ylabel("$x$", fontsize=9)
    axes[-1, 0].set_xlabel("$x$", fontsize=9)
    axes[-1, 1].set_xlabel("$t$", fontsize=9)
    axes[0, 0].set_title("input", fontsize=10, color=INK)
    axes[0, 1].set_title("solution $u(x, t)$", fontsize=10, color=INK)
    _bar(figure, axes[:, 1].tolist(), 15.0 * len(axes))


def _frames(figure: Figure, axes: np.ndarray, chosen: xr.Dataset, picked: list[int]) -> None:
    """For each sample a row: the initial condition, and some frames."""
    x, y = chosen["x"].values, chosen["y"].values
    solution = chosen["solution"].isel(t=picked)
    frames = [chosen["input"], *(solution.isel(t=i) for i in range(len(picked)))]
    titles = ["input", *(f"$t = {t:g}$" for t in solution["t"].values)]
    arrays = np.stack([frame.transpose("sample", "x", "y").values for frame in frames], axis=1)
    for row, shown, sample in zip(axes, arrays, chosen["sample"].values, strict=True):
        # The forcing lets w grow: every sample has colours of its own.
        look = _look(shown)
        for axis, array in zip(row, shown, strict=True):
            _mesh(axis, x, y, array.T, look)
            axis.set_aspect("equal")
            axis.label_outer()
        row[0].set_ylabel(f"sample {sample}\n$y$", fontsize=9)
        _bar(figure, row.tolist(), 15.0)
    for axis in axes[-1]:
        axis.set_xlabel("$x$", fontsize=9)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=10, color=INK)


def draw(dataset: xr.Dataset, samples: int = 3) -> Figure:
    """The first `samples` of a data set: initial condition and u over t and x; in two dimensions the initial condition,
    the first, the middle and the last frame.

    !!! example
        `scl.data.draw(scl.data.burgers("tiny"))`
    """
    space = space_of("draw", dataset, "`dataset`")
    rows = min(checks.count("draw", "samples", samples), dataset.sizes["sample"])
    if rows == 0 or dataset.sizes["t"] == 0:
        raise ValueError(
            f"draw: `dataset` is empty, its sizes are {dict(dataset.sizes)}. Choose some samples and times."
        )
    chosen = dataset[["input", "solution"]].isel(sample=slice(rows))
    last = dataset.sizes["t"] - 1
    picked = sorted({0, last // 2, last})
    columns, size = (2, (6.6, 1.7 * rows + 0.7)) if len(space) == 1 else (1 + len(picked), (8.2, 1.72 * rows + 0.7))
    # A Figure of its own, without pyplot: no window, no global state.
    figure = Figure(figsize=size, layout="constrained")
    ratios = [1.0, 1.7] if len(space) == 1 else None
    axes = figure.subplots(rows, columns, squeeze=False, sharex="col", width_ratios=ratios)
    for axis in axes.flat:
        axis.tick_params(labelsize=8, width=0.6, length=3)
    if len(space) == 1:
        _lines(figure, axes, chosen)
    else:
        _frames(figure, axes, chosen, picked)
    figure.suptitle(str(dataset.attrs.get("pde", "")), fontsize=8, color=INK)
    return figure


def show(dataset: xr.Dataset, path: str | os.PathLike[str] | None = None, samples: int = 3) -> Figure:
    """Draws a data set, and writes the picture to `path` (.png, .pdf or .svg).

    !!! example
        `scl.data.show(scl.data.burgers("tiny"), "burgers.png")`
    """
    if path is not None:
        checks.folder("show", "path", path)
    figure = draw(dataset, samples)
    if path is not None:
        figure.savefig(path, dpi=180, facecolor="white")
    return figure
