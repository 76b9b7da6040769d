"""3 × 40 tanh, 400 times and those of the data, as in its example of Lorenz's system."""

import deepxde as dde

from ._measurements import lorenz

ADAM = 60_000


def state(seed):
    unknown = {name: dde.Variable(1.0) for name in ("sigma", "rho", "beta")}
    sigma, rho, beta = unknown.values()

    def ode(t, q):
        x, y, z = q[:, :1], q[:, 1:2], q[:, 2:]
        x_t, y_t, z_t = (dde.grad.jacobian(q, t, i=i) for i in range(3))
        return [x_t - sigma * (y - x), y_t - x * (rho - z) + y, z_t - x * y + beta * z]

    domain = dde.geometry.TimeDomain(0, 3)
    times, measured, _ = lorenz(seed)
    at_start = lambda i, value: dde.icbc.IC(domain, lambda t: value, lambda t, on_initial: on_initial, component=i)
    starts = [at_start(i, value) for i, value in enumerate((-8, 7, 27))]
    observed = [dde.icbc.PointSetBC(times[:, None], measured[:, i : i + 1], component=i) for i in range(3)]
    known = [*starts, *observed]
    data = dde.data.PDE(domain, ode, known, num_domain=400, num_boundary=2, anchors=times[:, None])
    net = dde.nn.FNN([1] + [40] * 3 + [3], "tanh", "Glorot uniform")
    return dde.Model(data, net), unknown
