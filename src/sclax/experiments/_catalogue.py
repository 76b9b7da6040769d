"""What there is to reproduce: tables and figures by name; no JAX is needed to read it."""

from typing import NamedTuple

from ._paper import INVARIANCE, TABLE1, TABLE2, TABLE7, TABLE8, TABLE9
from ._records import Experiment
from ._suite import CASES


class Figure(NamedTuple):
    """What a figure shows, of which experiments, and which drawing it is.

    !!! example
        `scl.experiments.FIGURES["figure2"].title`
    """

    title: str
    drawing: str  # by name in `plots.DRAWINGS`
    experiments: tuple[Experiment, ...]


TABLES: dict[str, tuple[Experiment, ...]] = {
    "table1": TABLE1,
    "table2": TABLE2,
    "table7": TABLE7,
    "table8": TABLE8,
    "table9": TABLE9,
    "pinnacle": CASES,
}


def _of(rows: tuple[Experiment, ...], row: str, *methods: str) -> tuple[Experiment, ...]:
    return tuple(e for e in rows if e.row == row and (not methods or e.method in methods))


_BURGERS = _of(TABLE2, "burgers-operator", "average", "scl")
_SORPTION = _of(TABLE2, "diffusion-sorption-operator", "average", "scl")
_VORTICITY = _of(TABLE2, "navier-stokes-operator-1e-3", "average", "scl")
_FISHER = _of(TABLE8, "reaction-diffusion-family-5"), _of(TABLE8, "reaction-diffusion-family-10")
_HELMHOLTZ = _of(TABLE9, "helmholtz-family-2")

FIGURES: dict[str, Figure] = {
    "figure1a": Figure("Parametric convection: error over β", "over_parameters", TABLE7),
    "figure1b": Figure("Parametric convection: samples of ψ₀ in training", "samples", TABLE7[:1]),
    "figure2": Figure("Invariance in convection on fixed points", "panels", INVARIANCE),
    "figure3": Figure("Burgers: multipliers against the size of the input", "against_size", _BURGERS[1:]),
    "figure4": Figure("Parametric convection: error over training", "curves", TABLE7),
    "figure5": Figure("Parametric reaction-diffusion: error over training", "curves", (_FISHER[1][0], _FISHER[1][-1])),
    "figure6": Figure("Parametric reaction-diffusion: marginals of ψ₀", "samples", _FISHER[1][:1]),
    "figure7a": Figure(
        "Parametric reaction-diffusion, coarse grid: error", "over_parameters", (_FISHER[0][0], _FISHER[0][1])
    ),
    "figure7b": Figure(
        "Parametric reaction-diffusion, fine grid: error", "over_parameters", (_FISHER[1][0], _FISHER[1][-1])
    ),
    "figure8": Figure("Parametric Helmholtz: error over training", "curves", (_HELMHOLTZ[0], _HELMHOLTZ[-1])),
    "figure9a": Figure("Parametric Helmholtz, coarse grid: error", "over_parameters", _HELMHOLTZ[:2]),
    "figure9b": Figure("Parametric Helmholtz, fine grid: error", "over_parameters", (_HELMHOLTZ[0], _HELMHOLTZ[-1])),
    "figure10": Figure("Parametric Helmholtz: marginals of ψ₀", "samples", _HELMHOLTZ[:1]),
    "figure11": Figure("Burgers: errors of samples", "boxes", _BURGERS),
    "figure12": Figure("Burgers: multipliers in training, and their distribution", "multipliers", _BURGERS[1:]),
    "figure13": Figure("Diffusion-sorption: errors of samples", "boxes", _SORPTION),
    "figure14": Figure("Diffusion-sorption: multipliers in training, and by size", "against_size", _SORPTION[1:]),
    "figure15": Figure("Navier-Stokes: errors of samples", "boxes", _VORTICITY),
    "figure16": Figure("Navier-Stokes: multipliers in training, and their distribution", "multipliers", _VORTICITY[1:]),
    "figure17": Figure("Navier-Stokes: inputs of the smallest and largest multipliers", "inputs", _VORTICITY[1:]),
}
