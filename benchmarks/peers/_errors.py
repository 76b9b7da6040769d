"""Where errors are measured: references by sclax, computed once and handed to each process as plain arrays."""

import numpy as np

from . import _measurements

NU, BETA = 0.01 / np.pi, 30.0


def _on_grid(names, axes, values):
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    return {"names": np.asarray(names), "points": points, "values": np.asarray(values).ravel(), "own_error": 0.0}


def _by_formula(problem, **axes):
    """A grid of points, with values of the problem's exact solution in double precision."""
    import jax

    sizes = np.meshgrid(*axes.values(), indexing="ij")
    known = {name: float(value) for name, value in problem.parameters.items() if name != "k"}
    with jax.enable_x64(True):
        exact = problem.reference.formula()
        values = np.asarray(exact(**dict(zip(axes, sizes, strict=True)), **known))
    return _on_grid(list(axes), list(axes.values()), values)


def burgers():
    import sclax as scl

    grid = scl.zoo.burgers_front(nu=NU).reference.grid({"nu": NU}, {})
    return _on_grid(["x", "t"], [grid.x.values, grid.t.values], grid.transpose("x", "t").values)


def convection():
    import sclax as scl

    x, t = np.linspace(0, 2 * np.pi, 256, endpoint=False), np.linspace(0, 1, 101)
    return _by_formula(scl.zoo.convection(beta=BETA), x=x, t=t)


def helmholtz():
    import sclax as scl

    line = np.linspace(0, 1, 129)
    return _by_formula(scl.zoo.helmholtz(a1=2.0, a2=3.0), x=line, y=line)


def l_shape():
    from .. import _references

    found = _references.l_shape()
    points = np.stack([found["at"]["x"], found["at"]["y"]], axis=-1)
    return {"names": np.asarray(["x", "y"]), "points": points, "values": found["u"], "own_error": found["error"]}


def lorenz():
    truth = _measurements.TRUTH
    return {"names": np.asarray(list(truth)), "values": np.asarray(list(truth.values())), "own_error": 0.0}


def error(reference, found):
    """Relative L2 of a function on the reference's points; of parameters the largest relative error. None for NaN."""
    if "points" in reference:
        values = np.asarray(found(reference["points"]), float).reshape(reference["values"].shape)
        off = np.linalg.norm(values - reference["values"]) / np.linalg.norm(reference["values"])
    else:
        named = found()
        values = np.asarray([float(named[str(name)]) for name in reference["names"]])
        off = np.max(np.abs(values / reference["values"] - 1))
    return float(off) if np.isfinite(off) else None
