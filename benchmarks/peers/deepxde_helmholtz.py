"""3 × 150 sin, 400 points inside, exact on the boundary by a factor, as in its example of Helmholtz' equation."""

import deepxde as dde
import numpy as np
from deepxde.backend import sin

ADAM = 5_000


def pde(x, u):
    u_xx, u_yy = dde.grad.hessian(u, x, i=0, j=0), dde.grad.hessian(u, x, i=1, j=1)
    exact = sin(2 * np.pi * x[:, :1]) * sin(3 * np.pi * x[:, 1:])
    return u_xx + u_yy + u - (1 - 13 * np.pi**2) * exact


def state(seed):
    square = dde.geometry.Rectangle([0, 0], [1, 1])
    data = dde.data.PDE(square, pde, [], num_domain=400, num_boundary=80)
    net = dde.nn.FNN([2] + [150] * 3 + [1], "sin", "Glorot uniform")
    net.apply_output_transform(lambda x, u: x[:, :1] * (1 - x[:, :1]) * x[:, 1:] * (1 - x[:, 1:]) * u)
    return dde.Model(data, net), {}
