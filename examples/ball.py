"""
A ball with a ball taken out of it
==================================

Poisson's equation in three dimensions: Δu = 6, u = x² + y² + z² outside. The inner sphere is insulated from u's own
slope, ∂u/∂n = −2r, so that u = x² + y² + z² is the solution.
"""

# %%
import sys
from pathlib import Path

import sclax as scl

domain = scl.Ball(x=0, y=0, z=0, radius=1, name="skin") - scl.Ball(x=0, y=0, z=0, radius=0.4, name="core")


def exact(x, y, z):
    return x**2 + y**2 + z**2


problem = scl.Problem(
    domain=domain,
    objective=scl.average(scl.Dirichlet(exact, on=domain.boundary["skin"]))
    + scl.average(scl.Neumann(-0.8, on=domain.boundary["core"])),
    constraints={"pde": scl.worst_case(lambda lap_u: lap_u - 6) <= 1e-8},
    reference=exact,
)
solution = scl.solve(problem, steps=60)
result = solution.error()


def plot():
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"relative L2 error {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "ball.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
