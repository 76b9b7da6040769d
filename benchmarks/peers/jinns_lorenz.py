"""3 × 40 tanh, 400 times, as in DeepXDE's example; the three parameters are learned with the network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns

from ._measurements import lorenz

OPTIMISER = "Broyden steps"
UNKNOWN = ("sigma", "rho", "beta")


class Lorenz(jinns.loss.ODE):
    def equation(self, t, u, params):
        (x, y, z), slopes = jax.jvp(lambda t: u(t, params), (t,), (jnp.ones_like(t),))
        known = params.eq_params
        return slopes - jnp.stack([known.sigma * (y - x), x * (known.rho - z) - y, x * y - known.beta * z])


def state(seed):
    key_data, key_net = jax.random.split(jax.random.PRNGKey(seed))
    data = jinns.data.DataGeneratorODE(key=key_data, nt=400, tmin=0.0, tmax=3.0)
    times, measured, _ = lorenz(seed)
    observed = jinns.data.DataGeneratorObservations(
        key=key_data, observed_pinn_in=jnp.asarray(times)[:, None], observed_values=jnp.asarray(measured)
    )
    tanh, hidden = (jnp.tanh,), (eqx.nn.Linear, 40, 40)
    layers = ((eqx.nn.Linear, 1, 40), tanh, hidden, tanh, hidden, tanh, (eqx.nn.Linear, 40, 3))
    u, weights = jinns.nn.PINN_MLP.create(key=key_net, eqx_list=layers, eq_type="ODE")
    params = jinns.parameters.Params(nn_params=weights, eq_params={name: jnp.asarray(1.0) for name in UNKNOWN})
    loss = jinns.loss.LossODE(
        u=u,
        dynamic_loss=Lorenz(),
        initial_condition=(jnp.asarray([0.0]), jnp.asarray([-8.0, 7.0, 27.0])),
        loss_weights=jinns.loss.LossWeightsODE(dyn_loss=1.0, initial_condition=1.0, observations=1.0),
        derivative_keys=jinns.parameters.DerivativeKeysODE.from_str(params, dyn_loss="both"),
        params=params,
    )
    return params, data, loss, observed
