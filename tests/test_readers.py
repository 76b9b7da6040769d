"""Readers of other people's files: right axes, nothing run, nothing loaded that was not asked for."""

import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import xarray as xr

from sclax import data
from sclax.data import _tensors

N, T, X, Y = 5, 4, 8, 6
RNG = np.random.default_rng(0)
START = RNG.normal(size=(N, X)).astype("f4")
FRAMES = np.concatenate([START[:, None], RNG.normal(size=(N, T - 1, X)).astype("f4")], axis=1)
BURGERS = {"input": START, "output": FRAMES, "visc": np.array([[0.01]])}
A = RNG.normal(size=(N, X, Y)).astype("f4")
U = RNG.normal(size=(N, X, Y, T)).astype("f4")
VORTICITY = {"a": A, "u": U, "t": np.array([[1.0, 2.0, 3.0, 4.0]])}
HEADER = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512, b" ")


def write_v5(path, arrays):
    scipy.io.savemat(path, arrays, appendmat=False)
    return path


def write_v73(path, arrays):
    """As MATLAB does: axes reversed, 512 bytes of its own before HDF5's."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array.T).attrs["MATLAB_class"] = np.bytes_(str(array.dtype))
    with open(path, "r+b") as file:
        file.write(HEADER)
    return path


def write_npz(path, arrays):
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    return path


# --- torch.save without torch: the opcodes it writes ---------------------------------------------------------------


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(value):
    return b"J" + struct.pack("<i", value)


def integers(values):
    return b"(" + b"".join(map(integer, values)) + b"t"


def tensor(key, array, *, kind="FloatStorage", size=None, stride=None, offset=0, numel=None):
    stride = [s // array.itemsize for s in array.strides] if stride is None else stride
    storage = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(str(key)) + text("cpu")
    storage += integer(array.size if numel is None else numel) + b"tQ"
    arguments = storage + integer(offset) + integers(array.shape if size is None else size) + integers(stride)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"\x89ccollections\nOrderedDict\n)RtR"


def archive(path, program, storages=(), folder="archive/"):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{folder}data.pkl", b"\x80\x02" + program + b".")
        file.writestr(f"{folder}byteorder", b"little")
        for key, array in enumerate(storages):
            # torch aligns storages by a padding in the extra field of the entry.
            entry = zipfile.ZipInfo(f"{folder}data/{key}")
            entry.extra = struct.pack("<HH", 0x4246, 20) + bytes(20)
            file.writestr(entry, array.tobytes())
        file.writestr(f"{folder}version", b"3\n")
    return path


def write_pt(path, arrays):
    kinds = {"float32": "FloatStorage", "float64": "DoubleStorage"}
    program = b"}("
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for key, (name, array) in enumerate(arrays.items()):
        program += text(name) + tensor(key, array, kind=kinds[str(array.dtype)])
    return archive(path, program + b"u", arrays.values())


WRITERS = {"v5.mat": write_v5, "v73.mat": write_v73, "a.npz": write_npz, "a.pt": write_pt}


@pytest.fixture(params=WRITERS.items(), ids=WRITERS)
def write(request, tmp_path):
    name, writer = request.param
    # The name says nothing: the content decides.
    return lambda arrays: writer(tmp_path / name.replace(".", "_"), arrays)


def test_burgers_in_every_format(write):
    dataset = data.read(write(BURGERS))
    assert dataset["input"].dims == ("sample", "x")
    assert dataset["solution"].dims == ("sample", "t", "x")
    np.testing.assert_array_equal(dataset["input"], START)
    np.testing.assert_array_equal(dataset["solution"], FRAMES)
    np.testing.assert_allclose(dataset["t"], [0, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(dataset["x"], np.arange(X) / X)
    assert dataset.attrs["viscosity"] == pytest.approx(0.01)


def test_navier_stokes_in_every_format(write):
    dataset = data.read(write(VORTICITY))
    assert dataset["solution"].dims == ("sample", "t", "x", "y")
    np.testing.assert_array_equal(dataset["input"], A)
    np.testing.assert_array_equal(dataset["solution"], np.moveaxis(U, -1, 1))
    np.testing.assert_array_equal(dataset["t"], [1, 2, 3, 4])


def test_slices_of_lazy_arrays_are_those_of_the_array(tmp_path):
    solution = data.read(write_v73(tmp_path / "ns", VORTICITY))["solution"]
    whole = np.moveaxis(U, -1, 1)
    np.testing.assert_array_equal(solution[2], whole[2])
    np.testing.assert_array_equal(solution[-1, 1:3, ::2, 0], whole[-1, 1:3, ::2, 0])
    np.testing.assert_array_equal(solution.isel(sample=[4, 0, 0, 3]), whole[[4, 0, 0, 3]])
    np.testing.assert_array_equal(solution.isel(t=-1, sample=slice(None, None, -1)), whole[::-1, -1])
    np.testing.assert_array_equal(solution.isel(sample=[3, 1], x=[0, 5]), whole[[3, 1]][:, :, [0, 5]])


@pytest.mark.parametrize("writer", [write_npz, write_v73])
def test_a_first_frame_of_zeros_is_replaced_by_the_input(tmp_path, writer):
    broken = FRAMES.copy()
    broken[:, 0] = 0
    solution = data.read_burgers(writer(tmp_path / "file", {**BURGERS, "output": broken}))["solution"]
    np.testing.assert_array_equal(solution[1, 0], START[1])
    np.testing.assert_array_equal(solution.isel(sample=[4, 2], x=3), FRAMES[[4, 2], :, 3])
    np.testing.assert_array_equal(solution.isel(t=[2, 0]), FRAMES[:, [2, 0]])
    np.testing.assert_array_equal(solution.isel(t=slice(1, None)), FRAMES[:, 1:])
    np.testing.assert_array_equal(solution, FRAMES)


def test_times_can_be_given_and_are_not_guessed(tmp_path):
    later = {"input": START, "output": FRAMES[:, 1:]}
    path = write_npz(tmp_path / "file", later)
    with pytest.raises(ValueError, match="first frame of `output`.*is not `input`.*`t=...`"):
        data.read_burgers(path)
    dataset = data.read_burgers(path, t=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(dataset["t"], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="3 increasing times.*got 2"):
        data.read_burgers(path, t=[0.1, 0.2])


def write_pdebench(path, names=("0000", "0001", "0002"), frames=FRAMES, wrong=None):
    with h5py.File(path, "w") as file:
        for i, name in reversed(list(enumerate(names))):
            group = file.create_group(name)
            values = frames[i][:-1] if name == wrong else frames[i]
            group.create_dataset("data", data=values[..., None], compression="lzf")
            group.create_dataset("grid/x", data=(np.arange(X) + 0.5) / X)
            group.create_dataset("grid/t", data=np.linspace(0, 500, T))
            group.attrs["config"] = "sim: {}"
    return path


def test_pdebench(tmp_path):
    dataset = data.read(write_pdebench(tmp_path / "file"))
    np.testing.assert_array_equal(dataset["solution"].isel(sample=[2, 0], t=slice(1, 3)), FRAMES[[2, 0], 1:3])
    np.testing.assert_array_equal(dataset["solution"], FRAMES[:3])
    np.testing.assert_array_equal(dataset["input"], FRAMES[:3, 0])
    np.testing.assert_allclose(dataset["t"], np.linspace(0, 500, T))
    assert dataset["input"].dims == ("sample", "x")
    assert dataset.attrs["config"] == "sim: {}"
    assert dataset["solution"].isel(sample=slice(0, 0)).values.shape == (0, T, X)


def test_a_folder_of_tensors(tmp_path):
    for name, array in (("solution", FRAMES), ("t_grid", np.linspace(0, 500, T)), ("x_grid", np.arange(X) / X)):
        kind = {"float32": "FloatStorage", "float64": "DoubleStorage"}[str(array.dtype)]
        archive(tmp_path / f"{name}.pt", tensor(0, array, kind=kind), [array])
    dataset = data.read(tmp_path)
    np.testing.assert_array_equal(dataset["solution"], FRAMES)
    np.testing.assert_array_equal(dataset["input"], START)
    (tmp_path / "t_grid.pt").unlink()
    with pytest.raises(ValueError, match="no `t_grid.pt`"):
        data.read(tmp_path)


def test_large_tensors_are_mapped_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_tensors, "MAPPED", 16)
    found = data.read_arrays(write_pt(tmp_path / "a.pt", {"u": FRAMES}))["u"]
    assert not found.variable._in_memory
    np.testing.assert_array_equal(found[3], FRAMES[3])


def test_views_of_a_storage(tmp_path):
    base = np.arange(24, dtype="f4")
    program = b"}(" + text("v") + tensor(0, base, size=(3, 2), stride=(8, 2), offset=1)
    program += text("w") + tensor(0, base) + b"u"
    found = data.read_arrays(archive(tmp_path / "a.pt", program, [base]))
    np.testing.assert_array_equal(found["v"], base.reshape(3, 8)[:, 1:4:2])
    np.testing.assert_array_equal(found["w"], base)


def test_numpy_arrays_and_numbers_in_a_pt_file(tmp_path):
    """What `torch.save({"sdf": ndarray, ...})` writes, by numpy's own pickles of protocol 2, of old and new numpy."""
    value = {"sdf": np.asfortranarray(FRAMES[0]), "size": (3, 4), "big": np.arange(3, dtype=">i4"), "s": np.float64(2)}
    program = pickle.dumps(value, 2)[2:-1]
    old = program.replace(b"numpy._core", b"numpy.core")
    assert b"_codecs" in program
    assert program != old
    for i, variant in enumerate((program, old)):
        found = data.read_arrays(archive(tmp_path / f"{i}.pt", variant))
        np.testing.assert_array_equal(found["sdf"], FRAMES[0])
        np.testing.assert_array_equal(found["size"], [3, 4])
        np.testing.assert_array_equal(found["big"], [0, 1, 2])
        assert float(found["s"]) == 2


# --- nothing runs --------------------------------------------------------------------------------------------------


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def hostile(trap):
    plain = pickle.dumps({"input": Evil(trap)}, 2)[2:-1]
    shell = b"cos\nsystem\n(" + text(f"mkdir {trap}") + b"tR"
    return {
        "function": plain,
        "shell": shell,
        "builtins": b"cbuiltins\neval\n(" + text(f"__import__('os').mkdir('{trap}')") + b"tR",
        "attribute of an allowed module": b"cnumpy\nsave\n(" + text(str(trap)) + integer(1) + b"tR",
        "dotted name": b"\x80\x04" + b"\x8c\x05numpy\x8c\x0adtype.mro\x93)R",
        "instance": b"(" + text(str(trap)) + b"ios\nmkdir\n",
        "codec": b"c_codecs\nencode\n(" + text("import os") + text("rot13") + b"tR",
        "state of the reader": b"ccollections\nOrderedDict\n}" + text("make") + text("x") + b"sb",
        "slots of the reader": b"ccollections\nOrderedDict\n(N}" + text("make") + text("x") + b"stb",
        "persistent id": text("storage") + b"Q",
        "storage called": b"ctorch\nFloatStorage\n)R",
        "objects": pickle.dumps(np.array([Evil(trap)], dtype=object), 2)[2:-1],
    }


@pytest.mark.parametrize("kind", hostile(Path("x")))
def test_code_in_a_pt_file_does_not_run(tmp_path, kind):
    trap = tmp_path / "trap"
    path = archive(tmp_path / "a.pt", hostile(trap)[kind])
    with pytest.raises(ValueError) as caught:
        data.read(path)
    for part in (str(path), "Nothing in it was run", "save its tensors anew"):
        assert part in str(caught.value)
    assert not trap.exists()


def test_the_trap_would_have_snapped(tmp_path):
    pickle.loads(b"\x80\x02" + hostile(tmp_path / "trap")["function"] + b".")
    assert (tmp_path / "trap").exists()


def test_code_in_an_npz_file_does_not_run(tmp_path):
    trap = tmp_path / "trap"
    path = write_npz(tmp_path / "a.npz", {"input": np.array([Evil(trap)], dtype=object), "output": FRAMES})
    with pytest.raises(ValueError, match="Python objects.*Save it anew"):
        data.read(path)
    assert not trap.exists()


OUTSIDE = {
    "beyond the end": {"size": (5, 8), "stride": (8, 1), "offset": 1},
    "expanded": {"size": (1000, 1000), "stride": (0, 0)},
    "negative": {"size": (5, 8), "stride": (-8, 1), "offset": 39},
    "more values than bytes": {"numel": 4000},
}


@pytest.mark.parametrize("options", OUTSIDE.values(), ids=OUTSIDE)
def test_tensors_stay_inside_their_storage(tmp_path, options):
    path = archive(tmp_path / "a.pt", tensor(0, START, **options), [START])
    with pytest.raises(ValueError, match="is damaged or holds more than arrays"):
        data.read_arrays(path)


# --- bad files -----------------------------------------------------------------------------------------------------


def test_truncated_files(write):
    path = write(BURGERS)
    raw = path.read_bytes()
    for part in (0.3, 0.7, 0.95):
        path.write_bytes(raw[: int(part * len(raw))])
        with pytest.raises(ValueError) as caught:
            data.read(path)
        assert str(path) in str(caught.value)
        assert "damaged" in str(caught.value) or "holds" in str(caught.value) or "begins with" in str(caught.value)


@pytest.mark.parametrize("writer", [write_npz, write_pt], ids=["npz", "pt"])
def test_a_flipped_byte_in_the_data_of_an_archive(tmp_path, writer):
    path = writer(tmp_path / "file", BURGERS)
    raw = path.read_bytes()
    at = raw.index(FRAMES.tobytes()) + 100
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with pytest.raises(ValueError, match="damaged"):
        data.read(path)


def legacy_tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        file.addfile(tarfile.TarInfo("storages"))
    return buffer.getvalue()


LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
WRONG = {
    "nothing": (b"", ["is empty", "Get the file again"]),
    "noise": (b"\x01\x02\x03" * 300, ["begins with", "no format that can be read", ".mat"]),
    "a web page": (b"<!DOCTYPE html><html>Google Drive - Virus scan", ["web page", "browser"]),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid", ["Git LFS", "git lfs pull"]),
    "one numpy array": (b"\x93NUMPY\x01\x00v\x00", ["single numpy array", "np.savez"]),
    "torch before 1.6": (LEGACY, ["torch before 1.6", "torch.save("]),
    "torch before 0.2": (legacy_tar(), ["torch before 1.6", "torch.save("]),
    "a pickle": (pickle.dumps({"input": 1}), ["is a pickle", "torch.save("]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_files_of_other_formats(tmp_path, kind):
    raw, parts = WRONG[kind]
    path = tmp_path / "data.mat"
    path.write_bytes(raw)
    with pytest.raises(ValueError) as caught:
        data.read(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def test_no_file_and_another_archive(tmp_path):
    with pytest.raises(ValueError, match="there is no file.*Check the path"):
        data.read(tmp_path / "absent.mat")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match="zip archive of `readme.txt`.*Unpack"):
        data.read(tmp_path / "a.zip")


def test_unknown_layouts_say_what_was_found_and_expected(write):
    path = write({"x": START, "y": FRAMES})
    with pytest.raises(ValueError) as caught:
        data.read(path)
    for part in (str(path), "`x` (5, 8) float32", "`y` (5, 4, 8)", "`input` (samples, x)", "`u`", "read_arrays"):
        assert part in str(caught.value)
    with pytest.raises(ValueError, match="has no `a`, `u`, it holds `x`"):
        data.read_navier_stokes(path)
    np.testing.assert_array_equal(data.read_arrays(path)["y"], FRAMES)


SHAPES = {
    "transposed": {"input": START.T, "output": FRAMES},
    "another number of samples": {"input": START[:-1], "output": FRAMES},
    "one dimension short": {"input": START, "output": FRAMES[0]},
    "Navier-Stokes, time first": {"a": A, "u": np.moveaxis(U, -1, 0)},
    "Navier-Stokes, one dimension short": {"a": A, "u": U[..., 0]},
}


@pytest.mark.parametrize("arrays", SHAPES.values(), ids=SHAPES)
def test_wrong_shapes(write, arrays):
    path = write(arrays)
    with pytest.raises(ValueError) as caught:
        data.read(path)
    for part in (str(path), "shapes", "expected", "Transpose"):
        assert part in str(caught.value)


def test_wrong_times_of_navier_stokes(tmp_path):
    path = write_npz(tmp_path / "file", {**VORTICITY, "t": np.arange(3.0)})
    with pytest.raises(ValueError, match="`t` of .* must be 4 increasing times.*got 3"):
        data.read(path)
    assert data.read_navier_stokes(path, t=[5, 6, 7, 8])["t"][0] == 5


def test_a_group_of_another_shape(tmp_path):
    solution = data.read(write_pdebench(tmp_path / "file", wrong="0002"))["solution"]
    np.testing.assert_array_equal(solution[:2], FRAMES[:2])
    with pytest.raises(ValueError, match="group '0002' of .*file' holds"):
        solution.load()


def test_values_that_are_not_finite(write):
    bad = FRAMES.copy()
    bad[3, 2, 1] = np.nan
    bad[3, 2, 2] = np.inf
    path = write({**BURGERS, "output": bad})

    def load():
        solution = data.read(path)["solution"]
        assert np.isfinite(solution[:3]).all()
        solution.load()

    with pytest.raises(ValueError, match="`output` of .* holds 2 NaN or infinite values.*isel") as caught:
        load()
    assert str(path) in str(caught.value)


def test_what_is_read_can_be_saved_and_read_again(tmp_path):
    first = data.read(write_v73(tmp_path / "ns", VORTICITY))
    (tmp_path / "folder").mkdir()
    second = data.read(data.save(first, tmp_path / "folder" / "ns.nc"))
    xr.testing.assert_identical(first.load(), second.load())
    assert list((tmp_path / "folder").iterdir()) == [tmp_path / "folder" / "ns.nc"]


# --- more than fits in memory --------------------------------------------------------------------------------------


def test_four_gigabytes_are_not_loaded(tmp_path):
    path = tmp_path / "ns_V1e-3_N5000_T50.mat"
    sample = np.arange(50 * 64 * 64, dtype="f4").reshape(50, 64, 64)
    with h5py.File(path, "w", userblock_size=512) as file:
        u = file.create_dataset("u", (50, 64, 64, 5000), "f4", chunks=(50, 64, 64, 1))
        u[..., 4321] = sample
        file.create_dataset("a", (64, 64, 5000), "f4", chunks=(64, 64, 1))
        file["t"] = np.arange(1.0, 51.0)[:, None]
    with open(path, "r+b") as file:
        file.write(HEADER)
    program = f"""
        import resource
        import numpy as np
        from sclax import data

        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = peak()
        dataset = data.read({str(path)!r})
        assert dataset["solution"].nbytes > 4e9
        part = dataset["solution"].isel(sample=[4321, 4990, 17]).values
        assert part.shape == (3, 50, 64, 64)
        expected = np.arange(50 * 64 * 64, dtype="f4").reshape(50, 64, 64)
        assert (part[0] == expected.transpose(0, 2, 1)).all() and not part[1:].any()
        assert peak() - before < 100, peak() - before
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch):
    path = write_v73(tmp_path / "file", BURGERS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'sclax\[data\]'"):
        data.read(path)
