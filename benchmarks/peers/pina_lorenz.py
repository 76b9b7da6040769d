"""3 × 40 tanh, 400 times, as in DeepXDE's example; PINA asks for a range of each unknown, [0, 20], draws its start
there and keeps it inside."""

import torch
from pina import Condition, LabelTensor
from pina.domain import CartesianDomain
from pina.equation import Equation, SystemEquation
from pina.equation.zoo import FixedValue
from pina.model import FeedForward
from pina.operator import grad
from pina.problem import InverseProblem, TimeDependentProblem

from ._measurements import lorenz


def ode(t, q, unknown):
    x, y, z = (q.extract(name) for name in "xyz")
    x_t, y_t, z_t = (grad(q, t, components=[name], d=["t"]) for name in "xyz")
    residuals = (
        x_t - unknown["sigma"] * (y - x),
        y_t - x * (unknown["rho"] - z) + y,
        z_t - x * y + unknown["beta"] * z,
    )
    return torch.cat([one.as_subclass(torch.Tensor) for one in residuals], dim=1)


def state(seed):
    times, measured, _ = lorenz(seed)

    class Lorenz(TimeDependentProblem, InverseProblem):
        output_variables = ["x", "y", "z"]
        temporal_domain = CartesianDomain({"t": [0, 3]})
        unknown_parameter_domain = CartesianDomain({name: [0, 20] for name in ("sigma", "rho", "beta")})
        domains = {"inside": temporal_domain, "start": CartesianDomain({"t": 0.0})}
        start = [FixedValue(value, components=[name]) for name, value in (("x", -8.0), ("y", 7.0), ("z", 27.0))]
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(ode)),
            "start": Condition(domain="start", equation=SystemEquation(start)),
            "data": Condition(
                input=LabelTensor(torch.tensor(times[:, None], dtype=torch.float32), ["t"]),
                target=LabelTensor(torch.tensor(measured, dtype=torch.float32), ["x", "y", "z"]),
            ),
        }

    problem = Lorenz()
    problem.discretise_domain(n=400, domains=["inside"])
    problem.discretise_domain(n=1, domains=["start"])
    return problem, FeedForward(input_dimensions=1, output_dimensions=3, layers=[40] * 3, func=torch.nn.Tanh)
