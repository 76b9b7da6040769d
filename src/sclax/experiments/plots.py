"""The paper's figures from the files of runs: vector graphics, with lines and shades that are told apart in grey."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas

from .._base import replaced
from ._catalogue import Figure
from ._records import Experiment
from ._running import ARRAYS, RECORD, read

# From dark to light, each with a dash and a mark of its own.
LINES = (
    {"color": "#1b2a41", "ls": "-", "marker": "o"},
    {"color": "#c8553d", "ls": "--", "marker": "s"},
    {"color": "#3b7ea1", "ls": "-.", "marker": "^"},
    {"color": "#8d6a9f", "ls": ":", "marker": "D"},
    {"color": "#d9a441", "ls": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
)
SHADES = colormaps["cividis"]  # whose lightness grows evenly
SMALL = 8
Runs = Mapping[Experiment, Sequence[Path]]
FORMATS = ("pdf", "svg")


def canvas(columns: int, rows: int = 1, width: float = 3.0, height: float = 2.6) -> tuple[Canvas, np.ndarray]:
    figure = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axis in axes:
        axis.tick_params(labelsize=SMALL)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, axes


def written(figure: Canvas, stem: Path) -> list[Path]:
    """The figure as PDF and as SVG."""
    paths = [stem.with_name(f"{stem.name}.{form}") for form in FORMATS]
    for path, form in zip(paths, FORMATS, strict=True):
        with replaced(path) as temporary:
            figure.savefig(temporary, format=form)
    return paths


def drawn(name: str, figure: Figure, runs: Runs, folder: Path, ending: str) -> list[Path]:
    """A figure of the catalogue, from the directories of its runs."""
    picture = DRAWINGS[figure.drawing](runs)
    picture.suptitle(figure.title, fontsize=SMALL + 1)
    return written(picture, folder / f"{name}-{ending}")


def arrays(directory: Path) -> dict[str, np.ndarray]:
    with np.load(directory / ARRAYS, allow_pickle=False) as stored:
        return dict(stored)


def _style(number: int, marks: bool = True) -> dict[str, Any]:
    style = dict(LINES[number % len(LINES)])
    return style | ({"ms": 3.5, "lw": 1.2} if marks else {"marker": "", "lw": 1.2})


def _letter(name: str) -> str:
    greek = {"beta", "nu", "rho", "alpha"}
    stem = name.rstrip("0123456789")
    index = f"_{{{name[len(stem) :]}}}" if stem != name else ""
    return f"$\\{stem}{index}$" if stem in greek else f"${stem}{index}$"


def _missing(axis: Any, text: str) -> None:
    axis.text(0.5, 0.5, text, ha="center", va="center", fontsize=SMALL, transform=axis.transAxes, wrap=True)
    axis.set_axis_off()


def _axes_of(stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix("axes/"): array for name, array in stored.items() if name.startswith("axes/")}


def over_parameters(runs: Runs) -> Canvas:
    """The error over one parameter of a family as lines, over two as maps with one scale; means over seeds."""
    found = {e: [arrays(path) for path in own] for e, own in runs.items()}
    errors = {e: np.mean([stored["errors"] for stored in own], axis=0) for e, own in found.items()}
    axes = _axes_of(next(iter(found.values()))[0])
    if len(axes) == 1:
        ((name, values),) = axes.items()
        figure, (axis,) = canvas(1, width=4.2, height=3.0)
        for k, (e, one) in enumerate(errors.items()):
            axis.semilogy(values, one, label=e.method, markevery=max(len(values) // 8, 1), **_style(k))
        axis.set_xlabel(_letter(name), fontsize=SMALL + 1)
        axis.set_ylabel("relative $L_2$ error", fontsize=SMALL + 1)
        axis.legend(fontsize=SMALL, frameon=False)
        return figure
    (first, across), (second, up) = list(axes.items())[:2]
    figure, plots = canvas(len(errors))
    norm = LogNorm(min(e.min() for e in errors.values()), max(e.max() for e in errors.values()))
    for axis, (e, one) in zip(plots, errors.items(), strict=True):
        image = axis.pcolormesh(across, up, one.T, norm=norm, cmap=SHADES, shading="nearest", rasterized=True)
        axis.set_title(e.method, fontsize=SMALL + 1)
        axis.set_xlabel(_letter(first), fontsize=SMALL + 1)
        axis.set_ylabel(_letter(second), fontsize=SMALL + 1)
    figure.colorbar(image, ax=list(plots), label="relative $L_2$ error")  # pyright: ignore
    return figure


def samples(runs: Runs) -> Canvas:
    """The density of ψ₀ along each coordinate at up to four stages of training, over that of uniform points."""
    ((_, own),) = runs.items()
    stored = arrays(own[0])
    laws = [name for name in stored if name.startswith("history/snapshot.")]
    names = [str(name) for name in stored["names"]]
    clouds = next((stored[law] for law in laws if stored[law].shape[-1] == len(names)), None)
    if clouds is None:
        figure, (axis,) = canvas(1, width=4.2)
        _missing(axis, "no samples of ψ₀: this run solved by polynomials")
        return figure
    law = next(law for law in laws if stored[law].shape[-1] == len(names))
    weights, steps = stored[law.replace("snapshot.", "snapshot_weights.")], stored["history/snapshot_step"]
    stages = np.unique(np.linspace(0, len(steps) - 1, min(4, len(steps))).round().astype(int))
    figure, plots = canvas(len(names), width=2.3)
    for k, (axis, name) in enumerate(zip(plots, names, strict=True)):
        low, high = stored["ends"][k]
        bins = np.linspace(low, high, 17)
        for number, stage in enumerate(stages):
            height, _ = np.histogram(clouds[stage][:, k], bins, weights=weights[stage], density=True)
            style = {key: value for key, value in _style(number).items() if key in ("color", "ls", "lw")}
            axis.stairs(height * (high - low), bins, label=f"step {int(steps[stage])}", **style)
        axis.axhline(1.0, color="0.6", lw=0.6)
        axis.set_xlabel(_letter(name), fontsize=SMALL + 1)
        axis.set_ylim(bottom=0)
    plots[0].set_ylabel("density of $\\psi_0$ over uniform", fontsize=SMALL + 1)
    plots[-1].legend(fontsize=SMALL - 1, frameon=False)
    return figure


def panels(runs: Runs) -> Canvas:
    """Solutions of time and space beside each other, each with its error."""
    figure, plots = canvas(len(runs))
    for axis, (e, own) in zip(plots, runs.items(), strict=True):
        stored, record = arrays(own[0]), read(own[0] / RECORD)
        x, t, u = (stored[f"grid/{name}"] for name in ("x", "t", "u"))
        image = axis.pcolormesh(t, x, u, vmin=-1, vmax=1, cmap=SHADES, shading="nearest", rasterized=True)
        axis.set_title(f"{e.label.partition(': ')[2]}\nerror {record['relative_l2']:.2g}", fontsize=SMALL)
        axis.set_xlabel("$t$", fontsize=SMALL + 1)
    plots[0].set_ylabel("$x$", fontsize=SMALL + 1)
    figure.colorbar(image, ax=list(plots), label="$u$")  # pyright: ignore
    return figure


def curves(runs: Runs) -> Canvas:
    """The error over the steps of training and over evaluations of differential operators."""
    return _curves({e.method: [read(path / RECORD) for path in own] for e, own in runs.items()}, "step", "steps")


def compared(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> Canvas:
    """The error of several methods over seconds of training and over evaluations of differential operators."""
    return _curves(records, "seconds", "seconds of training")


def _curves(records: Mapping[str, Sequence[Mapping[str, Any]]], first: str, text: str) -> Canvas:
    figure, plots = canvas(2, width=3.6, height=2.9)
    labels = {first: text, "operator_evaluations": "evaluations of differential operators"}
    for axis, (column, label) in zip(plots, labels.items(), strict=True):
        for k, (method, own) in enumerate(records.items()):
            for seed, record in enumerate(own):
                points = [p for p in record["curve"] if p["relative_l2"] is not None and p[column] > 0]
                across, up = [p[column] for p in points], [p["relative_l2"] for p in points]
                axis.loglog(across, up, label=method if seed == 0 else None, **_style(k))
        axis.set_xlabel(label, fontsize=SMALL + 1)
    plots[0].set_ylabel("relative $L_2$ error", fontsize=SMALL + 1)
    plots[0].legend(fontsize=SMALL, frameon=False)
    return figure


def _training(axis: Any, stored: Mapping[str, np.ndarray]) -> None:
    """The multipliers of all samples over training."""
    prices = stored["history/multipliers.data"]
    axis.plot(stored["history/step"], prices, color="0.55", lw=0.3, alpha=0.6)
    axis.plot(stored["history/step"], prices.mean(axis=1), color=LINES[0]["color"], lw=1.4, label="mean")
    axis.set_xlabel("step", fontsize=SMALL + 1)
    axis.set_ylabel("$\\lambda_j$", fontsize=SMALL + 1)
    axis.legend(fontsize=SMALL, frameon=False)


def multipliers(runs: Runs) -> Canvas:
    """Multipliers of samples over training, and their distribution at its end."""
    ((_, own),) = runs.items()
    stored = arrays(own[0])
    figure, (left, right) = canvas(2, width=3.4)
    _training(left, stored)
    right.hist(stored["multipliers"], bins=30, color="0.35")
    right.set_xlabel("$\\lambda_j$ at the end", fontsize=SMALL + 1)
    right.set_ylabel("samples", fontsize=SMALL + 1)
    return figure


def against_size(runs: Runs) -> Canvas:
    """Multipliers of samples over training, and at its end against the size of their inputs."""
    ((_, own),) = runs.items()
    stored = arrays(own[0])
    figure, (left, right) = canvas(2, width=3.4)
    _training(left, stored)
    right.scatter(stored["sizes"], stored["multipliers"], s=8, color="0.25", alpha=0.7, linewidths=0)
    right.set_xlabel("root mean square of the input", fontsize=SMALL + 1)
    right.set_ylabel("$\\lambda_j$ at the end", fontsize=SMALL + 1)
    return figure


def boxes(runs: Runs) -> Canvas:
    """The errors of training and test samples, of each method; of all seeds together."""
    figure, plots = canvas(2)
    for axis, split in zip(plots, ("train", "test"), strict=True):
        errors = [np.concatenate([arrays(path)[f"errors/{split}"] for path in own]) for own in runs.values()]
        axis.boxplot(
            errors, tick_labels=[e.method for e in runs], medianprops={"color": LINES[1]["color"]}, showfliers=True
        )
        axis.set_yscale("log")
        axis.set_title(split, fontsize=SMALL + 1)
        axis.tick_params(labelsize=SMALL)
    plots[0].set_ylabel("relative $L_2$ error", fontsize=SMALL + 1)
    return figure


def inputs(runs: Runs) -> Canvas:
    """The inputs with the smallest multipliers above those with the largest."""
    ((_, own),) = runs.items()
    stored = arrays(own[0])
    rows = {"smallest": stored["easiest"], "largest": stored["hardest"]}
    count = len(stored["easiest"])
    figure, plots = canvas(count, 2, width=2.2, height=2.0)
    for number, (axis, (text, one)) in enumerate(
        zip(plots, [(t, one) for t, many in rows.items() for one in many], strict=True)
    ):
        if one.ndim == 2:
            axis.imshow(one.T, origin="lower", cmap=SHADES, extent=(0, 1, 0, 1))
        else:
            axis.plot(np.linspace(0, 1, len(one)), one, color=LINES[0]["color"], lw=1.0)
        axis.set_xlabel("$x$", fontsize=SMALL)
        if number % count == 0:
            axis.set_ylabel(f"{text} $\\lambda_j$\n$y$" if one.ndim == 2 else f"{text} $\\lambda_j$", fontsize=SMALL)
    return figure


DRAWINGS: dict[str, Callable[[Runs], Canvas]] = {
    "over_parameters": over_parameters,
    "samples": samples,
    "panels": panels,
    "curves": curves,
    "multipliers": multipliers,
    "against_size": against_size,
    "boxes": boxes,
    "inputs": inputs,
}
