"""The losses of samples."""

import abc
from typing import ClassVar

import equinox as eqx
import numpy as np


class AbstractLoss(eqx.Module):
    """The loss of a sample, as a sum of squares of differences, each over a divisor (`power` 2), or its root (1).

    !!! example
        `scl.each(scl.Data(scl.RelativeL2())) <= 1e-3`, with one of its two kinds
    """

    power: ClassVar[int]

    @abc.abstractmethod
    def divisors(self, norms: np.ndarray, points: int) -> np.ndarray:
        """The divisor of each sample's differences, from the norm of its data and its number of points."""


class MeanSquare(AbstractLoss):
    """The loss of a sample:  mean over its points of |u − data|².

    !!! example
        `each(Observations({"x": x}, u), loss=MeanSquare()) <= 1e-4`
    """

    power: ClassVar[int] = 2

    def divisors(self, norms, points):
        return np.full_like(norms, points**0.5)


class RelativeL2(AbstractLoss):
    """The loss of a sample:  ‖u − data‖ / ‖data‖ over its points, not squared; noise divides both.

    !!! example
        `each(Data(RelativeL2())) <= 1e-3`
    """

    power: ClassVar[int] = 1

    def divisors(self, norms, points):
        if not np.all(norms > 0):
            raise ValueError(
                f"RelativeL2: sample {int(np.argmin(norms))} is zero everywhere, so nothing is relative to it; use "
                "MeanSquare()."
            )
        return norms
