"""References on shapes: fits of their boundary values, and meshes that agree better the finer they are."""

import numpy as np
import pytest

import sclax as scl


def test_harmonic_functions_fit_the_boundary_better_the_more_they_are():
    few, more = (scl.reference.four_disks(powers, degree) for powers, degree in ((2, 4), (4, 8)))
    assert more.attrs["error"] < few.attrs["error"] / 5
    # Each is within its own error of the solution, by the maximum principle.
    assert np.max(np.abs(few["u"] - more["u"])) <= few.attrs["error"] + more.attrs["error"]
    on_square = np.maximum(np.abs(more.x), np.abs(more.y)) == 0.5
    assert np.max(np.abs(more["u"].values[on_square.values] - 1)) <= more.attrs["error"]
    assert float(more["u"].min()) + more.attrs["error"] > 0


def test_finer_meshes_of_the_plate_agree_better():
    coarse, fine = scl.reference.plate_with_disks(3.2, 24), scl.reference.plate_with_disks(1.6, 24)
    assert fine.attrs["error"] < coarse.attrs["error"] / 2
    # Heat comes in through all walls, from nothing, and never above what is beyond the warmest.
    means = fine["u"].groupby(fine["t"]).mean().values
    assert np.all(np.diff(means) > 0)
    assert float(fine["u"].max()) < 5.0
    with pytest.raises(ValueError, match="multiple of 24"):
        scl.reference.plate_with_disks(1.6, 25)
