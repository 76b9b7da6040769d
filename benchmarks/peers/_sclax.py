"""How sclax is trained: `solve(problem, seconds=...)` and no setting.

The error at the end is that of one call in a fresh process. Those of earlier times are of further calls with fewer
seconds, as far as the first did not come to its own end before.
"""

import time

import jax
import numpy as np

import sclax as scl


def train(statement, seed, stages):
    problem = statement.state(seed)
    begin = time.perf_counter()
    solution = scl.solve(problem, seconds=stages.seconds, seed=seed, progress=False)
    stages.wall = time.perf_counter() - begin
    for limit in stages.limits[:-1]:
        if limit < 0.9 * solution.seconds:
            earlier = scl.solve(problem, seconds=limit, seed=seed, progress=False)
            stages.passed(earlier.seconds, earlier.steps, _found(earlier), ended=True)
    stages.passed(solution.seconds, solution.steps, _found(solution), ended=True)
    return repr(solution.method)


def _found(solution):
    if solution.estimates:
        return lambda: {name: one.value for name, one in solution.estimates.items()}
    names = solution.problem.domain.names

    def values(points):
        with jax.enable_x64(True):  # else values are rounded to single precision
            return np.asarray(solution(**dict(zip(names, points.T, strict=True))))

    return values
