"""How tests measure the error of a classical solution."""

import itertools

import numpy as np


def orders(values):
    """log₂ of the ratios of successive differences, largest over the grid."""
    changes = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in itertools.pairwise(values)]
    return np.log2(np.array(changes[:-1]) / changes[1:])


def relative(a, b):
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)) / np.linalg.norm(np.asarray(b)))
