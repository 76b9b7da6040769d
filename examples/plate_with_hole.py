"""
A plate with a hole, under tension
==================================

Plane stress, whose stresses are derived quantities. Outer sides and hole have the tractions of Kirsch's formula.
"""

# %%
import sys
from pathlib import Path

import numpy as np

import sclax as scl

NU, SIDE = 0.3, 2.0
domain = scl.Box(x=(0.0, SIDE), y=(0.0, SIDE)) - scl.Disk(x=0, y=0, radius=0.5, name="hole")


def kirsch(x, y):
    a2, c, s = 0.25 / (x**2 + y**2), (x**2 - y**2) / (x**2 + y**2), 2 * x * y / (x**2 + y**2)
    c4, s4 = c**2 - s**2, 2 * c * s
    xx, yy = 1 - a2 * (1.5 * c + c4) + 1.5 * a2**2 * c4, -a2 * (0.5 * c - c4) - 1.5 * a2**2 * c4
    return xx, -a2 * (0.5 * s + s4) + 1.5 * a2**2 * s4, yy


def traction(normal, x, y, sxx, sxy, syy):
    xx, xy, yy = (found - true for found, true in zip((sxx, sxy, syy), kirsch(x, y), strict=True))
    return xx * normal[0] + xy * normal[1], xy * normal[0] + yy * normal[1]


problem = scl.Problem(
    domain=domain,
    unknowns=("u", "v"),
    quantities={
        "sxx": lambda u_x, v_y: (u_x + NU * v_y) / (1 - NU**2),
        "syy": lambda u_x, v_y: (v_y + NU * u_x) / (1 - NU**2),
        "sxy": lambda u_y, v_x: (u_y + v_x) / (2 * (1 + NU)),
    },
    objective=scl.average(scl.Operator(lambda u, sxy: (u, sxy), on=domain.face(x=0)))
    + scl.average(scl.Operator(lambda v, sxy: (v, sxy), on=domain.face(y=0)))
    + scl.average(scl.Operator(traction, on=[domain.face(x=SIDE), domain.face(y=SIDE), domain.boundary["hole"]])),
    constraints={"balance": scl.worst_case(lambda sxx_x, sxy_y, sxy_x, syy_y: (sxx_x + sxy_y, sxy_x + syy_y)) <= 1e-8},
)
solution = scl.solve(problem, steps=60)
at = {"x": 0.5 * np.cos(turn := np.linspace(0, np.pi / 2, 50)), "y": 0.5 * np.sin(turn)}
result = float(np.max(np.abs(np.asarray(solution("sxx", **at)) - kirsch(**at)[0])) / 3)


def plot():
    return solution.plot(quantities=("sxx", "sxy", "syy"))


if __name__ == "__main__":
    print(solution.check())
    print(f"stresses at the hole are off those of Kirsch by {result:.1e}")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "plate_with_hole.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    plot().savefig(path)
