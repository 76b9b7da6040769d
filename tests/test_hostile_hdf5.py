"""HDF5 and netCDF that is damaged or leads elsewhere, and the seals of files of our own."""

import struct
from itertools import product

import h5py
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sclax import data
from sclax.cli import app

from .hostile import changed, refused
from .test_readers import BURGERS, FRAMES, write_v73

# --- HDF5 ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path):
    """A file that nobody asked for."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["data"] = FRAMES[0]
        file["grid/x"] = np.arange(8.0)
    FRAMES.tofile(tmp_path / "secret.raw")
    return tmp_path


def external_link(file, name, secret):
    file[name] = h5py.ExternalLink(str(secret / "secret.h5"), "/data")


def external_storage(file, name, secret):
    file.create_dataset(name, FRAMES[0].shape, "f4", external=[(str(secret / "secret.raw"), 0, FRAMES[0].nbytes)])


def virtual(file, name, secret):
    layout = h5py.VirtualLayout(FRAMES[0].shape, "f4")
    layout[:] = h5py.VirtualSource(str(secret / "secret.h5"), "data", FRAMES[0].shape)
    file.create_virtual_dataset(name, layout)


def soft_link(file, name, secret):
    file[name] = h5py.SoftLink("/out/data")
    file["out"] = h5py.ExternalLink(str(secret / "secret.h5"), "/")


def loop(file, name, secret):
    file[name] = h5py.SoftLink("/there")
    file["there"] = h5py.SoftLink(f"/{name}")


ELSEWHERE = {
    external_link: "secret.h5",
    external_storage: "secret.raw",
    virtual: "secret.h5",
    soft_link: "out",
    loop: "there",
}


@pytest.mark.parametrize("plant", ELSEWHERE)
@pytest.mark.parametrize("name", ["x", "0000/data", "0001/data", "0000/grid", "0000/grid/x"])
def test_values_elsewhere_are_not_fetched(secret, plant, name):
    path = secret / "a.h5"
    with h5py.File(path, "w") as file:
        plant(file, name, secret)
        if name != "x":
            whole = {"data": FRAMES[0], "grid/x": np.arange(8.0), "grid/t": np.arange(4.0)}
            for place, values in product(("0000", "0001"), whole):
                if not f"{place}/{values}".startswith(name):
                    file[f"{place}/{values}"] = whole[values]
    told = "no group" if name.endswith("grid") and plant in (external_storage, virtual) else ELSEWHERE[plant]
    refused(path, told)
    refused(path, told, by=lambda path: {"solution": data.read(path)["solution"].values})


@pytest.mark.parametrize("plant", ELSEWHERE)
@pytest.mark.parametrize("name", ["note", "group/of/note", "solution", "t"])
def test_netcdf_files_keep_to_themselves(secret, plant, name):
    path = secret / "a.nc"
    dataset(3).drop_vars(["solution", "t"] if name in ("solution", "t") else []).to_netcdf(path, engine="h5netcdf")
    with h5py.File(path, "r+") as file:
        if "/" in name:
            file.require_group(name.rsplit("/", 1)[0])
        plant(file, name, secret)
    refused(path, ELSEWHERE[plant], by=data.open_dataset)


def test_links_inside_matlab_7_3(secret):
    path = write_v73(secret / "a.mat", BURGERS)
    with h5py.File(path, "r+") as file:
        del file["output"]
        external_link(file, "output", secret)
    refused(path, "secret.h5", by=data.read)


def test_a_group_that_holds_itself(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["0000/data"] = FRAMES[0]
        file["0000/again"] = file["0000"]
        file["0000/grid"] = file["0000"]
    np.testing.assert_array_equal(data.read_arrays(tmp_path / "a.h5")["data"][0], FRAMES[0])


def claim(path, names, shape):
    with h5py.File(path, "w") as file:
        for name in names:
            file.create_dataset(name, shape, "f4", chunks=(1,) * (len(shape) - 1) + (8,))
    return path


def test_a_terabyte_that_is_not_there(tmp_path):
    refused(claim(tmp_path / "a.h5", ["u"], (10**6, 10**6)), "`u`", "would take 4 TB of memory")
    refused(claim(tmp_path / "b.h5", ["0000/data"], (10**6, 10**6)), "`data`", "would take 4 TB")
    np.testing.assert_array_equal(data.read_arrays(tmp_path / "a.h5")["u"][7, :3], 0)
    path = tmp_path / "c.nc"
    dataset(3).to_netcdf(path, engine="h5netcdf")
    with h5py.File(path, "r+") as file:
        file.create_dataset("unasked", (10**12,), "f4", chunks=(8,))
    refused(path, "`unasked`", "would take 4 TB", by=data.open_dataset)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file.create_dataset("u", (10**6, 1000), "f4", chunks=(10**6, 1000), compression="gzip")
    refused(tmp_path / "d.h5", "a piece of it", "would take 4 GB")


def spoil(path, name):
    """Bytes of a chunk of a variable, overwritten."""
    with h5py.File(path) as file:
        at = file[name].id.get_chunk_info(0)
    raw = path.read_bytes()
    path.write_bytes(raw[: at.byte_offset] + b"\xa5" * at.size + raw[at.byte_offset + at.size :])


def test_a_damaged_piece_is_told_with_its_file_and_name(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("u", data=FRAMES, chunks=(1, 4, 8), compression="gzip")
    spoil(tmp_path / "a.h5", "u")
    refused(tmp_path / "a.h5", "`u`", "cannot be read")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for group in ("0000", "0001"):
            file.create_dataset(f"{group}/data", data=FRAMES[0], compression="gzip")
    spoil(tmp_path / "b.h5", "0001/data")
    refused(tmp_path / "b.h5", "`0001/data`", "cannot be read")
    encoding = {"solution": {"zlib": True, "chunksizes": (1, 2, 3)}}
    dataset(3).to_netcdf(tmp_path / "c.nc", engine="h5netcdf", encoding=encoding)
    spoil(tmp_path / "c.nc", "solution")
    opened = data.open_dataset(tmp_path / "c.nc")
    np.testing.assert_array_equal(opened["solution"][1:], dataset(3)["solution"][1:])
    refused(tmp_path / "c.nc", "`solution`", "cannot be read", by=lambda _: {"s": opened["solution"].values})


def test_a_heap_that_hdf5_would_read_for_ever(tmp_path):
    """Texts of variable length lie in a heap, whose free space says its size: none, here."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["0000/data"] = FRAMES[0]
        file["0000"].attrs["config"] = "sim: {}"
    raw = path.read_bytes()
    heap = raw.index(b"GCOL")
    assert data.read_arrays(path).keys() == {"data"}
    at = heap + 16 + 16 + 8  # behind the heap's own header and the one text
    assert struct.unpack_from("<HQ", raw, at)[0] == 0
    path.write_bytes(changed(raw, at + 8, bytes(8)))
    refused(path, "has no end")


def test_a_text_that_is_said_to_be_gigabytes_long(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["0000/data"] = FRAMES[0]
        file["0000"].attrs["config"] = "sim: {}"
    raw = path.read_bytes()
    address = struct.pack("<Q", raw.index(b"GCOL"))
    at = raw.index(struct.pack("<I", len("sim: {}")) + address)  # the reference begins with the length
    path.write_bytes(changed(raw, at, struct.pack("<I", 3_000_000_000)))
    refused(path, "what is said to take 3 GB takes 7 B")


@pytest.mark.parametrize("read", [data.read_arrays, data.open_dataset])
def test_a_type_that_hdf5_would_die_of(tmp_path, read):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["0000/data"] = FRAMES[0]
        file["0000"].attrs["config"] = "sim: {}"
    raw = path.read_bytes()
    at = raw.index(b"config\0\0\x19\x01") + 9  # 1: text
    path.write_bytes(changed(raw, at, b"\x7f"))
    refused(path, "'config' has a type that there is not", by=read)


# --- files of our own ----------------------------------------------------------------------------------------------


def dataset(samples, plane=False):
    rng = np.random.default_rng(1)
    space = {"x": np.arange(3.0)} | ({"y": np.arange(2.0)} if plane else {})
    sizes = tuple(len(v) for v in space.values())
    return xr.Dataset(
        {
            "input": (("sample", *space), rng.normal(size=(samples, *sizes))),
            "solution": (("sample", "t", *space), rng.normal(size=(samples, 2, *sizes)).astype("f4")),
        },
        {"sample": np.arange(samples), "t": np.array([0.0, 1.0]), **space},
        {"pde": "uₜ = 0", "empty": "", "seed": 3, "nu": 0.1, "several": np.array([1.0, 2.0])},
    )


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("samples", [0, 1, 5])
def test_sealed_files_are_what_was_saved(tmp_path, samples, plane, monkeypatch):
    monkeypatch.setattr("sclax.data._seals.PIECE", 60)
    saved = dataset(samples, plane)
    opened = data.open_dataset(data.save(saved, tmp_path / "a.nc"))
    assert not opened["solution"].variable._in_memory
    for key in ({"t": 1}, {"sample": slice(1, None, 2), "x": [2, 0]}, {"sample": [-1, 0][:samples], "t": [1, 0]}):
        np.testing.assert_array_equal(opened["solution"].isel(key), saved["solution"].isel(key))
    xr.testing.assert_identical(opened.load(), saved)
    xr.testing.assert_identical(
        xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf")["solution"].load(), saved["solution"]
    )


def test_any_flipped_bit_in_a_saved_file_is_found(tmp_path):
    """In every byte one, when it is opened or when it is read."""
    path = data.save(dataset(2), tmp_path / "a.nc")
    raw = path.read_bytes()
    for at in range(len(raw)):
        path.write_bytes(changed(raw, at, bytes([raw[at] ^ (1 << at % 8)])))
        with pytest.raises(ValueError, match="a.nc'"):
            data.open_dataset(path).load()
        if at % 50 == 0:
            refused(path)


def test_truncated_saved_files(tmp_path):
    path = data.save(dataset(2), tmp_path / "a.nc")
    raw = path.read_bytes()
    for size in range(0, len(raw), 97):
        path.write_bytes(raw[:size])
        with pytest.raises(ValueError, match="a.nc"):
            data.open_dataset(path).load()


def test_damage_is_found_where_it_is_read(tmp_path):
    saved = dataset(5)
    path = data.save(saved, tmp_path / "a.nc")
    raw = path.read_bytes()
    at = raw.index(saved["solution"].values[3, 1].tobytes())
    path.write_bytes(changed(raw, at, b"\0"))
    opened = data.open_dataset(path)
    np.testing.assert_array_equal(opened["solution"][:3], saved["solution"][:3])
    np.testing.assert_array_equal(opened["solution"][:, 0], saved["solution"][:, 0])
    with pytest.raises(
        ValueError, match="`solution` of .*a.nc' is damaged: 1 of the 10 frames.*in sample 3.*Save it anew"
    ):
        opened["solution"].load()


def test_samples_that_changed_places(tmp_path):
    path = data.save(dataset(5), tmp_path / "a.nc")
    with h5py.File(path, "r+") as file:
        file["solution"][:] = file["solution"][:][::-1]
    refused(path, "damaged", by=data.open_dataset)


def unseal(path):
    path.write_bytes(path.read_bytes()[:-80])


def spoil_magic(path):
    path.write_bytes(changed(path.read_bytes(), len(path.read_bytes()) - 80, b"S"))


def append(path):
    path.write_bytes(path.read_bytes() + b"junk")


def note(path):
    with h5py.File(path, "r+") as file:
        file.attrs["note"] = "more"


@pytest.mark.parametrize("damage", [unseal, spoil_magic, append, note])
def test_a_broken_seal_is_not_taken_for_none(tmp_path, damage):
    path = data.save(dataset(2), tmp_path / "a.nc")
    damage(path)
    refused(path, "damaged, or was changed after `save` wrote it", by=data.open_dataset)
    refused(path, "damaged, or was changed after `save` wrote it")


# --- nothing is made unasked ---------------------------------------------------------------------------------------


def test_folders_are_not_made(tmp_path):
    for call in (data.save, data.show):
        with pytest.raises(ValueError, match="the folder '.*a/b' is missing"):
            call(dataset(1), tmp_path / "a" / "b" / "c.png")
    assert not list(tmp_path.iterdir())


def test_the_command_makes_no_folders_and_asks_before_it_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "burgers", None)
    data.save(dataset(1), "set.nc")
    for words in (("make", "burgers", "--out", "a/b/c.nc"), ("show", "set.nc", "--out", "a/b/c.png")):
        result = CliRunner().invoke(app, ["data", *words])
        assert result.exit_code != 0
        assert "the folder 'a/b' is missing" in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["set.nc"]
