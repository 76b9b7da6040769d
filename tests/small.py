"""Problems so small that their optimum and their multipliers are known."""

import equinox as eqx
import jax.numpy as jnp

import sclax as scl


class Value(eqx.Module):
    """The network u(z) = value."""

    value: jnp.ndarray

    def __call__(self, z):
        return self.value[None]


class Line(eqx.Module):
    """The network u(x) = a + b x."""

    a: jnp.ndarray
    b: jnp.ndarray

    def __call__(self, z):
        return (self.a + self.b * z[0])[None]


class Hats(eqx.Module):
    """The network with given values at x = 0, 1, 2, …, linear in between."""

    values: jnp.ndarray

    def __call__(self, z):
        knots = jnp.arange(len(self.values), dtype=z.dtype)
        return jnp.sum(self.values * jnp.maximum(1 - jnp.abs(z[0] - knots), 0.0))[None]


def value(start=0.0):
    return Value(jnp.asarray(start))


def unit():
    return scl.Box(x=(0, 1))


def bounded(tolerance=1.0):
    """min (u − 2)²  subject to  u² ≤ ε:  u = √ε,  λ = 2/√ε − 1."""
    return scl.Problem(
        domain=unit(),
        objective=scl.average(lambda u: u - 2),
        constraints={"size": scl.average(lambda u: u) <= tolerance},
    )


def at_least_one(tolerance, power):
    """min u²  subject to  [1 − u]₊ᵖ ≤ ε:  λ = (1 − √ε)/√ε for p = 2,  λ = 2 (1 − ε) for p = 1."""
    return scl.Problem(
        domain=unit(),
        objective=scl.average(lambda u: u),
        constraints={"one": scl.average(scl.Inequality(lambda u: 1 - u, power=power)) <= tolerance},
    )


def samples():
    """min (a² + b² + c²)/3  subject to  (a − 1)² ≤ ¼, (b − 2)² ≤ ¼, (c − 0.1)² ≤ ¼:  λ = (1/3, 1, 0)."""
    seen = scl.Observations({"x": [0.0, 1.0, 2.0]}, [1.0, 2.0, 0.1])
    return scl.Problem(
        domain=scl.Box(x=(0, 2)),
        objective=scl.average(lambda u: u, points=[[0.0], [1.0], [2.0]]),
        constraints={"data": scl.each(seen) <= 0.25},
    )


def slope(tolerance):
    """min mean over the ends of u²  subject to  (u' − 1)² ≤ ε,  u = a + b x.

    Then b = 1 − √ε, the objective is b²/4, and λ = (1 − √ε)/(4√ε).
    """
    return scl.Problem(
        domain=unit(),
        objective=scl.average(scl.Dirichlet(0.0)),
        constraints={"ode": scl.worst_case(lambda u_x: u_x - 1) <= tolerance},
    )
