"""A string over an obstacle: it is as short as it can be, and nowhere below. Inequalities are laws too.

min ∫ u'²/2  subject to  u ≥ ½ − 4 (x − ½)²  and  u(0) = u(1) = 0. The exact string is straight from its supports to the
points of contact x = ½ ± a, where the tangent of the obstacle passes through the support: 4a² − 4a + ½ = 0.
"""

# %%
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

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
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"u(0.05) is off the exact tangent by {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "obstacle.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
