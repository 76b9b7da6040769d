"""
An eigenvalue, and its state
============================

−u″ + x⁴ u = E u, the quartic oscillator: E is an `Unknown`, ∫ u² = 1 is a law, and so is u ≥ 0, which only the lowest
state obeys. No matrix, no mesh, and the condition of normalisation is one more word.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt

import sclax as scl

problem = scl.Problem(
    domain=scl.Box(x=(-4, 4)),
    parameters={"E": scl.Unknown(2.0, positive=True)},
    objective=scl.average(scl.Dirichlet(0.0)) + scl.average(scl.Integral(lambda u: u**2, equals=1.0)),
    constraints={
        "state": scl.worst_case(lambda u, u_xx, x, E: u_xx - x**4 * u + E * u) <= 1e-8,
        "lowest": scl.worst_case(scl.Inequality(lambda u: -u)) <= 1e-8,
    },
)
solution = scl.solve(problem, steps=150)
energy = solution.estimates["E"].value
result = abs(energy / 1.0603620904841829 - 1)  # the known value


def plot():
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    x = jnp.linspace(-4, 4, 401)
    axis.plot(x, x**4, ":", color="#666666", label="$x^4$")
    axis.axhline(energy, ls="--", color="#d55e00", label=f"$E$ = {energy:.6f}")
    axis.plot(x, energy + solution(x=x), color="#0072b2", label="$E + u$")
    axis.set(xlabel="$x$", ylim=(0, 3), xlim=(-3, 3))
    axis.legend(frameon=False, loc="upper right")
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "eigenvalue.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
