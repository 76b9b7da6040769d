"""No setting: no network, no points, no weights."""

import jax.numpy as jnp

import sclax as scl


def pde(u, lap_u, x, y):
    return lap_u + u - (1 - 13 * jnp.pi**2) * jnp.sin(2 * jnp.pi * x) * jnp.sin(3 * jnp.pi * y)


def state(seed):
    return scl.Problem(
        domain=scl.Box(x=(0, 1), y=(0, 1)),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(pde) <= 1e-10},
    )
