"""Figures show what was learned, where their axes say."""

import base64
import io

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image

import sclax as scl
from sclax._result import History, plot

from . import small
from .test_solution import METHOD, convection, system


def drawn(axis):
    """What a panel shows: its coordinates by name, and the values there."""
    name = lambda text: text.strip("$\\")
    if not axis.get_ylabel():
        (line,) = axis.lines
        return {name(axis.get_xlabel()): line.get_xdata()}, line.get_ydata()
    (mesh,) = axis.collections
    x, y = np.moveaxis(np.ma.getdata(mesh.get_coordinates()), -1, 0)
    return {name(axis.get_xlabel()): x, name(axis.get_ylabel()): y}, np.asarray(mesh.get_array())


@pytest.mark.parametrize(
    ("problem", "held", "exact", "law"),
    [
        (convection(), {}, {"u": lambda x, t: np.sin(x - 2 * t)}, "pde"),
        (convection(beta=(1.0, 3.0)), {"beta": 2.0}, {"u": lambda x, t: np.sin(x - 2 * t)}, "pde"),
        (small.bounded(), {}, {}, None),
        (system(), {}, {"u": np.sin, "v": np.cos}, "ode"),
    ],
)
def test_figures_show_what_was_learned(problem, held, exact, law, tmp_path):
    """Values, errors and residuals where the axes say, histories, and worst-case points, where there is one."""
    build = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=4, depth=1, key=key)
    solution = scl.solve(problem, build, METHOD, steps=200, progress=False)
    panels = {axis.get_title(): axis for axis in solution.plot(tmp_path / "solution.png").axes}
    for unknown in problem.unknowns:
        at, values = drawn(panels[f"${unknown}$"])
        found = solution(**at, **held)
        found = found[unknown] if isinstance(found, dict) else found
        np.testing.assert_allclose(values, found, rtol=1e-5, atol=1e-6)
        if exact:
            _, off = drawn(panels[f"error of ${unknown}$"])
            np.testing.assert_allclose(
                off, found - exact[unknown](*(at[n] for n in sorted(at, reverse=True))), atol=1e-5
            )
    history = solution.history
    losses, prices = solution.plot_history(tmp_path / "history.png").axes
    (name,) = problem.constraints
    for axis, label, column in (
        (losses, "objective", "objective"),
        (losses, name, f"values.{name}"),
        (prices, name, f"multipliers.{name}"),
    ):
        (line,) = [line for line in axis.lines if line.get_label() == label]
        np.testing.assert_allclose(line.get_xydata(), np.stack([history["step"], history[column]], axis=1))
    samples = solution.plot_samples(tmp_path / "samples.png")
    assert (samples is None) == (law is None)
    if law is not None:
        at, values = drawn(panels[f"|residual| of {law}"])
        rows = solution.residual(law, **at, **held)
        rows = np.sqrt(sum(np.square(row) for row in (rows if isinstance(rows, tuple) else (rows,))))
        np.testing.assert_allclose(values, rows, rtol=1e-3, atol=1e-5)
        last = samples.axes[-1]
        if last.collections:
            columns = [problem.domain.names.index(n) for n in ("t", "x")]
            np.testing.assert_allclose(last.collections[0].get_offsets(), history[f"snapshot.{law}"][-1][:, columns])
    names = ["history", "solution"] if law is None else ["history", "samples", "solution"]
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == names
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in tmp_path.iterdir())


def test_a_panel_of_a_page_has_no_ink_of_its_neighbours():
    figure = matplotlib.figure.Figure(figsize=(6, 2))
    for axis in figure.subplots(1, 2, gridspec_kw={"wspace": 0.02}):
        axis.text(1.0, 0.5, "beyond the edge", clip_on=False)
    for piece in plot.pieces(figure):
        pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(piece.source.partition(",")[2]))))
        inside = pixels[8:-8, 8:-8]
        assert pixels.sum(dtype=int) - inside.sum(dtype=int) == 255 * (pixels.size - inside.size)
        assert inside.min() == 0


@pytest.mark.parametrize(("steps", "marker"), [([10], "o"), ([10, 20], "None")])
def test_a_history_of_one_record_is_seen(steps, marker):
    problem, ones = convection(), np.ones(len(steps))
    column = dict.fromkeys(problem.tolerances, ones)
    about = History(step=np.array(steps), objective=ones, values=column, multipliers=column)
    for axis in plot.history(problem, about).axes:
        assert {line.get_marker() for line in axis.lines if len(line.get_xdata()) == len(steps)} >= {marker}
