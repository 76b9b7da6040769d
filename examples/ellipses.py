"""
Flow round all ellipses at once
===============================

Potential flow, and both radii are parameters of the family. The stream function is y + ψ: far away the flow is even,
and Δψ = 0 with ψ = −y on the ellipse is what the body does to it. At the walls it is that of the whole plane
(Joukowski's map).
"""

# %%
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

import sclax as scl

domain = scl.Box(x=(-2.0, 2.0), y=(-2.0, 2.0)) - scl.Ellipse(x=0, y=0, radii=("a", "b"), name="body")


def exact(x, y, a, b):
    # The flow is symmetric; in the upper right quarter no branch is cut.
    z = jax.lax.complex(jnp.abs(x), jnp.abs(y))
    w = (z + jnp.sqrt(z**2 - (a**2 - b**2))) / 2
    return jnp.sign(y) * (w + (a + b) ** 2 / 4 / w).imag - y


walls = [domain.face(x=-2), domain.face(x=2), domain.face(y=-2), domain.face(y=2)]
body = scl.Dirichlet(lambda y: -y, on=domain.boundary["body"])
problem = scl.Problem(
    domain=domain,
    parameters={"a": (0.6, 0.9), "b": (0.5, 0.7)},
    unknowns="psi",
    objective=scl.average(scl.Dirichlet(exact, on=walls)) + scl.average(body),
    constraints={"pde": scl.worst_case(lambda lap_psi: lap_psi) <= 1e-8},
    reference=exact,
)
solution = scl.solve(problem, steps=150)
result = float(solution.error_map(a=[0.6, 0.75, 0.9], b=[0.5, 0.7]).mean())


def plot():
    return solution.plot(a=0.9, b=0.5)


if __name__ == "__main__":
    print(solution.check())
    print(f"relative L2 error over all ellipses {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "ellipses.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
