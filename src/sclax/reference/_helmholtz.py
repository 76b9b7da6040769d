"""The Helmholtz equation on the unit square: a manufactured solution, and finite elements beside it."""

import numpy as np
import xarray as xr

from .._base import checks, require
from ._support import Manufactured, namespace, provenance

EQUATION = "Δu + k² u = q, (x, y) ∈ [0, 1]², u = sin(a₁πx) sin(a₂πy) on the boundary"


def _wavenumber(owner: str, k: float) -> float:
    """k, unless k² is a Dirichlet eigenvalue π²(m² + n²), where the solution is not unique."""
    k = checks.number(owner, "k", k)
    modes = np.arange(1, 2 + int(abs(k) / np.pi))
    eigenvalues = np.pi**2 * np.add.outer(modes**2, modes**2)
    if np.any(np.abs(k**2 - eigenvalues) < 1e-6 * eigenvalues):
        raise ValueError(
            f"{owner}: `k` = {k} is resonant, k² = π²(m² + n²) is a Dirichlet eigenvalue of the square, and "
            "the solution is not unique: move `k` off it."
        )
    return k


def helmholtz(a1: float, a2: float, k: float = 1.0) -> Manufactured:
    """u = sin(a₁πx) sin(a₂πy) and q = (k² − π²a₁² − π²a₂²) u of  Δu + k² u = q  on [0, 1]². Exact.

    !!! example
        `helmholtz(1, 4).solution(x, y)`
    """
    a1, a2 = checks.number("helmholtz", "a1", a1), checks.number("helmholtz", "a2", a2)
    factor = _wavenumber("helmholtz", k) ** 2 - np.pi**2 * (a1**2 + a2**2)

    def solution(x, y):
        xp = namespace(x, y)
        return xp.sin(a1 * np.pi * x) * xp.sin(a2 * np.pi * y)

    return Manufactured(solution, lambda x, y: factor * solution(x, y))


def helmholtz_fem(a1: float, a2: float, cells: int, order: int = 2, k: float = 1.0) -> xr.DataArray:
    """u[x, y] at the vertices, by Lagrange triangles of `order` 1 to 4 on a `cells` × `cells` grid.

    `attrs["error"]` is the relative L² error by quadrature; it falls like hᵒʳᵈᵉʳ⁺¹. Measured at (1, 4), k =
    1, order 2: 3.9e-4 with 32 cells, 4.9e-5 with 64; order 3: 9.2e-6 and 5.7e-7.

    !!! example
        `scl.reference.helmholtz_fem(2.0, 3.0, cells=32)`
    """
    owner = "helmholtz_fem"
    fem = require(owner, "skfem", "fem")
    elements = [fem.ElementTriP1, fem.ElementTriP2, fem.ElementTriP3, fem.ElementTriP4]
    if order not in (1, 2, 3, 4):
        raise ValueError(f"{owner}: `order` must be 1, 2, 3 or 4, got {order!r}.")
    cells, (solution, source) = checks.count(owner, "cells", cells), helmholtz(a1, a2, k)
    axis = np.linspace(0.0, 1.0, cells + 1)
    basis = fem.Basis(fem.MeshTri.init_tensor(axis, axis), elements[order - 1](), intorder=2 * order + 3)

    @fem.BilinearForm
    def energy(u, v, w):
        return k**2 * u * v - u.grad[0] * v.grad[0] - u.grad[1] * v.grad[1]

    @fem.LinearForm
    def load(v, w):
        return source(w.x[0], w.x[1]) * v

    @fem.Functional
    def mismatch(w):
        return (w["u"] - solution(w.x[0], w.x[1])) ** 2

    @fem.Functional
    def size(w):
        return solution(w.x[0], w.x[1]) ** 2

    fixed = basis.get_dofs()
    start = basis.zeros()
    start[fixed] = solution(*basis.doflocs[:, fixed.flatten()])
    u = fem.solve(*fem.condense(energy.assemble(basis), load.assemble(basis), x=start, D=fixed))
    square = mismatch.assemble(basis, u=basis.interpolate(u)), size.assemble(basis)
    nodal = u[basis.nodal_dofs[0]]
    place = np.rint(basis.mesh.p * cells).astype(int)
    values = np.empty((cells + 1, cells + 1))
    values[place[0], place[1]] = nodal
    attrs = provenance(
        EQUATION,
        f"finite elements, Lagrange triangles of order {order}",
        a1=float(a1), a2=float(a2), k=float(k), cells=cells, unknowns=int(basis.N),
        error=float(np.sqrt(square[0] / square[1])),
    )  # fmt: skip
    return xr.DataArray(values, {"x": axis, "y": axis}, ("x", "y"), "u", attrs)
