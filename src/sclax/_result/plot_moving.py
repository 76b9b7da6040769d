"""Pictures that move, over time or over a parameter of a family."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from .._base import Model, checks, replaced, require
from .._places import TIME
from .._problem import Problem
from . import axes as axes_of
from . import evaluate, page
from .plot_style import INK, SECOND, STYLE, label, plain, png, shown_axes, subplots
from .quantities import by_name

FINE = {1: 400, 2: 140}  # points along each axis
DOTS = 110  # an inch
KINDS = (".gif", ".mp4", ".html")


def moving(
    problem: Problem,
    model: Model,
    path: Any,
    quantities: Sequence[str],
    over: str | None,
    frames: int,
    fps: int,
    at: Mapping[str, Any],
) -> Path:
    """See `Solution.animate`."""
    file = checks.folder("animate", "path", path)
    if file.suffix not in KINDS:
        raise ValueError(f"animate: `path` must end in {checks.listed(KINDS)}, got {str(path)!r}.")
    frames, fps = checks.count("animate", "frames", frames, at_least=2), checks.count("animate", "fps", fps)
    over = _mover(problem, over)
    names = (quantities,) if isinstance(quantities, str) else tuple(quantities) or problem.unknowns
    values = np.linspace(*problem.domain.ends(over), frames)
    if file.suffix == ".mp4":
        require("animate", "imageio_ffmpeg", "view")  # before anything is drawn
    pictures = _pictures(problem, model, names, over, values, at)
    with replaced(file) as temporary:
        if file.suffix == ".gif":
            first, *others = (Image.fromarray(p).quantize(128) for p in pictures)
            first.save(temporary, "GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
        elif file.suffix == ".mp4":
            _film(temporary, pictures, fps)
        else:
            sources = [png(p) for p in pictures]
            labels = [f"{plain(label(over))} = {value:.4g}" for value in values]
            text = page.rendered("moving.html", title=", ".join(names), frames=sources, labels=labels, fps=fps)
            temporary.write_text(text, encoding="utf-8")
    return file


def _mover(problem: Problem, over: str | None) -> str:
    movers = [name for name in problem.domain.names if name == TIME or name in problem.domain.parameters]
    if over is None:
        over = TIME if TIME in movers else movers[0] if movers else None
    if over not in movers:
        raise ValueError(
            "animate: `over` must be time or a parameter of a family, "
            f"{checks.listed(movers) or 'of which there is none'}; got {over!r}."
        )
    return over


def _axes(problem: Problem, over: str) -> tuple[str, ...]:
    """The one or two coordinates of each frame: of space while time runs, else those of other figures."""
    space = problem.domain.space
    return tuple(space[:2]) if over == TIME else shown_axes(problem)


def _pictures(
    problem: Problem, model: Model, names: Sequence[str], over: str, values: np.ndarray, at: Mapping[str, Any]
) -> Iterator[np.ndarray]:
    """The frames as pixels, of which all have the same colours."""
    shown = _axes(problem, over)
    if not shown:
        raise ValueError(f"animate: nothing is left to draw while `{over}` moves; use plot().")
    held = axes_of.held(problem, "animate", at, (*shown, over))
    sides = [np.linspace(*problem.domain.ends(name), FINE[len(shown)]) for name in shown]
    mesh = dict(zip(shown, np.meshgrid(*sides, indexing="ij"), strict=True))
    size = mesh[shown[0]].shape

    def at_value(value: float) -> list[np.ndarray]:
        where: dict[str, Any] = {**held, over: value, **mesh}
        columns = [np.broadcast_to(where[n], size).ravel() for n in problem.domain.names]
        points = jnp.asarray(np.stack(columns, axis=-1))
        inside = evaluate.inside(problem, points)
        found = [np.asarray(by_name(problem, model, name, points), float) for name in names]
        return [np.where(inside, f, np.nan).reshape(size).T for f in found]

    every = [at_value(float(value)) for value in values]
    figure, plots = subplots(len(names), width=4.0, height=3.3)
    figure.set_dpi(DOTS)
    artists = []
    for k, (axis, name) in enumerate(zip(plots, names, strict=True)):
        low = min(float(np.nanmin(frame[k])) for frame in every)
        high = max(float(np.nanmax(frame[k])) for frame in every)
        axis.set_xlabel(label(shown[0]), fontsize=10)
        axis.set_title(label(name), fontsize=10, color=INK)
        if len(shown) == 1:
            (line,) = axis.plot(sides[0], every[0][k], color=SECOND, lw=1.6)
            room = 0.05 * ((high - low) or 1.0)
            axis.set(xlim=problem.domain.ends(shown[0]), ylim=(low - room, high + room))
            artists.append(line.set_ydata)
            continue
        axis.set_ylabel(label(shown[1]), fontsize=10)
        limit = max(abs(low), abs(high)) or 1.0
        look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        look = look if low < 0 else {"cmap": "viridis", "vmin": low, "vmax": high}
        image = axis.pcolormesh(*sides, every[0][k], shading="nearest", **look)
        bar = figure.colorbar(image, ax=axis, pad=0.02)
        bar.ax.tick_params(**STYLE)
        if problem.domain.shape is not None and over in (TIME, *problem.domain.parameters):
            axis.set_aspect("equal")
        artists.append(image.set_array)
    canvas = FigureCanvasAgg(figure)
    title = figure.suptitle(" ", fontsize=11, color=INK)
    for number, (value, frame) in enumerate(zip(values, every, strict=True)):
        title.set_text(f"{label(over)} = {value:.4g}")
        for put, array in zip(artists, frame, strict=True):
            put(array)
        canvas.draw()
        if number == 0:
            figure.set_layout_engine("none")  # so that nothing moves but what is drawn
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        even = [side - side % 2 for side in pixels.shape[:2]]  # as films ask for
        yield np.array(pixels[: even[0], : even[1]])


def _film(path: Path, pictures: Iterator[np.ndarray], fps: int) -> None:
    # Not by the package's own writer, which forks: JAX has threads.
    program = require("animate", "imageio_ffmpeg", "view").get_ffmpeg_exe()
    first = next(pictures)
    high, wide = first.shape[:2]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}", "-r", str(fps), "-i", "-"]
    wanted = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"]
    words = [program, "-y", "-v", "error", *given, *wanted, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as film:
        _, said = film.communicate(b"".join(np.ascontiguousarray(p).tobytes() for p in (first, *pictures)))
    if film.returncode:
        raise OSError(f"animate: ffmpeg could not write the film: {said.decode(errors='replace').strip()[:300]}")
