"""
Constraints that cannot hold together
=====================================

A fin cools by u″ = 9 u, is hot at its foot, u(0) = 1, and insulated at its tip, u′(1) = 0, so that u(1) = 1/cosh 3 =
0.10; but a data sheet says 0.5. `check()` says that this is no solution, and what each constraint is off by; with
`solve(relax=True)` tolerances give way, and `solution.relaxed` is by how much.
"""

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

domain = scl.Box(x=(0, 1))
problem = scl.Problem(
    domain=domain,
    objective=scl.average(scl.Dirichlet(1.0, on=domain.face(x=0))),
    constraints={
        "cooling": scl.worst_case(lambda u, u_xx: u_xx - 9 * u) <= 1e-4,
        "tip": scl.average(scl.Neumann(0.0, on=domain.face(x=1))) <= 1e-6,
        "sheet": scl.average(scl.Observations({"x": [1.0]}, [0.5])) <= 1e-6,
    },
)

# %%
stated = scl.solve(problem, steps=100)
relaxed = scl.solve(problem, steps=100, relax=True)
result = relaxed.objective if relaxed.relaxed and not stated.feasible else 1.0  # what did not give way holds


def plot():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
    x = np.linspace(0, 1, 201)
    left.plot(x, np.cosh(3 * (1 - x)) / np.cosh(3), color="#0072b2", label="without the data sheet")
    left.plot(x, relaxed(x=x), "--", color="#d55e00", label="relaxed")
    left.plot(1, 0.5, "k*", markersize=11, clip_on=False, label="data sheet")
    left.set(xlabel="$x$", ylabel="$u$", title="the fin")
    left.legend(frameon=False)
    names, at = list(problem.tolerances), np.arange(3)
    for shift, solution, colour, label in ((-0.2, stated, "#999999", "stated"), (0.2, relaxed, "#d55e00", "relaxed")):
        limits = [float(solution.problem.tolerances[name]) for name in names]
        right.bar(at + shift, limits, 0.38, color=colour, label=label)
    right.set(yscale="log", ylabel="tolerance", xticks=at, xticklabels=names, title="what gave way")
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    print(stated.check(), f"relaxed by {relaxed.relaxed}", sep="\n")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "contradiction.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
