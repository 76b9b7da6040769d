"""
Flow round a cylinder
=====================

In a channel at Re 20: Navier and Stokes' equations on a shape, u, v and p at once. Poiseuille's profile flows in,
nothing slips at walls and cylinder, and nothing pulls at the outlet: ν uₓ = p, vₓ = 0.
"""

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sclax as scl

NU = 0.02  # mean speed 2/3, diameter 0.6: Re = 20
domain = scl.Box(x=(-1.0, 3.0), y=(-1.0, 1.0)) - scl.Disk(x=0, y=0, radius=0.3, name="cylinder")
solid = [domain.face(y=-1), domain.face(y=1), domain.boundary["cylinder"]]


def flow(u, u_x, u_y, lap_u, v, v_x, v_y, lap_v, p_x, p_y):
    return u * u_x + v * u_y + p_x - NU * lap_u, u * v_x + v * v_y + p_y - NU * lap_v, u_x + v_y


problem = scl.Problem(
    domain=domain,
    unknowns=("u", "v", "p"),
    objective=scl.average(scl.Operator(lambda u, v, y: (u - (1 - y**2), v), on=domain.face(x=-1)), n=100)
    + scl.average(scl.Operator(lambda u, v: (u, v), on=solid), n=200)
    + scl.average(scl.Operator(lambda u_x, p, v_x: (NU * u_x - p, v_x), on=domain.face(x=3)), n=60),
    constraints={"flow": scl.worst_case(flow, n=400) <= 1e-3},
)
solution = scl.solve(problem, steps=80)

# %%
heights = np.linspace(-1, 1, 401)
speeds = solution.grid("u", x=np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), y=heights)["u"].fillna(0.0)
fluxes = speeds.integrate("y").values  # through six sections; 4/3 flows in
result = float(np.max(np.abs(fluxes / (4 / 3) - 1)))


def plot():
    found = solution.grid("u", "v", x=401, y=201)
    figure, axis = plt.subplots(figsize=(8.5, 3.9), layout="constrained")
    speed = np.hypot(found.u, found.v).T
    image = axis.pcolormesh(found.x, found.y, speed, cmap="cividis", rasterized=True)
    axis.streamplot(*(found[n].values for n in "xy"), found.u.values.T, found.v.values.T, color="w", linewidth=0.6)
    axis.set(xlabel="$x$", ylabel="$y$", aspect="equal", xlim=(-1, 3), ylim=(-1, 1))
    figure.colorbar(image, ax=axis, label="speed", shrink=0.75)
    return figure


if __name__ == "__main__":
    print(f"the flux through six sections is off that of the inlet by at most {result:.1%}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "cylinder.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
