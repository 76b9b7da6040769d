"""Arguments of the command that nobody would type on purpose: each is refused in words, or runs."""

import contextlib
import inspect
import os
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sclax import cli, zoo

PROBLEMS = [*zoo.ENTRIES, *zoo.OPERATORS]
ARGUMENTS = ["beta", "nu", "rho", "a1", "a2", "k", "c", "alpha", "delta", "c0", "reynolds", "tolerance", "physics"]
SLOW = 10.0  # seconds
# One run in so many may train: all the others have something in them that is refused before, and one of so many after
# its problem was built.
TRAINED, BUILT = 100, 2

ODD_NUMBERS = [
    *("", " ", "-", "nan", "-nan", "inf", "-inf", "1e400", "-1e400", "1e200", "1e-400", "9" * 400, "9" * 5000),
    *("-1", "1.5", "0", "-0", "0x10", "1_0", "１２", "٣", "½", "two", "1,5", "--1", "1e", "None", "True", "[1]"),
    *("9223372036854775808", "4294967296", "2147483648", "1000000000000", "-9223372036854775809", "\x00", "1\n", "é"),
]
ODD_PATHS = [
    *("", ".", "..", "file", "file/run", "a/b/run", "full", "new\nline", "x" * 300, "y/" * 200, "ä ö", "\x00"),
    *("-", "--", "~", "*", "loop", "loop/run", "run/../../run", "$HOME", "data.nc", "new.nc", "missing/new.nc", "[b]"),
]


def misspelt(names):
    """Names with a letter lost, doubled or changed, and text of any kind."""
    change = lambda name, i, letter: name[: i % len(name)] + letter + name[i % len(name) + 1 :]
    letters = st.sampled_from(["", "x", "ee", "-", "É", " "])
    near = st.builds(change, st.sampled_from(names), st.integers(0, 30), letters)
    return st.one_of(near, st.text(max_size=12), st.sampled_from(["", " ", "../x", "[bold]", "%s", "{}"]))


def one_in(number, draw):
    """True that often: by a value from the middle, since hypothesis prefers the ends."""
    return draw(st.sampled_from(range(number))) == number // 2


numbers = st.one_of(st.sampled_from(ODD_NUMBERS), st.integers().map(str), st.floats().map(repr), st.text(max_size=6))
names = st.one_of(st.sampled_from(ARGUMENTS), misspelt(ARGUMENTS), st.sampled_from(["scale", "seed", "constrained"]))
paths = st.one_of(st.sampled_from(ODD_PATHS), st.text(max_size=10).filter(lambda text: not text.startswith("/")))


@st.composite
def pairs(draw, between):
    """NAME=NUMBER…, in all ways in which it can be wrong."""
    values = draw(st.lists(numbers, max_size=3))
    return draw(names) + draw(st.sampled_from(["=", "=", "=", "", "==", ":"])) + between.join(values)


# What each option may be followed by. A number that makes sense would train for long, so the odd ones make none.
SOLVE = {
    "--set": pairs(":"),
    "--at": pairs(","),
    "--method": misspelt(["scl", "average", "pinn", "r3", "paper"]) | st.sampled_from(["pinn", "r3", "paper"]),
    "--scale": misspelt(["tiny", "small", "paper"]),
    "--seconds": numbers,
    "--seed": numbers,
    "--seeds": st.sampled_from([number for number in ODD_NUMBERS if number not in ("１２", "1_0")]),
    "--out": paths,
    "--steps": st.sampled_from([number for number in ODD_NUMBERS if not number.strip().isdecimal() or len(number) > 9]),
}
SURELY_REFUSED = [
    *(["--seed", "-1"], ["--seeds", "0"], ["--steps", "0"], ["--steps", "1e3"], ["--seconds", "nan"], ["--at", "beta"]),
    *(["--set", "bet=1"], ["--method", "x"], ["--out", "file"], ["--out", "a/b/run"], ["--set", "beta"], ["--odd"]),
]
REFUSED_LATE = ["--steps", "1", "--out", "foreign", "--resume"]  # once the problem is built: another's checkpoint
DATA = {"--out": paths, "--scale": misspelt(["tiny", "small"]), "--seed": numbers}


@st.composite
def options(draw, known, most=4):
    """Some options with something after each, some of them twice, and some without what must follow."""
    found = []
    for name in draw(st.lists(st.sampled_from(list(known)), max_size=most)):
        found += [name] if one_in(30, draw) else [name, draw(known[name])]
    return found + draw(st.lists(st.sampled_from(["--json", "--resume", "--help", "--odd", "extra"]), max_size=1))


@st.composite
def solves(draw):
    """Words of which the last is surely wrong, but for a few that train one step."""
    if one_in(TRAINED, draw):
        more = draw(st.sampled_from([[], ["--json"], ["--seed", "4294967295"], ["--out", "ä ö"]]))
        name = draw(st.sampled_from(["convection", "reaction_diffusion"]))
        return ["solve", name, "--method", draw(st.sampled_from(["pinn", "r3"])), "--steps", "1", *more]
    name = draw(st.sampled_from(PROBLEMS) | misspelt(PROBLEMS))
    words = ["solve", name, *draw(options(SOLVE))]
    if name in zoo.ENTRIES and one_in(BUILT, draw):
        own = draw(st.sampled_from(list(inspect.signature(zoo.entry(name).build).parameters)))
        setting = f"{own}={':'.join(draw(st.lists(numbers, min_size=1, max_size=2)))}"
        method = draw(st.sampled_from(["scl", "pinn", "r3", "paper"]))
        return ["solve", name, "--set", setting, "--method", method, *REFUSED_LATE]
    # Operators at a scale for which no data are made.
    return [*words, *(["--scale", "huge"] if name in zoo.OPERATORS else []), *draw(st.sampled_from(SURELY_REFUSED))]


@st.composite
def data_made(draw):
    """Few samples at the smallest scale, or more than any disk holds."""
    name = draw(st.sampled_from(["burgers", "navier_stokes", "diffusion_sorption"]) | misspelt(["burgers"]))
    samples = draw(st.sampled_from(["0", "-1", "1e3", "nan", "", "9" * 12, "9" * 30, "two"]))
    if one_in(TRAINED, draw):
        name, samples = "burgers", "1"
    return ["data", "make", name, *draw(options(DATA)), "--scale", "tiny", "--samples", samples]


@st.composite
def data_shown(draw):
    """Up to three samples in a picture."""
    samples = draw(st.sampled_from([[], ["--samples", "2"], ["--samples", "0"], ["--samples", "9" * 30]]))
    return ["data", "show", draw(paths), *draw(options({"--out": paths}, most=1)), *samples]


arguments = st.one_of(
    solves(),
    solves(),
    solves(),
    data_made(),
    data_shown(),
    options({"list": st.text(max_size=5), "data": names, "solve": names}, most=2),
)


@contextlib.contextmanager
def somewhere(data):
    """A directory with a file, full folders, a link to itself and a data set."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        work = Path("work")
        (work / "full").mkdir(parents=True)
        (work / "foreign" / "checkpoint").mkdir(parents=True)
        for path in (work / "file", work / "full" / "file", work / "foreign" / "checkpoint" / "file"):
            path.write_text("text")
        (work / "loop").symlink_to("loop")
        os.link(data, work / "data.nc")
        with contextlib.chdir(work):
            yield


def called(words, data):
    """How the command ends: `refused`, `ran` or `raw`, its seconds, and what it said."""
    start = time.perf_counter()
    with somewhere(data):
        result = CliRunner().invoke(cli.app, words)
    seconds = time.perf_counter() - start
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "raw", seconds, repr(result.exception)
    said = result.stderr
    if result.exit_code == 2 and (said.count("sclax: ") == 1 or "Usage:" in said + result.stdout or "Error:" in said):
        return "refused", seconds, said
    return "ran" if result.exit_code == 0 else "raw", seconds, said


def campaign(count: int, number: int, within=called) -> dict:
    """Calls the command `count` times. `raw` are the calls that ended by an exception, or without words."""
    found = {"tried": 0, "refused": 0, "ran": 0, "raw": 0, "slow": 0, "lost": []}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.nc"
        made = CliRunner().invoke(
            cli.app, ["data", "make", "burgers", "--scale", "tiny", "--samples", "2", "--out", str(data)]
        )
        assert made.exit_code == 0, made.stderr

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(arguments)
        def call(words):
            how, seconds, said = within(words, data)
            found["tried"] += 1
            found[how] += 1
            slow = how == "refused" and seconds > SLOW  # what trains may take longer
            found["slow"] += slow
            if how == "raw" or slow:
                found["lost"].append({"words": words, "how": how, "seconds": round(seconds, 1), "said": said[-500:]})

        call()
    return found
