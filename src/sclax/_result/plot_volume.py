"""Solutions over three coordinates of space: two more slices, and surfaces on which they have one value."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from .._base import Model
from .._problem import Problem
from . import evaluate
from .plot_style import INK, label
from .quantities import by_name

FLAT, DEEP = 120, 32  # points along each side of a slice, and of a volume
LEVELS = (0.25, 0.5, 0.75)  # of the way from the least value to the largest
PANELS = 3

# The six tetrahedra of a cube whose corner (x, y, z) has number x + 2y + 4z: one for each way from 0 to 7.
_TETRAHEDRA = np.asarray([[0, 1, 3, 7], [0, 1, 5, 7], [0, 2, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 4, 6, 7]])


def isosurface(sides: tuple[np.ndarray, ...], values: np.ndarray, level: float) -> np.ndarray:
    """The triangles, (n, 3, 3), on which values on a grid are at a level, by marching tetrahedra; none where a corner
    is NaN."""
    mesh = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    offsets = [(i & 1, i >> 1 & 1, i >> 2 & 1) for i in range(8)]
    window = lambda a, o: a[tuple(slice(k, k - 1 or None) for k in o)].reshape(-1, *a.shape[3:])
    corners = np.stack([window(mesh, o) for o in offsets], axis=1)[:, _TETRAHEDRA].reshape(-1, 4, 3)
    heights = np.stack([window(values, o) for o in offsets], axis=1)[:, _TETRAHEDRA].reshape(-1, 4) - level
    above = heights > 0
    mixed = np.all(np.isfinite(heights), axis=1) & np.any(above, axis=1) & ~np.all(above, axis=1)
    order = np.argsort(above[mixed], axis=1, kind="stable")  # those below first
    p = np.take_along_axis(corners[mixed], order[..., None], axis=1)
    h = np.take_along_axis(heights[mixed], order, axis=1)
    count = np.sum(above[mixed], axis=1)

    def between(rows: np.ndarray, i: int, j: int) -> np.ndarray:
        share = h[rows, i] / (h[rows, i] - h[rows, j])
        return p[rows, i] + share[:, None] * (p[rows, j] - p[rows, i])

    found, up = [], p[:, 3] - p[:, 0]
    for number, alone, others in ((1, 3, (0, 1, 2)), (3, 0, (1, 2, 3))):
        rows = np.flatnonzero(count == number)
        found.append((np.stack([between(rows, alone, other) for other in others], axis=1), up[rows]))
    rows = np.flatnonzero(count == 2)
    a, b, c, d = (between(rows, i, j) for i, j in ((0, 2), (0, 3), (1, 3), (1, 2)))
    found += [(np.stack([a, b, c], axis=1), up[rows]), (np.stack([a, c, d], axis=1), up[rows])]
    triangles, up = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # All turn the same side to larger values, so that light falls on them evenly.
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    turned = np.sum(normals * up, axis=1) < 0
    triangles[turned] = triangles[turned][:, ::-1]
    return triangles


def draw(
    figure: Figure, plots: Any, problem: Problem, model: Model, name: str, fixed: Mapping[str, float], image: Callable
) -> None:
    """Three panels of a quantity: the two other slices through the middle, and surfaces of one value."""
    space = problem.domain.space
    values = lambda sides: _values(problem, model, name, sides, fixed)
    ends = {n: problem.domain.ends(n) for n in space}
    middle = {n: sum(pair) / 2 for n, pair in ends.items()}
    for axis, (across, up) in zip(plots[:2], ((space[0], space[2]), (space[1], space[2])), strict=True):
        held = next(n for n in space if n not in (across, up))
        sides = {n: np.linspace(*ends[n], FLAT) if n != held else np.asarray([middle[held]]) for n in space}
        flat = np.squeeze(values(sides), axis=space.index(held)).T
        limit = float(np.nanmax(np.abs(flat))) or 1.0
        look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        look = look if float(np.nanmin(flat)) < 0 else {"cmap": "viridis"}
        title = f"{label(name)} at {label(held)} = {middle[held]:.4g}"
        image(figure, axis, sides[across], sides[up], flat, title, **look)
        axis.set_xlabel(label(across), fontsize=10)
        axis.set_ylabel(label(up), fontsize=10)
    _surfaces(figure, plots[2], values, ends, name)


def _surfaces(figure: Figure, flat: Any, values: Callable, ends: Mapping[str, tuple[float, float]], name: str) -> None:
    sides = {n: np.linspace(*pair, DEEP) for n, pair in ends.items()}
    volume = values(sides)
    low, high = float(np.nanmin(volume)), float(np.nanmax(volume))
    axis: Any = figure.add_subplot(flat.get_subplotspec(), projection="3d")
    flat.remove()
    for share in LEVELS if high > low else ():
        triangles = isosurface(tuple(sides.values()), volume, low + share * (high - low))
        if len(triangles):
            colour = colormaps["viridis"](share)
            axis.add_collection3d(Poly3DCollection(triangles, facecolors=colour, alpha=0.4, shade=True, linewidths=0))
    levels = ", ".join(f"{low + share * (high - low):.3g}" for share in LEVELS)
    axis.set_title(f"{label(name)} = {levels}", fontsize=10, color=INK)
    for side, (n, pair) in zip("xyz", ends.items(), strict=True):
        getattr(axis, f"set_{side}lim")(*pair)
        getattr(axis, f"set_{side}label")(label(n), fontsize=10)
    axis.tick_params(labelsize=8, pad=0)


def _values(
    problem: Problem, model: Model, name: str, sides: Mapping[str, np.ndarray], fixed: Mapping[str, float]
) -> np.ndarray:
    mesh = dict(zip(sides, np.meshgrid(*sides.values(), indexing="ij"), strict=True))
    size = next(iter(mesh.values())).shape
    where: dict[str, Any] = {**fixed, **mesh}
    columns = [np.broadcast_to(where[n], size).ravel() for n in problem.domain.names]
    points = jnp.asarray(np.stack(columns, axis=-1))
    found = np.where(evaluate.inside(problem, points), np.asarray(by_name(problem, model, name, points), float), np.nan)
    return found.reshape(size)
