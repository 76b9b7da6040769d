"""Does a multiplier say what its tolerance costs? Tolerances that bind are changed, and the objective with them."""

import numpy as np

import sclax as scl

RATIOS = (0.8, 1.0, 1.25)  # of a tolerance
WITHIN = 0.3  # of the measured change: a prediction that is right


def _measured(law, size, seed=0):
    """Data on a line that a law contradicts by `size`, and noise."""
    draw = np.random.default_rng(seed)
    x = np.linspace(0.02, 0.98, 40)
    return x, law(x) + size * np.sin(7 * x) + 0.02 * draw.standard_normal(40)


def _against(law, curve, size):
    """A law that contradicts what was measured about a curve."""
    x, u = _measured(curve, size)
    return {}, scl.average(scl.Observations({"x": x}, u)), {"law": law}


def decay(factor):
    """u' = -u in the worst case, against data."""
    return _against(scl.worst_case(lambda u, u_x: u_x + u) <= 0.05 * factor, lambda x: np.exp(-x), 0.2)


def string(factor):
    """u'' = -1 on the average, against data."""
    return _against(scl.average(lambda u_xx: u_xx + 1) <= 0.5 * factor, lambda x: x * (1 - x) / 2, 0.1)


def reaction(factor):
    """u'' = 4 u + u^3 on the average, against data."""
    law = scl.average(lambda u, u_xx: u_xx - 4 * u - u**3) <= 0.5 * factor
    return _against(law, lambda x: np.exp(-2 * x), 0.1)


def plate(factor):
    """Laplace's equation on the average, against data of two dimensions."""
    draw = np.random.default_rng(0)
    x, y = draw.uniform(0.05, 0.95, size=(2, 80))
    u = np.exp(x) * np.sin(y) + 0.3 * np.sin(3 * x) * np.sin(3 * y)
    law = scl.average(lambda lap_u: lap_u) <= 0.5 * factor
    return {"y": (0, 1)}, scl.average(scl.Observations({"x": x, "y": y}, u)), {"law": law}


def samples(factor):
    """Eight measurements, each with a tolerance, against u'' = -1."""
    x, u = _measured(lambda x: x * (1 - x) / 2, 0.1)
    fits = scl.each(scl.Observations({"x": x[::5]}, u[::5])) <= 1e-3 * factor
    return {}, scl.average(lambda u_xx: u_xx + 1), {"fits": fits}


def obstacle(factor):
    """A string over an obstacle, whose energy is least."""
    above = scl.worst_case(scl.Inequality(lambda u, x: 0.5 - 4 * (x - 0.5) ** 2 - u)) <= 1e-2 * factor
    walls = scl.average(scl.Dirichlet(0.0)) <= 1e-6
    return {}, scl.average(lambda u_x: u_x), {"above": above, "walls": walls}


BINDING = {make.__name__: make for make in (decay, string, reaction, plate, samples, obstacle)}


def prices(seed, steps):
    """Does a multiplier say what its tolerance costs? Problems at 0.8, 1 and 1.25 times the first tolerance."""
    found = {name: _one(make, seed, steps) for name, make in BINDING.items()}
    return {"problems": found, "seed": seed, "seconds": sum(sum(one["seconds"]) for one in found.values())}


def _one(make, seed, steps):
    runs = []
    for ratio in RATIOS:
        more, objective, constraints = make(ratio)
        problem = scl.Problem(domain=scl.Box(x=(0, 1), **more), objective=objective, constraints=constraints)
        solution = scl.solve(problem, steps=steps, seed=seed, progress=False)
        report = solution.check(points=100_000)
        # All terms of these objectives have the factor 1.
        runs.append((solution, report, sum(f.estimate for f in report.findings if f.tolerance is None)))
    law = next(iter(problem.tolerances))
    middle, report, _ = runs[1]
    told = report[law].price is not None  # what check() calls a price, and nothing else
    costs = np.sum(np.asarray(middle.multipliers[law]) * np.asarray(middle.problem.tolerances[law]))
    predicted = float(costs) * (RATIOS[2] - RATIOS[0]) if told else None
    measured = runs[0][2] - runs[2][2]
    return {
        "problem": make.__doc__,
        "objectives": [value for _, _, value in runs],
        "multipliers": [np.asarray(solution.multipliers[law]).tolist() for solution, _, _ in runs],
        "values": [report[law].estimate for _, report, _ in runs],
        "says": report[law].verdict,
        "predicted": predicted,
        "measured": measured,
        "off": abs(predicted / measured - 1) if predicted and measured else None,
        "seconds": [solution.seconds for solution, _, _ in runs],
        "steps": [solution.steps for solution, _, _ in runs],
    }


def good(run):
    """Three boundary value problems, samples and an inequality are predicted, and nothing that is told is wrong."""
    right = {name for name, one in run["problems"].items() if one["off"] is not None and one["off"] < WITHIN}
    told = {name for name, one in run["problems"].items() if one["predicted"] is not None}
    return told <= right and {"samples", "obstacle"} <= right and len(right) >= 5


def shown(run):
    off = lambda one: "no price is told" if one["off"] is None else f"{one['off']:.0%}"
    return ", ".join(f"{name} {off(one)}" for name, one in run["problems"].items())
