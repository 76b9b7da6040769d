"""One step of the weights on the Lagrangian, and how a run begins."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from .._base import Key, Model, Points, Scalar
from .._problem import AbstractProblem, ByConstraint, Evaluation
from ..samplers import AbstractSampler

GENTLE = 0.01  # the price of a constraint, in its units, that must not decide where training goes
Count = Int[Array, ""]
Prices = Callable[[ByConstraint], ByConstraint]  # from violations to the factors of the constraints' gradients


class PrimalInfo(NamedTuple):
    """What a step found: the pass at the old model, the Lagrangian there (without tolerances), the number of passes
    beyond it, and whether all gradients were finite, which a step that was not taken does not show."""

    evaluation: Evaluation
    loss: Scalar
    trials: Count
    finite: Any = True


class AbstractStart(eqx.Module):
    """How a run begins: in which units the dual sees the constraints, and steps that make a new network ready."""

    steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def units(self, problem: AbstractProblem, model: Model, key: Key) -> ByConstraint:
        """The size of each constraint's value at the start; the dual sees values and multipliers in these units."""

    @abc.abstractmethod
    def init(self, model: Model) -> PyTree:
        """The state before the first of `steps`."""

    @abc.abstractmethod
    def step(
        self, problem: AbstractProblem, model: Model, state: PyTree, units: ByConstraint, key: Key
    ) -> tuple[Model, PyTree]:
        """One step of a network that `solve` has built; networks that exist already make none."""

    @abc.abstractmethod
    def evaluations(self, problem: AbstractProblem) -> int:
        """How many evaluations of differential operators all `steps` make."""


class PlainStart(AbstractStart):
    """Units of one, and a network as it was built."""

    steps: int = eqx.field(static=True, default=0)

    def units(self, problem, model, key):
        return {name: jnp.ones(()) for name in problem.tolerances}

    def init(self, model):
        return ()

    def step(self, problem, model, state, units, key):
        return model, state

    def evaluations(self, problem):
        return 0


class AbstractPrimal(eqx.Module):
    """Moves the weights down the Lagrangian  objective + Σ price_k value_k  on given points.

    `chunk` are the iterations between two looks of the host, a fraction of a second; `double` says whether it needs
    double precision, `watched` whether its states are compared on a spare draw, the best of them being the result.

    !!! example
        `FirstOrder`, what an optax transformation becomes, is one in twenty lines.
    """

    chunk: ClassVar[int]
    double: ClassVar[bool]
    watched: ClassVar[bool]

    @property
    @abc.abstractmethod
    def start(self) -> AbstractStart:
        """How a run begins."""

    @abc.abstractmethod
    def prepare(
        self, problem: Any, worst_case: AbstractSampler | None = None, average: AbstractSampler | None = None
    ) -> Any:
        """The problem with every open choice of points made."""

    @abc.abstractmethod
    def init(self, model: Model) -> PyTree:
        """The first state."""

    @abc.abstractmethod
    def step(
        self,
        problem: AbstractProblem,
        model: Model,
        state: PyTree,
        points: tuple[Points, ...],
        scale: Any,
        prices: Prices,
        share: Any = 1.0,
    ) -> tuple[Model, PyTree, PrimalInfo]:
        """The new model and state, and what the step found. `scale` multiplies the objective; the step goes a `share`
        of its length."""
