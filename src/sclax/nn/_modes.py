"""Functions of space and time, mixed as the parameters of a family ask for."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base import Model, Point
from ._tiles import Tiles


class Modes(eqx.Module):
    """A family of functions as combinations of a few:

        u(z; p) = Σ_k c_k(p) φ_k(z).

    What `Spectral` finds for a family: the modes φ span members of it that were solved one by one, and their amplitudes
    c are polynomials in the parameters.

    **Arguments:**

    - `modes`: `Tiles` of the coordinates without the parameters; its outputs are the modes of the first unknown, then
      those of the next.
    - `amplitudes`: `Tiles` of the parameters, with an output for each mode.

    !!! example
        All lines c x through 0, for x in [−1, 1] and c in [0, 1]:
        `Modes(Tiles([[-1.0]], [[1.0]], [[[0.0, 1.0]]]), Tiles([[0.0]], [[1.0]], [[[0.5, 0.5]]]))`
    """

    fitted: ClassVar[bool] = True  # to all laws at once, without multipliers

    modes: Tiles
    amplitudes: Tiles

    def __check_init__(self):
        modes, amplitudes = self.modes.coefficients.shape[1], self.amplitudes.coefficients.shape[1]
        if modes % amplitudes:
            raise ValueError(
                f"Modes: `modes` has {modes} outputs, which are not as many for each of {amplitudes} modes."
            )

    def __call__(self, z: Point) -> Float[Array, " m"]:
        inner = self.modes.lower.shape[1]
        amplitudes = self.amplitudes(z[inner:])
        return self.modes(z[:inner]).reshape(-1, len(amplitudes)) @ amplitudes

    @property
    def looked_up(self) -> int:
        """How many numbers are copied for each of many points."""
        return self.modes.looked_up + self.amplitudes.looked_up

    def member(self, parameters: Float[Array, " p"]) -> "Member":
        """The model at given parameters, as a function of all coordinates; at many points that is much cheaper."""
        amplitudes = self.amplitudes(parameters)
        modes = self.modes.coefficients
        split = modes.reshape(len(modes), -1, len(amplitudes), *modes.shape[2:])
        mixed = jnp.einsum("kmr...,r->km...", split, amplitudes)
        return Member(eqx.tree_at(lambda tiles: tiles.coefficients, self.modes, mixed))


class Member(eqx.Module):
    """A function that does not see the parameters of the family that it is of, which are the last coordinates."""

    function: Tiles

    def __call__(self, z: Point) -> Float[Array, " m"]:
        return self.function(z[: self.function.lower.shape[1]])


def member(model: Model, parameters: Float[Array, " p"]) -> Model:
    """A model of a family for use at one member, as a function of all coordinates.

    !!! example
        `member(solution.model, jnp.array([30.0]))`, of a family over β
    """
    return model.member(parameters) if hasattr(model, "member") else model  # pyright: ignore
