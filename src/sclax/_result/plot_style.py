"""How all figures look."""

import os

import numpy as np
from matplotlib.figure import Figure

from .._base import checks
from .._places import TIME
from .._problem import Problem

INK, ACCENT, SECOND = "#1b2a41", "#c8553d", "#3b7ea1"
COLOURS = (SECOND, ACCENT, "#588157", "#8d6a9f", "#d9a441", INK)
STYLE = {"labelsize": 9, "width": 0.6, "length": 3}

Path_ = str | os.PathLike[str] | None


def subplots(columns: int, rows: int = 1, width: float = 3.1, height: float = 2.7) -> tuple[Figure, np.ndarray]:
    # A Figure of its own, without pyplot: no window, no global state, and it still shows in notebooks.
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axis in axes:
        axis.tick_params(**STYLE)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, axes


def finish(figure: Figure, path: Path_) -> Figure:
    if path is not None:
        figure.savefig(checks.folder("plot", "path", path), dpi=180, facecolor="white")
    return figure


def label(name: str) -> str:
    """A name as it is typeset: β for beta, a₁ for a1."""
    greek = {"alpha", "beta", "gamma", "lambda", "mu", "nu", "omega", "phi", "psi", "rho", "sigma", "tau", "theta"}
    stem = name.rstrip("0123456789")
    if stem not in greek and len(stem) != 1:
        return name
    index = f"_{{{name[len(stem) :]}}}" if stem != name else ""
    letter = f"\\{stem}" if stem in greek else stem
    return f"${letter}{index}$"


def shown_axes(problem: Problem) -> tuple[str, ...]:
    """The one or two coordinates along which a figure runs: time across, space up; of a shape the plane of space."""
    space = problem.domain.space
    if TIME in problem.domain.names and problem.domain.shape is None:
        return (TIME, space[0]) if space else (TIME,)
    return space[:2]
