"""Samplers against laws known by quadrature, against blackjax, and against the evaluations they claim."""

import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import sclax as scl
from sclax._places import embed_all
from sclax.samplers import Fixed, SamplerState, effective_sample_size

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import blackjax

CHAINS = 2000

LAWS = {
    "ramp 1d": (scl.Box(x=(0, 1)), lambda w: w[:, 0]),
    "two humps 1d": (scl.Box(x=(-1, 2)), lambda w: jnp.sin(4 * w[:, 0]) ** 2 + 0.1),
    "product 2d": (scl.Box(x=(0, 1), y=(0, 2)), lambda w: w[:, 0] * w[:, 1] ** 2),
    "coupled 2d": (scl.Box(x=(-1, 1), t=(0, 1)), lambda w: (w[:, 0] + w[:, 1]) ** 2 + 0.05),
    "coupled 3d": (
        scl.Box(x=(0, 1), y=(0, 1), t=(0, 3)),
        lambda w: (w[:, 0] * (1 - w[:, 1]) + 0.1) * jnp.exp(-w[:, 2]),
    ),
}
SAMPLERS = {
    "MetropolisHastings": scl.MetropolisHastings(CHAINS, 120, keep=CHAINS, scale=0.3),
    "PersistentChains": scl.PersistentChains(CHAINS, scale=0.2),
    "Langevin": scl.Langevin(CHAINS, steps=2, scale=0.15),
}


def quadrature(box, f):
    """∫ f over a box by Gauss-Legendre, f from rows of points to rows of values."""
    nodes, weights = np.polynomial.legendre.leggauss(16 if box.dimension == 3 else 40)
    axes = [(a + b) / 2 + (b - a) / 2 * nodes for a, b in zip(box.lower, box.upper, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, box.dimension)
    volume = np.prod(np.stack(np.meshgrid(*[weights] * box.dimension), axis=-1).reshape(points.shape), axis=1)
    return np.tensordot(volume, np.asarray(f(points)), axes=1) * box.measure / 2**box.dimension


def expectation(box, density, f):
    """E_ψ[f] for the normalised law ψ."""
    weighted = lambda z: np.asarray(density(z))[:, None] * np.asarray(f(z)).reshape(len(z), -1)
    return quadrature(box, weighted) / quadrature(box, density)


def assert_law(points, box, density, factor=1.0):
    """Mean and variance of independent points within five standard errors of the law's."""
    mean = expectation(box, density, lambda z: z)
    var = expectation(box, density, lambda z: (z - mean) ** 2)
    fourth = expectation(box, density, lambda z: (z - mean) ** 4)
    points = np.asarray(points, float)
    assert np.all(np.abs(points.mean(0) - mean) < 5 * factor * np.sqrt(var / len(points)))
    assert np.all(np.abs(points.var(0) - var) < 5 * factor * np.sqrt((fourth - var**2) / len(points)))


def compiled(function):
    """Compiles in half the time: these programs run once, for milliseconds."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": "0"})


def run(sampler, place, density, key, passes, start=None, factor=1.0):
    """`passes` iterations against a fixed density; the last state and the info of each pass."""

    def everything(key, factor):
        key_init, key_run = jr.split(key)
        scaled = lambda w: density(w) * factor
        state = sampler.init(place, key_init)
        state = state if start is None else SamplerState(start, *state[1:])

        def iterate(state, key):
            key_step, key_observe = jr.split(key)
            state, before = sampler.step(place, scaled, state, key_step)
            state, after = sampler.observe(place, scaled, state, scaled(state.points), key_observe)
            return state, (before, after)

        return jax.lax.scan(iterate, state, jr.split(key_run, passes))

    program = compiled(everything)
    return [program(key, f) for f in factor] if isinstance(factor, list) else program(key, factor)


def drawn(sampler, place, density, seed=0, passes=150):
    """Independent points of the law: one pass of fresh chains, or the chains after many passes."""
    once = isinstance(sampler, scl.MetropolisHastings)
    return run(sampler, place, density, jr.key(seed), 1 if once else passes)[0].points


# --- the law ------------------------------------------------------------------------------------------------------


def test_ramp_has_the_moments_of_the_textbook():
    """ψ ∝ x on [0, 1]: mean 2/3, variance 1/18; guards the quadrature the other tests rely on."""
    box, density = LAWS["ramp 1d"]
    np.testing.assert_allclose(expectation(box, density, lambda z: z), 2 / 3, rtol=1e-6)
    np.testing.assert_allclose(expectation(box, density, lambda z: (z - 2 / 3) ** 2), 1 / 18, rtol=1e-5)


@pytest.mark.parametrize("law", ["two humps 1d", "coupled 2d", "coupled 3d"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_reproduce_the_law(name, law):
    box, density = LAWS[law]
    assert_law(drawn(SAMPLERS[name], box, density), box, density)


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_reproduce_the_law_on_a_shape(name):
    """On a disk with a hole: moments up to the second order by quadrature in polar coordinates, and nothing outside."""
    plate = scl.Disk(x=0.0, y=0.0, radius=1.0) - scl.Disk(x=0.0, y=0.0, radius=0.4)
    density = lambda w: (w[:, 0] + 0.5) ** 2 * (1 + w[:, 1] ** 2) + 0.05
    points = np.asarray(drawn(SAMPLERS[name], plate, density), float)
    radii = np.hypot(*points.T)
    assert radii.min() >= 0.4 - 1e-6
    assert radii.max() <= 1 + 1e-6
    nodes, weights = np.polynomial.legendre.leggauss(20)
    radius, angle = np.meshgrid(0.7 + 0.3 * nodes, np.arange(64) * 2 * np.pi / 64)
    z = np.stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()], axis=1)
    mass = (weights * radius).ravel() * density(z)
    moments = lambda z: np.stack([z[:, 0], z[:, 1], z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2], axis=1)
    mean = mass @ moments(z) / mass.sum()
    spread = np.sqrt(mass @ (moments(z) - mean) ** 2 / mass.sum() / len(points))
    assert np.all(np.abs(moments(points).mean(0) - mean) < 5 * spread)


@pytest.mark.parametrize("law", ["ramp 1d", "coupled 3d"])
def test_metropolis_agrees_with_blackjax(law):
    """The same walk by blackjax, log ψ = −∞ outside: same mean, variance and acceptance rate."""
    box, density = LAWS[law]
    sampler = scl.MetropolisHastings(CHAINS, 60, keep=CHAINS, scale=0.25)
    state, info = compiled(lambda k: sampler.step(box, density, sampler.init(box, k), k))(jr.key(1))

    log_density = lambda z: jnp.where(box.contains(z), jnp.log(density(z[None])[0]), -jnp.inf)
    walk = blackjax.additive_step_random_walk(
        log_density, blackjax.mcmc.random_walk.normal(jnp.asarray(0.25 * box.lengths, jnp.float32))
    )

    def chain(key):
        key_start, key_walk = jr.split(key)
        start = walk.init(box.uniform(1, key_start)[0])
        last, infos = jax.lax.scan(lambda s, k: walk.step(k, s), start, jr.split(key_walk, 60))
        return last.position, infos.is_accepted.mean()

    theirs, accepted = compiled(jax.vmap(chain))(jr.split(jr.key(2), CHAINS))
    spread = np.sqrt(2 / CHAINS)
    np.testing.assert_array_less(abs(state.points.mean(0) - theirs.mean(0)), 5 * spread * theirs.std(0))
    np.testing.assert_array_less(abs(state.points.var(0) - theirs.var(0)), 5 * spread * 2 * theirs.var(0))
    assert abs(info.acceptance - accepted.mean()) < 5 * spread * accepted.std()


@pytest.mark.parametrize("name", ["MetropolisHastings", "Langevin"])
def test_chains_reproduce_the_law_on_a_face(name):
    """On x = 1 of the unit square, ψ = x y² is a law of y alone."""
    box = scl.Box(x=(0, 1), y=(0, 1))
    face = box.face(x=1)
    density = lambda w: jnp.prod(embed_all(face, w) ** jnp.asarray([1, 2]), axis=1)
    points = drawn(SAMPLERS[name], face, density)
    assert_law(points, scl.Box(y=(0, 1)), lambda y: y[:, 0] ** 2)
    assert np.all(embed_all(face, points)[:, 0] == 1)


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_reproduce_the_law_on_a_union_of_faces(name):
    """ψ = 1 + x + y² on the rim of [0, 1] × [0, 3]: mass and mean of each face, by quadrature on that face."""
    box = scl.Box(x=(0, 1), y=(0, 3))
    loss = lambda z: 1 + z[:, 0] + z[:, 1] ** 2
    rim = box.boundary
    sampler = SAMPLERS[name]
    z = np.asarray(embed_all(rim, drawn(sampler, rim, lambda w: loss(embed_all(rim, w)), passes=300)))
    masses = []
    for piece in rim.pieces:
        on_piece = lambda w, piece=piece: np.asarray(loss(embed_all(piece, jnp.asarray(w))))
        masses.append(quadrature(piece.chart, on_piece))
    masses = np.array(masses) / sum(masses)
    shares = [np.mean(z[:, i] == end) for i in range(2) for end in (box.lower[i], box.upper[i])]
    assert np.all(np.abs(shares - masses) < 5 * np.sqrt(masses * (1 - masses) / CHAINS))
    on_left = z[z[:, 0] == 0, 1:]
    assert_law(on_left, scl.Box(y=(0, 3)), lambda y: 1 + y[:, 0] ** 2)


def test_two_end_points_are_visited_in_proportion_to_their_densities():
    """The boundary of an interval: densities 1 and 3 get a quarter and three quarters of the chains."""
    ends = scl.Box(x=(0, 1)).boundary
    density = lambda w: 1 + 2 * embed_all(ends, w)[:, 0]
    x = embed_all(ends, drawn(SAMPLERS["MetropolisHastings"], ends, density))[:, 0]
    assert abs(x.mean() - 0.75) < 5 * np.sqrt(0.1875 / CHAINS)


# --- what makes chains work --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLERS)
def test_tiny_densities_are_not_flattened(name):
    """Scaling ψ by 2⁻¹⁰⁰ (8e-31, in float32) changes no point by a single bit: only ratios count."""
    box, density = LAWS["product 2d"]
    (large, _), (small, _) = run(SAMPLERS[name], box, density, jr.key(0), 20, factor=[1.0, 2.0**-100])
    assert small.points.dtype == jnp.float32
    np.testing.assert_array_equal(small.points, large.points)


@pytest.mark.parametrize(
    ("sampler", "target"),
    [
        (scl.PersistentChains(CHAINS, scale=0.03), 0.3),
        (scl.PersistentChains(CHAINS, scale={"x": 0.4, "y": 0.02}, target=0.5), 0.5),
        (scl.Langevin(CHAINS, scale=0.03), 0.57),
    ],
)
def test_scale_adapts_to_the_target_acceptance(sampler, target):
    box = scl.Box(x=(0, 1), y=(0, 1))
    density = lambda w: jnp.exp(-jnp.sum((w - 0.5) ** 2, axis=1) / 2 / 0.1**2)
    _, (_, info) = run(sampler, box, density, jr.key(3), 400)
    assert abs(np.mean(info.acceptance[-100:]) - target) < 0.02


def test_scale_by_name_is_in_the_units_of_the_coordinate():
    """One step on a flat law moves y by its own standard deviation, x by its own."""
    box = scl.Box(x=(-50, 50), y=(-2000, 2000))
    start = jnp.zeros((CHAINS, 2))
    for scale, expected in (({"x": 0.5, "y": 3.0}, [0.5, 3.0]), (0.01, [1.0, 40.0])):
        sampler = scl.MetropolisHastings(CHAINS, 1, keep=CHAINS, scale=scale, restart=False)
        state, _ = sampler.step(box, lambda w: jnp.ones(len(w)), SamplerState(start, start), jr.key(0))
        np.testing.assert_allclose(state.points.std(0), expected, rtol=5 / np.sqrt(2 * CHAINS))


@pytest.mark.parametrize("periodic", [True, False])
def test_periodic_coordinates_wrap_around(periodic):
    """ψ = exp(8 cos x) has its only mode at the seam: chains on one side reach the other only by wrapping."""
    box = scl.Box(x=(0, 2 * np.pi))
    place = box.wrapping(["x"]) if periodic else box
    sampler = scl.PersistentChains(CHAINS, scale=0.05, jump=0.0, steps=2)
    density = lambda w: jnp.exp(8 * jnp.cos(w[:, 0]))
    state, _ = run(sampler, place, density, jr.key(4), 300, start=jnp.full((CHAINS, 1), 0.1))
    x = np.asarray(state.points[:, 0])
    assert np.all((x >= 0) & (x <= 2 * np.pi))
    crossed = np.mean(x > np.pi)
    if not periodic:
        assert crossed < 0.01
        return
    assert abs(crossed - 0.5) < 5 * np.sqrt(0.25 / CHAINS)
    circular = expectation(box, density, lambda z: np.cos(z))
    assert abs(np.cos(x).mean() - circular) < 5 * np.cos(x).std() / np.sqrt(CHAINS)


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_leave_regions_of_zero_density(name):
    """Chains that start where ψ = 0 wander until they meet the support, and never leave it again."""
    box = scl.Box(x=(0, 1), y=(0, 1))
    density = lambda w: jnp.maximum(w[:, 0] - 0.8, 0.0) * (w[:, 1] < 0.5)
    points = drawn(SAMPLERS[name], box, density, passes=600)
    inside = np.asarray(density(points)) > 0
    assert inside.mean() > 0.95
    weights = SAMPLERS[name].weights(density(points))
    np.testing.assert_allclose(weights, inside / inside.sum(), rtol=1e-5)


@pytest.mark.parametrize("sampler", [*SAMPLERS.values(), scl.ImportanceWeights()])
def test_zero_everywhere_weighs_all_points_alike(sampler):
    np.testing.assert_allclose(sampler.weights(jnp.zeros(4)), 0.25)


def test_metropolis_keeps_the_last_states_of_every_chain():
    """keep = 3 × chains are the states after the last three steps: consecutive ones differ by one move."""
    box, density = LAWS["ramp 1d"]
    long = scl.MetropolisHastings(50, 40, keep=150, scale=0.2)
    state, _ = long.step(box, density, long.init(box, jr.key(0)), jr.key(5))
    every, _ = scl.MetropolisHastings(50, 40, keep=2000, scale=0.2).step(box, density, state, jr.key(5))
    np.testing.assert_array_equal(state.points, every.points[-150:])
    np.testing.assert_array_equal(state.memory, every.points[-50:])


def test_restart_draws_new_starts_and_no_restart_continues():
    box, density = LAWS["product 2d"]
    start = jnp.tile(jnp.asarray([[0.7, 1.2]]), (100, 1))
    moved = {}
    for restart in (True, False):
        sampler = scl.MetropolisHastings(100, 1, keep=100, scale=1e-4, restart=restart)
        state, _ = sampler.step(box, density, SamplerState(start, start), jr.key(0))
        moved[restart] = np.abs(state.points - start).max(axis=1)
    assert moved[False].max() < 2e-3
    assert np.median(moved[True]) > 0.2


# --- importance weights and baselines -----------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["ramp 1d", "product 2d", "coupled 3d"])
@pytest.mark.parametrize("proposal", [scl.Uniform(), scl.Sobol(), scl.Grid()])
def test_importance_weights_give_the_expectation_under_the_law(law, proposal):
    """E_ψ₀[ℓ] = ∫ℓ² / ∫ℓ, from points that never saw ℓ."""
    box, loss = LAWS[law]
    exact = quadrature(box, lambda z: loss(z) ** 2) / quadrature(box, loss)
    sampler = scl.ImportanceWeights(60_000, proposal=proposal)
    state, info = sampler.step(box, loss, sampler.init(box, jr.key(0)), jr.key(1))
    weights = sampler.weights(loss(state.points))
    np.testing.assert_allclose(jnp.sum(weights), 1.0, rtol=1e-5)
    rtol = {scl.Uniform: 0.03, scl.Sobol: 2e-3, scl.Grid: 0.2 if box.dimension == 3 else 0.05}[type(proposal)]
    np.testing.assert_allclose(jnp.vdot(weights, loss(state.points)), exact, rtol=rtol)
    assert info.evaluations == 0


@pytest.mark.parametrize(
    ("weights", "size"), [([1.0] * 7, 7), ([0.0, 5.0, 0.0], 1), ([2.0, 2.0, 0.0, 0.0], 2), ([3.0, 1.0], 1.6)]
)
def test_effective_sample_size(weights, size):
    np.testing.assert_allclose(effective_sample_size(jnp.asarray(weights)), size, rtol=1e-6)
    np.testing.assert_allclose(effective_sample_size(1e-4 * jnp.asarray(weights)), size, rtol=1e-5)


@pytest.mark.parametrize("law", ["ramp 1d", "coupled 3d"])
def test_r3_keeps_exactly_the_points_above_the_mean(law):
    box, density = LAWS[law]
    sampler = scl.R3(500)
    state = sampler.init(box, jr.key(0))
    values = density(state.points)
    after, info = sampler.observe(box, density, state, values, jr.key(1))
    same = np.all(np.asarray(after.points) == np.asarray(state.points), axis=1)
    np.testing.assert_array_equal(same, values > values.mean())
    assert info.acceptance == pytest.approx(same.mean())
    fresh = np.asarray(after.points)[~same]
    middle = (np.asarray(box.lower) + np.asarray(box.upper)) / 2
    assert np.all(np.abs(fresh.mean(0) - middle) < 5 * box.lengths / np.sqrt(12 * len(fresh)))


@pytest.mark.parametrize(("k", "c"), [(2.0, 0.0), (1.0, 1.0), (4.0, 0.5)])
def test_rad_draws_from_its_law(k, c):
    """|r|ᵏ / mean |r|ᵏ + c with |r|² = ℓ."""
    box, loss = LAWS["ramp 1d"]
    sampler = scl.RAD(200, pool=20_000, k=k, c=c)
    draw = lambda key: sampler.step(box, loss, sampler.init(box, key), key)[0].points
    points = compiled(lambda keys: jax.lax.map(draw, keys))(jr.split(jr.key(0), 40)).reshape(-1, 1)
    size = lambda z: np.asarray(loss(z)) ** (k / 2)
    law = lambda z: size(z) / quadrature(box, size) + c
    assert_law(points, box, law, factor=1.2)


def test_rad_redraws_only_when_due():
    box, loss = LAWS["product 2d"]
    sampler = scl.RAD(20, pool=100, every=3)
    step = compiled(lambda state, key: sampler.step(box, loss, state, key))
    state, changed, spent = sampler.init(box, jr.key(0)), [], []
    for i in range(7):
        before = state.points
        state, info = step(state, jr.key(i))
        changed.append(bool(jnp.any(state.points != before)))
        spent.append(int(info.evaluations))
    assert changed == [True, False, False, True, False, False, True]
    assert spent == [100, 0, 0, 100, 0, 0, 100]


def test_rad_draws_without_replacement():
    box, loss = LAWS["ramp 1d"]
    sampler = scl.RAD(90, pool=100, k=2.0, c=0.0)
    state, _ = sampler.step(box, loss, sampler.init(box, jr.key(0)), jr.key(1))
    assert len(np.unique(np.asarray(state.points))) == 90


@pytest.mark.parametrize(
    "sampler",
    [
        scl.Uniform(30),
        scl.Sobol(30),
        scl.Grid(30),
        Fixed(jnp.ones((3, 2))),
        scl.ImportanceWeights(30),
        scl.MetropolisHastings(6, 7, keep=12),
        scl.PersistentChains(8, steps=1),
        scl.PersistentChains(8, steps=3),
        scl.Langevin(9, steps=1),
        scl.Langevin(9, steps=3),
        scl.R3(10),
        scl.RAD(10, pool=40, every=2),
    ],
    ids=lambda s: type(s).__name__,
)
def test_reported_evaluations_are_those_made(sampler):
    """A callback counts the points at which the density is really evaluated, over three passes."""
    box, law = LAWS["product 2d"]
    seen = []

    def density(w):
        jax.debug.callback(lambda column: seen.append(column.size), w[:, 0])
        return law(w)

    @compiled
    def iterate(state, key):
        state, before = sampler.step(box, density, state, key)
        state, after = sampler.observe(box, density, state, law(state.points), key)
        return state, before.evaluations + after.evaluations

    state, reported = sampler.init(box, jr.key(0)), 0
    for i in range(3):
        state, evaluations = iterate(state, jr.key(i))
        reported += int(evaluations)
    jax.effects_barrier()
    assert sum(seen) == reported


@pytest.mark.parametrize("sampler", [scl.Uniform(400), scl.Sobol(400), scl.Grid(400), scl.R3(400), scl.RAD(400)])
def test_points_that_ignore_the_loss_weigh_alike(sampler):
    np.testing.assert_allclose(sampler.weights(jnp.arange(1.0, 401.0)), 1 / 400)


@pytest.mark.parametrize("name", ["Uniform", "Sobol"])
def test_fresh_points_every_pass(name):
    box = scl.Box(x=(0, 1), y=(2, 5))
    sampler = getattr(scl, name)(1024)
    state, _ = run(sampler, box, lambda w: w[:, 0], jr.key(0), 1)
    again, _ = run(sampler, box, lambda w: w[:, 0], jr.key(1), 1)
    assert not np.any(np.asarray(state.points) == np.asarray(again.points))
    assert_law(state.points, box, lambda z: np.ones(len(z)))


def test_a_proposal_of_a_given_size_keeps_it():
    box = scl.Box(x=(0, 1), y=(0, 1))
    size = lambda sampler: len(sampler.init(box, jr.key(0)).points)
    assert size(scl.ImportanceWeights(proposal=scl.Sobol(4096))) == 4096
    assert size(scl.ImportanceWeights(64, proposal=scl.Sobol(4096))) == 64
    assert size(scl.ImportanceWeights()) == 1000


def test_parameters_crowd_on_a_union_of_faces_too():
    """The parameter has variance L²/8 there as well, and the points stay even along the faces."""
    domain = scl.Box(x=(0.0, 2.0), y=(0.0, 1.0)).join({"nu": (1.0, 5.0)})
    problem = scl.Problem(domain, objective=scl.average(scl.Dirichlet(0.0)))
    (term,) = problem.terms
    w = scl.Sobol(4096, crowd=True).init(term.law.place, jr.key(0)).points
    z = np.asarray(jax.vmap(term.law.place.embed)(w), float)
    assert z[:, 2].var() == pytest.approx(16 / 8, rel=1e-2)
    assert np.mean((z[:, 0] == 0) | (z[:, 0] == 2)) == pytest.approx(1 / 3, abs=1e-2)  # of the outline


def test_crowding_gives_parameters_the_law_of_chebyshev_points():
    """p = low + L (1 − cos πs)/2 has variance L²/8, where even points have L²/12, and a tenth of a range near an end
    has the share 2 asin(√0.1)/π; coordinates that are no parameter stay as they are, to the bit."""
    domain = scl.Box(x=(0.0, 2.0)).join({"nu": (1.0, 5.0)})
    draw = lambda sampler: np.asarray(sampler.init(domain, jr.key(0)).points, float)
    even, crowded = draw(scl.Sobol(4096)), draw(scl.Sobol(4096, crowd=True))
    np.testing.assert_array_equal(even[:, 0], crowded[:, 0])
    assert even[:, 1].var() == pytest.approx(16 / 12, rel=1e-2)
    assert crowded[:, 1].var() == pytest.approx(16 / 8, rel=1e-2)
    assert np.mean(crowded[:, 1] < 1.4) == pytest.approx(2 * np.arcsin(np.sqrt(0.1)) / np.pi, abs=5e-3)
    alone = scl.Box(x=(0.0, 2.0))
    np.testing.assert_array_equal(
        scl.Sobol(64).init(alone, jr.key(1)).points, scl.Sobol(64, crowd=True).init(alone, jr.key(1)).points
    )
