"""Error against seconds of training: a panel for each problem, a curve for each package, told apart in grey too."""

from matplotlib.ticker import LogLocator, NullFormatter

from sclax._result import plot

from . import _records

LOOKS = {  # colours of the library's figures, and a mark and a dash of its own for each
    "deepxde": (plot.ACCENT, "s", (0, (5, 2))),
    "jinns": ("#009e73", "^", (0, (1, 1.2))),
    "pina": ("#cc79a7", "D", (0, (5, 1.5, 1, 1.5))),
    "sclax": (plot.SECOND, "o", "-"),
}
SIZE = 8  # points of the smallest letters


def draw(record, path):
    """Saves the figure as a picture and as vectors, and returns it."""
    names = [name for name in _records.PROBLEMS if name in record["runs"]]
    figure, axes = plot.subplots(3, rows=-(-(len(names) + 1) // 3), width=3.2, height=2.7)
    for axis, name in zip(axes, names, strict=False):
        for peer, entry in record["runs"][name].items():
            colour, mark, dash = LOOKS[peer]
            for run in entry.get("per_seed", ()):
                known = [point for point in run["curve"] if point["error"] is not None]
                times, errors = ([point[key] for point in known] for key in ("seconds", "error"))
                axis.loglog(times, errors, color=colour, marker=mark, ls=dash, ms=4.5, lw=1.4)
        axis.set_title(_records.PROBLEMS[name].replace(", three parameters from", ":\nparameters from"), fontsize=9)
        axis.tick_params(labelsize=SIZE, which="both")
        axis.yaxis.set_major_locator(LogLocator(numticks=6))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("seconds of training", fontsize=SIZE)
        worst = "largest relative error" if name == "lorenz" else "relative $L_2$ error"
        axis.set_ylabel(worst, fontsize=SIZE)
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for peer, (colour, mark, dash) in LOOKS.items():
        axes[len(names)].plot([], [], color=colour, marker=mark, ls=dash, ms=4.5, lw=1.4, label=_records.PEERS[peer])
    axes[len(names)].legend(frameon=False, fontsize=9, loc="center")
    plot.finish(figure, path)
    figure.savefig(path.with_suffix(".svg"), facecolor="white", metadata={"Date": None})
    return figure
