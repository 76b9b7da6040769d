"""Solution operators learned from data, at three scales: what the paper's section on supervised solutions has."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import optax
import xarray as xr
from rich.console import Console
from rich.progress import Progress

from .. import data, nn
from .._base import Key, Model, checks
from .._laws import Data, RelativeL2
from .._methods import DualAscent, PrimalDual
from .._problem import OperatorProblem, average, each
from ._burgers import burgers_law
from ._burgers import paper_settings as burgers_settings
from ._diffusion_sorption import paper_settings as sorption_settings
from ._navier_stokes import paper_settings as vorticity_settings
from ._settings import OperatorSettings, recipe


class OperatorScale(NamedTuple):
    """How large an experiment is: which points of the data are kept, and the settings of network and training."""

    settings: OperatorSettings
    every: Mapping[str, int]  # one point of so many along each coordinate


def _scale(name: str, scales: Mapping[str, OperatorScale], scale: str) -> OperatorScale:
    if scale not in scales:
        raise ValueError(
            f"{name}: `scale` must be {checks.listed(scales)}, got {scale!r}." + checks.nearest(str(scale), scales)
        )
    return scales[scale]


def _reduced(tolerance: float, *sizes: int, **more: Any) -> OperatorSettings:
    """A small scale. Its few epochs are mostly the first descent, in which all samples violate alike: violations count
    up to ten tolerances, at a rate that stays, so that multipliers tell samples apart by what is left of theirs."""
    return OperatorSettings(tolerance, *sizes, dual_rate=0.1, dual_decay=1.0, dual_clip=10 * tolerance, **more)


# `tiny` takes seconds, `small` at most three minutes on two cores, `paper` is the paper's.
BURGERS_SCALES = {
    "tiny": OperatorScale(_reduced(1e-2, 8, 4, 4, 6, 2, hidden=8, projection=16, epochs=20, batch=4), {}),
    "small": OperatorScale(
        _reduced(1e-3, 200, 50, 50, 8, 4, hidden=24, projection=48, epochs=150, decay_every_epochs=30),
        {"t": 2, "x": 2},
    ),
    "paper": OperatorScale(burgers_settings(), {}),
}
SORPTION_SCALES = {
    "tiny": OperatorScale(_reduced(1e-2, 8, 4, 4, 4, 2, hidden=8, projection=16, epochs=20, batch=4), {"x": 2}),
    "small": OperatorScale(
        _reduced(1e-3, 200, 50, 50, 8, 4, hidden=24, projection=48, epochs=150, decay_every_epochs=30),
        {"t": 2, "x": 8},
    ),
    "paper": OperatorScale(sorption_settings(), {}),
}


def _vorticity_scales(nu: float) -> dict[str, OperatorScale]:
    # Below 1e-3 no sample comes near 1e-2 at this scale: all violations would be clipped alike.
    tolerance = 1e-2 if nu >= 1e-3 else 5e-2
    small = _reduced(
        tolerance, 120, 40, 40, 4, 4, hidden=20, projection=40, epochs=100, decay_every_epochs=20, batch=10
    )
    return {
        "tiny": OperatorScale(_reduced(1e-2, 4, 2, 2, 3, 2, hidden=6, projection=8, epochs=10, batch=2), {}),
        "small": OperatorScale(small, {"t": 2, "x": 2, "y": 2}),
        "paper": OperatorScale(vorticity_settings(nu), {}),
    }


class Training(NamedTuple):
    """The recipe of a scale, the same for multipliers and for the average loss."""

    model: Any
    method: PrimalDual
    steps: int


class Builder(NamedTuple):
    """The Fourier neural operator of some settings."""

    settings: OperatorSettings

    def __call__(self, domain: Any, outputs: int, key: Key) -> Model:
        s, dimensions = self.settings, domain.dimension
        return nn.FNO(1, outputs, s.modes, s.layers, s.hidden, s.projection, dimensions, key=key)


@functools.cache
def _training(settings: OperatorSettings) -> Training:
    epoch = settings.train // settings.batch
    every = settings.decay_every_epochs * epoch
    rate = lambda start, decay: optax.exponential_decay(start, every, decay, staircase=True)
    primal = optax.adam(rate(settings.primal_rate, settings.decay))
    dual = DualAscent(rate(settings.dual_rate, settings.dual_decay), clip=settings.dual_clip)
    method = PrimalDual(primal=primal, dual=dual)
    return Training(Builder(settings), method, settings.epochs * epoch)


def _made(generator: Callable[..., xr.Dataset], scale: str, **arguments: Any) -> xr.Dataset:
    """A data set of the cache, or a new one, with a bar on standard error: that may take minutes."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"making data of {generator.__name__}, once", total=None, visible=False)
        tell = lambda done, total: bar.update(task, completed=done, total=total, visible=True)
        return generator(scale, progress=tell, **arguments)


def _problem(
    dataset: xr.Dataset, chosen: OperatorScale, constrained: bool, recipe: Any, extra: Mapping[str, Any], **more: Any
) -> OperatorProblem:
    settings, every = chosen
    kept = dataset.isel({name: slice(None, None, step) for name, step in every.items()})
    wanted = settings.train + settings.validation + settings.test
    if kept.sizes["sample"] < wanted:
        raise ValueError(f"{recipe.name}: the data set has {kept.sizes['sample']} samples, {wanted} are needed.")
    kept = kept.isel(sample=slice(0, wanted))
    fit = Data(RelativeL2())
    return OperatorProblem(
        kept,
        constraints={**({"data": each(fit) <= settings.tolerance} if constrained else {}), **extra},
        objective=None if constrained else average(fit),
        validation=settings.validation,
        test=settings.test,
        batch=settings.batch,
        recipe=recipe,
        **more,
    )


def burgers_operator(
    scale: str = "small", constrained: bool = True, physics: float | None = None, seed: int = 0
) -> OperatorProblem:
    """The solution operator of Burgers' equation, ν = 0.01, from data:  ‖u(a_j) − u_j‖ / ‖u_j‖ ≤ ε  for each sample.

    `scale` is `tiny`, `small` or `paper`; `constrained=False` trains on the average loss instead. `physics` is a
    tolerance for the mean square of the equation's residual on the operator's output, a further constraint. `seed` is
    of the data, which are made on the spot and kept in the user's cache.

    !!! example
        `sclax solve burgers_operator --scale small`
    """
    chosen = _scale("burgers_operator", BURGERS_SCALES, scale)
    made = _made(data.burgers, scale, seed=seed)
    known = {} if physics is None else {"nu": 0.01}
    extra = {} if physics is None else {"pde": average(burgers_law) <= physics}
    about = recipe("burgers_operator", scale=scale, constrained=constrained, physics=physics, seed=seed)
    return _problem(made, chosen, constrained, about, extra, parameters=known, periodic=("x",))


def diffusion_sorption_operator(scale: str = "small", constrained: bool = True, seed: int = 0) -> OperatorProblem:
    """The solution operator of diffusion-sorption from data; see `burgers_operator`.

    Its inputs are constants: interpolation between training samples is a baseline that is hard to beat, and the command
    reports it.

    !!! example
        `scl.solve(scl.zoo.diffusion_sorption_operator("tiny"), seconds=60)`
    """
    chosen = _scale("diffusion_sorption_operator", SORPTION_SCALES, scale)
    about = recipe("diffusion_sorption_operator", scale=scale, constrained=constrained, seed=seed)
    return _problem(_made(data.diffusion_sorption, scale, seed=seed), chosen, constrained, about, {})


def navier_stokes_operator(
    scale: str = "small", nu: float = 1e-3, constrained: bool = True, seed: int = 0
) -> OperatorProblem:
    """The solution operator of the vorticity equation from data; see `burgers_operator`. As in the paper's code, the
    input is the vorticity at t = 1, the first of the frames.

    !!! example
        `scl.solve(scl.zoo.navier_stokes_operator("tiny"), seconds=60)`
    """
    nu = checks.positive("navier_stokes_operator", "nu", nu)
    chosen = _scale("navier_stokes_operator", _vorticity_scales(nu), scale)
    made = _made(data.navier_stokes, scale, viscosity=nu, seed=seed)
    made = made.assign(input=made["solution"].isel(t=0, drop=True))
    about = recipe("navier_stokes_operator", scale=scale, nu=nu, constrained=constrained, seed=seed)
    return _problem(made, chosen, constrained, about, {}, periodic=("x", "y"), unknown="w")


def burgers_training(scale: str = "small", **_: Any) -> Training:
    return _training(_scale("burgers_operator", BURGERS_SCALES, scale).settings)


def sorption_training(scale: str = "small", **_: Any) -> Training:
    return _training(_scale("diffusion_sorption_operator", SORPTION_SCALES, scale).settings)


def vorticity_training(scale: str = "small", nu: float = 1e-3, **_: Any) -> Training:
    return _training(_scale("navier_stokes_operator", _vorticity_scales(nu), scale).settings)
