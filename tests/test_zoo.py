"""Each equation's residuals vanish on its reference, and the paper's settings are the paper's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax.domains import embed_all


@pytest.mark.parametrize("beta", [10.0, 50.0, (1.0, 30.0)])
def test_every_law_of_convection_vanishes_on_the_exact_solution(beta, x64):
    problem = scl.zoo.convection(beta=beta).completed()

    def exact(z):
        return jnp.sin(z[0] - (z[2] if isinstance(beta, tuple) else beta) * z[1])[None]

    for term in problem.terms:
        w = term.law.place.uniform(200, jax.random.key(0))
        rows = term.law.rows(exact, problem.parameters, w)
        assert np.abs(rows).max() < 1e-12, term.name
        assert embed_all(term.law.place, w).shape == (200, problem.domain.dimension)


def test_reference_is_the_exact_solution():
    problem = scl.zoo.convection(beta=7.0)
    (u,) = problem.reference_on({"x": jnp.asarray([1.0]), "t": jnp.asarray([0.5])}, problem.reference)
    np.testing.assert_allclose(u, np.sin(1.0 - 3.5), rtol=1e-5)


@pytest.mark.parametrize(
    ("beta", "tolerance", "steps", "keep"),
    [(30.0, 1e-3, 175_000, 1000), (50.0, 5e-3, 200_000, 1000), ((1.0, 30.0), 1e-3, 200_000, 2500)],
)
def test_paper_settings_are_the_papers(beta, tolerance, steps, keep):
    settings = scl.zoo.paper_settings("convection", beta=beta)
    assert (settings.tolerance, settings.steps, settings.keep) == (tolerance, steps, keep)
    assert dict(settings.scales)["x"] ** 2 == 0.25
    assert dict(settings.scales)["t"] ** 2 == pytest.approx(0.01)
    assert (settings.primal_rate, settings.dual_rate, settings.decay, settings.decay_every) == (1e-3, 1e-4, 0.9, 5000)
    assert dict(settings.weights) == {"objective": 100.0, "pde": 1.0}
    row = scl.zoo.ROWS["paper"](scl.zoo.entry("convection"), beta=beta)
    assert float(row.problem.tolerances["pde"]) == pytest.approx(tolerance)
    (pde,) = [t for t in row.problem.terms if t.owner == "pde"]
    assert (pde.sampler.chains, pde.sampler.steps, pde.sampler.keep) == (20, 250, keep)


def test_the_default_tolerance_scales_with_the_residual():
    assert float(scl.zoo.convection(beta=50.0).tolerances["pde"]) == pytest.approx(1e-8 * 2500)
    assert float(scl.zoo.convection(beta=(1.0, 30.0)).tolerances["pde"]) == pytest.approx(1e-8 * 900)


@pytest.mark.slow
def test_the_default_solves_convection_to_two_per_cent_in_a_minute():
    assert scl.solve(scl.zoo.convection(), seconds=40, progress=False).error() < 0.02
