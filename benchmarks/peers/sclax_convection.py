"""No setting: no network, no points, no weights."""

import jax.numpy as jnp

import sclax as scl


def state(seed):
    return scl.Problem(
        domain=scl.Box(x=(0, 2 * jnp.pi), t=(0, 1)),
        objective=scl.average(scl.Initial(lambda x: jnp.sin(x))) + scl.average(scl.Periodic("x")),
        constraints={"pde": scl.worst_case(lambda u_t, u_x: u_t + 30 * u_x) <= 1e-11},
    )
