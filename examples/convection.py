"""
Transport on a ring
===================

Stated law by law: the equation holds in the worst case, the conditions on average.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp

import sclax as scl


def convection(u_t, u_x, beta):
    return u_t + beta * u_x


problem = scl.Problem(
    domain=scl.Box(x=(0, 2 * jnp.pi), t=(0, 1)),
    parameters={"beta": 5.0},
    objective=scl.average(scl.Initial(lambda x: jnp.sin(x)), n=256) + scl.average(scl.Periodic("x"), n=100),
    constraints={"pde": scl.worst_case(convection) <= 1e-3},
    reference=lambda x, t, beta: jnp.sin(x - beta * t),
)

# %%
solution = scl.solve(problem, seed=0, steps=60)
result = solution.error()


def plot():
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"relative L2 error {result:.2e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "convection.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
