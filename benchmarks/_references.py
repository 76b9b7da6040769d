"""References of problems on shapes at scattered points: those of the library, and finite elements on an L."""

import functools

import numpy as np

import sclax as scl
from sclax.reference import FOUR_CENTRES as CENTRES
from sclax.reference import FOUR_RADIUS as RADIUS
from sclax.reference import PLATE_DISKS as DISKS

__all__ = ("CENTRES", "DISKS", "RADIUS", "four_disks", "heat", "l_shape")


def _scattered(dataset):
    at = {str(name): dataset.coords[name].values for name in dataset.coords}
    return {"at": at, "u": dataset["u"].values, "error": dataset.attrs["error"]}


def four_disks():
    return _scattered(scl.reference.four_disks())


@functools.cache
def heat():
    return _scattered(scl.reference.plate_with_disks())


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
