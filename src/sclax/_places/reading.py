"""What users write for places and points, read."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base import Points, checks
from .box import Box
from .faces import Faces
from .place import AbstractPlace
from .points import PointSet

Where = AbstractPlace | Sequence[AbstractPlace] | Mapping[str, Any] | None


def locate(owner: str, on: Where, domain: Box, default: str) -> AbstractPlace:
    """The place that `on=` means: a face, a list of faces, points by name, or the `default` ("interior"/"boundary")."""
    if on is None:
        return domain if default == "interior" else domain.boundary
    if isinstance(on, AbstractPlace):
        return on.within(domain)
    if isinstance(on, Mapping):
        return PointSet(columns(owner, on, domain).reshape(-1, domain.dimension))
    if isinstance(on, Sequence) and on:
        places = tuple(place.within(domain) for place in on if isinstance(place, AbstractPlace))
        if len(places) == len(on):
            return Faces(places)
    raise ValueError(
        f"{owner}: `on` must be a face, a list of faces, `domain.boundary` or a dict of point arrays, got {on!r}."
    )


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
    """The points as they are, where all of them lie in the closed box, but for what rounding does to its ends."""
    outside = domain.outside(rows)
    if not outside.any():
        return rows
    *index, column = (int(i) for i in np.argwhere(outside)[0])
    where = index[0] if len(index) == 1 else tuple(index)
    name, many, total = domain.names[column], int(outside.any(axis=-1).sum()), rows[..., 0].size
    low, high = domain.ends(name)
    what = "range" if name in domain.parameters else "domain"
    raise ValueError(
        f"{owner}: `{name}` is {rows[(*index, column)]} at index {where}, outside [{low}, {high}]; {many} of the "
        f"{total} points are outside. Drop them, or widen the {what}."
    )


def embed_all(place: AbstractPlace, w: Float[Array, "n k"]) -> Points:
    """All chart points `w` as points of the domain."""
    return jax.vmap(place.embed)(w)
