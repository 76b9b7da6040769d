"""The paper's figures, from arrays that are known: axes have names, and greys tell lines and shades apart."""

import json

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sclax.experiments import FIGURES, Experiment, plots

GREY = np.asarray([0.299, 0.587, 0.114])


def run(folder, name, arrays, error=0.1):
    """The files of a run."""
    path = folder / name
    path.mkdir()
    np.savez(path / "arrays.npz", **arrays)
    curve = [{"step": k, "seconds": k, "operator_evaluations": 100 * k, "relative_l2": error / k} for k in (1, 2, 4)]
    (path / "record.json").write_text(json.dumps({"relative_l2": error, "curve": curve}))
    return path


RNG = np.random.default_rng(0)
AXIS = np.linspace(0, 1, 5)
CLOUD = RNG.uniform(size=(3, 200, 2))
ARRAYS = {
    "names": np.asarray(["x", "beta"]),
    "ends": np.asarray([[0.0, 1.0], [0.0, 1.0]]),
    "errors": np.geomspace(1e-3, 1, 25).reshape(5, 5),
    "axes/nu": AXIS,
    "axes/rho": AXIS,
    "history/step": np.asarray([1, 2, 3]),
    "history/snapshot_step": np.asarray([1, 2, 4]),
    "history/snapshot.pde": CLOUD,
    "history/snapshot_weights.pde": np.ones((3, 200)),
    "history/multipliers.data": RNG.uniform(size=(3, 6)),
    "grid/x": AXIS,
    "grid/t": AXIS,
    "grid/u": np.outer(AXIS, AXIS),
    "errors/train": RNG.uniform(0.1, 1, 6),
    "errors/test": RNG.uniform(0.1, 1, 6),
    "multipliers": RNG.uniform(size=6),
    "sizes": RNG.uniform(size=6),
    "easiest": RNG.normal(size=(3, 8, 8)),
    "hardest": RNG.normal(size=(3, 8, 8)),
}
SINGLE = {"samples", "multipliers", "against_size", "inputs"}  # drawings of one experiment


@pytest.mark.parametrize("drawing", plots.DRAWINGS)
def test_all_axes_of_a_drawing_have_names(drawing, tmp_path):
    methods = ("scl",) if drawing in SINGLE else ("scl", "pinn")
    runs = {Experiment("a", f"A: {m}", "convection", m): [run(tmp_path, m, ARRAYS)] for m in methods}
    figure = plots.DRAWINGS[drawing](runs)
    axes = [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]
    across = [axis.get_xlabel() or [text.get_text() for text in axis.get_xticklabels()] for axis in axes]
    assert all(across)
    assert any(axis.get_ylabel() for axis in axes)
    for path in plots.written(figure, tmp_path / drawing):
        assert path.stat().st_size > 1000


def test_errors_over_one_parameter_are_those_of_the_runs(tmp_path):
    arrays = {key: value for key, value in ARRAYS.items() if not key.startswith(("axes", "errors"))}
    one = {**arrays, "errors": np.geomspace(1e-3, 1e-1, 5), "axes/beta": AXIS}
    two = {**one, "errors": 3 * one["errors"]}
    runs = {Experiment("a", "A", "convection"): [run(tmp_path, "one", one), run(tmp_path, "two", two)]}
    (axis,) = plots.over_parameters(runs).axes
    (line,) = axis.lines
    assert line.get_ydata() == pytest.approx(2 * one["errors"])  # the mean over seeds
    assert axis.get_xlabel() == r"$\beta$"


def test_a_run_without_samples_says_so(tmp_path):
    arrays = {key: value for key, value in ARRAYS.items() if not key.startswith("history/snapshot")}
    figure = plots.samples({Experiment("a", "A", "convection"): [run(tmp_path, "one", arrays)]})
    assert "polynomials" in figure.axes[0].texts[0].get_text()


def test_lines_and_shades_are_told_apart_in_grey():
    assert len({str(line["ls"]) for line in plots.LINES}) == len({line["marker"] for line in plots.LINES}) == 5
    shades = np.asarray([to_rgb(plots.SHADES(k)) for k in np.linspace(0, 1, 20)]) @ GREY
    assert np.all(np.diff(shades) > 0)


def test_every_figure_has_a_drawing():
    assert {figure.drawing for figure in FIGURES.values()} == {*plots.DRAWINGS}
