"""The tables of the results, from the records alone:  python docs/_results.py  prints them all.

The page of the results includes them, the README has some of their rows, and a test compares. The paper's numbers are
its own, of its own number of seeds.
"""

import json
import sys
from pathlib import Path

RECORDS = Path(__file__).parent.parent / "results"
ACCURACY = {  # by the name of a record: what it is called, and the paper's error
    "convection30": ("convection, β = 30", "9.7e-3"),
    "convection50": ("convection, β = 50", "3.74e-2"),
    "convection80": ("convection, β = 80", None),
    "reaction_diffusion33": ("reaction-diffusion (3, 3)", "1.82e-2"),
    "reaction_diffusion35": ("reaction-diffusion (3, 5)", "7.6e-3"),
    "helmholtz23": ("Helmholtz (2, 3)", None),
    "wave": ("wave", None),
    "klein_gordon": ("Klein-Gordon", None),
    "heat": ("heat", None),
    "poisson": ("Poisson", None),
    "burgers_front": ("Burgers, ν = 0.01/π, from −sin πx", None),
    "burgers": ("Burgers, ν = 0.01/π, on a ring", None),
    "allen_cahn": ("Allen-Cahn, 1e-4", None),
    "kdv": ("Korteweg-de Vries", None),
    "cavity100": ("cavity, Re 100, lid 4x(1 − x)", None),
    "cavity400": ("cavity, Re 400, a lid that jumps: u, v away from its ends", None),
    "lorenz": ("Lorenz to t = 15", None),
    "eikonal": ("eikonal, gear", "9.95e-2"),
    "convection30_mlp": ("convection, β = 30, `nn.MLP`", "9.7e-3"),
    "convection50_mlp": ("convection, β = 50, `nn.MLP`", "3.74e-2"),
    "convection80_mlp": ("convection, β = 80, `nn.MLP`", None),
    "convection50_embedded": ("convection, β = 50, periodic embedding", None),
}
SHAPES = {
    "disk_with_hole": "Poisson, disk with a hole off its centre",
    "l_shape": "Poisson, L-shape, f = 1",
    "four_disks": "Laplace, square less four disks",
    "heat": "heat, plate less 17 disks, Robin walls",
    "plate": "plate with a hole: stresses, against Kirsch's formula",
    "poisson5": "Poisson in five dimensions",
    "poisson10": "Poisson in ten dimensions",
}
FAMILIES = {
    "convection": ("convection, β ∈ [1, 30]", "1.10e-2"),
    "helmholtz2": ("Helmholtz, (a₁, a₂) ∈ [1, 2]²", "1.25e-2"),
    "helmholtz3": ("Helmholtz, [1, 3]²", "5.49e-2"),
    "reaction_diffusion5": ("reaction-diffusion, (ν, ρ) ∈ [0, 5]²", "1.26e-2"),
    "reaction_diffusion10": ("reaction-diffusion, [0, 10]²", "1.33e-2"),
    "reaction_diffusion20": ("reaction-diffusion, [1, 20]²", "2.04e-2"),
}
OPERATORS = {
    "burgers_operator-small": ("Burgers", 0.82),
    "diffusion_sorption_operator-small": ("diffusion-sorption", 0.80),
    "navier_stokes_operator-small": ("Navier-Stokes, ν = 1e-3", 0.77),
    "navier_stokes_operator-1e-4-small": ("Navier-Stokes, ν = 1e-4", 0.93),
    "navier_stokes_operator-1e-5-small": ("Navier-Stokes, ν = 1e-5", 0.94),
}
FIRST_ORDER = {
    "persistent": ("primal-dual, persistent chains", "3.74 ± 0.87 % (restarted chains)"),
    "paper": ("primal-dual, restarted chains: the paper's mode", "3.74 ± 0.87 %"),
    "pinn": ("PINN, weights of the paper", "56.5 ± 20 %"),
    "r3": ("R3, weights of the paper", "29.0 ± 33 %"),
}
STEP = {  # what is timed, and what it is a ratio to
    "paper": "iteration with restarted chains, to one with uniform points",
    "persistent": "iteration with persistent chains, to the same",
    "importance": "iteration with importance weights, to the same",
    "taylor": "residual of second order with its gradient, to a hand-written Taylor pass",
    "gauss_newton": "Gauss-Newton step with 956 rows, to the same through an explicit J",
}
KNOWLEDGE = ("lorenz", "diffusion", "field", "coverage", "product", "outliers", "prices")
SYMMETRY = {
    "fast": "`solve(problem)` with a network; SOAP for the sum",
    "chains": "the paper's first-order methods, the period on fresh points",
}
BESIDE = (
    "`python -m benchmarks.peers`: the packages that one would pick instead, each as its own documentation has it, for",
    "the same seconds of training on the same cores in one run; compilation and measuring are left out for all.",
    "DeepXDE by Adam, then L-BFGS; jinns by its second-order optimisers; PINA by Adam, then L-BFGS; sclax by",
    "`solve(problem, seconds=...)`, which ends by itself where polynomials converge. The error is relative L2 on the",
    "same points against the same reference, for Lorenz's system the largest relative error of its parameters. Lines",
    "are those that state the problem.",
)


def tables():
    """All tables, each as lines of Markdown."""
    accuracy = [_accuracy(name) for name in ACCURACY if _read(f"accuracy-{name}-default")]
    return {
        "polynomials": _table(
            ("problem", "paper", "relative L2", "seeds", "steps", "seconds"),
            [row for chosen, row in accuracy if chosen.startswith("Spectral")],
        ),
        "networks": _table(
            ("problem", "paper", "mean ± spread", "worst seed", "seeds", "steps", "seconds"),
            [row for chosen, row in accuracy if not chosen.startswith("Spectral")],
        ),
        "unseen": _table(
            ("problem", "relative L2", "worst seed", "steps", "seconds"), list(map(_unseen, _named("unseen-")))
        ),
        "shapes": _table(
            ("problem", "mean ± spread", "worst seed", "seeds", "steps", "seconds"),
            [_shape(name) for name in SHAPES if _read(f"shapes-{name}")],
        ),
        "families": _table(
            ("family", "seconds", "paper", "mean", "worst", "PINN on a grid: mean", "worst"),
            [_family(name) for name in FAMILIES if _read(f"family-{name}-default")],
        ),
        "operators": _table(
            ("operator", "average loss", "SCL, a multiplier each", "ratio", "paper's ratio", "one for all, seed 0"),
            [_operator(name) for name in OPERATORS if _read(name)],
        ),
        "first_order": _table(
            ("method", "seeds", "steps", "relative L2", "paper, 200 000 steps", "operator evaluations"),
            [_first_order(name) for name in FIRST_ORDER if _read(f"convection50-{name}")],
        ),
        "knowledge": _table(
            ("what is asked for", "bar", "found", "met", "seconds"),
            [_knowledge(name) for name in KNOWLEDGE if _read(f"knowledge-{name}")],
        ),
        "symmetry": _table(
            ("methods", "seeds", "steps", "sum of losses", "equation as a constraint", "equation and period"),
            [_symmetry(mode) for mode in SYMMETRY if _read(f"invariance-{mode}")],
        ),
        "trust": _table(("answers", "how many", "called solved", "what is wrong with that"), _trust()),
        "step": _table(("what", "ratio", "bar"), _step()),
    }


def sections():
    """Sections of the page that are there only with their record, else empty."""
    return {"beside": _beside()}


def write(docs):
    """Writes the tables to where the page includes them."""
    folder = docs / "_tables"
    folder.mkdir(exist_ok=True)
    for name, lines in {**tables(), **sections()}.items():
        text = "\n".join(lines) + "\n"
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _read(name):
    path = RECORDS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _named(start):
    return sorted(path.stem for path in RECORDS.glob(f"{start}*.json"))


def _table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def _steps(record):
    return round(sum(run["steps"] for run in record["per_seed"]) / len(record["per_seed"]))


def _spread(record):
    return f"{record['relative_l2_mean']:.1e} ± {record['relative_l2_std']:.0e}"


def _worst(record):
    return f"{max(run['relative_l2'] for run in record['per_seed']):.1e}"


def _accuracy(name):
    record = _read(f"accuracy-{name}-default")
    (title, paper), seeds = ACCURACY[name], len(record["per_seed"])
    if record["chosen"].startswith("Spectral"):
        cells = [f"{record['relative_l2_mean']:.1e}", seeds, _steps(record), f"{record['seconds']:.1f}"]
    else:
        cells = [_spread(record), _worst(record), seeds, _steps(record), f"{record['seconds']:.0f}"]
    return record["chosen"], [title, paper or "–", *cells]


def _unseen(name):
    record = _read(name)
    cells = [f"{record['relative_l2_mean']:.1e}", _worst(record), _steps(record), f"{record['seconds']:.1f}"]
    return [record["problem"].rstrip("."), *cells]


def _shape(name):
    record = _read(f"shapes-{name}")
    cells = [_spread(record), _worst(record), len(record["per_seed"]), _steps(record), f"{record['seconds']:.0f}"]
    return [SHAPES[name], *cells]


def _family(name):
    record, grid = _read(f"family-{name}-default"), _read(f"family-{name}-fine")
    title, paper = FAMILIES[name]
    both = [f"{each[key]:.1e}" if each else "–" for each in (record, grid) for key in _MEAN_AND_WORST]
    return [title, f"{record['seconds']:.0f}", paper, *both]


_MEAN_AND_WORST = ("relative_l2_mean", "relative_l2_worst")


def _operator(name):
    record = _read(name)
    title, paper = OPERATORS[name]
    seeds = len(record["lists"]["scl"])
    shown = [
        f"{record[key]:.2e} ± {record['spread'][key]:.0e}" if seeds > 1 else f"{record[key]:.1e}"
        for key in ("average", "scl")
    ]
    control = f"{record['lists']['control'][0] / record['lists']['average'][0]:.2f}" if "control" in record else "–"
    return [title if seeds > 1 else f"{title}, one seed", *shown, f"{record['ratio']:.2f}", f"{paper:.2f}", control]


def _first_order(name):
    record = _read(f"convection50-{name}")
    title, paper = FIRST_ORDER[name]
    spread = f" ± {100 * record['relative_l2_std']:.2f}" if len(record["per_seed"]) > 1 else ""
    error = f"{100 * record['relative_l2_mean']:.3g}{spread} %"
    return [title, len(record["per_seed"]), record["steps"], error, paper, f"{record['operator_evaluations']:.1e}"]


def _knowledge(name):
    record = _read(f"knowledge-{name}")
    asked = record["problem"].partition("\n")[0].rstrip(".")  # the rest says how the data were chosen
    words = [asked, record["bar"], _found(name, record["per_seed"]), "yes" if record["met"] else "no"]
    return [*words, f"{record['seconds']:.0f}"]


def _found(name, runs):
    if name == "coverage":
        return f"{sum(run['covered']['D'] for run in runs)} of {len(runs)}"
    if name == "product":
        return "; ".join(runs[0]["notes"][:1])
    if name == "outliers":
        return ", ".join(f"{run['hits']}" for run in runs) + f" of 5 on {len(runs)} seeds"
    if name == "prices":
        (run,) = runs
        off = {case: one["off"] for case, one in run["problems"].items()}
        return ", ".join(f"{case} " + ("–" if by is None else f"{by:.0%}") for case, by in off.items())
    worst = {each: max(run["relative_errors"][each] for run in runs) for each in runs[0]["relative_errors"]}
    return ", ".join(f"{each} {by:.2%}" for each, by in worst.items()) + f", worst of {len(runs)}"


def _symmetry(mode):
    runs = _read(f"invariance-{mode}")["per_seed"]
    spread = lambda method: ", ".join(f"{run[method]['relative_l2']:.1%}" for run in runs)
    return [SYMMETRY[mode], len(runs), runs[0]["scl"]["steps"], *map(spread, ("pinn", "equation", "scl"))]


def _trust():
    """How many answers were called what; none without a record."""
    found = (_read("trust") or {}).get("summary")
    if found is None:
        return []
    wrong, missed = found["wrong_called_solved"], found["good_called_unsolved"]
    some = lambda names: ", ".join(names) or "–"
    return [
        ["wrong on purpose", found["wrong"], len(wrong), some(wrong)],
        ["converged, error below 1 %", found["good"], found["good"] - len(missed), f"not called so: {some(missed)}"],
        [
            "with an estimated error",
            found["estimated"],
            f"{found['within_a_factor_of_3']} within a factor of 3",
            f"below a tenth of the true one: {some(found['below_a_tenth'])}",
        ],
    ]


def _step():
    record = _read("step") or {}
    title = lambda name: STEP.get(name) or f"1000 points, {name.removeprefix('draw ')}, to those of a box"
    bar = lambda name: record["bars"][name.partition(" ")[0]]
    ratios = {name: value for name, value in record.items() if isinstance(value, float)}
    return [[title(name), f"{ratio:.2f}", f"{bar(name):.2f}"] for name, ratio in ratios.items()]


def _beside():
    """Other packages: the table, what its dashes mean, and the figure."""
    record = _read("peers")
    if record is None:
        return []
    rows, dashes = [], []
    for entries in record["runs"].values():
        for entry in entries.values():
            if "reason" in entry:
                cells = ["–"] * 4
                dashes.append(f"{entry['package']}, {entry['problem']}: {entry['reason']}.")
            else:
                error = "NaN" if entry["error"] is None else f"{entry['error']:.1e}"
                cells = [error, f"{entry['seconds']:.3g}", _steps(entry), entry["lines"]]
            rows.append([entry["problem"], entry["package"], *cells])
    table = _table(("problem", "package", "error", "seconds", "steps", "lines of the statement"), rows)
    figure = ["", "![error against seconds of each package](../results/peers.png)"]
    noted = ["", "Dashes: " + " ".join(dashes)] if dashes else []
    return ["## Beside other packages", "", *BESIDE, "", *table, *noted, *figure]


if __name__ == "__main__":
    for lines in {**tables(), **sections()}.values():
        sys.stdout.write("\n".join(lines) + "\n\n")
