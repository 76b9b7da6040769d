"""
A disk with a hole off its centre
=================================

Poisson's equation Δu = f, u given on both circles; u = sin(2x + y) exp(xy) is made to be the solution, so that the
error is known.
"""

# %%
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

import sclax as scl

domain = scl.Disk(x=0, y=0, radius=1) - scl.Disk(x=0.3, y=0.2, radius=0.25, name="hole")


def exact(x, y):
    return jnp.sin(2 * x + y) * jnp.exp(x * y)


def equation(lap_u, x, y):
    return lap_u - jnp.trace(jax.hessian(lambda z: exact(*z))(jnp.stack([x, y])))


# %%
problem = scl.Problem(
    domain=domain,
    objective=scl.average(scl.Dirichlet(exact)),
    constraints={"pde": scl.worst_case(equation) <= 1e-12},
    reference=exact,
)
solution = scl.solve(problem, steps=40)
result = solution.error()


def plot():
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"relative L2 error {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "disk_with_hole.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
