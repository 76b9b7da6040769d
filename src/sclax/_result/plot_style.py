"""How all figures look."""

import base64
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

from .._base import checks
from .._places import TIME
from .._problem import Problem
from .report import Mark

# Okabe and Ito's colours, which colour-blind people can tell apart too.
INK, ACCENT, SECOND = "#1b2a41", "#d55e00", "#0072b2"
COLOURS = (SECOND, ACCENT, "#009e73", "#cc79a7", "#e69f00", INK)
STYLE = {"labelsize": 9, "width": 0.6, "length": 3}

SHARP = 150  # dots an inch of pictures on a page

Path_ = str | os.PathLike[str] | None


class Piece(NamedTuple):
    """One panel of a figure as a picture of its own: its title in plain words, a data URI, and its width in pixels of a
    page on which text has the size that it has on paper."""

    title: str
    source: str
    width: int


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


def mark(axis: Any, shown: Sequence[str], ends: Sequence[tuple[float, float]], marks: Sequence[Mark]) -> None:
    """Numbers in small circles at points of a panel; those at nearly the same place share one."""
    groups: list[tuple[np.ndarray, list[int]]] = []
    for one in marks:
        if not all(name in one.where for name in shown):
            continue
        spot = np.asarray([(one.where[n] - low) / (high - low) for n, (low, high) in zip(shown, ends, strict=True)])
        near = next((numbers for at, numbers in groups if np.max(np.abs(at - spot)) < 0.06), None)
        if near is None:
            groups.append((spot, [one.number]))
        else:
            near.append(one.number)
    for spot, numbers in groups:
        at = [low + s * (high - low) for s, (low, high) in zip(spot, ends, strict=True)]
        look = {"boxstyle": "circle,pad=0.2" if len(numbers) == 1 else "round,pad=0.25", "fc": "white", "ec": INK}
        text = ", ".join(map(str, numbers))
        where = (at[0], at[1]) if len(at) > 1 else (at[0], float(np.mean(axis.get_ylim())))
        axis.text(*where, text, fontsize=8, ha="center", va="center", color=INK, bbox={**look, "lw": 0.8, "alpha": 0.9})


def plain(text: str) -> str:
    """A title without its typesetting."""
    return text.replace("$", "").replace("\\", "").replace("{", "").replace("}", "").replace("_", "")


def pieces(figure: Figure) -> Iterator[Piece]:
    """The panels of a figure, each with its colour bar: on a narrow page they stand below each other, as legible as
    side by side on a wide one."""
    figure.set_dpi(SHARP)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    renderer, bars = canvas.get_renderer(), {}
    for axis in figure.axes:
        for drawn in (*axis.collections, *axis.images):
            if drawn.colorbar is not None:
                bars[drawn.colorbar.ax] = axis
    for axis in figure.axes:
        if axis in bars or not axis.get_visible():
            continue
        boxes = [a.get_tightbbox(renderer) for a in (axis, *(bar for bar, owner in bars.items() if owner is axis))]
        box = Bbox.union([b for b in boxes if b is not None])
        left, right = max(int(box.x0) - 1, 0), min(int(box.x1) + 2, pixels.shape[1])
        top, bottom = max(int(pixels.shape[0] - box.y1) - 1, 0), min(int(pixels.shape[0] - box.y0) + 2, len(pixels))
        # A margin of paper: around the panel there may be ink of its neighbours.
        cut = np.pad(pixels[top:bottom, left:right, :3], ((8, 8), (8, 8), (0, 0)), constant_values=255)
        title = plain(axis.get_title() or figure.get_suptitle())
        yield Piece(title, png(cut), round(cut.shape[1] * 120 / SHARP))


def png(pixels: np.ndarray) -> str:
    """Pixels as a data URI."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
