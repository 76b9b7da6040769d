"""
What becomes of any start
=========================

A Fourier neural operator learns uₜ + uₓ = 0.01 uₓₓ on a ring from 64 starts and what became of them. Every sample is a
constraint of its own, so that the mean hides no hard one. It then takes starts and grids that it has never seen.
"""

# %%
import sys
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import sclax as scl

WAVES, draw = 2 * np.pi * np.arange(1, 4), np.random.default_rng(0)


def course(amplitudes, t, x):  # each wave travels at speed 1, and decays
    t, x = t[:, None, None], x[None, :, None]
    waves = np.exp(1j * WAVES * (x - t) - 0.01 * WAVES**2 * t)
    return np.einsum("sk,txk->stx", amplitudes, waves).real


starts = lambda number: draw.normal(size=(number, 3, 2)) @ [1, 1j] / np.arange(1, 4)
t, x = np.linspace(0, 1, 9), np.arange(32) / 32
u = course(starts(96), t, x)
data = xr.Dataset({"input": (("sample", "x"), u[:, 0]), "solution": (("sample", "t", "x"), u)}, {"t": t, "x": x})

# %%
fit = scl.each(scl.Data(scl.RelativeL2())) <= 2e-2
problem = scl.OperatorProblem(data, constraints={"data": fit}, validation=16, test=16, batch=16, periodic="x")
network = scl.nn.FNO(1, 1, modes=4, layers=3, hidden=16, projection=32, dimensions=2, key=jax.random.key(0))
solution = scl.solve(problem, network, steps=1000)
result = float(solution.errors("test").mean())


def plot():
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    fine = np.arange(128) / 128  # four times as many points as it learned from
    truth = course(starts(1), t, fine)[0]
    found = solution(truth[0])
    for n, color in ((0, "#666666"), (2, "#0072b2"), (8, "#d55e00")):
        axis.plot(fine, found[n], color=color, label=f"t = {t[n]:g}")
        axis.plot(fine, truth[n], ":", color="k", lw=1)
    axis.set(xlabel="$x$", ylabel="$u$", title=f"test samples are off by {result:.1%} on average (dotted: the truth)")
    axis.legend(frameon=False, ncols=3)
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "learned_operator.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
