"""What users write for places and points, read."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Points, checks
from .box import ROUNDING, Box
from .faces import Faces
from .held import Held
from .place import TIME, AbstractPlace
from .points import Lines, PointSet

Where = AbstractPlace | Sequence[AbstractPlace] | Mapping[str, Any] | None


def locate(owner: str, on: Where, domain: Box, default: str) -> AbstractPlace:
    """The place that `on=` means: a face, a list of faces, points by name, or the `default` ("interior"/"boundary")."""
    if on is None:
        return domain if default == "interior" else domain.boundary
    if isinstance(on, Box):
        return _part(owner, on, domain)
    if isinstance(on, AbstractPlace):
        return on.within(domain)
    if isinstance(on, Mapping):
        return _given(owner, {str(name): values for name, values in on.items()}, domain)
    if isinstance(on, Sequence) and on:
        places = tuple(place.within(domain) for place in on if isinstance(place, AbstractPlace))
        if len(places) == len(on):
            return Faces(places)
    raise ValueError(
        f"{owner}: `on` must be a face, a list of faces, `domain.boundary` or a dict of point arrays, got {on!r}."
        + (" Use one condition for each kind of place." if isinstance(on, Sequence) and len(on) > 1 else "")
    )


def _given(owner: str, on: dict[str, Any], domain: Box) -> AbstractPlace:
    """Points by name, at all values of time and parameters that are left out, and with normals where they have them."""
    components = [f"n{name}" for name in domain.space]
    given = [name for name in components if name in on and name not in domain.names]
    if given and len(given) < len(components):
        lacking = [name for name in components if name not in given]
        raise ValueError(
            f"{owner}: the points have {checks.listed(given)} but not {checks.listed(lacking)}; a normal has a "
            "component for each coordinate of space."
        )
    points = {name: values for name, values in on.items() if name not in given}
    whole = bool(domain.space) and set(domain.space) <= set(points)  # else something is missing, which `columns` says
    others = domain.select(name for name in domain.names if whole and name not in points)
    filled = points | {name: domain.ends(name)[0] for name in others.names}
    rows = columns(owner, filled, domain).reshape(-1, domain.dimension)
    normals = _normals(owner, {name: on[name] for name in given}, rows, domain) if given else None
    if others.names:
        return Lines(rows, others, domain.names, normals)
    return PointSet(rows, normals)


def _normals(owner: str, given: dict[str, Any], rows: Points, domain: Box) -> Points:
    """Unit normals, one for each point, of which users give the direction."""
    arrays = [checks.finite_array(owner, name, values) for name, values in given.items()]
    try:
        direction = np.stack([np.broadcast_to(a.ravel() if a.ndim else a, (len(rows),)) for a in arrays], axis=-1)
    except ValueError:
        shapes = {name: a.shape for name, a in zip(given, arrays, strict=True)}
        raise ValueError(f"{owner}: there are {len(rows)} points, but normals of the shapes {shapes}.") from None
    lengths = np.linalg.norm(direction, axis=1, keepdims=True)
    if np.any(lengths == 0):
        raise ValueError(f"{owner}: the normal of point {int(np.argmin(lengths))} is zero; it must have a direction.")
    whole = np.zeros((len(rows), domain.dimension))
    whole[:, [domain.names.index(name) for name in domain.space]] = direction / lengths
    return jnp.asarray(whole)


def at_start(owner: str, on: Where, domain: Box) -> AbstractPlace:
    """A part of space at the lower end of time; all of it by default."""
    low = domain.ends(TIME)[0]
    if on is None:
        return domain.face(**{TIME: low})
    space = domain.select(name for name in domain.names if name != TIME)
    if isinstance(on, Mapping) and TIME in on:
        raise ValueError(f"{owner}: `on` is a part of space; leave out `{TIME}`, which is {low} there.")
    if isinstance(on, AbstractPlace) and TIME in dict(on.constants):
        raise ValueError(f"{owner}: `on` is a part of space, got a face at {dict(on.constants)}; leave out `{TIME}`.")
    return Held(locate(owner, on, space, "interior"), ((TIME, low),), domain.names)


def _part(owner: str, part: Box, domain: Box) -> Box:
    """A box of some of the coordinates, or a shape, as a part of the domain: the others have all their values."""
    shaped = () if part.shape is None else part.shape.names
    for name in part.names:
        if name not in domain.names:
            raise ValueError(
                f"{owner}: `on` has the coordinate `{name}`, which is none of "
                f"{'space' if domain.names == domain.space else 'the domain'} ({checks.listed(domain.names)}); leave "
                "it out." + checks.nearest(name, domain.names)
            )
        (low, high), (least, most) = part.ends(name), domain.ends(name)
        slack = ROUNDING * (most - least)
        if name not in shaped and (low < least - slack or high > most + slack):
            raise ValueError(
                f"{owner}: `on` has `{name}` in [{low}, {high}], outside [{least}, {most}]. Make it smaller, or "
                "widen the domain."
            )
    return part.within(domain)


def extent(place: AbstractPlace, column: int, name: str) -> tuple[float, float]:
    """The least and the largest value of coordinate `name`, number `column` of the domain, on a place."""
    fixed, chart = dict(place.constants), place.chart
    if name in fixed:
        return fixed[name], fixed[name]
    if name in chart.names:
        return chart.ends(name)
    points = np.concatenate([np.asarray(place.grid(1024)), np.asarray(place.sobol(1024))])
    found = np.asarray(embed_all(place, jnp.asarray(points)))[:, column]
    return float(found.min()), float(found.max())


def columns(owner: str, points: Mapping[str, Any], domain: Box) -> Float[Array, "*shape d"]:
    """A dict of arrays, one for each coordinate, as rows in the domain's order; a single point makes one row."""
    names = [str(name) for name in points]
    for name in domain.names:
        if name not in names:
            raise ValueError(
                f"{owner}: the points lack coordinate `{name}`; the domain has {checks.listed(domain.names)}, "
                f"the points have {checks.listed(names)}."
            )
    for name in names:
        if name not in domain.names:
            raise ValueError(
                f"{owner}: the points have `{name}`, which is no coordinate of the domain "
                f"({checks.listed(domain.names)})." + checks.nearest(name, domain.names)
            )
    arrays = {name: checks.finite_array(owner, name, points[name]) for name in domain.names}
    try:
        rows = np.stack(np.broadcast_arrays(*arrays.values()), axis=-1)
    except ValueError:
        shapes = {name: array.shape for name, array in arrays.items()}
        raise ValueError(f"{owner}: the coordinate arrays must have one shape, got {shapes}.") from None
    if rows.size == 0:
        raise ValueError(f"{owner}: the points are empty.")
    return jnp.asarray(inside(owner, np.atleast_2d(rows), domain))


def inside(owner: str, rows: np.ndarray, domain: Box) -> np.ndarray:
    """The points as they are, where all of them lie in the closed domain, but for what rounding does to its ends."""
    outside = domain.outside(rows)
    if not outside.any():
        return _inside_shape(owner, rows, domain)
    *index, column = (int(i) for i in np.argwhere(outside)[0])
    where = index[0] if len(index) == 1 else tuple(index)
    name, many, total = domain.names[column], int(outside.any(axis=-1).sum()), rows[..., 0].size
    low, high = domain.ends(name)
    what = "range" if name in domain.parameters else "domain"
    raise ValueError(
        f"{owner}: `{name}` is {rows[(*index, column)]} at index {where}, outside [{low}, {high}]; {many} of the "
        f"{total} points are outside. Drop them, or widen the {what}."
    )


def _inside_shape(owner: str, rows: np.ndarray, domain: Box) -> np.ndarray:
    beyond = domain.beyond_shape(rows)
    if not beyond.any():
        return rows
    first = tuple(int(i) for i in np.argwhere(beyond)[0])
    point = ", ".join(f"{name} = {value:g}" for name, value in zip(domain.names, rows[first], strict=True))
    where = first[0] if len(first) == 1 else first
    raise ValueError(
        f"{owner}: the point at index {where} ({point}) is outside the domain's shape; "
        f"{int(beyond.sum())} of the {beyond.size} points are. Drop them, or look at how the shapes lie."
    )


def embed_all(place: AbstractPlace, w: Float[Array, "n k"]) -> Points:
    """All chart points `w` as points of the domain."""
    return jax.vmap(place.embed)(w)
