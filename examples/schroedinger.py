"""
Schrödinger's equation
======================

``i ψₜ + ½ ψₓₓ + |ψ|² ψ = 0`` as a system of two unknowns, ψ = p + i q: a soliton that travels, and keeps its shape.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt

import sclax as scl

speed = 1.5


def exact(x, t):
    phase = speed * x + (1 - speed**2) * t / 2
    return jnp.cos(phase) / jnp.cosh(x - speed * t), jnp.sin(phase) / jnp.cosh(x - speed * t)


def equation(p, q, p_t, q_t, p_xx, q_xx):
    size = p**2 + q**2
    return p_xx / 2 + size * p - q_t, q_xx / 2 + size * q + p_t


both = {"p": lambda x, t: exact(x, t)[0], "q": lambda x, t: exact(x, t)[1]}
start = {"p": lambda x: exact(x, 0.0)[0], "q": lambda x: exact(x, 0.0)[1]}
problem = scl.Problem(
    domain=scl.Box(x=(-6, 10), t=(0, 2)),
    unknowns=("p", "q"),
    objective=scl.average(scl.Initial(start)) + scl.average(scl.Dirichlet(both)),
    constraints={"pde": scl.worst_case(equation) <= 1e-12},
    reference=exact,
)
solution = scl.solve(problem)
result = solution.error()


def plot():
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    values = solution.grid(x=300, t=200)
    image = axis.pcolormesh(values.t, values.x, values["p"] ** 2 + values["q"] ** 2, cmap="cividis", rasterized=True)
    axis.set(xlabel="$t$", ylabel="$x$", title=f"relative error {result:.0e}")
    figure.colorbar(image, ax=axis, label=r"$|\psi|^2$")
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "schroedinger.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
