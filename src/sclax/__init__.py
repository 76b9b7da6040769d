"""Differential equations by science-constrained learning: state what is known, with tolerances; get a network that
satisfies it in the worst case, and a report that says whether and where each law holds.

    import jax.numpy as jnp
    import sclax as scl

    problem = scl.Problem(
        domain=scl.Box(x=(0, 2 * jnp.pi), t=(0, 1)),
        parameters={"beta": 10.0},
        objective=scl.average(scl.Initial(lambda x: jnp.sin(x))) + scl.average(scl.Periodic("x")),
        constraints={"pde": scl.worst_case(lambda u_t, u_x, beta: u_t + beta * u_x) <= 1e-3},
    )
    solution = scl.solve(problem)
    print(solution.check())
"""

import lazy_loader

# The stub beside this file is the only list of names: type checkers read it, and each is imported on first use, so that
# the command's help does not wait for JAX.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
