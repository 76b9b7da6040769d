"""
How fast does heat spread?
==========================

The coefficient of uₜ = D uₓₓ from 50 noisy sensors. Equation, start and walls are known and hold to their tolerances;
of D is known that it is positive; sensors are off by 0.01, and their misfit is what is minimised.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

D, NOISE = 0.3, 0.01
draw = np.random.default_rng(0)
x, t = draw.uniform(size=(2, 50))
u = np.exp(-D * np.pi**2 * t) * np.sin(np.pi * x) + NOISE * draw.standard_normal(50)

# %%
problem = scl.Problem(
    domain=scl.Box(x=(0, 1), t=(0, 1)),
    parameters={"D": scl.Unknown(1.0, positive=True)},
    objective=scl.average(scl.Observations({"x": x, "t": t}, u, noise=NOISE)),
    constraints={
        "pde": scl.worst_case(lambda u_t, u_xx, D: u_t - D * u_xx) <= 1e-6,
        "start": scl.average(scl.Initial(lambda x: jnp.sin(jnp.pi * x))) <= 1e-6,
        "walls": scl.average(scl.Dirichlet(0.0)) <= 1e-6,
    },
)
solution = scl.solve(problem, steps=150)
found = solution.estimates["D"]  # 0.302 ± 0.0023, 95 % in [0.297, 0.307]
result = abs(found.value / D - 1)


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained", width_ratios=(3, 2))
    values = solution.grid(x=101, t=101)["u"]
    image = left.pcolormesh(values.t, values.x, values, vmin=0, vmax=1, cmap="viridis", rasterized=True)
    left.scatter(t, x, c=u, vmin=0, vmax=1, cmap="viridis", s=26, edgecolors="white", linewidths=0.9)
    left.set(title="fitted solution, and the sensors", xlabel="$t$", ylabel="$x$")
    figure.colorbar(image, ax=left, label="$u$")
    error = np.abs(np.subtract(found.interval, found.value))[:, None]
    right.errorbar([found.value], [0], xerr=error, fmt="o", capsize=5, color="#0072b2", label="estimate, 95 %")
    right.axvline(D, color="#d55e00", linestyle="--", label="truth")
    right.set(title="the diffusion coefficient", xlabel="$D$", yticks=[], ylim=(-1, 1))
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    print(solution.check(), found, sep="\n")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "diffusion_coefficient.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
