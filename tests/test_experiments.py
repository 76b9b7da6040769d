"""Experiments as values, their tables, and runs that are killed."""

import csv
import dataclasses
import io
import json
import random
import subprocess
import sys
import time

import pytest

import sclax as scl
from sclax.experiments import FIGURES, SCALES, TABLES, Experiment, Mode, Published, Run
from sclax.experiments._reproducing import asked, job_of
from sclax.experiments._tables import Table, table_of

ALL = [e for rows in TABLES.values() for e in rows]


def test_experiments_are_frozen_and_named_once():
    assert len({(e.name, table) for table, rows in TABLES.items() for e in rows}) == len(ALL)
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALL[0].problem = "heat"
    for figure in FIGURES.values():
        assert figure.experiments


# From the paper's text, by eye.
@pytest.mark.parametrize(
    ("table", "name", "value", "spread"),
    [
        ("table1", "convection-50/pinn", 0.565, 0.20),
        ("table1", "eikonal/scl", 0.0995, 0.019),
        ("table1", "reaction-diffusion-3-5/r3", 0.00665, 0.00046),
        ("table2", "burgers-operator/scl", 0.000444, 0.00002),
        ("table2", "navier-stokes-operator-1e-5/average", 0.276, 0.0063),
        ("table7", "convection-family/pinn30", 0.0476, None),
        ("table8", "reaction-diffusion-family-20/scl", 0.0204, None),
        ("table8", "reaction-diffusion-family-10/pinn5x5", 0.0228, None),
        ("table9", "helmholtz-family-3/pinn3x3", 1.34, None),
        ("pinnacle", "poisson-nd/scl", 4.58e-4, None),
    ],
)
def test_published_numbers_are_those_of_the_publications(table, name, value, spread):
    (found,) = (e.published for e in TABLES[table] if e.name == name)
    assert found.value == pytest.approx(value)
    assert found.spread == (None if spread is None else pytest.approx(spread))


def test_the_grids_of_discretised_pinns_are_those_of_the_settings():
    for e in (e for table in ("table7", "table8", "table9") for e in TABLES[table] if e.at):
        assert e.at in scl.zoo.paper_settings(e.problem, **dict(e.arguments)).grids, e.name


def test_a_run_is_named_by_all_that_its_result_depends_on():
    pinn, scl_row = (e for e in TABLES["table1"] if e.name in ("convection-50/pinn", "convection-50/scl"))
    run = Run(scl_row, Mode.fast, SCALES["tiny"], 0)
    relabelled = dataclasses.replace(scl_row, label="other words", published=None)
    assert Run(relabelled, Mode.fast, SCALES["tiny"], 0).name == run.name
    others = [
        dataclasses.replace(run, seed=1),
        dataclasses.replace(run, mode=Mode.paper),
        dataclasses.replace(run, scale=dataclasses.replace(run.scale, steps=5)),
        dataclasses.replace(run, experiment=dataclasses.replace(scl_row, arguments=(("beta", 51.0),))),
    ]
    assert len({run.name, *(other.name for other in others)}) == 5
    # Baselines are trained alike in all modes, and so only once.
    assert Run(pinn, Mode.fast, SCALES["tiny"], 0).name == Run(pinn, Mode.paper, SCALES["tiny"], 0).name


def test_modes_are_the_samplers_that_they_say():
    (row,) = (e for e in TABLES["table1"] if e.name == "convection-50/scl")

    def posed(mode):
        job = job_of(Run(row, mode, SCALES["paper"], 0))
        return job.make(*job.arguments)

    paper, chains, fast = posed(Mode.paper), posed(Mode.chains), posed(Mode.fast)
    sampler = lambda found: next(term.sampler for term in found.problem.terms if term.worst)
    assert sampler(paper) == scl.MetropolisHastings(20, 250, 1000, {"x": 0.5, "t": 0.1})
    assert sampler(chains) == scl.PersistentChains(1000)
    assert (paper.steps, chains.steps, fast.steps) == (200_000, 200_000, None)
    assert (fast.model, fast.method, fast.seconds) == (None, None, 300.0)


def test_unknown_words_are_told_with_what_there_is():
    with pytest.raises(ValueError, match="Did you mean `table1`"):
        asked(["tabel1"])
    with pytest.raises(ValueError, match="there is no such experiment.*convection-50"):
        scl.experiments.reproduce("table1", scale="tiny", only=["convection-5"])
    with pytest.raises(ValueError, match="`mode` must be `paper`"):
        scl.experiments.reproduce("table1", mode="quick")
    with pytest.raises(ValueError, match="`scale` must be `tiny`"):
        scl.experiments.reproduce("table1", scale="huge")


# --- tables ---------------------------------------------------------------------------------------------------------


def record(error, **more):
    return {"relative_l2": error, "seconds": 2.0, "operator_evaluations": 1000, **more}


def test_a_table_has_mean_spread_ratio_and_success():
    published = Experiment("a", "A", "convection", published=Published(0.02, "Table 1", 0.005))
    alone = Experiment("b", "B", "convection", "pinn")
    records = {published: [record(0.01), record(0.03)], alone: [record(None)]}
    table = table_of("title", [published, alone], records)
    assert table.rows[0] == ("A", "scl", "2.00e-02 ± 5.0e-03", "2.00e-02 ± 1.0e-02", "1", "2.0", "1.00e+03", "1/2")
    assert table.rows[1] == ("B", "pinn", "–", "–", "–", "2.0", "1.00e+03", "–")


def test_what_needs_no_network_stands_beside_an_operator():
    operator = Experiment("o", "O", "burgers_operator", kind="operator")
    table = table_of("title", [operator], {operator: [record(0.1, nearest_neighbour=0.5, interpolation=0.25)]})
    assert [row[1] for row in table.rows] == ["scl", "nearest neighbour", "interpolation"]
    assert table.rows[2][3] == "2.50e-01"


def test_a_table_in_four_forms(tmp_path):
    table = Table("A title", ("problem", "error"), (("convection, β = 50", "1.0e-03 ± 2e-04"), ("50 % of_x", "–")))
    assert table.text().splitlines()[2] == "convection, β = 50  1.0e-03 ± 2e-04"
    assert "| 50 % of_x | – |" in table.markdown().splitlines()
    assert tuple(map(tuple, csv.reader(io.StringIO(table.csv())))) == (table.header, *table.rows)
    assert r"convection, $\beta$ = 50 & 1.0e-03 $\pm$ 2e-04 \\" in table.latex().splitlines()
    assert r"50 \% of\_x & -- \\" in table.latex().splitlines()
    assert sorted(p.name for p in table.write(tmp_path / "t")) == ["t.csv", "t.md", "t.tex", "t.txt"]


# --- runs that are killed -------------------------------------------------------------------------------------------

CODE = """
import sys
from sclax.experiments import reproduce
if __name__ == "__main__":
    reproduce("table1", scale="tiny", only=["convection-50/pinn", "convection-50/r3"], out=sys.argv[1], progress=False)
"""


def without_time(folder):
    """The records of a directory less what depends on the clock, and the table without its seconds."""
    records = {}
    for path in sorted(folder.glob("*/record.json")):
        found = json.loads(path.read_text())
        bare = {name: value for name, value in found.items() if name != "seconds"}
        records[path.parent.name] = {**bare, "curve": [{**point, "seconds": 0} for point in found["curve"]]}
    rows = list(csv.reader(io.StringIO((folder / "table1-fast-tiny.csv").read_text())))
    seconds = rows[0].index("s")
    return records, [row[:seconds] + row[seconds + 1 :] for row in rows]


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_ends_with_the_same_table(kills, tmp_path):
    start = lambda folder: subprocess.Popen([sys.executable, "-c", CODE, str(folder)])
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    began = time.monotonic()
    assert start(whole).wait() == 0
    took = time.monotonic() - began
    moments = random.Random(kills)
    for _ in range(kills):
        process = start(cut)
        # Most of the time is the start of Python and of JAX, which has nothing to lose.
        time.sleep(took * moments.uniform(0.4, 1.0))
        process.kill()
        process.wait()
    assert start(cut).wait() == 0
    assert without_time(cut) == without_time(whole)
