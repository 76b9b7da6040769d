"""Least squares by blocks against numpy's of the whole matrix, and the polynomials on tiles."""

import numpy as np
import pytest

from sclax._spectral import Axis, Solved, Tile
from sclax._spectral.fronts import Rows, Undetermined, least_squares
from sclax._spectral.tiles import fitted, gauss, indices, polynomials, tiles


def chain(rng, sizes, ring):
    """Rows that touch one block each, and some that touch two neighbours; on a ring the last and the first too."""
    rows = [Rows((k,), rng.normal(size=(n + 5, n)), rng.normal(size=n + 5)) for k, n in enumerate(sizes)]
    pairs = [(k, k + 1) for k in range(len(sizes) - 1)] + [(0, len(sizes) - 1)] * ring
    for a, b in pairs:
        rows.append(Rows((a, b), rng.normal(size=(3, sizes[a] + sizes[b])), rng.normal(size=3)))
    return rows


def dense(rows, sizes):
    starts = np.cumsum([0, *sizes])
    matrix = np.zeros((sum(len(g.right) for g in rows), starts[-1]))
    at = 0
    for group in rows:
        here, column = slice(at, at + len(group.right)), 0
        for block in group.blocks:
            width = sizes[block]
            matrix[here, starts[block] : starts[block + 1]] = group.matrix[:, column : column + width]
            column += width
        at += len(group.right)
    return matrix, np.concatenate([g.right for g in rows])


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("sizes", [[7], [4, 9], [6, 3, 8, 5, 7]])
def test_blocks_give_the_least_squares_solution_of_the_whole(sizes, ring):
    rng = np.random.default_rng(len(sizes))
    rows = chain(rng, sizes, ring and len(sizes) > 2)
    found, rest = least_squares(rows, sizes)
    matrix, right = dense(rows, sizes)
    expected = np.linalg.lstsq(matrix, right, rcond=None)[0]
    assert np.concatenate(found) == pytest.approx(expected, rel=1e-10)
    assert rest == pytest.approx(np.linalg.norm(matrix @ expected - right), rel=1e-10)


def test_no_digits_are_lost_by_squaring():
    """Columns of sizes 1 and 1e-9: normal equations, with a condition of 1e18, would find neither."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 12)) * np.where(np.arange(12) % 2, 1e-9, 1.0)
    true = rng.normal(size=12) / np.where(np.arange(12) % 2, 1e-9, 1.0)
    found, rest = least_squares([Rows((0,), matrix, matrix @ true)], [12])
    assert found[0] == pytest.approx(true, rel=1e-6)
    assert rest < 1e-12


def test_what_no_row_sees_is_said():
    matrix = np.ones((5, 2))  # both columns alike
    with pytest.raises(Undetermined):
        least_squares([Rows((0,), matrix, np.ones(5))], [2])
    with pytest.raises(Undetermined):
        least_squares([Rows((0,), np.ones((1, 1)), np.ones(1))], [1, 1])


def test_derivatives_of_polynomials_are_those_of_numpy():
    x = np.linspace(-1, 1, 9)
    for order in range(4):
        for k in range(7):
            expected = np.polynomial.chebyshev.Chebyshev.basis(k).deriv(order)(x)
            assert polynomials(x, 7, order)[:, k] == pytest.approx(expected, abs=1e-9)


def test_a_tile_differentiates_in_its_own_lengths():
    """u = x³ y² on a box that is not the unit one: u_xy = 6 x² y."""
    tile = Tile((1.0, -2.0), (4.0, -1.0), (5, 4))
    c = fitted(tile, lambda z: (z[:, 0] ** 3 * z[:, 1] ** 2)[:, None])
    z = np.asarray([[1.3, -1.1], [4.0, -2.0], [2.0, -1.5]])
    assert (tile.basis(z, (1, 1)) @ c.T)[:, 0] == pytest.approx(6 * z[:, 0] ** 2 * z[:, 1], rel=1e-11)
    assert Solved([tile], [c])(z, (0, 2))[:, 0] == pytest.approx(2 * z[:, 0] ** 3, rel=1e-11)


def test_three_dimensions_have_degrees_of_bounded_sum():
    every = indices((6, 6, 6))
    assert len(every) < 6**3
    assert [0, 0, 5] in every.tolist()
    assert [5, 5, 5] not in every.tolist()


def test_axes_are_refined_and_coarsened():
    axis = Axis((0.0, 1.0), (8,))
    assert axis.refined(0, 24) == Axis((0.0, 1.0), (11,))
    halves = Axis((0.0, 1.0), (24,)).refined(0, 24)
    assert halves.edges == (0.0, 0.5, 1.0)
    assert len(tiles((halves, axis))) == 2
    assert Axis((0.0, 0.5, 1.0), (8, 8)).coarsened([0.0, 0.0], 1e-12, 24) == Axis((0.0, 1.0), (14,))
    assert halves.coarsened([1.0, 1.0], 1e-12, 24) == halves


def test_gauss_points_are_zeros():
    x = gauss(-1.0, 1.0, 9)
    assert np.cos(9 * np.arccos(x)) == pytest.approx(np.zeros(9), abs=1e-13)
    assert np.all(np.diff(gauss(2.0, 5.0, 9)) > 0)
