"""What goes wrong around a run: constants that change, NaN, full and vanishing disks, a second process."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl

from . import small

METHOD = scl.PrimalDual(optax.adam(1e-2), optax.adam(1e-2))
BOX = scl.Box(x=(0, 1), t=(0, 1))


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=8, depth=2, key=key)


def solve(problem, **options):
    return scl.solve(problem, tiny, METHOD, **{"progress": False, "steps": 20, **options})


# --- constants --------------------------------------------------------------------------------------------------------

SPEED = 3.0
WAVES = 1.0


def law(u_t, u_x):
    return u_t + SPEED * u_x


def transport():
    start = scl.Initial(lambda x: jnp.sin(WAVES * x))
    return scl.Problem(BOX, objective=scl.average(start, n=8), constraints={"pde": scl.worst_case(law, n=8) <= 1e-3})


@pytest.mark.parametrize("name", ["SPEED", "WAVES"])
def test_a_changed_constant_is_another_run(name, tmp_path, monkeypatch):
    solve(transport(), checkpoint=tmp_path / "state")
    assert solve(transport(), checkpoint=tmp_path / "state").steps == 20
    monkeypatch.setattr(f"{__name__}.{name}", 4.0)
    with pytest.raises(ValueError, match="belongs to another run: its equations"):
        solve(transport(), checkpoint=tmp_path / "state")


# --- NaN --------------------------------------------------------------------------------------------------------------


def with_hole(radius):
    """Transport whose residual is NaN in a disk around (0.5, 0.5)."""

    def law(u_t, u_x, x, t):
        return u_t + u_x + jnp.where((x - 0.5) ** 2 + (t - 0.5) ** 2 < radius**2, jnp.nan, 0.0)

    objective = scl.average(scl.Initial(lambda x: jnp.sin(2 * jnp.pi * x)))
    return scl.Problem(BOX, objective=objective, constraints={"pde": scl.worst_case(law) <= 1e-4})


@pytest.mark.parametrize("radius", [0.1, 0.01])
def test_nan_is_blamed_on_the_law_and_the_point(radius, capsys):
    """In the steps that make a network ready too, which would otherwise leave NaN for all laws."""
    solution = scl.solve(with_hole(radius), tiny, steps=300)
    assert solution.result is scl.RESULTS.nonfinite
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(solution.model) if hasattr(leaf, "shape"))
    distance = lambda where: np.hypot(where["x"] - 0.5, where["t"] - 0.5)
    assert np.hypot(*(np.asarray(solution.failures["pde"]) - 0.5)) < radius
    assert "`pde` or its gradient is NaN or infinite at x = 0." in capsys.readouterr().err
    report = solution.check(points=100)  # too few to find the hole
    assert np.isfinite(report["initial"].estimate)
    assert not np.isfinite(report["pde"].estimate)
    assert distance(report["pde"].where) < radius
    assert "NOT A NUMBER" in report["pde"].verdict
    assert not report.holds


def test_a_gradient_that_is_not_finite_is_blamed_too():
    """√|u| at u = 0 has a value and no slope."""
    root = lambda u: jnp.sqrt(jnp.abs(u))
    problem = scl.Problem(small.unit(), objective=scl.average(root, n=4), constraints={})
    solution = scl.solve(problem, small.value(0.0), METHOD, steps=10, progress=False)
    assert solution.result is scl.RESULTS.nonfinite
    assert list(solution.failures) == ["residual"]
    assert "gradient" in str(solution.check(points=10))


def test_a_network_of_nan_is_refused():
    with pytest.raises(ValueError, match="`model` has weights that are NaN"):
        scl.solve(transport(), small.value(np.nan), METHOD, steps=1)
