"""3 × 32 tanh and points as in its notebook of Burgers' equation; it has no notebook of convection."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns

OPTIMISER = "Broyden steps"


class Convection(jinns.loss.PDENonStatio):
    def equation(self, t_x, u, params):
        u_t, u_x = jax.grad(lambda t_x: u(t_x, params).squeeze())(t_x)
        return jnp.stack([u_t + params.eq_params.beta * u_x])


class Ring(jinns.loss.BoundaryConditionAbstract):
    def equation_u(self, inputs, u, params):
        return (u(inputs[..., 0], params) - u(inputs[..., 1], params),)

    def equation_f(self, inputs, params, gridify=False):
        return (jnp.zeros(1),)


def state(seed):
    key_data, key_net = jax.random.split(jax.random.PRNGKey(seed))
    domain = {"dim": 1, "min_pts": (0.0,), "max_pts": (2 * jnp.pi,), "tmin": 0.0, "tmax": 1.0}
    data = jinns.data.CubicMeshPDENonStatio(key=key_data, n=2500, nb=200, ni=200, **domain)
    tanh, hidden = (jnp.tanh,), (eqx.nn.Linear, 32, 32)
    layers = ((eqx.nn.Linear, 2, 32), tanh, hidden, tanh, hidden, tanh, (eqx.nn.Linear, 32, 1))
    u, weights = jinns.nn.PINN_MLP.create(key=key_net, eqx_list=layers, eq_type="PDENonStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={"beta": jnp.asarray(30.0)})
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=Convection(),
        initial_condition_fun=lambda x: jnp.sin(x),
        boundary_condition=Ring(),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(dyn_loss=1.0, initial_condition=1.0, boundary_loss=1.0),
        params=params,
    )
    return params, data, loss, None
