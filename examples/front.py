"""
A front that steepens
=====================

Burgers' equation uₜ + u uₓ = ν uₓₓ with ν = 0.01/π, from −sin πx: a front of width 0.01 forms at x = 0, t = 0.32.
Nobody says where: polynomials are tried first, and tiles get smaller where the last coefficients are large.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

problem = scl.Problem(
    domain=scl.Box(x=(-1, 1), t=(0, 1)),
    parameters={"nu": 0.01 / np.pi},
    objective=scl.average(scl.Initial(lambda x: -jnp.sin(jnp.pi * x))) + scl.average(scl.Dirichlet(0.0)),
    constraints={"burgers": scl.worst_case(lambda u, u_t, u_x, u_xx, nu: u_t + u * u_x - nu * u_xx) <= 1e-12},
)
solution = scl.solve(problem)

# %%
# The exact solution of the zoo's `burgers_front` is an integral, by Cole and Hopf.
result = solution.error(scl.zoo.burgers_front().reference)


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    values = solution.grid(x=400, t=200)["u"]
    image = left.pcolormesh(values.t, values.x, values, cmap="RdBu_r", rasterized=True)
    left.set(xlabel="$t$", ylabel="$x$")
    figure.colorbar(image, ax=left, label="$u$")
    x = np.linspace(-1, 1, 1001)
    for t, style in ((0.0, ":"), (0.25, "-."), (0.5, "--"), (1.0, "-")):
        right.plot(x, solution(x=x, t=t), style, label=f"$t = {t:g}$", color="#2d6a8a")
    right.set(xlabel="$x$", ylabel="$u$")
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "front.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
