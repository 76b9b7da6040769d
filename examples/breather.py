"""
A breather
==========

The sine-Gordon equation uₜₜ = uₓₓ − sin u has a solution that swings in its place for ever. Second order in time: two
conditions at the start, `Initial(u₀)` and `Initial(v₀, order=1)`.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt

import sclax as scl

omega = 0.8
width = (1 - omega**2) ** 0.5
exact = lambda x, t: 4 * jnp.arctan(width / omega * jnp.cos(omega * t) / jnp.cosh(width * x))

problem = scl.Problem(
    domain=scl.Box(x=(-10, 10), t=(0, 8)),
    objective=scl.average(scl.Initial(lambda x: exact(x, 0.0)))
    + scl.average(scl.Initial(0.0, order=1))
    + scl.average(scl.Dirichlet(exact)),
    constraints={"pde": scl.worst_case(lambda u, u_tt, u_xx: u_tt - u_xx + jnp.sin(u)) <= 1e-10},
    reference=exact,
)
solution = scl.solve(problem)
result = solution.error()


def plot():
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    values = solution.grid(x=200, t=200)["u"]
    image = axis.pcolormesh(values.t, values.x, values, cmap="RdBu_r", rasterized=True)
    axis.set(xlabel="$t$", ylabel="$x$", title=f"relative error {result:.0e}")
    figure.colorbar(image, ax=axis, label="$u$")
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "breather.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
