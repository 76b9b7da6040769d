"""A harmonic function between a square and four disks in it."""

import numpy as np
import xarray as xr

from ._support import provenance

FOUR_CENTRES = ((-0.3, -0.3), (0.3, -0.3), (-0.3, 0.3), (0.3, 0.3))
FOUR_RADIUS = 0.1
EQUATION = "Δu = 0 on [−1/2, 1/2]² less four disks, u = 1 on the square, u = 0 on the disks"
METHOD = "least squares by harmonic functions"


def four_disks(powers: int = 16, degree: int = 30) -> xr.Dataset:
    """u of  Δu = 0  on [−½, ½]² less four disks,  u = 1 on the square and u = 0 on the disks, at points in between.

    Harmonic functions that fit the boundary: polynomials of `degree`, and at each disk a logarithm and negative
    `powers`. By the maximum principle the error is at most that on the boundary, `attrs["error"]`.

    !!! example
        `four_disks().attrs["error"]`
    """
    centres = np.asarray([complex(*c) for c in FOUR_CENTRES])
    angle = 2 * np.pi * np.arange(240) / 240
    side = np.cos(np.pi * (np.arange(200) + 0.5) / 200) / 2
    walls = np.concatenate([side - 0.5j, side + 0.5j, -0.5 + 1j * side, 0.5 + 1j * side])
    rings = (centres[:, None] + FOUR_RADIUS * np.exp(1j * angle)).ravel()
    coefficients, _, _, _ = np.linalg.lstsq(
        _harmonics(np.concatenate([walls, rings]), centres, powers, degree),
        np.concatenate([np.ones(len(walls)), np.zeros(len(rings))]),
        rcond=1e-14,
    )
    fine = 2 * np.pi * (np.arange(1000) + 0.3) / 1000
    check = (centres[:, None] + FOUR_RADIUS * np.exp(1j * fine)).ravel()
    edge = np.linspace(-0.5, 0.5, 999)
    beside = np.concatenate([edge - 0.5j, edge + 0.5j, -0.5 + 1j * edge, 0.5 + 1j * edge])
    error = max(
        np.abs(_harmonics(check, centres, powers, degree) @ coefficients).max(),
        np.abs(_harmonics(beside, centres, powers, degree) @ coefficients - 1).max(),
    )
    grid = np.linspace(-0.5, 0.5, 201)
    z = (grid[:, None] + 1j * grid).ravel()
    z = z[np.min(np.abs(z[:, None] - centres), axis=1) >= FOUR_RADIUS]
    u = _harmonics(z, centres, powers, degree) @ coefficients
    coordinates = {"x": ("point", z.real), "y": ("point", z.imag)}
    return xr.Dataset({"u": ("point", u)}, coordinates, {**provenance(EQUATION, METHOD), "error": float(error)})


def _harmonics(z: np.ndarray, centres: np.ndarray, powers: int, degree: int) -> np.ndarray:
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
            columns += [((FOUR_RADIUS / (z - c)) ** k).real, ((FOUR_RADIUS / (z - c)) ** k).imag]
    return np.stack(columns, axis=1)
