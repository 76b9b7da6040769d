"""The losses of samples, and the misfit of a data set's samples."""

import equinox as eqx

from .._places import Box
from .fields import Vocabulary
from .law import AbstractCondition, Law


class MeanSquare(eqx.Module):
    """The loss of a sample:  mean over its points of |u − data|²."""


class RelativeL2(eqx.Module):
    """The loss of a sample:  ‖u − data‖ / ‖data‖ over its points, not squared; noise divides both."""


class Data(AbstractCondition):
    """The misfit of a sample of an `OperatorProblem`'s data set:  u(a_j) − u_j  on its grid.

    `loss` is `MeanSquare()` or `RelativeL2()`.

    !!! example
        `each(Data(RelativeL2())) <= 1e-3`, or `average(Data(RelativeL2()))` for training on the average loss.
    """

    loss: MeanSquare | RelativeL2 = MeanSquare()

    def bind(self, vocabulary: Vocabulary, domain: Box) -> Law:
        raise ValueError("Data: only an OperatorProblem has a data set; measurements at points are Observations(...).")
