"""
A symmetry in place of points
=============================

uₜ + 30 uₓ = 0 on a ring, on 100 points that are drawn once: a sum of losses and a constrained equation both fail
between them, and u(x, t) = u(x, t + 2π/30) says what is missing (the paper's figure 2).
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

domain = scl.Box(x=(0, 2 * jnp.pi), t=(0, 1))
points = np.random.default_rng(0).uniform((0, 0), (2 * np.pi, 1), (100, 2))
conditions = scl.average(scl.Initial(lambda x: jnp.sin(x)), n=256) + scl.average(scl.Periodic("x"), n=100)
equation = scl.average(lambda u_t, u_x: u_t + 30 * u_x, points=points)
period = scl.worst_case(scl.Invariance(t=lambda t: t + 2 * jnp.pi / 30))


def solved(method=None, **constraints):
    exact = lambda x, t: jnp.sin(x - 30 * t)
    problem = scl.Problem(domain=domain, objective=conditions, constraints=constraints, reference=exact)
    return scl.solve(problem, scl.nn.MLP, method, steps=10_000, seed=0)


# %%
penalty = scl.Penalty(scl.soap(1e-3), weights={"objective": 100.0})
solutions = {
    "sum of losses": solved(penalty, pde=equation <= 1e-5),
    "equation as a constraint": solved(pde=equation <= 1e-5),
    "equation and period": solved(pde=equation <= 1e-5, period=period <= 1e-5),
}
result = solutions["equation and period"].error()


def plot():
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.9), sharey=True, layout="constrained")
    for axis, (name, solution) in zip(axes, solutions.items(), strict=True):
        values = solution.grid(x=128, t=200)["u"]
        image = axis.pcolormesh(values.t, values.x, values, vmin=-1, vmax=1, cmap="RdBu_r", rasterized=True)
        axis.set_title(f"{name}: error {solution.error():.1%}", fontsize=9)
        axis.set_xlabel("$t$")
    axes[0].set_ylabel("$x$")
    figure.colorbar(image, ax=axes, label="$u$")
    return figure


if __name__ == "__main__":
    print(solutions["equation and period"].check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "invariance.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
