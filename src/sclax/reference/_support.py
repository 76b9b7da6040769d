"""What the references share: extras, times, provenance, and marching an exponax stepper in float64."""

import importlib.metadata
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._base import checks

Times = int | np.ndarray


class Manufactured(NamedTuple):
    """A solution chosen first, and the source that makes it one.

    !!! example
        `scl.reference.poisson().solution(0.5, 0.5)`
    """

    solution: Callable[..., Any]
    source: Callable[..., Any]


def namespace(*values: Any) -> ModuleType:
    """jax.numpy for traced or device arrays, else numpy: exact in float64 whatever JAX is configured to."""
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def times(owner: str, t: Times, end: float) -> np.ndarray:
    """Increasing times t₀ ≥ 0; a number n means n times from 0 to `end`, both included."""
    if np.ndim(t) == 0:
        return np.linspace(0.0, end, checks.count(owner, "t", t, at_least=2))
    grid = checks.finite_array(owner, "t", t)
    if grid.ndim != 1 or grid.size < 1 or grid[0] < 0 or np.any(np.diff(grid) <= 0):
        raise ValueError(
            f"{owner}: `t` must be a number of times or increasing times from 0 on, got {t!r:.80}. "
            "Sort them and drop duplicates."
        )
    return grid


def strides(owner: str, t: np.ndarray) -> tuple[float, int]:
    """The spacing of equispaced times, and how many of it lie before the first."""
    spacing = t[0] if t.size == 1 else (t[-1] - t[0]) / (t.size - 1)
    skip = round(t[0] / spacing) if spacing > 0 else 0
    if spacing <= 0 or not np.allclose(t, spacing * (skip + np.arange(t.size)), rtol=0, atol=1e-9 * t[-1]):
        raise ValueError(
            f"{owner}: `t` must be whole multiples of one spacing, one after another, got {t!r:.80}. "
            "Use np.linspace(0, end, n) and interpolate, or pick the frames afterwards."
        )
    return float(spacing), skip


def substeps_for(owner: str, substeps: int | None, spacing: float, step: float) -> int:
    """Steps per output interval: as asked, else enough for steps of at most `step`."""
    if substeps is not None:
        return checks.count(owner, "substeps", substeps)
    return max(1, int(np.ceil(spacing / step - 1e-9)))


def periodic_grid(low: float, high: float, points: int) -> np.ndarray:
    """Points of a ring, its end left out.

    !!! example
        `periodic_grid(0, 1, 4)` is [0, 0.25, 0.5, 0.75]
    """
    return low + (high - low) * np.arange(points) / points


def initial(owner: str, argument: str, u0: Any, points: int | None, low: float, high: float, dims: int) -> np.ndarray:
    """Initial data on `points` per axis: a function is sampled, an array refined by its Fourier series."""
    if callable(u0):
        points = checks.count(owner, "points", points, at_least=4)
        axis = periodic_grid(low, high, points)
        axes = np.meshgrid(*[axis] * dims, indexing="ij")
        return checks.finite_array(owner, argument, np.broadcast_to(np.asarray(u0(*axes)), axes[0].shape))
    values = checks.finite_array(owner, argument, u0)
    shape = values.shape[-dims:]
    if values.ndim not in (dims, dims + 1) or len(set(shape)) != 1:
        raise ValueError(
            f"{owner}: `{argument}` must be a function or an array of shape {('n',) * dims} or "
            f"{('samples', *('n',) * dims)}, got shape {values.shape}."
        )
    if points is None or points == shape[0]:
        return values
    points = checks.count(owner, "points", points, at_least=4)
    if points < shape[0]:
        raise ValueError(
            f"{owner}: `points` must be at least the {shape[0]} of `{argument}`, got {points}: "
            "solve on the finer grid and thin the result."
        )
    for axis in range(values.ndim - dims, values.ndim):
        values = _refine(values, points, axis)
    return values


def _refine(values: np.ndarray, points: int, axis: int) -> np.ndarray:
    n = values.shape[axis]
    spectrum = np.moveaxis(np.fft.rfft(values, axis=axis), axis, -1)
    if n % 2 == 0:
        # The highest mode of an even grid stands for both signs; on a finer grid each has its own place.
        spectrum[..., -1] /= 2
    refined = np.fft.irfft(spectrum, points) * (points / n)
    return np.moveaxis(refined, -1, axis)


@eqx.filter_jit
def _rollout(
    build: Callable[..., Any],
    dt: jax.Array,
    coefficients: Any,
    substeps: jax.Array,
    state: jax.Array,
    frames: int,
) -> jax.Array:
    # Built in here: outside, its coefficients cost more than the march. Numbers are traced, `substeps` too:
    # a new one is not a new compilation.
    stepper = build(state.shape[-1], dt, *coefficients)

    def one(u):
        def frame(u_hat, _):
            u_hat = jax.lax.fori_loop(0, substeps, lambda _, v: stepper.step_fourier(v), u_hat)
            return u_hat, u_hat

        axes = tuple(range(1, u.ndim))
        _, spectra = jax.lax.scan(frame, jnp.fft.rfftn(u, axes=axes), None, length=frames)
        return jnp.fft.irfftn(spectra, s=u.shape[1:], axes=tuple(a + 1 for a in axes))[:, 0]

    return jax.vmap(one)(state[:, None])


def march(
    owner: str,
    build: Callable[..., Any],
    coefficients: tuple[Any, ...],
    u0: np.ndarray,
    t: np.ndarray,
    substeps: int | None,
    step: float,
    dims: int,
) -> tuple[np.ndarray, float]:
    """u at the times `t`, shape (samples, times, space), and the time step taken.

    `build(points, dt, *coefficients)` makes an exponax stepper; it is built, and stepped, in float64.
    """
    spacing, skip = strides(owner, t)
    inner = substeps_for(owner, substeps, spacing, step)
    samples = u0.reshape(-1, *u0.shape[-dims:])
    with jax.enable_x64(True):
        dt, numbers, repeats, starts = jax.tree.map(jnp.asarray, (spacing / inner, coefficients, inner, samples))
        u = np.asarray(_rollout(build, dt, numbers, repeats, starts, skip + t.size - 1))
    if skip == 0:
        u = np.concatenate([samples[:, None], u], axis=1)
    u = u[:, -t.size :]
    if not np.isfinite(u).all():
        raise FloatingPointError(
            f"{owner}: the solution blew up with time step {spacing / inner:.3g}. Raise `substeps` above "
            f"{inner}, or `points` if the solution forms layers that the grid does not resolve."
        )
    return u, spacing / inner


def provenance(equation: str, scheme: str, **values: Any) -> dict[str, Any]:
    """Attributes that say how a reference was made, all of them storable in netCDF."""
    return {"equation": equation, "scheme": scheme, **values}


def exponax_scheme(order: int = 4) -> str:
    return f"Fourier pseudo-spectral, ETDRK{order}, exponax {importlib.metadata.version('exponax')}, float64"
