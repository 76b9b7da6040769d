"""4 × 50 tanh, 1200 points inside, 120 on the boundary, as in its example of the L-shape."""

import deepxde as dde

ADAM = 50_000


def pde(x, u):
    return -dde.grad.hessian(u, x, i=0, j=0) - dde.grad.hessian(u, x, i=1, j=1) - 1


def state(seed):
    domain = dde.geometry.Polygon([[0, 0], [1, 0], [1, -1], [-1, -1], [-1, 1], [0, 1]])
    walls = dde.icbc.DirichletBC(domain, lambda x: 0, lambda x, on_boundary: on_boundary)
    data = dde.data.PDE(domain, pde, walls, num_domain=1200, num_boundary=120)
    net = dde.nn.FNN([2] + [50] * 4 + [1], "tanh", "Glorot uniform")
    return dde.Model(data, net), {}
