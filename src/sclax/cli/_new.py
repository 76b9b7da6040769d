"""`sclax new`."""

from pathlib import Path
from typing import Annotated

import typer

from ._saying import console_of, fail

START = '''"""A boundary value problem of your own:  uₜ = ν uₓₓ + f  on [0, 1] × [0, 1].

    sclax solve {name}                          solves it, and says whether every law holds
    sclax compare {name} --methods scl,pinn     compares methods on it
"""

import jax.numpy as jnp

import sclax as scl

# Where: named coordinates. Time is called t. Shapes: scl.Disk, scl.Polygon, and their differences.
domain = scl.Box(x=(0, 1), t=(0, 1))


# The law: what must vanish, at every point. Its arguments say what it needs: coordinates (x), parameters (nu), the
# unknown (u) and its derivatives (u_t, u_xx).
def heat(u_t, u_xx, x, t, nu):
    source = jnp.exp(-t) * jnp.sin(jnp.pi * x) * (nu * jnp.pi**2 - 1)
    return u_t - nu * u_xx - source


def start(x):
    return jnp.sin(jnp.pi * x)


# The solution, where it is known, for the error in the report; leave it out otherwise. Training never sees it.
def exact(x, t):
    return jnp.exp(-t) * jnp.sin(jnp.pi * x)


# The problem: conditions are the objective, laws are constraints with a tolerance, in the units of the law squared.
problem = scl.Problem(
    domain=domain,
    parameters={{"nu": 0.1}},  # a pair (low, high) makes it a family; scl.Unknown(0.1) is learned from data
    objective=scl.average(scl.Initial(start)) + scl.average(scl.Dirichlet(0.0)),
    constraints={{"pde": scl.worst_case(heat) <= 1e-10}},
    reference=exact,
)

if __name__ == "__main__":
    solution = scl.solve(problem)
    print(solution.check())
    print("relative error", solution.error())
'''


def new_problem(path: Annotated[Path, typer.Argument(help="The Python file to write.")]) -> None:
    """Writes a commented problem to start from, which runs as it is."""
    from .._base import checks, replaced

    try:
        if path.suffix != ".py":
            raise ValueError(f"new: {str(path)!r} must end with .py.")
        if path.exists():
            raise ValueError(f"new: {str(path)!r} exists already; give another name.")
        with replaced(checks.folder("new", "FILE", path)) as temporary:
            temporary.write_text(START.format(name=path.name))
    except (ValueError, OSError) as error:
        raise fail(str(error)) from None
    console_of().print(
        f"written to {path}; sclax solve {path} solves it", highlight=False, markup=False, soft_wrap=True
    )
