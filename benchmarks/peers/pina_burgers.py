"""2 × 120 tanh, 1000 points inside and 100 on each part, as in its introductory tutorial."""

import torch
from pina import Condition
from pina.domain import CartesianDomain
from pina.equation import Equation
from pina.equation.zoo import BurgersEquation, FixedValue
from pina.model import FeedForward
from pina.problem import SpatialProblem, TimeDependentProblem

COLUMNS = ["x", "t"]


class Burgers(SpatialProblem, TimeDependentProblem):
    output_variables = ["u"]
    spatial_domain = CartesianDomain({"x": [-1, 1]})
    temporal_domain = CartesianDomain({"t": [0, 1]})
    domains = {
        "inside": spatial_domain.update(temporal_domain),
        "start": spatial_domain.update(CartesianDomain({"t": 0})),
        "walls": spatial_domain.partial().update(temporal_domain),
    }
    conditions = {
        "inside": Condition(domain="inside", equation=BurgersEquation(nu=0.01 / torch.pi)),
        "start": Condition(domain="start", equation=Equation(lambda x, u: u + torch.sin(torch.pi * x.extract("x")))),
        "walls": Condition(domain="walls", equation=FixedValue(0.0)),
    }


def state(seed):
    problem = Burgers()
    problem.discretise_domain(n=1000, domains=["inside"])
    problem.discretise_domain(n=100, domains=["start", "walls"])
    return problem, FeedForward(input_dimensions=2, output_dimensions=1, layers=[120] * 2, func=torch.nn.Tanh)
