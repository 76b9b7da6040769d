"""3 × 32 tanh, 2500 points inside, 200 on the walls, 200 at the start, as in its notebook of Burgers' equation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns

OPTIMISER = "Broyden steps"


def state(seed):
    key_data, key_net = jax.random.split(jax.random.PRNGKey(seed))
    domain = {"dim": 1, "min_pts": (-1.0,), "max_pts": (1.0,), "tmin": 0.0, "tmax": 1.0}
    data = jinns.data.CubicMeshPDENonStatio(key=key_data, n=2500, nb=200, ni=200, **domain)
    tanh, hidden = (jnp.tanh,), (eqx.nn.Linear, 32, 32)
    layers = ((eqx.nn.Linear, 2, 32), tanh, hidden, tanh, hidden, tanh, (eqx.nn.Linear, 32, 1))
    u, weights = jinns.nn.PINN_MLP.create(key=key_net, eqx_list=layers, eq_type="PDENonStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={"nu": jnp.asarray(0.01 / jnp.pi)})
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=jinns.loss.BurgersEquation(),
        initial_condition_fun=lambda x: -jnp.sin(jnp.pi * x),
        boundary_condition=jinns.loss.Dirichlet(),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(dyn_loss=1.0, initial_condition=1.0, boundary_loss=1.0),
        params=params,
    )
    return params, data, loss, None
