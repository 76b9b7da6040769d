"""A sampler, a dual, a condition and a controller of one's own
============================================================"""

import sys

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

import sclax as scl


class Lattice(scl.AbstractSampler):  # where: a golden lattice, shifted at random for every pass
    n: int = eqx.field(static=True, default=200)
    fresh = True

    def sized(self, n):
        return self if n is None else Lattice(n)

    def init(self, place, key):
        slopes = 0.5 * (5**0.5 - 1) ** (1 + jnp.arange(place.chart.dimension))
        shifts = jr.uniform(key, slopes.shape)
        return scl.SamplerState(place.chart.from_unit((jnp.arange(self.n)[:, None] * slopes + shifts) % 1))

    def step(self, place, density, state, key):
        return self.init(place, key), scl.SamplerInfo(jnp.asarray(1.0), jnp.asarray(0))


class Multiplicative(scl.AbstractDual):  # how strongly: multipliers that grow and fall in proportion to their size
    rate: float = 0.2

    def init(self, multipliers):
        return ()

    def step(self, multipliers, state, violations):
        return (multipliers + 0.01) * jnp.exp(self.rate * jnp.tanh(violations)) - 0.01, state


class Mirror(scl.AbstractResidual):  # what must vanish
    def __call__(self, model, parameters, place, w):
        return model(place.embed(w)) - model(1 - place.embed(w))


class Symmetry(scl.AbstractCondition):
    def bind(self, vocabulary, domain):
        return scl.Law(Mirror(), domain, "symmetry", 0)


class Enough(scl.AbstractController):  # when to stop: once every constraint holds and the objective is small enough
    task: scl.Task
    target: float = 1e-8

    def init(self, state):
        return ()

    def look(self, run, state, step):
        return run.watch, {}

    def decide(self, run, clock):
        held = run.step and all(2 * run.history.values[n][-1] < e for n, e in self.task.problem.tolerances.items())
        end = scl.RESULTS.converged if held and run.history.objective[-1] < self.target else clock.over(run)
        return self.go(run, clock) if end is None else scl.Stop(end, end is scl.RESULTS.converged)

    def result(self, run):
        return run.state, run.step


problem = scl.Problem(
    scl.Box(x=(0, 1)),
    objective=scl.average(scl.Dirichlet(0.0)) + scl.average(Symmetry()),
    constraints={"poisson": scl.worst_case(lambda u_xx, x: u_xx + jnp.pi**2 * jnp.sin(jnp.pi * x)) <= 1e-6},
    reference=lambda x: jnp.sin(jnp.pi * x),
)
method = scl.PrimalDual(scl.GaussNewton(), Multiplicative(), worst_case=scl.ImportanceWeights(100, Lattice()))
solution = scl.solve(problem, method=method, steps=500, controller=Enough)
result, plot = solution.error(), solution.plot
if __name__ == "__main__":
    print(solution.check(), f"relative L2 error {result:.1e}. {solution.result.value}", sep="\n")
    plot(*sys.argv[1:])  # the path of a picture
