"""
A hot hexagonal bar cools in air
================================

uₜ = Δu, ∂u/∂n = −2u on its walls (Newton's cooling), u = 1 at first. What is lost through the walls is missing
inside: d/dt ∫ u = −2 ∮ u.
"""

# %%
import sys
from pathlib import Path

import numpy as np

import sclax as scl

angle = np.arange(6) * np.pi / 3
bar = scl.Polygon({"x": np.cos(angle), "y": np.sin(angle)})
domain = bar * scl.Interval(t=(0.0, 0.5))

problem = scl.Problem(
    domain=domain,
    objective=scl.average(scl.Initial(1.0)) + scl.average(scl.Robin(2.0, 1.0, 0.0)),
    constraints={"pde": scl.worst_case(lambda u_t, lap_u: u_t - lap_u) <= 1e-6},
)
solution = scl.solve(problem, steps=300)

# %%
times = np.linspace(0.1, 0.5, 5)
gone = np.asarray(solution.integrate("u_t", t=times))
lost = -2 * np.asarray(solution.integrate("u", over=domain.boundary, t=times))
result = float(np.max(np.abs(gone - lost)) / np.max(np.abs(lost)))


def plot():
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"what is lost through the walls is off what is missing inside by {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "heat_on_a_polygon.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
