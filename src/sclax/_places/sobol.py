"""Sobol's sequence. SciPy has it too, in a package that takes longer to import than all of JAX; beyond the dimensions
listed here it is asked."""

import numpy as np

# Of each dimension from the second on, its primitive polynomial and first direction numbers (Joe and Kuo 2008).
DIRECTIONS = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
)
BITS = 30
OFFSETS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0])


def _directions(degree: int, polynomial: int, first: tuple[int, ...]) -> np.ndarray:
    """v_i = m_i / 2ⁱ as integers of BITS digits, by the recurrence of the polynomial."""
    v = [m << (BITS - i - 1) for i, m in enumerate(first)]
    for i in range(degree, BITS):
        new = v[i - degree] ^ (v[i - degree] >> degree)
        for k in range(1, degree):
            if polynomial >> (degree - 1 - k) & 1:
                new ^= v[i - k]
        v.append(new)
    return np.asarray(v, np.uint32)


def fixed_sobol(dimension: int, power: int) -> np.ndarray:
    """Those points with some digits turned, which keeps them even: as they are, hundreds of them lie on one diagonal,
    and a shape that ends there has them all or none."""
    turned = (np.resize(OFFSETS, dimension) % 1.0 * 2**BITS).astype(np.int64)
    return ((sobol(dimension, power) * 2**BITS).astype(np.int64) ^ turned) / 2.0**BITS


def sobol(dimension: int, power: int) -> np.ndarray:
    """The first 2^power points of the sequence in [0, 1)^dimension, in the order of the Gray code."""
    if dimension > len(DIRECTIONS) + 1:
        from scipy.stats import qmc

        return qmc.Sobol(dimension, scramble=False).random_base2(power)
    directions = [np.asarray([1 << (BITS - i - 1) for i in range(BITS)], np.uint32)]
    directions += [_directions(*row) for row in DIRECTIONS[: dimension - 1]]
    numbers = np.arange(2**power, dtype=np.uint32)
    gray = numbers ^ (numbers >> 1)
    digits = (gray[:, None] >> np.arange(max(power, 1), dtype=np.uint32)) & 1
    columns = [np.bitwise_xor.reduce(np.where(digits == 1, v[: digits.shape[1]], 0), axis=1) for v in directions]
    return np.stack(columns, axis=-1) / 2.0**BITS
