"""2 × 120 tanh, 1000 points inside, 100 on the boundary, as in its introductory tutorial."""

import torch
from pina import Condition
from pina.domain import CartesianDomain
from pina.equation.zoo import FixedValue, HelmholtzEquation
from pina.model import FeedForward
from pina.problem import SpatialProblem

COLUMNS = ["x", "y"]


def forcing(x):
    exact = torch.sin(2 * torch.pi * x.extract("x")) * torch.sin(3 * torch.pi * x.extract("y"))
    return (1 - 13 * torch.pi**2) * exact


class Helmholtz(SpatialProblem):
    output_variables = ["u"]
    spatial_domain = CartesianDomain({"x": [0, 1], "y": [0, 1]})
    domains = {"inside": spatial_domain, "walls": spatial_domain.partial()}
    conditions = {
        "inside": Condition(domain="inside", equation=HelmholtzEquation(k=1.0, forcing_term=forcing)),
        "walls": Condition(domain="walls", equation=FixedValue(0.0)),
    }


def state(seed):
    problem = Helmholtz()
    problem.discretise_domain(n=1000, domains=["inside"])
    problem.discretise_domain(n=100, domains=["walls"])
    return problem, FeedForward(input_dimensions=2, output_dimensions=1, layers=[120] * 2, func=torch.nn.Tanh)
