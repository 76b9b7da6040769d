"""3 × 20 tanh, 2540 points inside, 80 on the walls, 160 at the start, as in its example of Burgers' equation."""

import deepxde as dde
import numpy as np

ADAM = 15_000


def pde(x, u):
    u_x, u_t = dde.grad.jacobian(u, x, j=0), dde.grad.jacobian(u, x, j=1)
    return u_t + u * u_x - 0.01 / np.pi * dde.grad.hessian(u, x, i=0, j=0)


def state(seed):
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
    walls = dde.icbc.DirichletBC(domain, lambda x: 0, lambda x, on_boundary: on_boundary)
    start = dde.icbc.IC(domain, lambda x: -np.sin(np.pi * x[:, :1]), lambda x, on_initial: on_initial)
    data = dde.data.TimePDE(domain, pde, [walls, start], num_domain=2540, num_boundary=80, num_initial=160)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    return dde.Model(data, net), {}
