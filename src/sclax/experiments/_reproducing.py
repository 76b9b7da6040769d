"""`reproduce`: the tables and figures of the paper, and suites, from records that are made where they are missing."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._base import checks
from ._building import posed
from ._catalogue import FIGURES, TABLES, Figure
from ._gathering import AbstractPool, InSequence, gathered
from ._records import SCALES, Experiment, Mode, Run, Scale, chosen
from ._running import Job, finished
from ._tables import Table, table_of
from ._telling import Silent, Teller

Records = dict[Experiment, list[dict[str, Any]]]


class Reproduced(NamedTuple):
    """Tables by name, the files that were written, and the records by experiment.

    !!! example
        `scl.experiments.reproduce("table1", scale="tiny").tables["table1"].text()`
    """

    tables: dict[str, Table]
    files: list[Path]
    records: Records


def job_of(run: Run) -> Job:
    label = f"{run.experiment.label}, {run.experiment.method}, seed {run.seed}"
    return Job(run.name, label, posed, (run,), run.content())


def asked(what: Sequence[str]) -> tuple[dict[str, tuple[Experiment, ...]], dict[str, Figure]]:
    """The tables and figures of some words: their names, or `all`."""
    if "all" in what:
        return dict(TABLES), dict(FIGURES)
    known = {*TABLES, *FIGURES, "all"}
    for word in what:
        if word not in known:
            raise ValueError(
                f"reproduce: there is no {word!r}; there are {checks.listed(known_words())}."
                + checks.nearest(word, known)
            )
    return {w: TABLES[w] for w in what if w in TABLES}, {w: FIGURES[w] for w in what if w in FIGURES}


def known_words() -> list[str]:
    """What `reproduce` knows by name.

    !!! example
        `scl.experiments.known_words()` has "table1".
    """
    return [*TABLES, *FIGURES, "all"]


def reproduce(
    *what: str,
    mode: str = "fast",
    scale: str = "small",
    seeds: int | None = None,
    only: Sequence[str] = (),
    out: str | os.PathLike[str] = "runs/reproduce",
    pool: AbstractPool | None = None,
    progress: bool = True,
    keep: bool = False,
) -> Reproduced:
    """Runs what is missing of some tables and figures, and writes these to `out`.

    **Arguments:**

    - `what`: `table1`, `figure2`, `pinnacle`, …, or `all`; `scl.experiments.TABLES` and `FIGURES` have them.
    - `mode`: `paper`, `chains` or `fast`; `scale`: `tiny`, `small` or `paper`.
    - `seeds`: how many, if not the scale's; `only`: names of rows, such as `convection-50` or `convection-50/pinn`.
    - `pool`: where runs are made; this process by default.

    Every run has a directory in `out` that is named by its content. One that is finished is not run again; one that was
    killed goes on from its checkpoint.

    !!! example
        `scl.experiments.reproduce("table1", scale="tiny", only=["convection-50"])`
    """
    mode, size = _mode(mode), _scale(scale)
    seeds = checks.count("reproduce", "seeds", size.seeds if seeds is None else seeds)
    tables, figures = asked(what)
    kept = chosen({**tables, **{name: figure.experiments for name, figure in figures.items()}}, list(only))
    runs = {e: [Run(e, mode, size, seed) for seed in range(seeds)] for rows in kept.values() for e in rows}
    folder = checks.folder("reproduce", "out", Path(out))
    records = made([run for own in runs.values() for run in own], folder, pool, progress, keep)
    by_experiment = {e: [records[run.name] for run in own] for e, own in runs.items()}
    ending = f"{mode.value}-{size.name}"
    found = {
        name: table_of(f"{name}, mode {mode.value}, scale {size.name}, {seeds} seed(s)", kept[name], by_experiment)
        for name in tables
        if name in kept
    }
    files = [path for name, table in found.items() for path in table.write(folder / f"{name}-{ending}")]
    for name, figure in figures.items():
        if name in kept:
            files += _drawn(name, figure, {e: runs[e] for e in kept[name]}, folder, ending)
    return Reproduced(found, files, by_experiment)


def _drawn(
    name: str, figure: Figure, runs: Mapping[Experiment, Sequence[Run]], folder: Path, ending: str
) -> list[Path]:
    from . import plots  # which takes a while to import

    return plots.drawn(name, figure, {e: [folder / run.name for run in own] for e, own in runs.items()}, folder, ending)


def made(
    runs: Sequence[Run], folder: Path, pool: AbstractPool | None, progress: bool, keep: bool
) -> dict[str, dict[str, Any]]:
    """The records of runs by name."""
    return told([job_of(run) for run in runs], folder, pool, progress, keep)


def told(
    jobs: Sequence[Job], folder: Path, pool: AbstractPool | None, progress: bool, keep: bool
) -> dict[str, dict[str, Any]]:
    """The records of jobs by name, with progress on standard error."""
    pool = InSequence(progress) if pool is None else pool
    if not progress:
        return gathered(jobs, folder, pool, Silent(), keep)
    missing = len({job.name for job in jobs if finished(job, folder) is None})
    with Teller(jobs, missing, folder) as teller:
        return gathered(jobs, folder, pool, teller, keep)


def _mode(mode: str) -> Mode:
    if mode not in list(Mode):
        raise ValueError(f"reproduce: `mode` must be {checks.listed(Mode)}, got {mode!r}.")
    return Mode(mode)


def _scale(scale: str) -> Scale:
    if scale not in SCALES:
        raise ValueError(
            f"reproduce: `scale` must be {checks.listed(SCALES)}, got {scale!r}." + checks.nearest(scale, SCALES)
        )
    return SCALES[scale]
