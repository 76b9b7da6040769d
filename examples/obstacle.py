"""
A string over an obstacle
=========================

It is as short as it can be, and nowhere below: inequalities are laws too. The exact string is straight from its
supports to the points of contact x = ½ ± a, where the obstacle's tangent meets the support: 4a² − 4a + ½ = 0.
"""

# %%
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import sclax as scl

domain = scl.Box(x=(0, 1))

problem = scl.Problem(
    domain=domain,
    objective=0.5 * scl.average(lambda u_x: u_x),
    constraints={
        "obstacle": scl.worst_case(scl.Inequality(lambda u, x: 0.5 - 4 * (x - 0.5) ** 2 - u)) <= 1e-4,
    },
)

# The supports hold by construction.
network = scl.nn.HardConstraint(
    scl.nn.MLP(domain, width=32, depth=2, key=jax.random.key(0)), lambda u, x: x * (1 - x) * u, domain
)

# %%
solution = scl.solve(problem, network, steps=200)
contact = 0.5 - 0.125**0.5
slope = 8 * contact
result = float(jnp.abs(solution(x=0.05) - 0.05 * slope))


def plot():
    figure, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    x = jnp.linspace(0, 1, 401)
    obstacle = 0.5 - 4 * (x - 0.5) ** 2
    axis.fill_between(x, -0.05, obstacle, where=obstacle > -0.05, color="#bbbbbb", label="obstacle")
    exact = jnp.where(jnp.abs(x - 0.5) < contact, obstacle, slope * jnp.minimum(x, 1 - x))
    axis.plot(x, exact, color="#d55e00", linewidth=3, alpha=0.5, label="exact")
    axis.plot(x, solution(x=x), color="#0072b2", label="string")
    axis.set(xlabel="$x$", ylabel="$u$", ylim=(-0.05, 0.6))
    axis.legend(frameon=False, ncols=3, loc="upper center")
    return figure


if __name__ == "__main__":
    print(solution.check())
    print(f"u(0.05) is off the exact tangent by {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "obstacle.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
