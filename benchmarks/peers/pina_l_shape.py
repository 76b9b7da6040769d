"""2 × 120 tanh, 1000 points inside, 100 on the boundary, as in its introductory tutorial, which has such a shape."""

import torch
from pina import Condition
from pina.domain import CartesianDomain, Difference, Union
from pina.equation.zoo import FixedValue, PoissonEquation
from pina.model import FeedForward
from pina.problem import SpatialProblem

COLUMNS = ["x", "y"]

square = CartesianDomain({"x": [-1, 1], "y": [-1, 1]})
shape = Difference([square, CartesianDomain({"x": [0, 1], "y": [0, 1]})])
long = [{"x": [-1, 1], "y": -1}, {"x": -1, "y": [-1, 1]}]
short = [{"x": 1, "y": [-1, 0]}, {"x": [-1, 0], "y": 1}, {"x": [0, 1], "y": 0}, {"x": 0, "y": [0, 1]}]
walls = Union([CartesianDomain(side) for side in [*long, *long, *short]])


class Poisson(SpatialProblem):
    output_variables = ["u"]
    spatial_domain = shape
    domains = {"inside": shape, "walls": walls}
    conditions = {
        "inside": Condition(domain="inside", equation=PoissonEquation(forcing_term=lambda x: -1.0)),
        "walls": Condition(domain="walls", equation=FixedValue(0.0)),
    }


def state(seed):
    problem = Poisson()
    problem.discretise_domain(n=1000, domains=["inside"])
    problem.discretise_domain(n=100, domains=["walls"])
    return problem, FeedForward(input_dimensions=2, output_dimensions=1, layers=[120] * 2, func=torch.nn.Tanh)
