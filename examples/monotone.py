"""
A curve that only rises
=======================

Thirty noisy measurements of a response, of which nothing is known but that it rises. That is a law, as an equation
would be: it holds in the worst case, and a network that fits every wiggle cannot. `check` does not know the truth, from
which the curve is 8 % off, and says 7 %: with such noise it is a fit, and no solution.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

draw = np.random.default_rng(0)
truth = lambda dose: dose**4 / (dose**4 + 0.4**4)
dose = np.sort(draw.uniform(size=30))
response = truth(dose) + 0.08 * draw.standard_normal(30)
misfit = scl.average(scl.Observations({"dose": dose}, response, noise=0.08))
rises = scl.worst_case(scl.Inequality(lambda u_dose: -u_dose)) <= 1e-3


def fitted(**constraints):
    return scl.solve(scl.Problem(scl.Box(dose=(0, 1)), objective=misfit, constraints=constraints), steps=150)


# %%
free, known = fitted(), fitted(rises=rises)
at = jnp.linspace(0, 1, 301)
off = lambda solution: float(jnp.sqrt(jnp.mean((solution(dose=at) - truth(at)) ** 2)))
result = off(known)


def plot():
    figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
    axis.plot(at, truth(at), color="k", lw=1, ls=":", label="truth")
    axis.plot(at, free(dose=at), color="#d55e00", ls="--", label=f"data alone, off by {off(free):.3f}")
    axis.plot(at, known(dose=at), color="#0072b2", label=f"rising, off by {result:.3f}")
    axis.plot(dose, response, "o", color="#666666", ms=4)
    axis.set(xlabel="dose", ylabel="response", ylim=(-0.3, 1.3))
    axis.legend(frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    print(known.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "monotone.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
