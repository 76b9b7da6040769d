"""4 × 50 tanh, points as in its example of Burgers' equation; it has no example of convection."""

import deepxde as dde
import numpy as np

ADAM = 15_000


def pde(x, u):
    return dde.grad.jacobian(u, x, j=1) + 30 * dde.grad.jacobian(u, x, j=0)


def state(seed):
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 2 * np.pi), dde.geometry.TimeDomain(0, 1))
    ring = dde.icbc.PeriodicBC(domain, 0, lambda x, on_boundary: on_boundary)
    start = dde.icbc.IC(domain, lambda x: np.sin(x[:, :1]), lambda x, on_initial: on_initial)
    data = dde.data.TimePDE(domain, pde, [ring, start], num_domain=2540, num_boundary=80, num_initial=160)
    net = dde.nn.FNN([2] + [50] * 4 + [1], "tanh", "Glorot normal")
    return dde.Model(data, net), {}
