"""Solutions as files for ParaView."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from .._base import checks, replaced, require
from .._places import TIME
from . import axes as axes_of

if TYPE_CHECKING:
    from .solution import Solution

ALONG = {1: 401, 2: 161, 3: 49}  # points along each side, by the dimension of space
TIMES = 25


def write(
    solution: Solution,
    path: str | os.PathLike[str],
    quantities: Sequence[str],
    points: int,
    coordinates: Mapping[str, Any],
) -> list[Path]:
    """One file, or with time one for each of its values and a `.pvd` that lists them."""
    pyvista = require("to_vtk", "pyvista", "view")
    file, problem = checks.folder("to_vtk", "path", path), solution.problem
    domain = problem.domain
    if file.suffix != ".vtu":
        raise ValueError(f"to_vtk: `path` must end in .vtu, got {str(path)!r}.")
    space = domain.space
    if not 1 <= len(space) <= 3:
        raise ValueError(
            f"to_vtk: a file has one to three coordinates of space, the solution {len(space)}: put it on a grid."
        )
    times: list[float | None] = [None]
    if TIME in domain.names:
        times = [float(t) for t in axes_of.axis(problem, "to_vtk", TIME, coordinates.get(TIME, TIMES))]
    given = {name: value for name, value in coordinates.items() if name != TIME}
    held = axes_of.held(problem, "to_vtk", given, (*space, TIME))
    points = checks.points("to_vtk", "points", points or ALONG[len(space)])
    mesh = _mesh(pyvista, solution, held, points)
    at = {name: np.asarray(mesh.points[:, i], float) for i, name in enumerate(space)}
    written = []
    for number, time in enumerate(times):
        now = held if time is None else {**held, TIME: time}
        solution._tell_outside("to_vtk", now)
        named = (quantities,) if isinstance(quantities, str) else quantities
        # By these, which say nothing: the corners of cells that are cut lie a little outside of a shape.
        found = solution._values({**at, **now}) | {name: solution._quantity(name, {**at, **now}) for name in named}
        for name, array in found.items():
            mesh.point_data[name] = np.asarray(array, float)
        one = file if time is None else file.with_name(f"{file.stem}_{number:04d}.vtu")
        with replaced(one) as temporary:
            whole = temporary.with_suffix(".vtu")  # by which the writer knows the format
            mesh.save(whole)
            os.replace(whole, temporary)
        written.append(one)
    if TIME not in domain.names:
        return written
    rows = "".join(f'<DataSet timestep="{time}" file="{one.name}"/>' for time, one in zip(times, written, strict=True))
    series = file.with_suffix(".pvd")
    with replaced(series) as temporary:
        temporary.write_text(f'<VTKFile type="Collection" version="0.1"><Collection>{rows}</Collection></VTKFile>')
    return [series, *written]


def _mesh(pyvista: Any, solution: Solution, held: Mapping[str, float], points: int) -> Any:
    """The cells of space; of a shape those inside, cut along its boundary."""
    domain = solution.problem.domain
    space, shape = domain.space, domain.shape
    sides = [np.linspace(*domain.ends(name), points) for name in space] + [np.zeros(1)] * (3 - len(space))
    grid = pyvista.RectilinearGrid(*sides)
    if shape is None:
        return grid.cast_to_unstructured_grid()
    columns = [np.asarray(grid.points[:, space.index(name)], float) for name in shape.names]
    at = {name: jnp.asarray(held[name]) for name in shape.parameters}
    level = jax.vmap(lambda spot: shape.level(spot, at))(jnp.asarray(np.stack(columns, axis=-1)))
    grid.point_data["level"] = np.asarray(level, float)
    inside = grid.clip_scalar(scalars="level", value=0.0, invert=True)
    inside.clear_data()
    return inside
