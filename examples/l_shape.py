"""
A membrane over an L
====================

−Δu = 1, u = 0 on the boundary. At the inner corner the slope is infinite. Compared with finite elements of second
order on a fine mesh, by scikit-fem.
"""

# %%
import sys
from pathlib import Path

import numpy as np
import skfem
from skfem.models.poisson import laplace, unit_load

import sclax as scl

problem = scl.Problem(
    domain=scl.Polygon({"x": [-1, 1, 1, 0, 0, -1], "y": [-1, -1, 0, 0, 1, 1]}),
    objective=scl.average(scl.Dirichlet(0.0)),
    constraints={"pde": scl.worst_case(lambda lap_u: lap_u + 1) <= 1e-6},
)
solution = scl.solve(problem, steps=150)

# %%
mesh = skfem.MeshTri.init_lshaped().refined(5)
basis = skfem.Basis(mesh, skfem.ElementTriP2())
u = skfem.solve(*skfem.condense(laplace.assemble(basis), unit_load.assemble(basis), D=basis.get_dofs()))
points = np.array([[-0.5, -0.5, 0.5, -0.2], [0.5, -0.5, -0.5, -0.2]])
true = basis.probes(points) @ u
result = float(np.max(np.abs(np.asarray(solution(x=points[0], y=points[1])) - true)) / true.max())


def plot():
    return solution.plot()


if __name__ == "__main__":
    print(solution.check())
    print(f"u at the middle of an arm is off finite elements by {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "l_shape.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
    print(f"drawn to {path}")
