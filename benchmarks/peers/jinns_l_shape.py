"""3 × 20 tanh, 2500 points of the square, of which those outside the L ask for nothing, 400 on the boundary, given as
observations of zero: jinns draws points of boxes only."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np

OPTIMISER = "natural gradients"


class Poisson(jinns.loss.PDEStatio):
    def equation(self, x, u, params):
        laplacian = jinns.loss.laplacian_rev(x, u, params, eq_type="PDEStatio")
        return jnp.where(jnp.all(x > 0), 0.0, laplacian + params.eq_params.f)[None]


def state(seed):
    key_data, key_net = jax.random.split(jax.random.PRNGKey(seed))
    domain = {"dim": 2, "min_pts": (-1.0, -1.0), "max_pts": (1.0, 1.0)}
    data = jinns.data.CubicMeshPDEStatio(key=key_data, n=2500, **domain)
    corners = np.asarray([(-1, -1), (1, -1), (1, 0), (0, 0), (0, 1), (-1, 1), (-1, -1)])
    along = np.r_[0, np.cumsum(np.abs(np.diff(corners, axis=0)).sum(axis=1))]
    draws = np.random.default_rng(seed).uniform(0, along[-1], 400)
    walls = np.stack([np.interp(draws, along, corner) for corner in corners.T], axis=-1)
    zero = jinns.data.DataGeneratorObservations(
        key=key_data, observed_pinn_in=jnp.asarray(walls), observed_values=jnp.zeros((400, 1))
    )
    tanh, hidden = (jnp.tanh,), (eqx.nn.Linear, 20, 20)
    layers = ((eqx.nn.Linear, 2, 20), tanh, hidden, tanh, hidden, tanh, (eqx.nn.Linear, 20, 1))
    u, weights = jinns.nn.PINN_MLP.create(key=key_net, eqx_list=layers, eq_type="PDEStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={"f": jnp.asarray(1.0)})
    loss = jinns.loss.LossPDEStatio(
        u=u,
        dynamic_loss=Poisson(),
        loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, observations=1.0),
        params=params,
    )
    return params, data, loss, zero
