"""2 × 64 tanh on a periodic embedding, as in its tutorial of these; 1000 points inside, 100 at the start."""

import torch
from pina import Condition
from pina.domain import CartesianDomain
from pina.equation import Equation
from pina.equation.zoo import AdvectionEquation
from pina.model import FeedForward
from pina.model.block import PeriodicBoundaryEmbedding
from pina.problem import SpatialProblem, TimeDependentProblem

COLUMNS = ["x", "t"]


class Convection(SpatialProblem, TimeDependentProblem):
    output_variables = ["u"]
    spatial_domain = CartesianDomain({"x": [0, 2 * torch.pi]})
    temporal_domain = CartesianDomain({"t": [0, 1]})
    domains = {
        "inside": spatial_domain.update(temporal_domain),
        "start": spatial_domain.update(CartesianDomain({"t": 0})),
    }
    conditions = {
        "inside": Condition(domain="inside", equation=AdvectionEquation(c=30.0)),
        "start": Condition(domain="start", equation=Equation(lambda x, u: u - torch.sin(x.extract("x")))),
    }


def state(seed):
    problem = Convection()
    problem.discretise_domain(n=1000, domains=["inside"])
    problem.discretise_domain(n=100, domains=["start"])
    ring = PeriodicBoundaryEmbedding(input_dimension=2, periods={"x": 2 * torch.pi, "t": 2.0})
    return problem, torch.nn.Sequential(ring, FeedForward(input_dimensions=6, output_dimensions=1, layers=[64, 64]))
