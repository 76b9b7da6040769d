"""References of problems on shapes: formulas, a fit by exact solutions, finite elements."""

import functools

import numpy as np

CENTRES = ((-0.3, -0.3), (0.3, -0.3), (-0.3, 0.3), (0.3, 0.3))
RADIUS = 0.1
# Centre, radius and the temperature beyond the wall; larger disks are warm.
DISKS = (
    *((x, y, 1.0, 5.0) for x, y in ((-4, -9), (4, -9), (-4, -3), (4, -3), (-4, 3), (4, 3), (-4, 9), (4, 9))),
    *((x, y, 1.0, 5.0) for x, y in ((0, -6), (0, 0), (0, 6))),
    *((x, y, 0.4, 1.0) for x, y in ((-6.5, -6), (6.5, -6), (-6.5, 0), (6.5, 0), (-6.5, 6), (6.5, 6))),
)


def four_disks():
    """Harmonic functions that fit u = 1 on the square and u = 0 on the disks: polynomials, and at each disk a
    logarithm and negative powers. By the maximum principle the error is at most that on the boundary."""
    centres = np.asarray([complex(*c) for c in CENTRES])
    angle = 2 * np.pi * np.arange(240) / 240
    side = np.cos(np.pi * (np.arange(200) + 0.5) / 200) / 2
    walls = np.concatenate([side - 0.5j, side + 0.5j, -0.5 + 1j * side, 0.5 + 1j * side])
    rings = (centres[:, None] + RADIUS * np.exp(1j * angle)).ravel()
    coefficients, _, _, _ = np.linalg.lstsq(
        _harmonics(np.concatenate([walls, rings]), centres),
        np.concatenate([np.ones(len(walls)), np.zeros(len(rings))]),
        rcond=1e-14,
    )
    fine = 2 * np.pi * (np.arange(1000) + 0.3) / 1000
    check = (centres[:, None] + RADIUS * np.exp(1j * fine)).ravel()
    edge = np.linspace(-0.5, 0.5, 999)
    beside = np.concatenate([edge - 0.5j, edge + 0.5j, -0.5 + 1j * edge, 0.5 + 1j * edge])
    error = max(
        np.abs(_harmonics(check, centres) @ coefficients).max(),
        np.abs(_harmonics(beside, centres) @ coefficients - 1).max(),
    )
    grid = np.linspace(-0.5, 0.5, 201)
    z = (grid[:, None] + 1j * grid).ravel()
    z = z[np.min(np.abs(z[:, None] - centres), axis=1) >= RADIUS]
    return {"at": {"x": z.real, "y": z.imag}, "u": _harmonics(z, centres) @ coefficients, "error": float(error)}


def _harmonics(z, centres, powers=16, degree=30):
    columns = [np.ones(len(z))]
    for k in range(1, degree + 1):
        columns += [((z / 0.75) ** k).real, ((z / 0.75) ** k).imag]
    # What the walls mirror: the disks beyond them.
    mirrored = {
        complex(x, y)
        for c in centres
        for x in (c.real, np.sign(c.real) - c.real)
        for y in (c.imag, np.sign(c.imag) - c.imag)
    }
    for c in sorted(mirrored, key=lambda c: (c.real, c.imag)):
        columns.append(np.log(np.abs(z - c)))
        for k in range(1, powers + 1):
            columns += [((RADIUS / (z - c)) ** k).real, ((RADIUS / (z - c)) ** k).imag]
    return np.stack(columns, axis=1)


@functools.cache
def l_shape():
    """Finite elements of second order on meshes refined towards the corner; the error is the difference of two."""
    coarse, fine = (_l_shape(levels) for levels in (4, 5))
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    points = points[~((points[:, 0] > 0) & (points[:, 1] > 0))]
    first, second = coarse(points.T), fine(points.T)
    error = float(np.linalg.norm(first - second) / np.linalg.norm(second))
    return {"at": {"x": points[:, 0], "y": points[:, 1]}, "u": second, "error": error}


def _l_shape(levels):
    import skfem
    from skfem.models.poisson import laplace, unit_load

    mesh = skfem.MeshTri.init_lshaped().refined(levels)
    for _ in range(16):
        mesh = mesh.refined(np.flatnonzero(np.min(np.hypot(*mesh.p[:, mesh.t]), axis=0) == 0))
    basis = skfem.Basis(mesh, skfem.ElementTriP2())
    matrix, load = laplace.assemble(basis), unit_load.assemble(basis)
    u = skfem.solve(*skfem.condense(matrix, load, D=basis.get_dofs()))
    return lambda p: basis.probes(p) @ u


@functools.cache
def heat():
    """Finite elements of second order and Crank-Nicolson steps, on two meshes."""
    points, times = _heat_points()
    coarse, fine = (_heat(size, steps, points, times) for size, steps in ((0.4, 120), (0.2, 240)))
    error = float(np.linalg.norm(coarse - fine) / np.linalg.norm(fine))
    x, y = (np.tile(points[i], len(times)) for i in range(2))
    return {"at": {"x": x, "y": y, "t": np.repeat(times, points.shape[1])}, "u": fine.ravel(), "error": error}


def _heat_points():
    rng = np.random.default_rng(0)
    points = rng.uniform((-8, -12), (8, 12), (4000, 2)).T
    away = np.min([np.hypot(points[0] - x, points[1] - y) - r for x, y, r, _ in DISKS], axis=0)
    return points[:, away > 1e-2], np.linspace(0.25, 3.0, 12)


def _heat(size, steps, points, times):
    import scipy.sparse.linalg
    import skfem
    from skfem.helpers import dot, grad

    mesh = _plate_mesh(size)
    basis = skfem.Basis(mesh, skfem.ElementTriP2())
    stiffness = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis)
    mass = skfem.BilinearForm(lambda u, v, w: u * v).assemble(basis)
    middle = mesh.p[:, mesh.facets[:, mesh.boundary_facets()]].mean(axis=1)
    beyond = np.full(middle.shape[1], 0.1)
    for x, y, r, value in DISKS:
        beyond[np.hypot(middle[0] - x, middle[1] - y) < r + 0.2] = value
    wall, load = 0.0, 0.0
    for value in np.unique(beyond):
        facets = skfem.FacetBasis(mesh, skfem.ElementTriP2(), facets=mesh.boundary_facets()[beyond == value])
        wall = wall + skfem.BilinearForm(lambda u, v, w: u * v).assemble(facets)
        load = load + value * skfem.LinearForm(lambda v, w: v).assemble(facets)
    step, u, found = 3.0 / steps, np.zeros(stiffness.shape[0]), []
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


def _plate_mesh(size):
    """Triangles of about a `size`, finer at the disks, by Delaunay's triangulation of points in rings round the disks
    and on a grid elsewhere."""
    import scipy.spatial
    import skfem

    rings, sizes = [], []
    for x, y, r, _ in DISKS:
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
    away = np.min([np.hypot(grid[:, 0] - x, grid[:, 1] - y) - (1.9 * r + 0.3) for x, y, r, _ in DISKS], axis=0)
    points = np.concatenate([rings, grid[away > 0.3 * size]])
    triangles = scipy.spatial.Delaunay(points).simplices
    centre = points[triangles].mean(axis=1)
    inside = np.min([np.hypot(centre[:, 0] - x, centre[:, 1] - y) - r for x, y, r, _ in DISKS], axis=0) > 0
    kept = triangles[inside]
    used, inverse = np.unique(kept, return_inverse=True)
    return skfem.MeshTri(points[used].T, inverse.reshape(kept.shape).T)
