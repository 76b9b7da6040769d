"""The problems by name, for the command and for files: what there is to know of them without importing JAX."""

import dataclasses
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._problem import AbstractProblem, Problem, Recipe
    from ._operators import Training
    from ._settings import OperatorSettings, PaperSettings


@dataclasses.dataclass(frozen=True)
class Entry:
    """A problem of the zoo: how to build it, and how the paper poses and solves it, where it does.

    `module` is the file with its functions, which the first use of one imports; `of_training` the one that gives the
    recipe of an operator.

    !!! example
        `scl.zoo.entry("convection").equation`
    """

    name: str
    equation: str
    module: str
    of_training: str | None = None

    def lines(self, width: int) -> list[str]:
        """The equation in lines of at most `width`, broken between its parts where these fit."""
        first, *rest = self.equation.split(",  ")
        lines = [first]
        for left, part in enumerate(rest, 1 - len(rest)):
            comma = 1 if left < 0 else 0  # which ends the line if the next part does not fit on it
            if len(lines[-1]) + len(part) + 3 + comma <= width:
                lines[-1] += f",  {part}"
            else:
                lines[-1] += ","
                lines.append(part)
        return lines

    @property
    def build(self) -> "Callable[..., Any]":
        """The function of the zoo that makes the problem."""
        return self._functions[self.name]

    @property
    def paper_settings(self) -> "Callable[..., PaperSettings | OperatorSettings] | None":
        """The paper's hyperparameters by the problem's arguments; None where the paper has none."""
        return self._functions.get("paper_settings")

    @property
    def paper_problem(self) -> "Callable[..., Problem] | None":
        """The problem as the paper poses it; None where it does not pose it as a boundary value problem."""
        return self._functions.get("paper_problem")

    @property
    def training(self) -> "Callable[..., Training] | None":
        """Model, method and steps of an operator by its arguments; None for all others."""
        return None if self.of_training is None else self._functions[self.of_training]

    @property
    def _functions(self) -> dict[str, Any]:
        return vars(importlib.import_module(f".{self.module}", __package__))


ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "convection",
            "uₜ + β uₓ = 0,  u(x, 0) = sin x,  u(0, t) = u(2π, t),  x ∈ [0, 2π], t ∈ [0, 1]",
            "_convection",
        ),
        Entry(
            "reaction_diffusion",
            "uₜ = ν uₓₓ + ρ u (1 − u),  u(x, 0) = exp(−((x − π)/(π/4))²/2),  periodic in x ∈ [0, 2π], t ∈ [0, 1]",
            "_reaction_diffusion",
        ),
        Entry("eikonal", "|∇u| = 1,  u = 0 on the outline of a gear,  u ≥ 0 on the boundary of [−1, 1]²", "_eikonal"),
        Entry(
            "helmholtz",
            "Δu + k² u = (k² − π²(a₁² + a₂²)) sin(πa₁x) sin(πa₂y),  u = sin(πa₁x) sin(πa₂y) on the boundary of [0, 1]²",
            "_helmholtz",
        ),
        Entry("burgers", "uₜ + u uₓ = ν uₓₓ,  u(x, 0) = sin 2πx,  periodic in x ∈ [0, 1], t ∈ [0, 1]", "_burgers"),
        Entry(
            "diffusion_sorption",
            "uₜ = D/R(u) uₓₓ,  u(x, 0) = c₀,  u(0, t) = 1,  u(1, t) = ∓D uₓ(1, t),  x ∈ [0, 1], t ∈ [0, 500]",
            "_diffusion_sorption",
        ),
        Entry(
            "navier_stokes",
            "wₜ + ψ_y wₓ − ψₓ w_y = ν Δw + f,  −Δψ = w,  ψ(0, 0, t) = 0,  periodic in (x, y) ∈ [0, 1]², t ∈ [0, 1]",
            "_navier_stokes",
        ),
        Entry(
            "allen_cahn",
            "uₜ = ν uₓₓ + 5 (u − u³),  u(x, 0) = x² cos πx,  periodic in x ∈ [−1, 1], t ∈ [0, 1]",
            "_allen_cahn",
        ),
        Entry(
            "wave",
            "uₜₜ = c² uₓₓ,  u(x, 0) = sin πx + ½ sin 4πx,  uₜ(x, 0) = 0,  u = 0 at x = 0, 1,  x, t ∈ [0, 1]",
            "_closed",
        ),
        Entry("klein_gordon", "uₜₜ − uₓₓ + u³ = f  with  u = x cos 5πt + (xt)³,  x, t ∈ [0, 1]", "_closed"),
        Entry("poisson", "−Δu = 2π² sin πx sin πy,  u = 0 on the boundary of [0, 1]²", "_closed"),
        Entry("heat", "uₜ = α uₓₓ,  u(x, 0) = sin πx,  u = 0 at x = 0, 1,  x, t ∈ [0, 1]", "_closed"),
        Entry("kdv", "uₜ + u uₓ + δ uₓₓₓ = 0,  u(x, 0) = cos πx,  periodic in x ∈ [−1, 1], t ∈ [0, 1]", "_kdv"),
        Entry(
            "lid_driven_cavity",
            "(u·∇)u = −∇p + Δu/Re,  ∇·u = 0,  u = (1, 0) or (4x(1 − x), 0) on y = 1,  "
            "u = 0 on the other walls of [0, 1]²",
            "_lid_driven_cavity",
        ),
        Entry(
            "burgers_front",
            "uₜ + u uₓ = ν uₓₓ,  u(x, 0) = −sin πx,  u = 0 at x = ±1,  x ∈ [−1, 1], t ∈ [0, 1]",
            "_burgers_front",
        ),
        Entry(
            "lorenz",
            "x′ = 10 (y − x),  y′ = x (28 − z) − y,  z′ = x y − 8/3 z,  x = y = z = 1 at t = 0,  t ∈ [0, 15]",
            "_lorenz",
        ),
        Entry(
            "disk_with_hole",
            "Δu = f  with  u = sin(2x + y) exp(xy),  given on the rim of a disk and on a hole in it",
            "_shapes",
        ),
        Entry(
            "plate_with_hole",
            "∇·σ(u, v) = 0,  no traction on a round hole,  those of Kirsch's formula on the sides of [0, 2]²",
            "_shapes",
        ),
        Entry(
            "ellipse_flow",
            "Δψ = 0,  ψ = −y on an ellipse with radii a and b,  flow of the whole plane on the boundary of [−2, 2]²",
            "_shapes",
        ),
    )
}

OPERATORS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "burgers_operator",
            "u(x, 0) ↦ u(x, t) of  uₜ + u uₓ = ν uₓₓ,  periodic in x ∈ [0, 1], t ∈ [0, 1]",
            "_operators",
            "burgers_training",
        ),
        Entry(
            "diffusion_sorption_operator",
            "u(x, 0) ↦ u(x, t) of  R(u) uₜ = D uₓₓ,  x ∈ [0, 1], t ∈ [0, 500]",
            "_operators",
            "sorption_training",
        ),
        Entry(
            "navier_stokes_operator",
            "w(x, y, 1) ↦ w(x, y, t) of  wₜ + u·∇w = ν Δw + f,  on the torus [0, 1]²",
            "_operators",
            "vorticity_training",
        ),
    )
}


def entry(name: str) -> Entry:
    """The problem called `name`, or an error that lists what there is.

    !!! example
        `scl.zoo.entry("convection").equation`
    """
    known = {**ENTRIES, **OPERATORS}
    if name not in known:
        from .._base import checks  # which imports JAX

        raise ValueError(
            f"zoo: there is no problem `{name}`; there are {checks.listed(known)}." + checks.nearest(name, known)
        )
    return known[name]


def build(recipe: "Recipe") -> "AbstractProblem":
    """The problem of a recipe, as it is written to files.

    !!! example
        `scl.zoo.build(problem.recipe)` is the problem again.
    """
    return entry(recipe.name).build(**dict(recipe.arguments))


def paper_settings(name: str, **arguments: Any) -> "PaperSettings | OperatorSettings":
    """The paper's hyperparameters for a problem of the zoo, as data.

    !!! example
        `scl.zoo.paper_settings("convection", beta=50).tolerance` is 5e-3.
    """
    settings = entry(name).paper_settings
    if settings is None:
        raise ValueError(f"zoo: `{name}` is not in the paper, which has no settings for it.")
    return settings(**arguments)
