"""How sclax is trained: `solve(problem, seconds=...)` and no setting, once for each share of the seconds.

A run that came to its own end before its share had passed is not repeated with more.
"""

import jax
import numpy as np

import sclax as scl


def train(statement, seed, stages):
    problem = statement.state(seed)
    for limit in stages.limits:
        solution = scl.solve(problem, seconds=limit, seed=seed, progress=False)
        ended = solution.seconds < 0.9 * limit
        stages.passed(solution.seconds, solution.steps, _found(solution), ended=True)
        if ended:
            break
    return repr(solution.method)


def _found(solution):
    if solution.estimates:
        return lambda: {name: one.value for name, one in solution.estimates.items()}
    names = solution.problem.domain.names

    def values(points):
        with jax.enable_x64(True):  # else values are rounded to single precision
            return np.asarray(solution(**dict(zip(names, points.T, strict=True))))

    return values
