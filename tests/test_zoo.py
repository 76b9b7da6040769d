"""Each law of the zoo vanishes on its reference, to its accuracy, and the paper's settings are the paper's."""

import inspect
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sclax as scl
from sclax._problem import Recipe
from sclax._result import evaluate
from sclax.zoo import (
    _allen_cahn,
    _burgers,
    _burgers_front,
    _diffusion_sorption,
    _eikonal,
    _kdv,
    _lid_driven_cavity,
    _lorenz,
    _navier_stokes,
    _reaction_diffusion,
    _shapes,
)

CLOSED = {
    "convection": lambda z: jnp.sin(z[0] - 30 * z[1]),
    "helmholtz": lambda z: jnp.sin(2 * jnp.pi * z[0]) * jnp.sin(3 * jnp.pi * z[1]),
    "wave": lambda z: scl.reference.wave(2.0)(z[0], z[1]),
    "heat": lambda z: scl.reference.heat(0.1)(z[0], z[1]),
    "poisson": lambda z: scl.reference.poisson().solution(z[0], z[1]),
    "klein_gordon": lambda z: scl.reference.klein_gordon().solution(z[0], z[1]),
    "disk_with_hole": lambda z: _shapes.ripple(z[0], z[1]),
    "ellipse_flow": lambda z: _shapes.joukowski(z[0], z[1], 0.8, 0.5),
    "plate_with_hole": lambda z: jnp.stack(_shapes.kirsch_displacement(z[0], z[1], 0.3)),
}


def worst_rows(problem, model):
    """The largest residual of each law on uniform points."""
    found = {}
    for term in problem.terms:
        w = term.law.place.uniform(100, jax.random.key(0))
        rows = jax.jit(lambda w, law=term.law: law.rows(model, problem.parameters, w))(w)
        found[term.name] = float(np.abs(rows).max())
    return found


@pytest.mark.parametrize("name", CLOSED)
def test_every_law_vanishes_on_a_closed_form(name, x64):
    rows = worst_rows(scl.zoo.entry(name).build(), lambda z: jnp.atleast_1d(CLOSED[name](z)))
    assert max(rows.values()) < 1e-10, rows


def test_a_family_vanishes_on_its_closed_form_at_every_parameter(x64):
    transport = lambda z: jnp.sin(z[0] - z[2] * z[1])[None]
    assert max(worst_rows(scl.zoo.convection(beta=(1.0, 30.0)), transport).values()) < 1e-12
    waves = lambda z: (jnp.sin(jnp.pi * z[2] * z[0]) * jnp.sin(jnp.pi * z[3] * z[1]))[None]
    assert max(worst_rows(scl.zoo.helmholtz(a1=(1.0, 2.0), a2=(1.0, 3.0)), waves).values()) < 1e-10
    flow = lambda z: _shapes.joukowski(*z)[None]
    assert max(worst_rows(scl.zoo.ellipse_flow(a=(0.6, 0.9), b=(0.5, 0.7)), flow).values()) < 1e-10


# --- references on grids: their derivatives by Fourier series and finite differences -------------------------------

# Sixth-order central differences.
STENCILS = {1: (np.array([-1, 9, -45, 0, 45, -9, 1]) / 60, 1), 2: (np.array([2, -27, 270, -490, 270, -27, 2]) / 180, 2)}


def differenced(values, axis, step, order):
    weights, power = STENCILS[order]
    return sum(w * np.roll(values, 3 - i, axis) for i, w in enumerate(weights)) / step**power


def fourier(values, axis, length, order):
    k = 2j * np.pi * np.fft.fftfreq(values.shape[axis], length / values.shape[axis])
    shape = [-1 if i == axis else 1 for i in range(values.ndim)]
    return np.fft.ifft(np.fft.fft(values, axis=axis) * k.reshape(shape) ** order, axis=axis).real


def quantities(problem, truth, names):
    """The values of a law's arguments on the reference's grid."""
    domain = problem.domain
    axes = [np.asarray(truth.coords[name]) for name in domain.names]
    mesh = dict(zip(domain.names, np.meshgrid(*axes, indexing="ij"), strict=True))
    found = {**mesh, **{name: float(value) for name, value in problem.parameters.items()}}
    for name in names:
        unknown, _, along = name.partition("_")
        if unknown not in problem.unknowns:
            continue
        values = truth[unknown].transpose(*domain.names).values
        for coordinate in sorted(set(along)):
            axis, order = domain.names.index(coordinate), along.count(coordinate)
            if coordinate in domain.periodic:
                values = fourier(values, axis, domain.lengths[axis], order)
            else:
                values = differenced(values, axis, axes[axis][1] - axes[axis][0], order)
        found[name] = values
    return {name: found[name] for name in names}


def interior(values, problem):
    """Away from the ends of coordinates that are not periodic, where differences wrap around or the data jump."""
    margins = [
        0 if n in problem.domain.periodic else min(20, m // 5)
        for n, m in zip(problem.domain.names, values.shape, strict=True)
    ]
    return values[tuple(slice(m, size - m) for m, size in zip(margins, values.shape, strict=True))]


# The tolerance is relative to the largest term of the equation. What limits it: the time step of the frames (all), the
# front (burgers), kinks of the start at the seam (reaction-diffusion, Allen-Cahn), the medial axis (eikonal), and
# the lid's corners (cavity).
def truth_of(problem):
    """The reference on its own grid."""
    return evaluate.truth(problem, problem.reference)


ON_GRIDS = {
    "reaction_diffusion": (_reaction_diffusion.fisher, 1e-5),
    "burgers": (_burgers.burgers_law, 2e-3),
    "burgers_front": (_burgers_front.burgers_law, 2e-2),
    "diffusion_sorption": (_diffusion_sorption.sorption, 2e-3),
    "navier_stokes": (_navier_stokes.vorticity, 1e-5),
    "allen_cahn": (_allen_cahn.phase, 1e-4),
    "kdv": (_kdv.dispersion, 1e-3),
    "eikonal": (_eikonal.unit_slope, 1e-2),
    "lid_driven_cavity": (_lid_driven_cavity.steady_flow, 1e-6),
    "lorenz": (_lorenz.convection_rolls, 1e-6),
}


@pytest.mark.parametrize("name", ON_GRIDS)
def test_every_equation_vanishes_on_its_reference(name, x64):
    law, tolerance = ON_GRIDS[name]
    problem = scl.zoo.entry(name).build()
    truth = truth_of(problem)
    names = tuple(inspect.signature(law).parameters)
    known = quantities(problem, truth, names)
    found = law(**known)
    scale = max(np.abs(interior(v, problem)).max() for k, v in known.items() if np.ndim(v) and "_" in k)
    for component in found if isinstance(found, tuple) else (found,):
        size = np.abs(interior(np.asarray(component), problem)) / scale
        # Kinks (the medial axis of the gear, the seam) are lines: the law holds at most points.
        assert np.quantile(size, 0.9) < tolerance, (name, np.quantile(size, [0.5, 0.9, 1.0]))


def interpolant(problem, truth, nodes=5):
    """The reference between its points, as a network: polynomials through the nearest points inside. Across a seam it
    does not wrap around, so that only a reference that goes on smoothly there meets itself."""
    names = problem.domain.names
    axes = [jnp.asarray(truth.coords[name].values) for name in names]
    values = jnp.asarray(np.stack([truth[u].transpose(*names).values for u in problem.unknowns], axis=-1))

    def model(z):
        first = [jnp.searchsorted(a, jax.lax.stop_gradient(x)) - nodes // 2 for a, x in zip(axes, z, strict=True)]
        at = [jnp.clip(k, 0, len(a) - nodes) + jnp.arange(nodes) for k, a in zip(first, axes, strict=True)]
        block = values[jnp.ix_(*at)]
        for x, near in zip(z, [a[k] for a, k in zip(axes, at, strict=True)], strict=True):
            others = [jnp.delete(near, i, assume_unique_indices=True) for i in range(nodes)]
            weights = jnp.stack([jnp.prod((x - o) / (near[i] - o)) for i, o in enumerate(others)])
            block = jnp.tensordot(weights, block, 1)
        return block

    return model


# For values, and for derivatives of a periodic condition. What limits them: interpolation (Navier-Stokes on 64² points
# with slopes of 10, KdV with curvatures of 1e3), and the kink of the start at the seam, which lasts (Allen-Cahn, with
# slopes of 50).
CONDITIONS = {
    "reaction_diffusion": (1e-8, 1e-6),
    "burgers": (1e-8, 1e-5),
    "burgers_front": (1e-8, None),
    "diffusion_sorption": (1e-8, None),
    "navier_stokes": (1e-3, 0.1),
    "allen_cahn": (5e-3, 1.5),
    "kdv": (1e-5, 0.5),
    "eikonal": (1e-4, None),
    "lid_driven_cavity": (1e-12, None),
    "lorenz": (1e-12, None),
}


@pytest.mark.parametrize("name", ON_GRIDS)
def test_every_condition_vanishes_on_its_reference(name, x64):
    """At nine points of ten: corners, where conditions contradict each other, and times after the start are few."""
    problem = scl.zoo.entry(name).build()
    model = interpolant(problem, truth_of(problem))
    conditions = [term for term in problem.terms if term.name != "pde"]
    assert len(conditions) >= 2
    for term in conditions:
        w = term.law.place.uniform(400, jax.random.key(0))
        rows = jax.jit(lambda w, law=term.law: law.rows(model, problem.parameters, w))(w)
        sizes = np.quantile(np.abs(rows), 0.9, axis=0)
        values, slopes = np.split(sizes, [len(problem.unknowns)])
        assert max(values) < CONDITIONS[name][0], (term.name, sizes)
        assert not slopes.size or max(slopes) < CONDITIONS[name][1], (term.name, sizes)


def test_the_eikonal_problem_is_the_papers():
    problem = scl.zoo.eikonal()
    outline, _, sign = (t.law.place for t in problem.terms)
    assert len(outline.points) == 2234
    assert len(sign.points) == 40
    gear = scl.reference.gear()
    np.testing.assert_allclose(gear.distance(*np.asarray(outline.points, float).T), 0.0, atol=1e-6)
    assert (gear.distance(*np.asarray(sign.points, float).T) > 0).all()
    truth = truth_of(problem)["u"]
    assert truth.shape == (384, 384)
    # The sign constraint holds on the truth and fails on its negative.
    law = problem.terms[2].law
    at = law.place.grid(0)
    assert float(jnp.max(law.rows(lambda z: jnp.ones(1), {}, at))) == 0.0
    assert float(jnp.min(law.rows(lambda z: -jnp.ones(1), {}, at))) == 1.0


def test_both_outlets_of_diffusion_sorption_can_be_posed():
    slope = lambda z: (1 - z[0])[None]  # u = 0 and uₓ = −1 at the outlet
    for text, expected in ((True, 5e-4), (False, -5e-4)):
        problem = scl.zoo.diffusion_sorption(text_outlet=text)
        (outlet,) = [t for t in problem.terms if t.name.startswith("outlet")]
        rows = outlet.law.rows(slope, problem.parameters, outlet.law.place.uniform(3, jax.random.key(0)))
        np.testing.assert_allclose(rows, expected, rtol=1e-5)
        assert (problem.reference is None) == text


def test_the_parabolic_lid_is_another_problem_with_its_own_reference():
    flat, round_ = scl.zoo.lid_driven_cavity(), scl.zoo.lid_driven_cavity(parabolic_lid=True)
    at = {"x": jnp.array([0.0, 0.25, 0.5]), "y": jnp.ones(3)}
    for problem, expected in ((flat, [1.0, 1.0, 1.0]), (round_, [0.0, 0.75, 1.0])):
        lid = problem.terms[0].law
        rows = lid.rows(lambda z: jnp.zeros(3), problem.parameters, at["x"][:, None])
        np.testing.assert_allclose(np.abs(rows).ravel(), expected, atol=1e-6)
        np.testing.assert_allclose(truth_of(problem)["u"].sel(x=at["x"], y=1.0), expected, atol=1e-12)
    again = scl.zoo.build(Recipe("lid_driven_cavity", (("reynolds", 100.0), ("tolerance", None))))  # of an older file
    assert again.reference is flat.reference


# --- the paper's settings -----------------------------------------------------------------------------------------

PAPER = [
    ("convection", {"beta": 30.0}, 1e-3, 175_000, 1000, 0.9),
    ("convection", {"beta": 50.0}, 5e-3, 200_000, 1000, 0.9),
    ("convection", {"beta": (1.0, 30.0)}, 1e-3, 200_000, 2500, 0.9),
    ("reaction_diffusion", {"nu": 3.0, "rho": 3.0}, 1e-2, 200_000, 1000, 1.0),
    ("reaction_diffusion", {"nu": 3.0, "rho": 5.0}, 5e-3, 200_000, 1000, 1.0),
    ("reaction_diffusion", {"nu": (0.0, 5.0), "rho": (0.0, 5.0)}, 5e-3, 200_000, 2500, 1.0),
    ("reaction_diffusion", {"nu": (0.0, 10.0), "rho": (0.0, 10.0)}, 1e-2, 200_000, 2500, 1.0),
    ("reaction_diffusion", {"nu": (1.0, 20.0), "rho": (1.0, 20.0)}, 1e-1, 200_000, 2500, 1.0),
    ("helmholtz", {"a1": (1.0, 2.0), "a2": (1.0, 2.0)}, 0.5, 200_000, 2500, 0.9),
    ("helmholtz", {"a1": (1.0, 3.0), "a2": (1.0, 3.0)}, 5.0, 200_000, 5000, 0.9),
    ("eikonal", {}, 0.5, 60_000, 1000, 0.9),
]


@pytest.mark.parametrize(("name", "arguments", "tolerance", "steps", "keep", "decay"), PAPER)
def test_paper_settings_are_the_papers(name, arguments, tolerance, steps, keep, decay):
    settings = scl.zoo.paper_settings(name, **arguments)
    assert (settings.tolerance, settings.steps, settings.keep, settings.decay) == (tolerance, steps, keep, decay)
    assert (settings.primal_rate, settings.dual_rate, settings.decay_every) == (1e-3, 1e-4, 5000)
    row = scl.zoo.ROWS["paper"](scl.zoo.entry(name), **arguments)
    assert float(row.problem.tolerances["pde"]) == pytest.approx(tolerance)
    (pde,) = [t for t in row.problem.terms if t.owner == "pde"]
    assert (pde.sampler.chains, pde.sampler.steps, pde.sampler.keep) == (20, 250, keep)
    weights = dict(settings.weights)
    assert weights["pde"] == 1.0
    assert weights["objective"] == (500.0 if name == "eikonal" else 100.0)
    for baseline in ("pinn", "r3"):
        assert scl.zoo.ROWS[baseline](scl.zoo.entry(name), **arguments).method.weights == settings.weights


def test_operator_settings_are_the_papers():
    wanted = {
        ("burgers", ()): (1e-3, 800, 200, 200, 16, 4),
        ("diffusion_sorption", ()): (1e-3, 1000, 500, 500, 8, 5),
        ("navier_stokes", (("nu", 1e-3),)): (1e-2, 1000, 500, 500, 8, 8),
        ("navier_stokes", (("nu", 1e-4),)): (5e-2, 1000, 500, 500, 8, 8),
        ("navier_stokes", (("nu", 1e-5),)): (1e-2, 800, 200, 200, 8, 8),
    }
    for (name, arguments), row in wanted.items():
        s = scl.zoo.paper_settings(name, **dict(arguments))
        assert (s.tolerance, s.train, s.validation, s.test, s.modes, s.layers) == row
        assert (s.hidden, s.projection, s.batch, s.epochs) == (64, 128, 20, 500)


@pytest.mark.parametrize("name", ["burgers", "wave"])
def test_a_row_that_the_paper_does_not_have_is_refused(name):
    with pytest.raises(ValueError, match=f"does not solve {name} as a boundary value problem"):
        scl.zoo.ROWS["paper"](scl.zoo.entry(name))


def test_the_papers_eikonal_residual_is_the_squared_one():
    (pde,) = [t for t in scl.zoo.ROWS["paper"](scl.zoo.entry("eikonal")).problem.terms if t.owner == "pde"]
    rows = pde.law.rows(lambda z: 2 * z[:1], {}, jnp.zeros((1, 2)))
    np.testing.assert_allclose(rows, 3.0, rtol=1e-6)
    (pde,) = [t for t in scl.zoo.eikonal().terms if t.owner == "pde"]
    np.testing.assert_allclose(pde.law.rows(lambda z: 2 * z[:1], {}, jnp.zeros((1, 2))), 1.0, rtol=1e-6)


@pytest.mark.parametrize("name", scl.zoo.ENTRIES)
def test_every_problem_is_built_again_from_its_recipe(name):
    problem = scl.zoo.entry(name).build()
    arguments = json.loads(json.dumps(dict(problem.recipe.arguments)))
    again = scl.zoo.build(Recipe(problem.recipe.name, tuple(arguments.items())))
    assert again.domain == problem.domain
    assert {k: float(v) for k, v in again.tolerances.items()} == {k: float(v) for k, v in problem.tolerances.items()}
    assert problem.reference is not None


def test_the_default_tolerance_scales_with_the_residual():
    assert float(scl.zoo.convection(beta=50.0).tolerances["pde"]) == pytest.approx(1e-14 * 2500)
    assert float(scl.zoo.convection(beta=(1.0, 30.0)).tolerances["pde"]) == pytest.approx(1e-14 * 900)
    assert float(scl.zoo.lid_driven_cavity(reynolds=400.0).tolerances["pde"]) == pytest.approx(1e-14)
    assert float(scl.zoo.lid_driven_cavity(tolerance=1e-3).tolerances["pde"]) == pytest.approx(1e-3)


@pytest.mark.slow
def test_the_default_solves_convection_to_a_thousandth_in_a_minute():
    assert scl.solve(scl.zoo.convection(), seconds=50, progress=False).error() < 1e-3
