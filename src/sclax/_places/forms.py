"""The shapes that users write, as boxes with a shape in them."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._base import checks, require, signature
from .box import Box
from .meshes import ImplicitShape, MeshShape, closed
from .polygons import PolygonShape, self_crossing
from .shapes import AbstractShape, BallShape, EllipseShape
from .surfaces import Length


def _domain(owner: str, shape: AbstractShape) -> Box:
    """The box of a shape alone."""
    checked_names(owner, shape.names)
    return Box(**dict.fromkeys(shape.names, (0.0, 1.0))).around(shape)


def checked_names(owner: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name == "t":
            raise ValueError(f"{owner}: a shape lies in space; multiply it by time: {owner}(...) * Interval(t=(0, 1)).")


def _length(owner: str, argument: str, value: Any, positive: bool = False) -> Length:
    """A number, or the name of a parameter."""
    if isinstance(value, str):
        if not value.isidentifier():
            raise ValueError(f"{owner}: `{argument}` must be a number or the name of a parameter, got {value!r}.")
        return value
    return (
        checks.positive(owner, argument, value)
        if positive
        else checks.number(owner, argument, value, " or the name of a parameter")
    )


def Interval(**interval: Any) -> Box:
    """One named interval, such as time:  `shape * Interval(t=(0, 1))`.

    !!! example
        `Disk(x=0, y=0, radius=1) * Interval(t=(0, 2))`
    """
    if len(interval) != 1:
        raise ValueError(
            f"Interval: one coordinate is needed, for example Interval(t=(0, 1)), got {checks.listed(interval)}."
        )
    return Box(**interval)


def Ball(*, radius: Any, name: str | None = None, **centre: Any) -> Box:
    """A ball in any number of dimensions:  |x − centre| < radius. A centre or radius may be the name of a parameter, so
    that a family ranges over shapes.

    !!! example
        `Ball(x=0, y=0, z=0, radius=1)`, and `Ball(x=0, y=0, radius="r")` with `parameters={"r": (0.5, 1)}`
    """
    return _ball("Ball", radius, name, centre)


def Disk(*, radius: Any, name: str | None = None, **centre: Any) -> Box:
    """A ball in two dimensions:  (x − x₀)² + (y − y₀)² < radius².

    !!! example
        `Box(x=(-1, 1), y=(-1, 1)) - Disk(x=0.2, y=0, radius=0.3, name="hole")`
    """
    if len(centre) != 2:
        raise ValueError(
            f"Disk: it has two coordinates, for example Disk(x=0, y=0, radius=1), got {checks.listed(centre)}."
        )
    return _ball("Disk", radius, name, centre)


def _ball(owner: str, radius: Any, name: str | None, centre: Mapping[str, Any]) -> Box:
    if not centre:
        raise ValueError(f"{owner}: give its centre by coordinates, for example {owner}(x=0, y=0, radius=1).")
    centres = tuple(_length(owner, n, value) for n, value in centre.items())
    return _domain(owner, BallShape(tuple(centre), centres, _length(owner, "radius", radius, positive=True), name))


def Ellipse(*, radii: Any, name: str | None = None, **centre: Any) -> Box:
    """An ellipse:  ((x − x₀)/a)² + ((y − y₀)/b)² < 1  with `radii=(a, b)`; each a number or the name of a parameter.

    !!! example
        `Ellipse(x=0, y=0, radii=(2, 1))`
    """
    if len(centre) != 2 or np.shape(radii) != (2,):
        raise ValueError(
            "Ellipse: it has two coordinates and two radii, for example Ellipse(x=0, y=0, radii=(2, 1)), got "
            f"{checks.listed(centre)} and radii={radii!r}."
        )
    lengths = tuple(_length("Ellipse", "radii", r, positive=True) for r in radii)
    centres = tuple(_length("Ellipse", n, value) for n, value in centre.items())
    return _domain("Ellipse", EllipseShape(tuple(centre), centres, lengths, name))


def Polygon(outline: Any, name: str | None = None, names: tuple[str, str] = ("x", "y")) -> Box:
    """A polygon: a dict of its corners' coordinates, or a shapely Polygon or MultiPolygon, holes included. Corners may
    go round in either sense.

    !!! example
        `Polygon({"x": [0, 2, 2, 1, 1, 0], "y": [0, 0, 1, 1, 2, 2]})` is an L.
    """
    if isinstance(outline, Mapping):
        if len(outline) != 2:
            raise ValueError(f"Polygon: the outline has two coordinates, got {checks.listed(map(str, outline))}.")
        names = tuple(str(n) for n in outline)  # pyright: ignore[reportAssignmentType]
        columns = [np.ravel(checks.finite_array("Polygon", n, v)) for n, v in outline.items()]
        if len(columns[0]) != len(columns[1]):
            raise ValueError(f"Polygon: as many numbers for each coordinate, got {[len(c) for c in columns]}.")
        rings = [_ring(np.stack(columns, axis=1), True)]
    elif hasattr(outline, "geom_type") and outline.geom_type in ("Polygon", "MultiPolygon"):
        if not outline.is_valid:
            explain = require("Polygon", "shapely.validation", "geometry").explain_validity
            raise ValueError(
                f"Polygon: the geometry is not valid: {explain(outline)}. Its rings may touch in points, and not cross "
                "or overlap; shapely.make_valid(...) repairs many."
            )
        pieces = getattr(outline, "geoms", (outline,))
        rings = []
        for piece in pieces:
            rings.append(_ring(np.asarray(piece.exterior.coords)[:, :2], True))
            rings += [_ring(np.asarray(hole.coords)[:, :2], False) for hole in piece.interiors]
        if not rings:
            raise ValueError("Polygon: the geometry is empty.")
    else:
        raise ValueError(
            "Polygon: `outline` must be a dict of corners, {'x': [...], 'y': [...]}, or a shapely Polygon, got "
            f"{outline!r:.60}."
        )
    return _domain("Polygon", PolygonShape(rings, names, name))


def _ring(corners: np.ndarray, outer: bool) -> np.ndarray:
    """The corners of a closed ring once each, counterclockwise for an outer one."""
    corners = corners[np.any(corners != np.roll(corners, 1, axis=0), axis=1)]  # the first again at the end, say
    if len(corners) < 3:
        raise ValueError(f"Polygon: a ring needs three corners or more, got {len(corners)}.")
    if np.linalg.matrix_rank(corners - corners[0]) < 2:
        raise ValueError("Polygon: the outline encloses no area; its corners lie on a line.")
    crossing = self_crossing(corners)
    if crossing is not None:
        i, j = crossing
        raise ValueError(
            f"Polygon: the outline crosses itself, or runs along itself: edge {i} from {corners[i].tolist()} and edge "
            f"{j} from {corners[j].tolist()}. Give the corners in order along the outline."
        )
    nexts = np.roll(corners, -1, axis=0)
    area = np.sum(corners[:, 0] * nexts[:, 1] - nexts[:, 0] * corners[:, 1])
    return corners if (area > 0) == outer else corners[::-1]


def Implicit(function: Callable[..., Any], name: str | None = None, **intervals: Any) -> Box:
    """Where a function of the coordinates is negative, within given intervals, in two or three dimensions.

    !!! example
        `Implicit(lambda x, y: x**4 + y**4 - 1, x=(-1.1, 1.1), y=(-1.1, 1.1))`
    """
    if len(intervals) not in (2, 3):
        raise ValueError(
            f"Implicit: give two or three intervals, for example x=(-1, 1), y=(-1, 1), got {checks.listed(intervals)}."
        )
    names = tuple(intervals)
    checked_names("Implicit", names)
    for argument in signature(function, "Implicit", names):
        if argument not in names:
            raise ValueError(
                f"Implicit: the function's argument `{argument}` is none of its coordinates {checks.listed(names)}."
                + checks.nearest(argument, names)
            )
    ends = [checks.interval("Implicit", n, value) for n, value in intervals.items()]
    shape = ImplicitShape(function, names, tuple(low for low, _ in ends), tuple(high for _, high in ends), name)
    return _domain("Implicit", shape)


def Mesh(source: Any, name: str | None = None, names: tuple[str, str, str] = ("x", "y", "z")) -> Box:
    """The inside of a closed surface of triangles: the path of an STL, OBJ or PLY file, or a trimesh object.

    !!! example
        `Mesh("part.stl")`
    """
    trimesh = require("Mesh", "trimesh", "geometry")
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if not os.path.isfile(path):
            raise ValueError(f"Mesh: there is no file {path!r}.")
        try:
            found = trimesh.load_mesh(path)
        except Exception as error:
            raise ValueError(f"Mesh: {path!r} cannot be read as a mesh ({error}); STL, OBJ and PLY can.") from error
    else:
        found = source
    if not hasattr(found, "faces") or not len(found.faces):
        raise ValueError(f"Mesh: no triangles in {source!r:.60}; give the path of an STL, OBJ or PLY file.")
    faces = np.asarray(found.faces)
    if not closed(faces):
        raise ValueError(
            "Mesh: the surface is not closed: some edge belongs to one triangle only, or two triangles run along it in "
            "the same direction. Repair it, for example by trimesh.repair.fill_holes and fix_normals."
        )
    shape = MeshShape(np.asarray(found.vertices), faces, names, name)
    if shape.enclosed < 0:
        shape = MeshShape(np.asarray(found.vertices), faces[:, ::-1], names, name)
    return _domain("Mesh", shape)
