"""Functions of space and time, mixed as the parameters of a family ask for."""

import equinox as eqx
from jaxtyping import Array, Float

from .._base import Point
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
