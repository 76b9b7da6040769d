"""A law that resists bending for a while."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .fields import derivatives, outputs
from .law import AbstractResidual, Law
from .words import Asked, Vocabulary


class Smoothed(AbstractResidual):
    """A residual with the bending of the unknowns as further components:  (r, Σ_i c_ki ∂²u_k/∂z_i²).

    An equation such as |∇u| = 1 has many weak solutions, which differ in where they have kinks. With c > 0 kinks cost
    something, by their length, and the solution with few of them is the cheapest (Aviles and Giga's functional, for the
    eikonal equation); as c falls to 0, the solution sharpens and keeps its kinks where they are.
    """

    residual: AbstractResidual
    curbs: Float[Array, "unknowns coordinates"]
    along: tuple[int, ...] = eqx.field(static=True)  # the coordinates, those that are no parameters
    vocabulary: Vocabulary

    @property
    def asked(self) -> Asked:
        return self.residual.asked

    def written(self):
        return self.residual.written()

    def __call__(self, model, parameters, place, w):
        found = self.residual(model, parameters, place, w)
        network = lambda z: outputs(model, z, self.vocabulary)
        bends = derivatives(network, place.embed(w), [(i, i) for i in self.along])
        return jnp.concatenate([found, sum(self.curbs[:, i] * bends[i, i] for i in self.along)])


def smoothed(
    law: Law, curbs: Float[Array, "unknowns coordinates"], along: tuple[int, ...], vocabulary: Vocabulary
) -> Law:
    """The law with bending as further components of its residual."""
    residual = Smoothed(law.residual, curbs, along, vocabulary)
    return dataclasses.replace(law, residual=residual, order=max(law.order, 2))
