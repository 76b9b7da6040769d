"""No setting: no network, no points, no weights."""

import jax.numpy as jnp

import sclax as scl


def pde(u, u_t, u_x, u_xx):
    return u_t + u * u_x - 0.01 / jnp.pi * u_xx


def state(seed):
    return scl.Problem(
        domain=scl.Box(x=(-1, 1), t=(0, 1)),
        objective=scl.average(scl.Initial(lambda x: -jnp.sin(jnp.pi * x))) + scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(pde) <= 1e-13},
    )
