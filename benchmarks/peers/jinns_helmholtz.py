"""3 × 32 tanh, 2500 points inside, 400 on the boundary; it has no notebook of Helmholtz' equation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns

OPTIMISER = "Broyden steps"


class Helmholtz(jinns.loss.PDEStatio):
    def equation(self, x, u, params):
        exact = jnp.sin(2 * jnp.pi * x[:1]) * jnp.sin(3 * jnp.pi * x[1:])
        laplacian = jinns.loss.laplacian_rev(x, u, params, eq_type="PDEStatio")
        return laplacian + params.eq_params.k**2 * u(x, params) - (1 - 13 * jnp.pi**2) * exact


def state(seed):
    key_data, key_net = jax.random.split(jax.random.PRNGKey(seed))
    domain = {"dim": 2, "min_pts": (0.0, 0.0), "max_pts": (1.0, 1.0)}
    data = jinns.data.CubicMeshPDEStatio(key=key_data, n=2500, nb=400, **domain)
    tanh, hidden = (jnp.tanh,), (eqx.nn.Linear, 32, 32)
    layers = ((eqx.nn.Linear, 2, 32), tanh, hidden, tanh, hidden, tanh, (eqx.nn.Linear, 32, 1))
    u, weights = jinns.nn.PINN_MLP.create(key=key_net, eqx_list=layers, eq_type="PDEStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={"k": jnp.asarray(1.0)})
    loss = jinns.loss.LossPDEStatio(
        u=u,
        dynamic_loss=Helmholtz(),
        boundary_condition=jinns.loss.Dirichlet(),
        loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, boundary_loss=1.0),
        params=params,
    )
    return params, data, loss, None
