"""
One solution for every damping
==============================

u″ + 2ζ u′ + u = 0 for all ζ between 0.05 and 0.9 at once: an interval in place of a number makes a family, whose
solution takes ζ as an input.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import sclax as scl


def exact(t, zeta):
    omega = jnp.sqrt(1 - zeta**2)
    return jnp.exp(-zeta * t) * (jnp.cos(omega * t) + zeta / omega * jnp.sin(omega * t))


problem = scl.Problem(
    domain=scl.Box(t=(0, 10)),
    parameters={"zeta": (0.05, 0.9)},
    objective=scl.average(scl.Initial(1.0)) + scl.average(scl.Initial(0.0, order=1)),
    constraints={"ode": scl.worst_case(lambda u, u_t, u_tt, zeta: u_tt + 2 * zeta * u_t + u) <= 1e-12},
    reference=exact,
)
solution = scl.solve(problem)
result = float(solution.error_map(zeta=20, progress=False).max())  # the worst of twenty members


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    t = np.linspace(0, 10, 400)
    for zeta in np.linspace(0.05, 0.9, 6):
        left.plot(t, solution(t=t, zeta=zeta), color=plt.cm.cividis(zeta), label=f"{zeta:.2f}")
    left.set(xlabel="$t$", ylabel="$u$", ylim=(-1, 1.5))
    left.legend(title=r"$\zeta$", frameon=False, ncols=6, loc="upper center", handlelength=1, columnspacing=1)
    errors = solution.error_map(zeta=60, progress=False)
    right.semilogy(errors.zeta, errors, color="#2d6a8a")
    right.set(xlabel=r"$\zeta$", ylabel="relative $L_2$ error")
    return figure


if __name__ == "__main__":
    print(solution.check())
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "oscillators.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
