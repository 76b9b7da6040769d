"""
Which sensors are wrong?
========================

50 sensors of a rod, five corrupted. Each is a constraint; those that contradict the law press hardest, and give way.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

NOISE, draw = 0.01, np.random.default_rng(1)
exact = lambda x, t: jnp.exp(-0.1 * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)
x, t = draw.uniform(0.05, 0.95, size=(2, 50))
wrong = draw.choice(50, 5, replace=False)
u = np.array(exact(x, t)) + NOISE * draw.standard_normal(50)
u[wrong] += draw.choice([-1, 1], 5) * draw.uniform(0.2, 0.4, 5)

sensors = scl.Observations({"x": x, "t": t}, u)
fits = scl.each(sensors) <= (4 * NOISE) ** 2
law = lambda u_t, u_xx: u_t - 0.1 * u_xx
known = scl.average(scl.Initial(lambda x: exact(x, 0.0))) + scl.average(scl.Dirichlet(0.0))


def solved(objective, relax=False, **constraints):
    domain = scl.Box(x=(0, 1), t=(0, 1))
    problem = scl.Problem(domain=domain, objective=objective, constraints=constraints, reference=exact)
    return scl.solve(problem, steps=120, relax=relax)


first = solved(known, pde=scl.worst_case(law) <= 1e-3, sensors=fits)
suspects = first.hardest(5).sample.values
clean = solved(known, relax=True, pde=scl.worst_case(law) <= 1e-3, sensors=fits)
squares = solved(known + scl.average(sensors) + scl.average(law))
result = clean.error() if set(suspects) == set(wrong) else 1.0


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(3, 1))
    prices = np.asarray(first.multipliers["sensors"])
    left.bar(np.arange(50), prices, color="#56b4e9", label="sensors")
    left.bar(wrong, prices[wrong], color="#d55e00", label="corrupted")
    left.set(xlabel="sensor", ylabel="multiplier", title="what each sensor presses with")
    left.legend(frameon=False)
    right.bar(["least\nsquares", "relaxed"], [squares.error(), clean.error()], color=["#999999", "#009e73"])
    right.set(ylabel="relative $L_2$ error", title="the field")
    return figure


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "outliers.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
