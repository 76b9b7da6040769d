"""
A coefficient that varies from place to place
=============================================

a(x, y) of −∇·(a ∇u) = f, from 400 noisy sensors of u. Laws name an `UnknownField` and its derivatives: a, a_x, a_y.
"""

# %%
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

hill = lambda x, y: 1 + 0.6 * jnp.exp(-15 * ((x - 0.4) ** 2 + (y - 0.6) ** 2))
exact = lambda x, y: jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)
draw = np.random.default_rng(0)
x, y = draw.uniform(size=(2, 400))
u = np.asarray(exact(x, y)) + 0.01 * draw.standard_normal(400)


def equation(u_x, u_y, lap_u, a, a_x, a_y, x, y):
    flux = lambda z: hill(*z) * jax.grad(lambda z: exact(*z))(z)
    return a * lap_u + a_x * u_x + a_y * u_y - jnp.trace(jax.jacfwd(flux)(jnp.stack([x, y])))


problem = scl.Problem(
    domain=scl.Box(x=(0, 1), y=(0, 1)),
    parameters={"a": scl.UnknownField(("x", "y"), positive=True)},
    objective=scl.average(scl.Observations({"x": x, "y": y}, u, noise=0.01)),
    constraints={"pde": scl.worst_case(equation) <= 1e-3, "walls": scl.average(scl.Dirichlet(0.0)) <= 1e-6},
)
solution = scl.solve(problem, steps=100)
found = solution.estimates["a"]  # on a grid, with a deviation at every point
truth = np.asarray(hill(*np.meshgrid(found.value.x, found.value.y, indexing="ij")))
result = float(np.linalg.norm(found.value - truth) / np.linalg.norm(truth))


def plot():
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
    shown = {"truth": truth, "found": found.value, "deviation": found.deviation}
    for axis, (title, values) in zip(axes, shown.items(), strict=True):
        limits = {"cmap": "cividis"} if title == "deviation" else {"vmin": 0.9, "vmax": 1.7}
        image = axis.pcolormesh(found.value.x, found.value.y, np.asarray(values).T, rasterized=True, **limits)
        axis.set(title=title, xlabel="$x$", aspect="equal")
        figure.colorbar(image, ax=axis, label="$a$")
    axes[0].scatter(x, y, s=3, color="white", linewidths=0)
    axes[0].set_ylabel("$y$")
    return figure


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "coefficient_field.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
