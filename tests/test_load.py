"""Files of solutions: what is loaded is what was saved, and of everything else nothing is believed, run or computed."""

import os
import struct
import zipfile

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import sclax as scl
from sclax import data
from sclax._base import read_archive, write_archive
from sclax._result import storage

METHOD = scl.PrimalDual(optax.adam(1e-2), optax.adam(1e-2))
BOX = scl.Box(x=(0, 1), t=(0, 1))


def tiny(domain, outputs, key):
    return scl.nn.MLP(domain, outputs, width=4, depth=1, key=key)


def transport(speed=2.0, start=1.0, box=BOX, **parameters):
    begin = scl.Initial(lambda x: jnp.sin(start * x))
    law = lambda u_t, u_x: u_t + speed * u_x
    law_with = lambda u_t, u_x, k: u_t + k * u_x
    return scl.Problem(
        box,
        parameters=parameters,
        objective=scl.average(begin, n=4),
        constraints={"pde": scl.worst_case(law_with if parameters else law, n=4) <= 1e-3},
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A file of a problem of one's own, and one of the zoo."""
    folder = tmp_path_factory.mktemp("saved")
    for name, problem in {"own": transport(), "zoo": scl.zoo.convection(beta=2.0)}.items():
        scl.solve(problem, tiny, METHOD, steps=2, progress=False).save(folder / f"{name}.scl")
    return folder


def test_a_problem_that_is_stated_again_is_the_same(saved):
    assert scl.load(saved / "own.scl", problem=transport()).steps == 2


OTHER = {
    "equation": (transport(speed=3.0), "another problem.*`pde` say something else"),
    "condition": (transport(start=3.0), "another problem.*`initial` say something else"),
    "domain": (transport(box=scl.Box(x=(0, 2), t=(0, 1))), r"another problem: its domain are .*1\.0.*2\.0"),
    "parameters": (transport(k=2.0), "another problem: its parameters"),
}


@pytest.mark.parametrize(("problem", "message"), OTHER.values(), ids=OTHER)
def test_another_problem_is_refused(problem, message, saved):
    with pytest.raises(ValueError, match=message):
        scl.load(saved / "own.scl", problem=problem)


def test_laws_of_other_versions_are_not_compared_but_named(saved, tmp_path, monkeypatch):
    """What JAX records of a function changes with its version."""
    monkeypatch.setattr(storage, "versions", lambda: {"jax": "99"})
    with pytest.warns(UserWarning, match="other versions of `jax`.* `pde` cannot be compared"):
        scl.load(saved / "own.scl", problem=transport(speed=3.0))


def test_other_tolerances_may_be_asked_for(saved):
    solution = scl.load(saved / "zoo.scl", problem=scl.zoo.convection(beta=2.0, tolerance=10.0))
    assert solution.check(points=100)["pde"].tolerance == 10.0


# --- nothing is computed ----------------------------------------------------------------------------------------------


def test_loading_an_operator_makes_no_data(tmp_path, monkeypatch):
    made = []
    burgers = data.burgers
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(data, "burgers", lambda *a, **k: made.append(1) or burgers(*a, **k))
    problem = scl.zoo.burgers_operator(scale="tiny")
    solution = scl.solve(problem, steps=2, progress=False)
    solution.save(tmp_path / "a.scl")
    made.clear()
    loaded = scl.load(tmp_path / "a.scl")
    initial = np.asarray(problem.train.inputs[0, ..., 0])
    np.testing.assert_array_equal(loaded(initial), solution(initial))
    np.testing.assert_array_equal(loaded(initial, t=21), solution(initial, t=21))
    assert "burgers_operator(scale='tiny'" in repr(loaded)
    assert not made  # up to here
    assert loaded.error() == pytest.approx(solution.error())
    assert made
    assert "burgers_operator" not in repr(loaded)


# --- files that are not what they seem --------------------------------------------------------------------------------


def changed(path, new, change):
    """The file with other contents and checksums that fit: what a person could write on purpose."""
    about, arrays = read_archive(path)
    about, arrays = dict(about), dict(arrays)
    found = change(about, arrays)
    write_archive(new, about if found is None else found, arrays)
    return new


def without(name):
    return lambda about, arrays: about.pop(name) and None


def nested(depth):
    value = {"value": 1}
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


def shapes(about, arrays):
    arrays["array0"] = np.zeros((7, 7))


def nan(about, arrays):
    arrays["array0"] = np.full_like(arrays["array0"], np.nan)


HOSTILE = {
    "no model": without("model"),
    "no result": without("result"),
    "no versions": without("versions"),
    "a result that nobody knows": lambda about, _: about.update(result="magic"),
    "a model that is a number": lambda about, _: about.update(model={"value": 3}),
    "a class that nobody knows": lambda about, _: about.update(model={"class": "os.system", "fields": {}}),
    "a class without its fields": lambda about, _: about.update(model={"class": "MLP", "fields": {}}),
    "a model that is a list": lambda about, _: about.update(model=[1, 2]),
    "deep nesting": lambda about, _: about.update(model=nested(400)),
    "weights of other shapes": shapes,
    "weights of NaN": nan,
    "words for weights": lambda _, arrays: arrays.update(array0=np.asarray(["a", "b"])),
    "a domain of nothing": lambda about, _: about["problem"].update(domain=[None]),
    "a seed of words": lambda about, _: about.update(seed="one"),
    "tempered by a list": lambda about, _: about.update(tempered=[1]),
    "a recipe of nothing": lambda about, _: about.update(recipe={"name": "nothing", "arguments": {}}),
    "a recipe with another argument": lambda about, _: about.update(
        recipe={"name": "convection", "arguments": {"gamma": 1.0}}
    ),
    "a recipe of lists": lambda about, _: about.update(recipe={"name": "convection", "arguments": {"beta": [[1], 2]}}),
    "a recipe of NaN": lambda about, _: about.update(
        recipe={"name": "convection", "arguments": {"beta": float("nan")}}
    ),
    "history of other lengths": lambda _, arrays: arrays.update({"history/objective": np.zeros(7)}),
    "history of words": lambda _, arrays: arrays.update({"history/objective": np.asarray(["a"])}),
    "multipliers of another shape": lambda _, arrays: arrays.update({"multipliers/pde": np.zeros(7)}),
    "no multipliers": lambda _, arrays: arrays.pop("multipliers/pde") is None or None,
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_contents_that_do_not_fit_are_refused(change, saved, tmp_path):
    path = changed(saved / "zoo.scl", tmp_path / "other.scl", change)
    with pytest.raises(ValueError, match="load: .*other.scl"):
        scl.load(path)


def rewritten(path, new, change):
    """The zip with other bytes in its entries, each with a checksum of the zip's own that fits."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        entries = {name: old.read(name) for name in old.namelist()}
        for name, content in change(entries).items():
            archive.writestr(name, content)
    return new


def npy(text, raw=b""):
    head = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + raw


def bomb(entries):
    return {
        **entries,
        "zeros.npy": npy("{'descr': '|u1', 'fortran_order': False, 'shape': (400000000,)}", bytes(400_000_000)),
    }


ENTRIES = {
    "about.json is a list": lambda e: {**e, "about.json": b"[1, 2]"},
    "about.json is deep": lambda e: {**e, "about.json": b"[" * 100_000},
    "about.json is not text": lambda e: {**e, "about.json": b"\xff\xfe"},
    "no about.json": lambda e: {n: c for n, c in e.items() if n != "about.json"},
    "no checksums": lambda e: {n: c for n, c in e.items() if n != "sha256.json"},
    "an entry is missing": lambda e: {n: c for n, c in e.items() if n != "array0.npy"},
    "an entry of another file": lambda e: {**e, "array0.npy": e["array1.npy"]},
    "an array of a terabyte": lambda e: {
        **e,
        "array0.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (125000000000,)}"),
    },
    "inflates to 400 MB": bomb,
}


@pytest.mark.parametrize("change", ENTRIES.values(), ids=ENTRIES)
def test_archives_that_do_not_fit_are_refused(change, saved, tmp_path):
    with pytest.raises(ValueError, match="load: .*other.scl.*damaged"):
        scl.load(rewritten(saved / "zoo.scl", tmp_path / "other.scl", change))


def test_a_format_of_another_version_is_named(saved, tmp_path):
    path = changed(saved / "zoo.scl", tmp_path / "old.scl", lambda about, _: about.update(format=2))
    with pytest.raises(ValueError, match="old.scl.* has format 2, this version of sclax reads 3"):
        scl.load(path)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "pipe or device"), ("/dev/zero", "pipe or device"), (tmp_path, "folder")):
        with pytest.raises(ValueError, match=words):
            scl.load(path)


def test_every_damaged_byte_is_noticed(saved, tmp_path):
    """Of 200 flipped bits all over the file, each is refused or leaves everything as it was."""
    raw = (saved / "zoo.scl").read_bytes()
    whole = read_archive(saved / "zoo.scl")
    rng, path, refused = np.random.default_rng(0), tmp_path / "bits.scl", 0
    for _ in range(200):
        damaged = bytearray(raw)
        damaged[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            about, arrays = read_archive(path)
        except ValueError:
            refused += 1
            continue
        assert about == whole[0]
        assert arrays.keys() == whole[1].keys()
        assert all(np.array_equal(arrays[name], whole[1][name]) for name in arrays)
    assert refused > 150
