"""Steady flow in a square cavity whose lid moves."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import xarray as xr
from numpy.polynomial import legendre

from .._base import checks
from ._corners import CornerTerm, at_a_jump, at_a_kink
from ._support import provenance

EQUATION = "(u·∇)u = −∇p + Δu/Re, ∇·u = 0, (x, y) ∈ [0, 1]², u = (lid, 0) on y = 1, u = 0 on the other walls"
# Of the first solutions, which only start the last one.
COARSE = 24
# Of the data on the walls, whose series converge fast: the nearest singularity is a side away.
WALLS = 44


class Lid(NamedTuple):
    """The lid's speed at x, and what its ends do to the stream function."""

    parabolic: bool
    left: tuple[CornerTerm, ...]
    right: tuple[CornerTerm, ...]

    def speed(self, x: np.ndarray) -> np.ndarray:
        return 4 * x * (1 - x) if self.parabolic else np.ones_like(x)

    def stream(self, along_x: int, along_y: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A derivative of the terms of both corners at (x, y)."""
        found = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        for terms, distance, sign in ((self.left, x, 1.0), (self.right, 1 - x, (-1.0) ** along_x)):
            for term in terms:
                for _ in range(along_x):
                    term = term.along_lid()
                for _ in range(along_y):
                    term = term.along_wall()
                found = found + sign * (-1.0) ** along_y * term(distance, 1 - y)
        return found


def _table(x: np.ndarray, degree: int, order: int) -> np.ndarray:
    """Derivatives of the Legendre polynomials of [0, 1] up to `degree` at x, shape (x, degree + 1)."""
    return legendre.legvander(2 * x - 1, degree - order) @ legendre.legder(np.eye(degree + 1), order, scl=2.0)


def _clamped_basis(size: int) -> np.ndarray:
    """Shen's polynomials that vanish with their slope at both ends, as Legendre series (degree + 1, size).

    Their second derivatives are orthogonal, which keeps the system well conditioned.
    """
    k = np.arange(size)
    series = np.zeros((size + 4, size))
    scale = 1 / np.sqrt(2 * (2 * k + 3) ** 2 * (2 * k + 5))
    series[k, k] = scale
    series[k + 2, k] = -scale * (4 * k + 10) / (2 * k + 7)
    series[k + 4, k] = scale * (2 * k + 3) / (2 * k + 7)
    return series


def _hermite() -> np.ndarray:
    """The cubics with value at 0, slope at 0, value at 1 or slope at 1 equal to 1, as Legendre series (4, 4)."""
    return np.linalg.inv(_ends(3)).T


def _ends(degree: int) -> np.ndarray:
    """Value and slope at 0 and at 1 of the Legendre polynomials, shape (4, degree + 1)."""
    at = np.array([0.0, 1.0])
    return np.stack([_table(at, degree, 0), _table(at, degree, 1)], axis=1).reshape(4, degree + 1)


def _lifted(lid: Lid) -> np.ndarray:
    """The polynomial that, added to the corners' terms, has the cavity's data on all walls (Coons' patch)."""
    nodes, weights = legendre.leggauss(WALLS + 1)
    s = (nodes + 1) / 2
    project = (np.arange(WALLS + 1) + 0.5)[:, None] * (legendre.legvander(nodes, WALLS) * weights[:, None]).T
    zero, one = np.zeros_like(s), np.ones_like(s)
    across_x = [-lid.stream(i, 0, wall, s) for wall in (zero, one) for i in (0, 1)]
    across_y = [-lid.stream(0, i, s, wall) for wall in (zero, one) for i in (0, 1)]
    across_y[3] = across_y[3] + lid.speed(s)
    a, b = project @ np.stack(across_x, 1), project @ np.stack(across_y, 1)
    blend = np.zeros((WALLS + 1, 4))
    blend[:4] = _hermite().T
    corners = _ends(WALLS) @ b
    return blend @ a.T + b @ blend.T - blend @ corners @ blend.T


def _evaluated(series: np.ndarray, x: np.ndarray, y: np.ndarray, along_x: int, along_y: int) -> np.ndarray:
    degree = len(series) - 1
    return _table(x, degree, along_x) @ series @ _table(y, degree, along_y).T


class Flow(NamedTuple):
    """A stream function: the terms of the corners and a polynomial, as a series (degree + 1, degree + 1)."""

    reynolds: float
    lid: Lid
    series: np.ndarray

    def psi(self, along_x: int, along_y: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A derivative of ψ on the grid of x and y."""
        corners = self.lid.stream(along_x, along_y, x[:, None], y)
        return corners + _evaluated(self.series, x, y, along_x, along_y)

    def pressure_slopes(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∇p = Δu/Re − (u·∇)u."""
        d = lambda i, j: self.psi(i, j, x, y)
        u, v, shear = d(0, 1), -d(1, 0), d(1, 1)
        p_x = (d(2, 1) + d(0, 3)) / self.reynolds - u * shear - v * d(0, 2)
        p_y = -(d(3, 0) + d(1, 2)) / self.reynolds + u * d(2, 0) + v * shear
        return p_x, p_y

    def pressure(self, axis: np.ndarray) -> np.ndarray:
        """p on the grid of `axis` and itself, zero in the middle of the floor.

        Its slope is integrated up the middle, from there to the sides, and across the last cells to floor and lid: on
        these the third derivatives of ψ are an order of magnitude worse than anywhere else.
        """
        nodes, weights = legendre.leggauss(8)
        gap, middle = axis[1] - axis[0], np.array([0.5])
        inside = axis[:-1, None] + gap * (nodes + 1) / 2  # (cells, 8)
        across = lambda slopes: np.tensordot(slopes.reshape(-1, 8, slopes.shape[-1]), gap * weights / 2, (1, 0))
        up = np.cumsum(across(self.pressure_slopes(middle, inside.ravel())[1].T), axis=0)[:-1, 0]
        along = np.cumsum(across(self.pressure_slopes(inside.ravel(), axis[1:-1])[0]), axis=0)
        along = np.concatenate([np.zeros((1, len(axis) - 2)), along])
        p = up + along - along[len(axis) // 2]
        off = np.clip(axis, gap / 2, 1 - gap / 2)  # the corners themselves are left out
        floor, lid = (across(self.pressure_slopes(off, inside[cell])[1].T)[0] for cell in (0, -1))
        return np.column_stack([p[:, 0] - floor, p, p[:, -1] + lid])


def _at_the_walls(reynolds: float, parabolic: bool) -> Flow:
    """A flow that has the cavity's data on all walls and solves nothing inside."""
    if parabolic:
        lid = Lid(True, at_a_kink(4.0), at_a_kink(4.0))
    else:  # Seen from the left corner, which it leaves, the lid moves backwards.
        lid = Lid(False, at_a_jump(-reynolds), at_a_jump(reynolds))
    return Flow(reynolds, lid, _lifted(lid))


def _newton(known: Flow, inner: np.ndarray) -> np.ndarray:
    """The coefficients, in the clamped basis, of what has to be added to `known` to solve the weak form

    ∫ Δψ Δφ + Re Δψ (ψ_y φ_x − ψ_x φ_y) = 0  for all φ of the basis.
    """
    reynolds = known.reynolds
    size = len(inner)
    count = 3 * (size + 4) // 2
    nodes, weights = legendre.leggauss(count)
    x, weights = (nodes + 1) / 2, weights / 2
    f0, f1, f2 = (_table(x, size + 3, order) @ _clamped_basis(size) for order in range(3))
    known_x, known_y = known.psi(1, 0, x, x), known.psi(0, 1, x, x)
    known_laplacian = known.psi(2, 0, x, x) + known.psi(0, 2, x, x)
    area = np.outer(weights, weights)
    norm = np.inf
    for _ in range(25):
        psi_x, psi_y = known_x + f1 @ inner @ f0.T, known_y + f0 @ inner @ f1.T
        laplacian = known_laplacian + f2 @ inner @ f0.T + f0 @ inner @ f2.T
        wl = area * laplacian
        residual = f2.T @ wl @ f0 + f0.T @ wl @ f2 + reynolds * (f1.T @ (wl * psi_y) @ f0 - f0.T @ (wl * psi_x) @ f1)
        # Each entry: a factor at the nodes, then test and trial functions of x, then those of y.
        matrix = _assembled(
            (area, (f2, f2), (f0, f0)), (area, (f0, f0), (f2, f2)),
            (area, (f2, f0), (f0, f2)), (area, (f0, f2), (f2, f0)),
            (reynolds * area * psi_y, (f1, f2), (f0, f0)), (reynolds * area * psi_y, (f1, f0), (f0, f2)),
            (-reynolds * area * psi_x, (f0, f2), (f1, f0)), (-reynolds * area * psi_x, (f0, f0), (f1, f2)),
            (reynolds * wl, (f1, f0), (f0, f1)), (-reynolds * wl, (f0, f1), (f1, f0)),
        )  # fmt: skip
        change = scipy.linalg.solve(matrix, residual.ravel(), overwrite_a=True, check_finite=False)
        inner = inner - change.reshape(size, size)
        norm = np.abs(f0 @ change.reshape(size, size) @ f0.T).max()
        if norm < 1e-11:
            return inner
    raise FloatingPointError(
        f"lid_driven_cavity: Newton's method did not converge at Re = {reynolds:g}, last change {norm:.1e}. "
        f"Raise `degree` above {size}: the polynomials do not resolve the layers."
    )


def _difference(before: Flow, after: Flow, size: int) -> np.ndarray:
    """What `before` is more than `after`, which agree on the walls, in the clamped basis."""
    x = (legendre.leggauss(3 * (size + 4) // 2)[0] + 1) / 2
    inverse = np.linalg.pinv(_table(x, size + 3, 0) @ _clamped_basis(size))
    return inverse @ (before.psi(0, 0, x, x) - after.psi(0, 0, x, x)) @ inverse.T


def _assembled(*terms: tuple[np.ndarray, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Σ over nodes of factor · test · trial; summed over y first, so that a matrix costs size⁵ and not size⁶."""
    size = terms[0][1][0].shape[1]
    total = np.zeros((size * size, size * size))
    for factor, (test_x, trial_x), (test_y, trial_y) in terms:
        pairs = lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
        total += pairs(test_x, trial_x).T @ (factor @ pairs(test_y, trial_y))
    blocks = total.reshape(size, size, size, size)  # test and trial of x, test and trial of y
    return blocks.transpose(0, 2, 1, 3).reshape(size * size, size * size)


def _solved(reynolds: float, parabolic: bool, degree: int) -> Flow:
    coarse = min(COARSE, degree)
    known, inner = None, np.zeros((coarse, coarse))
    # Newton's method needs a start near by: double Re from 100 on, with polynomials of low degree.
    for stage in sorted({reynolds, *(100.0 * 2.0**i for i in range(20) if 100.0 * 2.0**i < reynolds)}):
        before, known = known, _at_the_walls(stage, parabolic)
        if before is not None:
            inner = inner + _difference(before, known, coarse)
        inner = _newton(known, inner)
    assert known is not None
    inner = _newton(known, np.pad(inner, (0, degree - coarse)))
    basis = _clamped_basis(degree)
    series = np.zeros((max(degree + 4, WALLS + 1),) * 2)
    series[: WALLS + 1, : WALLS + 1] += known.series
    series[: degree + 4, : degree + 4] += basis @ inner @ basis.T
    return known._replace(series=series)


def lid_driven_cavity(
    reynolds: float = 100.0, points: int = 128, parabolic_lid: bool = False, degree: int = 48
) -> xr.Dataset:
    """u, v, p and the stream function ψ [x, y] of steady flow in [0, 1]² under a lid with u = 1, or u = 4x(1 − x).

    u = ψ_y and v = −ψ_x; `points`, even, is the number of intervals a side. ψ is a polynomial plus what is not smooth
    at the lid's ends in closed form: where u jumps, r h(θ) of creeping flow and the Re r² h(θ) that inertia adds; under
    the parabolic lid r² h(θ). The polynomial has `degree`² coefficients, by Galerkin's method and Newton's. p is zero
    in the middle of the floor, and infinite at the lid's ends, where it is NaN: no error counts these two points.

    Measured by raising `degree` from 48 to 56, in relative L²:

    | lid | Re | u and v | u and v, 0.1 or more from the lid's ends | p there, largest |
    |---|---|---|---|---|
    | 4x(1 − x) | 100 | 9e-9 | 5e-9 | 4e-7 |
    | 1 | 100 | 3e-6 | 2e-6 | 1e-4 |
    | 1 | 400 | 2e-5 | 1e-5 | 2e-4 |
    | 1 | 1000 | 2e-4 | 1e-4 | 8e-4 |

    Beyond Re 1000 raise `degree`. An eighth of a side from all walls p is good to 1e-6 up to Re 400. The extrema on the
    centre lines at Re = 100 are −0.2140424 (u), 0.1795728 and −0.2538030 (v); Ghia et al. (1982) are up to 0.009 off
    these. 3 s.

    !!! example
        `scl.reference.lid_driven_cavity(100.0, parabolic_lid=True)`
    """
    owner = "lid_driven_cavity"
    reynolds, n = checks.positive(owner, "reynolds", reynolds), checks.count(owner, "points", points, 8)
    degree = checks.count(owner, "degree", degree, 8)
    if n % 2:
        raise ValueError(f"{owner}: `points` must be even, got {n}: p is zero in the middle of the floor.")
    flow, axis = _solved(reynolds, bool(parabolic_lid), degree), np.linspace(0.0, 1.0, n + 1)
    psi, u, v = flow.psi(0, 0, axis, axis), flow.psi(0, 1, axis, axis), -flow.psi(1, 0, axis, axis)
    for field in (psi, u, v):  # zero up to round-off
        field[[0, -1]] = field[:, [0, -1]] = 0.0
    u[:, -1] = flow.lid.speed(axis)
    p = flow.pressure(axis)
    p[[0, -1], -1] = np.nan
    fields = {"u": u, "v": v, "p": p, "psi": psi}
    attrs = provenance(
        EQUATION,
        "stream function, Legendre polynomials and the terms of the lid's ends, Galerkin, Newton",
        reynolds=reynolds, lid="4x(1 − x)" if parabolic_lid else "1", points=n, degree=degree,
    )  # fmt: skip
    return xr.Dataset({name: (("x", "y"), f) for name, f in fields.items()}, {"x": axis, "y": axis}, attrs)
