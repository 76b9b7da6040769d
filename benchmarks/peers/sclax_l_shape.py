"""No setting: no network, no points, no weights."""

import sclax as scl


def state(seed):
    return scl.Problem(
        domain=scl.Polygon({"x": [-1, 1, 1, 0, 0, -1], "y": [-1, -1, 0, 0, 1, 1]}),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"pde": scl.worst_case(lambda lap_u: lap_u + 1) <= 1e-14},
    )
