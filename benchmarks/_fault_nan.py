"""NaN and infinity planted in residuals, gradients, conditions, data and weights: caught, and blamed rightly."""

import jax
import jax.numpy as jnp
import numpy as np

import sclax as scl

BOX = scl.Box(x=(0, 1), t=(0, 1))
SMALLEST, LARGEST = 0.02, 0.2  # radii of holes, large enough for 100 000 points to fall into


def _hole(x, t, px, pt, radius):
    return (x - px) ** 2 + (t - pt) ** 2 < radius**2


def nan(u_t, u_x, x, t, px, pt, radius):
    return u_t + u_x + jnp.where(_hole(x, t, px, pt, radius), jnp.nan, 0.0)


def infinite(u_t, u_x, x, t, px, pt, radius):
    return u_t + u_x + 1.0 / jnp.where(_hole(x, t, px, pt, radius), 0.0, jnp.inf)


def gradient(u, u_t, u_x, x, t, px, pt, radius):
    """√|u − u| has no slope in the weights."""
    return u_t + u_x + jnp.sqrt(jnp.where(_hole(x, t, px, pt, radius), jnp.abs(u - u), 1.0)) - 1.0


def healthy(u_t, u_x):
    return u_t + u_x


def start(x):
    return jnp.sin(2 * jnp.pi * x)


def broken_start(x, px, radius):
    return start(x) + jnp.where(jnp.abs(x - px) < radius, jnp.nan, 0.0)


PLANTED = {
    "nan": (nan, start),
    "infinite": (infinite, start),
    "gradient": (gradient, start),
    "condition": (healthy, broken_start),
}


def posed(kind, px, pt, radius):
    """Numbers are parameters, so that all trials of a kind share their compiled code."""
    law, begin = PLANTED[kind]
    numbers = {"px": px, "radius": radius} | ({} if kind == "condition" else {"pt": pt})
    return scl.Problem(
        BOX,
        parameters=numbers,
        objective=scl.average(scl.Initial(begin)) + scl.average(scl.Periodic("x")),
        constraints={"pde": scl.worst_case(law) <= 1e-4},
    )


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=12, depth=2, key=key)


def wrong(kind, seed, rng):
    """What is wrong with the outcome of a trial; an empty text where nothing is."""
    px, pt, radius = rng.uniform(0.25, 0.75), rng.uniform(0.25, 0.75), rng.uniform(SMALLEST, LARGEST)
    solution = scl.solve(posed(kind, px, pt, radius), tiny, seed=seed, steps=30, progress=False)
    where = f"{kind}, hole at ({px:.3f}, {pt:.3f}) of radius {radius:.3f}, seed {seed}"
    weights = [leaf for leaf in jax.tree.leaves(solution.model) if hasattr(leaf, "shape")]
    if not all(np.isfinite(leaf).all() for leaf in weights):
        return f"{where}: the weights are NaN"
    if solution.result is not scl.RESULTS.nonfinite:
        return f"{where}: {solution.result.name} after {solution.steps} steps, without a word"
    bad, good = ("initial", "pde") if kind == "condition" else ("pde", "initial")
    report = solution.check(points=100_000)
    if list(solution.failures) != [bad] or report.holds or not np.isfinite(report[good].estimate):
        return f"{where}: blamed {list(solution.failures)}"
    place = report[bad].where
    distance = abs(place["x"] - px) if kind == "condition" else np.hypot(place["x"] - px, place["t"] - pt)
    if kind != "gradient" and not distance < radius:
        return f"{where}: blamed {place}"
    if kind == "gradient" and "gradient in the weights" not in report[bad].verdict:
        return f"{where}: the gradient is not blamed"
    return ""


def refusals():
    """What is refused before training: NaN in data, tolerances, parameters and weights."""
    observed = lambda values: scl.average(scl.Observations({"x": [0.1, 0.2], "t": [0.5, 0.5]}, values))
    network = scl.nn.MLP(BOX, 1, width=4, depth=1, key=jax.random.key(0))
    broken = jax.tree.map(lambda leaf: leaf * np.nan if hasattr(leaf, "shape") else leaf, network)
    fine = scl.Problem(BOX, objective=scl.average(scl.Initial(start)))
    return {
        "data": lambda: scl.Problem(BOX, objective=observed([1.0, np.nan])),
        "infinite data": lambda: scl.Problem(BOX, objective=observed([1.0, np.inf])),
        "tolerance": lambda: scl.worst_case(healthy) <= np.nan,
        "parameter": lambda: posed("nan", np.nan, 0.5, 0.1),
        "domain": lambda: scl.Box(x=(0, np.nan)),
        "weights": lambda: scl.solve(fine, broken, steps=1, progress=False),
    }


def campaign(count, seed):
    rng = np.random.default_rng(seed)
    found = {"tried": 0, "caught": 0, "lost": []}
    for i in range(count):
        said = wrong(list(PLANTED)[i % len(PLANTED)], i, rng)
        found["tried"] += 1
        found["caught"] += not said
        found["lost"] += [said] if said else []
    for name, plant in refusals().items():
        found["tried"] += 1
        try:
            plant()
            found["lost"].append(f"{name}: accepted")
        except ValueError:
            found["caught"] += 1
    return found
