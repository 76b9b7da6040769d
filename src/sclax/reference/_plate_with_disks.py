"""Heat in a plate with 17 disks, whose walls exchange it with what is beyond them."""

from typing import Any

import numpy as np
import xarray as xr

from .._base import checks, require
from ._support import provenance

EQUATION = "uₜ = Δu on [−8, 8] × [−12, 12] less 17 disks, u = 0 at t = 0, u + ∂u/∂n = 5, 1 and 0.1 on the walls, t ≤ 3"
OWNER = "plate_with_disks"
END = 3.0
SIZE, STEPS = 0.2, 240  # of the finer of two meshes
# Centre, radius and the temperature beyond the wall; larger disks are warm.
PLATE_DISKS = (
    *((x, y, 1.0, 5.0) for x, y in ((-4, -9), (4, -9), (-4, -3), (4, -3), (-4, 3), (4, 3), (-4, 9), (4, 9))),
    *((x, y, 1.0, 5.0) for x, y in ((0, -6), (0, 0), (0, 6))),
    *((x, y, 0.4, 1.0) for x, y in ((-6.5, -6), (6.5, -6), (-6.5, 0), (6.5, 0), (-6.5, 6), (6.5, 6))),
)


def plate_with_disks(size: float = SIZE, steps: int = STEPS) -> xr.Dataset:
    """u at scattered points and 12 times:  uₜ = Δu  on a plate less 17 disks,  u = 0 at first,  Robin walls.

    Finite elements of second order and Crank-Nicolson steps, on two meshes, one with triangles of about `size` and
    `steps` steps, the other with half as many of each; `attrs["error"]` is their relative difference. Needs the extra
    `fem`.

    !!! example
        `plate_with_disks().attrs["error"]`
    """
    size, steps = checks.positive(OWNER, "size", size), checks.count(OWNER, "steps", steps)
    if steps % 24:
        raise ValueError(f"{OWNER}: `steps` must be a multiple of 24, so that both meshes have 12 times in common.")
    points, times = _points()
    coarse, fine = (_heat(s, n, points, times) for s, n in ((2 * size, steps // 2), (size, steps)))
    x, y = (np.tile(points[i], len(times)) for i in range(2))
    at = {"x": ("point", x), "y": ("point", y), "t": ("point", np.repeat(times, points.shape[1]))}
    error = float(np.linalg.norm(coarse - fine) / np.linalg.norm(fine))
    about = {**provenance(EQUATION, f"finite elements of size {size:g}, {steps} steps"), "error": error}
    return xr.Dataset({"u": ("point", fine.ravel())}, at, about)


def _points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.uniform((-8, -12), (8, 12), (4000, 2)).T
    away = np.min([np.hypot(points[0] - x, points[1] - y) - r for x, y, r, _ in PLATE_DISKS], axis=0)
    return points[:, away > 1e-2], np.linspace(END / 12, END, 12)


def _heat(size: float, steps: int, points: np.ndarray, times: np.ndarray) -> np.ndarray:
    import scipy.sparse.linalg

    skfem: Any = require(OWNER, "skfem", "fem")
    helpers: Any = require(OWNER, "skfem.helpers", "fem")
    mesh = _plate_mesh(size)
    basis = skfem.Basis(mesh, skfem.ElementTriP2())
    stiffness = skfem.BilinearForm(lambda u, v, w: helpers.dot(helpers.grad(u), helpers.grad(v))).assemble(basis)
    mass = skfem.BilinearForm(lambda u, v, w: u * v).assemble(basis)
    middle = mesh.p[:, mesh.facets[:, mesh.boundary_facets()]].mean(axis=1)
    beyond = np.full(middle.shape[1], 0.1)
    for x, y, r, value in PLATE_DISKS:
        beyond[np.hypot(middle[0] - x, middle[1] - y) < r + 0.2] = value
    wall, load = 0.0, 0.0
    for value in np.unique(beyond):
        facets = skfem.FacetBasis(mesh, skfem.ElementTriP2(), facets=mesh.boundary_facets()[beyond == value])
        wall = wall + skfem.BilinearForm(lambda u, v, w: u * v).assemble(facets)
        load = load + value * skfem.LinearForm(lambda v, w: v).assemble(facets)
    step, u, found = END / steps, np.zeros(stiffness.shape[0]), []
    operator = stiffness + wall
    # The start contradicts the walls: four short implicit steps first, which damp what that excites.
    small = step / 4
    implicit = scipy.sparse.linalg.splu((mass + small * operator).tocsc())
    trapezoid = scipy.sparse.linalg.splu((mass + step / 2 * operator).tocsc())
    probe = basis.probes(points)
    for k in range(steps):
        if k == 0:
            for _ in range(4):
                u = implicit.solve(mass @ u + small * load)
        else:
            u = trapezoid.solve(mass @ u - step / 2 * (operator @ u) + step * load)
        if np.any(np.isclose((k + 1) * step, times)):
            found.append(probe @ u)
    return np.asarray(found)


def _plate_mesh(size: float) -> Any:
    """Triangles of about a `size`, finer at the disks, by Delaunay's triangulation of points in rings round the disks
    and on a grid elsewhere."""
    import scipy.spatial

    skfem: Any = require(OWNER, "skfem", "fem")
    rings, sizes = [], []
    for x, y, r, _ in PLATE_DISKS:
        h, distance = size * min(r, 0.6) * 0.35, 0.0
        while distance < 0.9 * r + 0.3:
            count = int(np.ceil(2 * np.pi * (r + distance) / h))
            angle = 2 * np.pi * (np.arange(count) + (len(rings) % 2) / 2) / count
            rings.append(np.stack([x + (r + distance) * np.cos(angle), y + (r + distance) * np.sin(angle)], axis=1))
            sizes.append(np.full(count, h))
            distance += 0.9 * h
            h *= 1.15
    rings = np.concatenate(rings)
    nx, ny = int(16 / (0.6 * size)), int(24 / (0.6 * size))
    gx, gy = np.meshgrid(np.linspace(-8, 8, nx + 1), np.linspace(-12, 12, ny + 1), indexing="ij")
    grid = np.stack([gx.ravel(), gy.ravel()], axis=1)
    away = np.min([np.hypot(grid[:, 0] - x, grid[:, 1] - y) - (1.9 * r + 0.3) for x, y, r, _ in PLATE_DISKS], axis=0)
    points = np.concatenate([rings, grid[away > 0.3 * size]])
    triangles = scipy.spatial.Delaunay(points).simplices
    centre = points[triangles].mean(axis=1)
    inside = np.min([np.hypot(centre[:, 0] - x, centre[:, 1] - y) - r for x, y, r, _ in PLATE_DISKS], axis=0) > 0
    kept = triangles[inside]
    used, inverse = np.unique(kept, return_inverse=True)
    return skfem.MeshTri(points[used].T, inverse.reshape(kept.shape).T)
