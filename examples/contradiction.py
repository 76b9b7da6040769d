"""Constraints that cannot hold together: who is in conflict with whom, and what has to give way.

A fin cools by u″ = 9 u, is hot at its foot, u(0) = 1, and isolated at its tip, u′(1) = 0. Then u(1) = 1/cosh 3 = 0.10,
but a data sheet says 0.5. `check()` names the constraints that pull against each other, and `solve(relax=True)` raises
the tolerances by what the multipliers say costs the least, `solution.relaxed`.
"""

# %%
import sys
from pathlib import Path

import jax.numpy as jnp
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
    reference=lambda x: jnp.cosh(3 * (1 - x)) / jnp.cosh(3.0),
)

# %%
stated = scl.solve(problem, steps=100)
relaxed = scl.solve(problem, steps=100, relax=True)
