"""
Chaos, to twelve digits
=======================

Lorenz's system to t = 15, where an error of 1e-12 has grown by a factor of about a million. Slab after slab is as long
as the last coefficients allow, and each starts where the one before it ends.
"""

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sclax as scl


def lorenz(x, y, z, x_t, y_t, z_t):
    return x_t - 10 * (y - x), y_t - x * (28 - z) + y, z_t - x * y + 8 / 3 * z


problem = scl.Problem(
    domain=scl.Box(t=(0, 15)),
    unknowns=("x", "y", "z"),
    objective=scl.average(scl.Initial({"x": 1.0, "y": 1.0, "z": 1.0})),
    constraints={"ode": scl.worst_case(lorenz) <= 1e-10},
    reference=scl.zoo.lorenz().reference,  # in extended precision
)
solution = scl.solve(problem)
result = solution.error()


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    t = np.linspace(0, 15, 3000)
    values = solution(t=t)
    left.plot(values["x"], values["z"], lw=0.7, color="#2d6a8a")
    left.set(xlabel="$x$", ylabel="$z$")
    for name, style in (("x", "-"), ("y", "--"), ("z", ":")):
        right.plot(t, values[name], style, lw=1, label=f"${name}$")
    right.set(xlabel="$t$")
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "chaos.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
