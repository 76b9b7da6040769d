"""Figures of families: error over the parameters and over training, from records."""

import numpy as np
import xarray as xr

from sclax._result import plot

from . import _runner

LEGEND = {"frameon": False, "fontsize": 8, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncol": 2}  # above
COLOURS = {"default": plot.SECOND, "coarse": "#e69f00", "middle": "#cc79a7", "fine": plot.ACCENT}


def title(method):
    return "SCL" if method == "default" else f"PINN, {method} grid"


def errors(name, methods):
    """The errors of one seed of each method over the one or two parameters."""
    maps = {method: error_map(found["per_seed"][0]) for method, found in methods.items()}
    (over_one if maps["default"].ndim == 1 else over_two)(name, methods, maps)


def error_map(one):
    return xr.DataArray(np.asarray(one["errors"]), coords=one["parameters"], dims=tuple(one["parameters"]))


def over_one(name, methods, maps):
    figure, (axis,) = plot.subplots(1, width=5.2, height=3.4)
    for method, found in maps.items():
        (parameter,) = found.dims
        evaluations = methods[method]["per_seed"][0]["operator_evaluations"]
        text = f"{title(method)}, {evaluations / 1e6:.2g}M evaluations"
        axis.semilogy(found.coords[parameter], found, color=COLOURS[method], lw=1.4, label=text)
    axis.set_xlabel(plot.label(parameter))
    axis.set_ylabel("relative $L_2$ error")
    axis.legend(**LEGEND)
    plot.finish(figure, _runner.picture(f"family-{name}-errors"))


def over_two(name, methods, maps):
    figure, axes = plot.subplots(len(maps), width=3.6, height=3.0)
    limits = {"vmin": min(float(m.min()) for m in maps.values()), "vmax": max(float(m.max()) for m in maps.values())}
    for axis, (method, found) in zip(axes, maps.items(), strict=True):
        first, second = found.dims
        plot.error_image(figure, axis, found, title(method), **limits)
        axis.set_xlabel(plot.label(first))
        axis.set_ylabel(plot.label(second))
    plot.finish(figure, _runner.picture(f"family-{name}-errors"))


def curves(name, methods):
    figure, axes = plot.subplots(2, width=3.8, height=3.0)
    for axis, key, words in zip(axes, ("step", "operator_evaluations"), ("step", "operator evaluations"), strict=True):
        for method, found in methods.items():
            for k, one in enumerate(found["per_seed"]):
                x, y = ([point[what] for point in one["curve"]] for what in (key, "relative_l2"))
                text = title(method) if k == 0 else None
                axis.semilogy(x, y, color=COLOURS[method], lw=1.4, marker=".", label=text)
        axis.set_xlabel(words)
    axes[0].set_ylabel("mean relative $L_2$ error")
    axes[0].legend(frameon=False, fontsize=8)
    plot.finish(figure, _runner.picture(f"family-{name}-curves"))


def paper(found, epochs):
    figure, (axis,) = plot.subplots(1, width=5.2, height=3.4)
    for method, one in found.items():
        text = "SCL, paper's mode" if method == "paper" else title(method)
        text = f"{text}, {one['operator_evaluations'] / 1e6:.3g}M evaluations"
        colour = COLOURS["default" if method == "paper" else method]
        axis.semilogy(one["parameters"]["beta"], one["errors"], color=colour, lw=1.4, label=text)
    axis.set_xlabel(plot.label("beta"))
    axis.set_ylabel("relative $L_2$ error")
    axis.legend(title=f"Adam, {epochs} epochs", **LEGEND)
    plot.finish(figure, _runner.picture("family-convection-paper"))


def fem(found):
    training, even, surrogate = found["training_seconds"], found["pays_off_after"], found["surrogate_seconds"]
    figure, (panel,) = plot.subplots(1, width=4.6, height=3.2)
    n = np.geomspace(1, 10 * (even or 1e5), 200)
    for order, one in found["fem"].items():
        shade = plot.ACCENT if order == found["fastest_order"] else "#d8a79a"
        panel.loglog(n, n * one["seconds"], color=shade, label=f"finite elements, order {order}, {one['cells']}² cells")
    panel.loglog(n, training + n * surrogate, color=plot.SECOND, lw=1.6, label="one network: training, then evaluation")
    if even:
        panel.axvline(even, color=plot.INK, lw=0.7, ls=":")
    panel.set_xlabel("number of parameters solved for")
    panel.set_ylabel("seconds")
    panel.set_title(f"Helmholtz, relative error {found['surrogate_relative_l2']:.1e}", fontsize=10)
    panel.legend(frameon=False, fontsize=8)
    plot.finish(figure, _runner.picture("family-helmholtz2-fem"))
