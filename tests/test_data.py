"""Data sets made on the spot: right laws, right solutions, the same for every size, and a cache that heals."""

import hashlib
import json
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
import scipy.stats
import xarray as xr

from sclax import data, reference
from sclax.data import _cache
from sclax.data import _generators as generators
from sclax.data._random_fields import LI_1E3, LI_VORTICITY, PINO, GaussianField, generator


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for every test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sclax"


@pytest.fixture
def recipes(monkeypatch):
    """The generators give their recipe instead of following it."""
    monkeypatch.setattr(generators, "make", lambda recipe, cache, progress: recipe)


# --- random fields -------------------------------------------------------------------------------------------------


def test_energies_of_a_field_on_the_line():
    samples = PINO.samples(0, 0, 4000, 64)
    energies = np.mean(np.abs(np.fft.rfft(samples) / 64) ** 2, axis=0)
    k = np.arange(1, 12)
    expected = 625.0**2 * ((2 * np.pi * k) ** 2 + 25) ** -4.0
    # |c|² of a complex normal has its mean as standard deviation: 5 of them for 4000 samples.
    np.testing.assert_allclose(energies[k], expected, rtol=5 / np.sqrt(4000))
    np.testing.assert_allclose(expected[:4], [2.26e-2, 3.49e-4, 1.87e-5, 2.10e-6], rtol=5e-3)
    assert np.abs(samples.mean(axis=1)).max() < 1e-14
    assert samples.std() == pytest.approx(0.21, rel=0.05)


def test_energies_of_a_field_on_the_plane():
    samples = LI_VORTICITY.samples(0, 0, 500, 32)
    energies = np.mean(np.abs(np.fft.fft2(samples) / 32**2) ** 2, axis=0)
    k = np.fft.fftfreq(32, 1 / 32)
    squares = k[:, None] ** 2 + k**2
    expected = 343 * (4 * np.pi**2 * squares + 49) ** -2.5
    inside = (squares > 0) & (np.abs(k[:, None]) < 16) & (np.abs(k) < 16)
    ratio = energies[inside] / expected[inside]
    assert ratio.mean() == pytest.approx(1, abs=5 / np.sqrt(500 * ratio.size / 2))
    assert np.abs(ratio - 1).max() < 6 / np.sqrt(500)
    assert energies[0, 0] < 1e-28


def test_the_two_amplitudes_of_navier_stokes():
    assert LI_VORTICITY.deviation() == pytest.approx(0.185, abs=5e-4)
    # Real and imaginary parts of variance 1 each, as the first script drew them: √2 more.
    assert np.sqrt(2) * LI_VORTICITY.deviation() == pytest.approx(0.262, abs=5e-4)
    for amplitude in (0.262, 0.185):
        law = LI_VORTICITY.scaled(amplitude)
        assert law.samples(0, 0, 200, 64).std() == pytest.approx(amplitude, rel=0.03)


def test_modes_are_independent_and_real_and_imaginary_parts_alike():
    spectra = np.fft.rfft(LI_1E3.samples(3, 0, 4000, 32)) / np.sqrt(LI_1E3.energies(32) + 1e-300) / 32
    parts = np.concatenate([spectra[:, 1:6].real, spectra[:, 1:6].imag], axis=1)
    np.testing.assert_allclose(parts.T @ parts / 4000, np.eye(10) / 2, atol=5 * 0.5 / np.sqrt(4000) * np.sqrt(2))


@pytest.mark.parametrize("law", [PINO, LI_VORTICITY], ids=["line", "plane"])
def test_a_sample_is_one_function_on_every_grid(law):
    coarse, fine = law.samples(1, 7, 9, 32), law.samples(1, 7, 9, 64)
    axes = tuple(range(1, law.dims + 1))
    spectrum = np.fft.fftn(fine, axes=axes) / 64**law.dims
    modes = np.r_[0:16, 49:64]
    for axis in axes:
        spectrum = np.take(spectrum, modes, axis)
    expected = np.fft.fftn(coarse, axes=axes) / 32**law.dims
    for axis in axes:
        expected = np.take(expected, np.r_[0:16, 17:32], axis)
    np.testing.assert_allclose(spectrum, expected, atol=1e-15)
    np.testing.assert_array_equal(law.samples(1, 8, 9, 32)[0], coarse[1])
    assert not np.allclose(law.samples(2, 7, 9, 32), coarse)


def test_initial_concentrations_are_uniform():
    draws = [generator(0, i).uniform(0.0, 0.2) for i in range(500)]
    assert scipy.stats.kstest(draws, scipy.stats.uniform(0, 0.2).cdf).pvalue > 0.01
    dataset = data.diffusion_sorption("tiny", samples=3, cache=False)
    np.testing.assert_allclose(dataset["input"], np.repeat(draws[:3], 64).reshape(3, 64), rtol=1e-6)


# --- solutions -----------------------------------------------------------------------------------------------------


def test_burgers_is_solved():
    dataset = data.burgers("tiny", seed=5, cache=False)
    assert dataset["input"].dims == ("sample", "x")
    assert dataset["solution"].dims == ("sample", "t", "x")
    assert dataset["solution"].shape == (16, 11, 32)
    np.testing.assert_array_equal(dataset["solution"].isel(t=0), dataset["input"])
    # Twice the points and a quarter of the step.
    finer = reference.burgers(PINO.samples(5, 0, 16, 256), 0.01, dataset["t"].values, substeps=160)
    np.testing.assert_allclose(dataset["solution"], finer[..., ::8], atol=2e-6)
    # Momentum is conserved (up to the modes that 32 points cannot tell from the mean), and energy is not.
    assert np.abs(dataset["solution"].mean("x")).max() < 1e-5
    assert (np.diff((dataset["solution"] ** 2).mean("x"), axis=1) < 0).all()


def test_navier_stokes_is_solved():
    dataset = data.navier_stokes("tiny", samples=2, cache=False)
    assert dataset["solution"].dims == ("sample", "t", "x", "y")
    assert dataset["solution"].shape == (2, 5, 16, 16)
    np.testing.assert_array_equal(dataset["t"], [1, 2, 3, 4, 5])
    start = LI_VORTICITY.scaled(0.262).samples(0, 0, 2, 64)
    np.testing.assert_allclose(dataset["input"], start[:, ::4, ::4], rtol=1e-6, atol=1e-7)
    finer = reference.navier_stokes(start, 1e-3, np.arange(6.0), substeps=80)
    np.testing.assert_allclose(dataset["solution"], finer[:, 1:, ::4, ::4], atol=2e-6)
    weak = data.navier_stokes("tiny", samples=2, amplitude=0.185, cache=False)
    np.testing.assert_allclose(weak["input"] / dataset["input"], 0.185 / 0.262, rtol=1e-4)


def test_diffusion_sorption_is_solved():
    dataset = data.diffusion_sorption("tiny", samples=2, cache=False)
    assert dataset["solution"].shape == (2, 11, 64)
    np.testing.assert_array_equal(dataset["solution"].isel(t=0), dataset["input"])
    finer = reference.diffusion_sorption(float(dataset["input"][1, 0]), 64 * 15, 11)
    np.testing.assert_allclose(finer["x"][7::15], dataset["x"])
    np.testing.assert_allclose(dataset["solution"][1], finer[:, 7::15], atol=1e-4)
    theirs = data.diffusion_sorption("tiny", samples=1, pdebench=True, cache=False)
    difference = float(np.abs(theirs["solution"][0] - dataset["solution"][0]).max())
    assert 1e-3 < difference < 5e-2


GENERATORS = {
    "burgers": (data.burgers, 3, 18),
    "navier_stokes": (data.navier_stokes, 1, 3),
    "diffusion_sorption": (data.diffusion_sorption, 1, 3),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_sample_does_not_depend_on_the_size_of_the_set(name):
    generate, few, many = GENERATORS[name]
    small = generate("tiny", samples=few, cache=False)
    large = generate("tiny", samples=many, cache=False)
    np.testing.assert_array_equal(small["input"], large["input"][:few])
    np.testing.assert_array_equal(small["solution"], large["solution"][:few])
    assert not np.allclose(large["input"][0], large["input"][-1])
    other = generate("tiny", samples=few, seed=1, cache=False)
    assert not np.allclose(small["input"], other["input"])


def test_provenance():
    attrs = data.burgers("tiny", seed=3, samples=2, cache=False).attrs
    assert attrs["pde"].startswith("uₜ + (u²/2)ₓ = ν uₓₓ")
    assert json.loads(attrs["parameters"]) == {"viscosity": 0.01, "solved_points": 128}
    assert attrs["initial_condition"] == "N(0, 625² (−Δ + 5²)^−4), mean 0"
    assert "ETDRK4" in attrs["solver"]
    assert (attrs["seed"], attrs["scale"], attrs["samples"]) == (3, "tiny", 2)
    assert float(attrs["steps"].split()[0]) < 0.01
    assert attrs["version"]


def test_the_paper_scale(recipes):
    burgers = data.burgers("paper")
    assert (burgers.samples, len(burgers.coords["x"]), len(burgers.coords["t"])) == (1200, 128, 101)
    assert json.loads(burgers.attrs["parameters"])["viscosity"] == 0.01
    sorption = data.diffusion_sorption("paper")
    assert (sorption.samples, len(sorption.coords["x"]), len(sorption.coords["t"])) == (2000, 1024, 101)
    assert sorption.coords["t"][-1] == 500
    for viscosity, end, samples, points in ((1e-3, 50, 2000, 64), (1e-4, 30, 2000, 128), (1e-5, 20, 1200, 256)):
        flow = data.navier_stokes("paper", viscosity=viscosity)
        assert (flow.samples, len(flow.coords["x"]), len(flow.coords["y"])) == (samples, 64, 64)
        np.testing.assert_array_equal(flow.coords["t"], np.arange(1, end + 1))
        assert json.loads(flow.attrs["parameters"])["solved_points"] == points
    assert data.navier_stokes("paper", samples=7).samples == 7


def test_thin_fronts_get_more_points(recipes):
    for viscosity, points in ((0.02, 128), (0.01, 128), (5e-3, 256), (1.25e-3, 1024)):
        recipe = data.burgers("paper", viscosity=viscosity)
        assert json.loads(recipe.attrs["parameters"])["solved_points"] == points


BAD = {
    "scale": (lambda: data.burgers("smal"), ["burgers", "`scale`", "'smal'", "Did you mean `small`?"]),
    "samples": (lambda: data.navier_stokes("tiny", samples=0), ["navier_stokes", "`samples`", "0"]),
    "seed": (lambda: data.diffusion_sorption("tiny", seed=-1), ["diffusion_sorption", "`seed`", "-1"]),
    "viscosity": (lambda: data.navier_stokes("tiny", viscosity=-1), ["`viscosity`", "positive"]),
    "thin fronts": (lambda: data.burgers("tiny", viscosity=1e-4), ["`viscosity`", "0.0001", "Raise it"]),
    "amplitude": (lambda: data.navier_stokes("tiny", amplitude=0), ["`amplitude`", "positive"]),
    "dimension": (
        lambda: data.burgers("tiny", law=LI_VORTICITY),
        ["`law`", "one dimension", "GaussianField(", "dims=2"],
    ),
    "points": (lambda: GaussianField(1, 1, 1).samples(0, 0, 1, 4096), ["`points`", "1024", "4096"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    call, parts = BAD[name]
    with pytest.raises(ValueError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


# --- batches and cache ---------------------------------------------------------------------------------------------


def counting(samples=10, batch=4, **attrs):
    """A recipe whose sample i is i, and the batches it was asked for."""
    asked = []

    def solve(begin, end):
        asked.append((begin, end))
        values = np.arange(begin, end, dtype=float)
        return _cache.Batch(np.tile(values[:, None], 3), np.tile(values[:, None, None], (1, 2, 3)), "none", 0.1)

    coords = {"t": np.array([0.0, 1.0]), "x": np.array([0.0, 0.5, 0.75])}
    return _cache.Recipe("counting", {"seed": 0, **attrs}, coords, samples, batch, solve), asked


@pytest.mark.parametrize("kept", [False, True])
def test_batches_and_progress(kept):
    recipe, asked = counting()
    calls = []
    dataset = _cache.make(recipe, kept, lambda done, total: calls.append((done, total)))
    assert calls == [(4, 10), (8, 10), (10, 10)]
    assert asked == [(0, 4), (4, 8), (8, 12)]
    np.testing.assert_array_equal(dataset["input"], np.tile(np.arange(10.0)[:, None], 3))
    np.testing.assert_array_equal(dataset["solution"][:, 1, 2], np.arange(10))
    assert dataset["solution"].dtype == np.float32


def test_the_cache_gives_what_was_made_and_reads_it_when_sliced(cache, monkeypatch):
    made = data.burgers("tiny", cache=False)
    first = data.burgers("tiny")
    xr.testing.assert_identical(made, first.load())
    monkeypatch.setattr(generators, "_burgers", None)
    second = data.burgers("tiny")
    assert not second["solution"].variable._in_memory
    xr.testing.assert_identical(made, second.load())
    assert {path.suffix for path in cache.iterdir()} == {".nc", ".sha256", ".lock"}
    with pytest.raises(TypeError, match="not callable"):
        data.burgers("tiny", seed=1)


def test_every_argument_has_its_own_place_in_the_cache(recipes):
    sets = [
        data.burgers("tiny"),
        data.burgers("small"),
        data.burgers("tiny", seed=1),
        data.burgers("tiny", samples=17),
        data.burgers("tiny", viscosity=0.02),
        data.burgers("tiny", law=LI_1E3),
        data.navier_stokes("tiny"),
        data.navier_stokes("tiny", amplitude=0.185),
        data.navier_stokes("tiny", viscosity=9e-4),
        data.diffusion_sorption("tiny"),
        data.diffusion_sorption("tiny", pdebench=True),
    ]
    assert len({_cache.cache_path(recipe) for recipe in sets}) == len(sets)


def seal(path):
    """Makes the checksum fit, as a foreign program that writes both would."""
    beside = path.with_name(path.name + ".sha256")
    beside.write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


def truncate(path):
    path.write_bytes(path.read_bytes()[:-500])


def flip(at):
    def damage(path):
        raw = bytearray(path.read_bytes())
        raw[int(at * (len(raw) - 1))] ^= 16
        path.write_bytes(raw)

    return damage


def empty(path):
    path.write_bytes(b"")


def sealed(damage):
    def both(path):
        damage(path)
        seal(path)

    return both


def relabel(path):
    with h5py.File(path, "r+") as file:
        file.attrs["seed"] = 99


def reshape(path):
    data.save(data.open_dataset(path).isel(sample=slice(0, 3)), path)


def shift(path):
    dataset = data.open_dataset(path).load()
    data.save(dataset.assign_coords(t=dataset["t"] + 1), path)


def unlabel(path):
    with h5py.File(path, "w") as file:
        file["unrelated"] = np.zeros(3)


DAMAGES = {
    "truncated": (truncate, "does not fit its checksum"),
    "first byte": (flip(0.0), "does not fit its checksum"),
    "a byte in the middle": (flip(0.6), "does not fit its checksum"),
    "last byte": (flip(1.0), "does not fit its checksum"),
    "empty": (empty, "does not fit its checksum"),
    "without a checksum": (lambda path: path.with_name(path.name + ".sha256").unlink(), "has no checksum"),
    "empty checksum": (lambda path: empty(path.with_name(path.name + ".sha256")), "does not fit its checksum"),
    "truncated, sealed": (sealed(truncate), "cannot be opened"),
    "empty, sealed": (sealed(empty), "cannot be opened"),
    "noise, sealed": (sealed(lambda path: path.write_bytes(b"noise" * 100)), "cannot be opened"),
    "another seed, sealed": (sealed(relabel), "is another data set .*seed"),
    "fewer samples, sealed": (sealed(reshape), "is another data set .*sample"),
    "other times, sealed": (sealed(shift), "is another data set .*t"),
    "another file, sealed": (sealed(unlabel), "cannot be opened"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_cache_is_made_again(cache, kind):
    damage, reason = DAMAGES[kind]
    recipe, asked = counting()
    good = _cache.make(recipe, True, None).load()
    good.close()
    path = _cache.cache_path(recipe)
    damage(path)
    asked.clear()
    with pytest.warns(UserWarning, match=f"{reason}.*: it is made again"):
        again = _cache.make(recipe, True, None)
    assert len(asked) == 3
    xr.testing.assert_identical(good, again.load())
    again.close()
    asked.clear()
    xr.testing.assert_identical(good, _cache.make(recipe, True, None).load())
    assert asked == []


def test_an_interrupted_generation_leaves_nothing(cache):
    recipe, asked = counting()

    def interrupt(done, total):
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _cache.make(recipe, True, interrupt)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    # Killed, the process leaves its temporary file: no one takes it for the data, and the next one removes it.
    half, other = (cache / f".{name}.x7y" for name in (_cache.cache_path(recipe).name, "other.nc"))
    half.write_bytes(b"half")
    other.write_bytes(b"half")
    asked.clear()
    _cache.make(recipe, True, None)
    assert len(asked) == 3
    assert not half.exists()
    assert other.exists()  # someone may be at it


def test_without_a_lock_the_cache_works_as_ever(cache):
    recipe, asked = counting()
    path = _cache.cache_path(recipe)
    path.with_name(f".{path.name}.lock").mkdir(parents=True)
    half = path.with_name(f".{path.name}.x7y")
    half.write_bytes(b"half")
    for _ in range(2):
        np.testing.assert_array_equal(_cache.make(recipe, True, None)["solution"][:, 1, 2], np.arange(10))
    assert len(asked) == 3
    assert half.exists()  # it may be another's who is at work


# A data set of three batches that tell that they ran, and end when they are let go.
SLOW = """
import os, time
import numpy as np
from sclax.data import _cache

def solve(begin, end):
    with open("asked", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while not os.path.exists("go"):
        time.sleep(0.02)
    values = np.arange(begin, end, dtype=float)
    return _cache.Batch(values[:, None], values[:, None, None], "none", 0.1)

coords = {"t": np.array([0.0]), "x": np.array([0.0])}
recipe = _cache.Recipe("slow", {}, coords, 6, 2, solve)
print(float(_cache.make(recipe, True, None)["solution"].sum()))
"""


@pytest.fixture
def slow(tmp_path):
    """Starts a process that makes the slow set."""
    started = []

    def start():
        started.append(subprocess.Popen([sys.executable, "-c", SLOW], cwd=tmp_path, text=True, **PIPES))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def until_at_work(process, path):
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def test_a_second_process_waits_for_the_first(slow, tmp_path):
    first = slow()
    until_at_work(first, tmp_path / "asked")
    second = slow()
    assert "slow: another process is making" in second.stderr.readline()
    (tmp_path / "go").touch()
    for process in (first, second):
        out, err = process.communicate(timeout=100)
        assert out == "15.0\n", err
    assert (tmp_path / "asked").read_text().split() == [str(first.pid)] * 3


def test_a_killed_process_holds_no_one_up(slow, cache, tmp_path):
    first = slow()
    until_at_work(first, tmp_path / "asked")
    first.kill()
    first.wait()
    assert any(path.suffix not in (".nc", ".sha256", ".lock") for path in cache.iterdir())
    (tmp_path / "go").touch()
    out, err = slow().communicate(timeout=100)
    assert out == "15.0\n", err
    assert sorted(path.suffix for path in cache.iterdir()) == [".lock", ".nc", ".sha256"]


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert _cache.cache_directory() == tmp_path / "home" / ".cache" / "sclax"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    recipe, _ = counting()
    with pytest.raises(OSError, match="counting: the cache .* cannot be written.*XDG_CACHE_HOME.*cache=False"):
        _cache.make(recipe, True, None)


# --- files ---------------------------------------------------------------------------------------------------------


def test_save_and_open(tmp_path):
    dataset = data.navier_stokes("tiny", samples=2, cache=False)
    (tmp_path / "new").mkdir()  # which `save` does not make
    assert data.save(dataset, tmp_path / "new" / "set.nc") == tmp_path / "new" / "set.nc"
    opened = data.open_dataset(tmp_path / "new" / "set.nc")
    assert not opened["solution"].variable._in_memory
    assert opened["solution"].dims == ("sample", "t", "x", "y")
    xr.testing.assert_identical(dataset, opened.load())
    xr.testing.assert_identical(dataset, data.read(tmp_path / "new" / "set.nc").load())


def test_save_in_pieces_and_in_any_order_of_axes(tmp_path, monkeypatch):
    monkeypatch.setattr("sclax.data._files.PIECE", 100)
    recipe, _ = counting()
    dataset = _cache.make(recipe, False, None)
    data.save(dataset.transpose("x", "sample", "t"), tmp_path / "set.nc")
    xr.testing.assert_identical(dataset, data.open_dataset(tmp_path / "set.nc").load())


def test_a_failed_save_keeps_the_old_file(tmp_path):
    recipe, _ = counting()
    dataset = _cache.make(recipe, False, None)
    path = data.save(dataset, tmp_path / "set.nc")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="the attribute `note` is None.*string"):
        data.save(dataset.assign_attrs(note=None), path)
    text = dataset.assign(solution=dataset["solution"].astype(object))
    with pytest.raises(Exception):  # noqa: B017 - whatever HDF5 says
        data.save(text, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_no_data_sets(tmp_path):
    recipe, _ = counting()
    dataset = _cache.make(recipe, False, None)
    with pytest.raises(ValueError, match="save: `dataset` has no variable `solution`; it has `input`"):
        data.save(dataset.drop_vars("solution"), tmp_path / "set.nc")
    with pytest.raises(ValueError, match="Name the variables and dimensions so"):
        data.save(dataset.rename(x="z"), tmp_path / "set.nc")
    with pytest.raises(ValueError, match="no coordinate `t`.*assign_coords"):
        data.save(dataset.drop_vars("t"), tmp_path / "set.nc")
    with pytest.raises(ValueError, match="there is no file.*Check the path"):
        data.open_dataset(tmp_path / "absent.nc")
    (tmp_path / "noise.nc").write_bytes(b"noise")
    with pytest.raises(ValueError, match="noise.nc' is no netCDF 4 file.*`read`"):
        data.open_dataset(tmp_path / "noise.nc")
    path = data.save(dataset, tmp_path / "set.nc")
    truncate(path)
    with pytest.raises(ValueError, match="set.nc' is damaged.*Save it anew"):
        data.open_dataset(path)


@pytest.mark.parametrize(("package", "call"), [("h5netcdf", data.burgers), ("exponax", data.navier_stokes)])
def test_missing_extras_are_named(monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}.*pip install 'sclax\[data\]'"):
        call("tiny")


# --- pictures ------------------------------------------------------------------------------------------------------


def meshes(figure):
    return [mesh for axis in figure.axes for mesh in axis.collections if axis.get_label() != "<colorbar>"]


def test_the_picture_of_a_line(tmp_path):
    dataset = data.burgers("tiny", samples=4, cache=False)
    figure = data.show(dataset, tmp_path / "set.png")
    assert (tmp_path / "set.png").stat().st_size > 20_000
    found = meshes(figure)
    assert len(found) == 3
    for i, mesh in enumerate(found):
        np.testing.assert_array_equal(mesh.get_array().reshape(32, 11), dataset["solution"][i].values.T)
    labels = {axis.get_xlabel() for axis in figure.axes} | {axis.get_ylabel() for axis in figure.axes}
    assert {"$x$", "$t$", "sample 2\n$u(x, 0)$"} <= labels
    np.testing.assert_array_equal(figure.axes[2].lines[0].get_ydata(), dataset["input"][1])


def test_the_picture_of_a_plane(tmp_path):
    dataset = data.navier_stokes("tiny", samples=2, cache=False)
    figure = data.show(dataset, tmp_path / "set.png", samples=1)
    input_, first, middle, last = (mesh.get_array().reshape(16, 16) for mesh in meshes(figure))
    np.testing.assert_array_equal(input_, dataset["input"][0].values.T)
    for shown, frame in ((first, 0), (middle, 2), (last, 4)):
        np.testing.assert_array_equal(shown, dataset["solution"][0, frame].values.T)
    assert [axis.get_title() for axis in figure.axes[:4]] == ["input", "$t = 1$", "$t = 3$", "$t = 5$"]


def test_nothing_to_draw():
    recipe, _ = counting()
    with pytest.raises(ValueError, match="`dataset` is empty.*Choose some"):
        data.draw(_cache.make(recipe, False, None).isel(sample=[]))
