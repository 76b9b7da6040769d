"""The paper's tables and figures as data; no JAX is needed to read them."""

from typing import Any

from ._records import Experiment, Published

Range = tuple[float, float]


def _percent(where: str, value: float, spread: float | None = None) -> Published:
    return Published(value / 100, where, None if spread is None else spread / 100)


def _specific(row: str, label: str, problem: str, arguments: dict[str, Any], **published: Any) -> list[Experiment]:
    given = tuple(arguments.items())
    return [
        Experiment(row, label, problem, method, given, published=_percent("Table 1", *numbers))
        for method, numbers in published.items()
    ]


TABLE1 = (
    *_specific(
        "convection-30",
        "convection, β = 30",
        "convection",
        {"beta": 30.0},
        pinn=(1.17, 0.65),
        r3=(0.999, 0.53),
        scl=(0.971, 0.30),
    ),
    *_specific(
        "convection-50",
        "convection, β = 50",
        "convection",
        {"beta": 50.0},
        pinn=(56.5, 20.0),
        r3=(29.0, 33.0),
        scl=(3.74, 0.87),
    ),
    *_specific(
        "reaction-diffusion-3-3",
        "reaction-diffusion, (ν, ρ) = (3, 3)",
        "reaction_diffusion",
        {"nu": 3.0, "rho": 3.0},
        pinn=(0.745, 0.014),
        r3=(0.736, 0.068),
        scl=(1.82, 0.74),
    ),
    *_specific(
        "reaction-diffusion-3-5",
        "reaction-diffusion, (ν, ρ) = (3, 5)",
        "reaction_diffusion",
        {"nu": 3.0, "rho": 5.0},
        pinn=(79.6, 0.27),
        r3=(0.665, 0.046),
        scl=(0.762, 0.11),
    ),
    *_specific("eikonal", "eikonal", "eikonal", {}, pinn=(87.1, 39.0), r3=(85.5, 27.0), scl=(9.95, 1.9)),
)


def _operator(
    row: str, label: str, problem: str, arguments: dict[str, Any], average: Any, scl: Any, *more: str
) -> list[Experiment]:
    """The average loss, a multiplier for each sample, and controls that the paper does not have."""
    given = tuple(arguments.items())
    make = lambda method, published: Experiment(row, label, problem, method, given, (), published, "operator")
    where = "Table 2, spread in Table 10"
    rows = [make("average", _percent(where, *average)), make("scl", _percent(where, *scl))]
    return rows + [make(method, None) for method in more]


TABLE2 = (
    *_operator(
        "burgers-operator",
        "Burgers",
        "burgers_operator",
        {},
        (0.0540, 0.0027),
        (0.0444, 0.0020),
        "control",
        "physics",
    ),
    *_operator(
        "navier-stokes-operator-1e-3",
        "Navier-Stokes, ν = 1e-3",
        "navier_stokes_operator",
        {"nu": 1e-3},
        (4.29, 0.40),
        (3.31, 0.16),
        "control",
    ),
    *_operator(
        "navier-stokes-operator-1e-4",
        "Navier-Stokes, ν = 1e-4",
        "navier_stokes_operator",
        {"nu": 1e-4},
        (32.2, 0.87),
        (29.9, 0.54),
    ),
    *_operator(
        "navier-stokes-operator-1e-5",
        "Navier-Stokes, ν = 1e-5",
        "navier_stokes_operator",
        {"nu": 1e-5},
        (27.6, 0.63),
        (26.0, 0.33),
    ),
    *_operator(
        "diffusion-sorption-operator",
        "diffusion-sorption",
        "diffusion_sorption_operator",
        {},
        (0.274, 0.049),
        (0.218, 0.036),
        "control",
    ),
)


def _family(
    row: str, label: str, problem: str, ranges: dict[str, Range], where: str, scl: float, grids: dict[Any, float]
) -> list[Experiment]:
    """The worst case over the family, and PINNs on grids of parameters, from coarse to fine."""
    given = tuple(ranges.items())
    rows = [Experiment(row, label, problem, "scl", given, published=Published(scl, where))]
    for at, error in grids.items():
        method = f"pinn{len(at)}" + ("x" + str(len(at)) if len(ranges) > 1 else "")
        rows.append(Experiment(row, label, problem, method, given, at, Published(error, where)))
    return rows


def _even(low: float, high: float, n: int) -> tuple[float, ...]:
    return tuple(round(low + (high - low) * k / (n - 1), 2) for k in range(n))


TABLE7 = tuple(
    _family(
        "convection-family",
        "convection, β ∈ [1, 30]",
        "convection",
        {"beta": (1.0, 30.0)},
        "Table 7",
        0.0110,
        {(1.0, 10.0, 20.0, 30.0): 0.365, (1.0, *_even(5, 30, 6)): 0.220, _even(1, 30, 30): 0.0476},
    )
)


def _squared(a: str, b: str, side: Range) -> dict[str, Range]:
    return {a: side, b: side}


TABLE8 = (
    *_family(
        "reaction-diffusion-family-5",
        "reaction-diffusion, (ν, ρ) ∈ [0, 5]²",
        "reaction_diffusion",
        _squared("nu", "rho", (0.0, 5.0)),
        "Table 8",
        0.0126,
        {_even(0, 5, n): error for n, error in ((3, 0.0793), (4, 0.0190), (5, 0.0119), (6, 0.0105))},
    ),
    *_family(
        "reaction-diffusion-family-10",
        "reaction-diffusion, (ν, ρ) ∈ [0, 10]²",
        "reaction_diffusion",
        _squared("nu", "rho", (0.0, 10.0)),
        "Table 8",
        0.0133,
        {_even(0, 10, n): error for n, error in ((3, 0.636), (5, 0.0228), (6, 0.0131))},
    ),
    *_family(
        "reaction-diffusion-family-20",
        "reaction-diffusion, (ν, ρ) ∈ [1, 20]²",
        "reaction_diffusion",
        _squared("nu", "rho", (1.0, 20.0)),
        "Table 8",
        0.0204,
        {(1.0, 10.0, 20.0): 0.841, (1.0, *_even(5, 20, 4)): 0.0128},
    ),
)
TABLE9 = (
    *_family(
        "helmholtz-family-2",
        "Helmholtz, (a₁, a₂) ∈ [1, 2]²",
        "helmholtz",
        _squared("a1", "a2", (1.0, 2.0)),
        "Table 9",
        0.0125,
        {_even(1, 2, n): error for n, error in ((3, 0.0307), (5, 0.00593), (6, 0.00463))},
    ),
    *_family(
        "helmholtz-family-3",
        "Helmholtz, (a₁, a₂) ∈ [1, 3]²",
        "helmholtz",
        _squared("a1", "a2", (1.0, 3.0)),
        "Table 9",
        0.0549,
        {_even(1, 3, n): error for n, error in ((3, 1.34), (5, 0.00943), (6, 0.00953))},
    ),
)
# The paper shows three solutions and gives no number for them.
INVARIANCE = tuple(
    Experiment("invariance", f"convection, β = 30, 100 fixed points: {label}", "invariance", method, kind="invariance")
    for method, label in (
        ("pinn", "sum of losses"),
        ("equation", "equation as a constraint"),
        ("scl", "equation and period"),
    )
)
