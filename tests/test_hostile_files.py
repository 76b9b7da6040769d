"""Files that are damaged, or made to do harm: refused in words, at once, in little memory, and nothing of them runs."""

import io
import os
import struct
import time
import tracemalloc
import zipfile
import zlib
from itertools import product

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse
import xarray as xr
from typer.testing import CliRunner

from sclax import data
from sclax._base import Damaged, array, entries, regular
from sclax.cli import app
from sclax.data import _matlab

from .test_readers import BURGERS, FRAMES, START, archive, integer, tensor, text, write_npz, write_v73

VALUES = np.arange(12.0).reshape(3, 4)
BYTES = VALUES.tobytes()


def npy(values=VALUES, **options):
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


def headed(text, raw=BYTES, version=1):
    """An .npy with any text as its header."""
    body = text.encode("latin1").ljust(118) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(body)) + body + raw


def zipped(path, contents, kind=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, raw in contents.items():
            file.writestr(name, raw)
    return path


# --- zips ----------------------------------------------------------------------------------------------------------


def test_only_files_that_end_are_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "absent", "there is no file .*absent'. Check the path"),
        (tmp_path / "a\0b", "there is no file"),
        (tmp_path / ("x" * 300), "there is no file .*too long"),
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "pipe", "pipe' is a pipe or device"),
        (type(tmp_path)("/dev/zero"), "'/dev/zero' is a pipe or device"),
    ):
        with pytest.raises(ValueError, match=f"^read: .*{reason}"):
            regular("read", path)
    (tmp_path / "file").touch()
    regular("read", tmp_path / "file")


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_entries_are_those_of_zipfile(tmp_path, kind):
    contents = {"a.npy": npy(), "folder/empty": b"", "ünïcode": b"\0" * 10_000}
    with entries(zipped(tmp_path / "a.zip", contents, kind)) as found:
        assert found.names == list(contents)
        assert {name: found.read(name) for name in found.names} == contents
        for name in contents:
            begin, size = found.place(name), found.size(name)
            assert size == len(contents[name])
            assert (begin is None) == (kind == zipfile.ZIP_DEFLATED)
            if begin is not None:
                assert (tmp_path / "a.zip").read_bytes()[begin : begin + size] == contents[name]
        with pytest.raises(Damaged, match="no 'b'"):
            found.read("b")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_numpy(tmp_path, save):
    arrays = {
        "plain": VALUES,
        "fortran": np.asfortranarray(VALUES),
        "big": VALUES.astype(">c16"),
        "number": np.array(3),
        "none": np.zeros((0, 3), "f4"),
        "flags": VALUES > 3,
    }
    save(tmp_path / "a.npz", **arrays)
    with entries(tmp_path / "a.npz") as found:
        for name, expected in arrays.items():
            value = array(found.read(f"{name}.npy"))
            np.testing.assert_array_equal(value, expected, strict=True)
            assert value.flags.f_contiguous == expected.flags.f_contiguous


def test_what_would_inflate_too_far_is_not_inflated(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": bytes(2**20), "b": bytes(2**20)}, zipfile.ZIP_DEFLATED)
    with (
        pytest.raises(Damaged, match=r"would take 2.1 MB of memory.* may take 1.05 MB.*np\.savez"),
        entries(path, least=2**20),
    ):
        pass
    with entries(path, least=2**21) as found:
        assert len(found.read("b")) == 2**20


def test_an_entry_that_says_it_is_small_is_inflated_no_further(tmp_path):
    """Its sizes say 100 bytes in both places, its data give 200 MB."""
    path = zipped(tmp_path / "a.zip", {"a": bytes(2 * 10**8)}, zipfile.ZIP_DEFLATED)
    raw = path.read_bytes().replace(struct.pack("<I", 2 * 10**8), struct.pack("<I", 100))
    path.write_bytes(raw)
    tracemalloc.start()
    with entries(path) as found, pytest.raises(Damaged, match="CRC"):
        found.read("a")
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**6
    tracemalloc.stop()


def changed(raw, at, new):
    return raw[:at] + new + raw[at + len(new) :]


def local(offset, new):
    return lambda raw: changed(raw, offset, new)


def central(offset, new):
    return lambda raw: changed(raw, raw.index(b"PK\x01\x02") + offset, new)


def both(first, second):
    return lambda raw: second(first(raw))


ARCHIVES = {
    "no end": lambda raw: raw[:-30],
    "nothing": lambda raw: b"",
    "a name that is no text": both(central(8, b"\x00\x08"), central(46, b"\xff")),
    "another name": central(46, b"b"),
    "the same name twice": lambda raw: raw.replace(b"other", b"a.npy"),
    "encrypted": central(8, b"\x01"),
    "encrypted, by its own account": local(6, b"\x01"),
    "an unknown method": both(local(8, b"\x63"), central(10, b"\x63")),
    "another method": central(10, b"\x08"),
    "another size": central(24, b"\xf1"),
    "another size, by its own account": local(22, b"\xf1"),
    "another checksum": local(14, b"\x00\x00"),
    "beyond the end": both(central(20, b"\xff\xff\xff"), central(24, b"\xff\xff\xff")),
    "begins elsewhere": central(42, b"\x07"),
    "a flipped bit": local(150, b"\x55"),
}


def everything(path):
    with entries(path) as found:
        return [found.read(name) for name in found.names]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_damaged_archives(tmp_path, kind):
    path = zipped(tmp_path / "a.zip", {"a.npy": npy(), "other": b"12"})
    path.write_bytes(ARCHIVES[kind](path.read_bytes()))
    with pytest.raises(Damaged):
        everything(path)


def described(descr="'<f8'", shape="(3, 4)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


ARRAYS = {
    "nothing": b"",
    "no magic": b"PNG" * 100,
    "another version": headed(described(), version=3),
    "no header": npy()[:9],
    "half a header": npy()[:60],
    "too little": npy()[:-1],
    "too much": npy() + b"\0",
    "a terabyte": headed(described(shape="(1000000, 1000000)")),
    "more than a machine counts": headed(described(shape=f"({10**30},)")),
    "negative": headed(described(shape="(-3, -4)")),
    "many axes": headed(described(shape=f"({'1, ' * 70}3, 4)")),
    "no numbers in the shape": headed(described(shape="(3.0, 4)")),
    "nested": headed(described(shape="(" * 3000 + ")" * 3000)),
    "minus minus minus": headed(described(shape=f"({'-' * 8000}1,)")),
    "a call": headed(described(shape="(__import__('os').getpid(),)")),
    "objects": npy(np.array([{}], dtype=object), allow_pickle=True),
    "objects, in a structure": headed(described(descr="[('a', '|O')]")),
    "a type that is none": headed(described(descr="'<f9'")),
    "a type of nothing": headed(described(descr="'|V0'"), raw=b""),
    "a long header": headed(described() + " " * 20_000),
    "an escape that is none": headed(described(descr=r"'\d'")),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_damaged_arrays(kind):
    with pytest.raises(Damaged):
        array(ARRAYS[kind])


# --- what a file claims --------------------------------------------------------------------------------------------


def refused(path, *parts, by=data.read_arrays):
    """Refuses the file in 50 MB and in time, on a busy machine as well, in words that name it."""
    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(ValueError) as caught:
        {name: np.asarray(array) for name, array in by(path).items()}
    seconds, (_, peak) = time.monotonic() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for part in (str(path), *parts):
        assert part in str(caught.value)
    assert peak < 5e7
    assert seconds < 10


@pytest.mark.parametrize("read", [data.read, data.read_arrays, data.open_dataset])
def test_what_does_not_end_is_not_opened(tmp_path, read):
    os.mkfifo(tmp_path / "a.nc")
    for path in (tmp_path / "a.nc", "/dev/zero"):
        with pytest.raises(ValueError, match="is a pipe or device"):
            read(path)


def test_zeros_that_take_gigabytes(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(2**26), b=np.zeros(2**26))
    refused(tmp_path / "a.npz", "would take 1.07 GB of memory", "np.savez")


def test_a_name_in_a_zip_that_is_no_text(tmp_path):
    path = write_npz(tmp_path / "a.npz", {"input": START})
    path.write_bytes(both(central(8, b"\x00\x08"), central(46, b"\xff"))(path.read_bytes()))
    refused(path, "damaged")


def nested(levels, kind=b"]", close=b"e"):
    """Lists of ten times the same list: 10 to the power of `levels` leaves."""
    program = integer(1) + b"q\x00"
    for i in range(levels):
        inner = b"h" + bytes([i])
        program += kind + b"(" + inner * 10 + close + b"q" + bytes([i + 1])
    return program


PICKLES = {
    "laughs": nested(40),
    "laughs in tuples, as a key": b"}(" + nested(40, b"", b"t") + integer(1) + b"u",
    "laughs, to be shown": nested(40) + b")R",
    "laughs, as the key of a storage": b"("
    + text("storage")
    + b"ctorch\nFloatStorage\n"
    + nested(40)
    + text("cpu")
    + integer(1)
    + b"tQ",
    "deep lists": b"]" * 200_000 + b"a" * 199_999,
    "deep tuples": b")" + b"\x85" * 250_000,
    "deep tuples, as a key": b"}(" + b")" + b"\x85" * 250_000 + integer(1) + b"u",
    "a list in itself": b"](" + b"".join([b"q\x00"] + [b"h\x00"] * 100) + b"e",
    "many steps": b"0".join([integer(1)] * 10**6),
    "text of gigabytes": b"\x8d" + struct.pack("<Q", 2**40),
    "bytes encoded again and again": text("x" * 10**6)
    + b"q\x00]("
    + 5000 * (b"c_codecs\nencode\n(h\x00" + text("latin1") + b"tR")
    + b"e",
    "names of a megabyte": b"}(" + text("x" * 10**6) + integer(1) + b"u",
}


@pytest.mark.parametrize("kind", PICKLES)
def test_pickles_that_explode(tmp_path, kind):
    refused(archive(tmp_path / "a.pt", PICKLES[kind], [START]), "damaged or holds more than arrays")


def test_a_place_in_the_memo_that_would_take_gigabytes(tmp_path):
    path = archive(tmp_path / "a.pt", integer(1) + b"r\xff\xff\xff\x3f")
    assert data.read_arrays(path)["a"] == 1


def test_one_tensor_a_thousand_times(tmp_path):
    values = np.zeros(2**18, "f4")
    program = b"](" + tensor(0, values) + b"q\x00" + b"h\x00" * 1000 + b"e"
    refused(archive(tmp_path / "a.pt", program, [values]), "its arrays would take more than")


# --- MATLAB --------------------------------------------------------------------------------------------------------

KINDS = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c16", "c8", "?")
SHAPES = ((3, 4), (1, 1), (2, 3, 4), (1, 2), (0, 3), (5,), (), (2, 1, 2, 1, 2))


@pytest.mark.parametrize("compress", [False, True])
def test_matlab_files_as_scipy_reads_them(tmp_path, compress):
    rng = np.random.default_rng(0)
    values = {f"a{i}": (50 * rng.normal(size=shape)).astype(k) for i, (k, shape) in enumerate(product(KINDS, SHAPES))}
    others = {
        "text": "t",
        "cell": np.array([1, "x"], object),
        "struct": {"a": 1.0},
        "sparse": scipy.sparse.eye(3).tocsc(),
    }
    scipy.io.savemat(tmp_path / "a.mat", {**values, **others, "x" * 31: np.arange(3)}, do_compression=compress)
    expected = scipy.io.loadmat(tmp_path / "a.mat")
    found = _matlab.arrays((tmp_path / "a.mat").read_bytes(), 2**28)
    assert found.keys() == {*values, "x" * 31}
    for name, value in found.items():
        # By default scipy gives bytes for flags.
        kind = bool if values.get(name, value).dtype == bool else expected[name].dtype
        np.testing.assert_array_equal(value, expected[name].astype(kind), strict=True)


def element(kind, raw, order="<"):
    return struct.pack(f"{order}II", kind, len(raw)) + raw + bytes(-len(raw) % 8)


def matlab(shape=(2, 2), stored=9, raw=BYTES[:32], flags=6, order="<", wrap=lambda e: e, name=b"a"):
    inside = element(6, struct.pack(f"{order}II", flags, 0), order)
    inside += element(5, struct.pack(f"{order}{len(shape)}i", *shape), order) + element(1, name, order)
    head = b"MATLAB 5.0".ljust(124) + (b"\x00\x01IM" if order == "<" else b"\x01\x00MI")
    return head + wrap(element(14, inside + element(stored, raw, order), order))


def packed(raw):
    return struct.pack("<II", 15, len(zlib.compress(raw))) + zlib.compress(raw)


def test_matlab_files_of_other_machines(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(matlab(raw=np.arange(4).astype(">i2").tobytes(), stored=3, order=">"))
    np.testing.assert_array_equal(data.read_arrays(path)["a"], [[0.0, 2.0], [1.0, 3.0]])
    np.testing.assert_array_equal(scipy.io.loadmat(path)["a"], [[0.0, 2.0], [1.0, 3.0]])
    path.write_bytes(matlab(wrap=packed))
    np.testing.assert_array_equal(data.read_arrays(path)["a"], [[0.0, 2.0], [1.0, 3.0]])


MATLAB = {
    "more numbers than bytes": matlab(shape=(2**30, 2**30)),
    "fewer": matlab(shape=(1, 2)),
    "negative": matlab(shape=(-2, -2)),
    "no axes": matlab(shape=()),
    "a hundred axes": matlab(shape=(1,) * 100),
    "numbers of no type": matlab(stored=77),
    "an array of arrays": matlab(stored=14),
    "complex without the other half": matlab(flags=0x806),
    "longer than the file": matlab()[:-8],
    "a tag cut off": matlab() + b"123",
    "a small element of many bytes": matlab() + struct.pack("<II", 0x00FF0005, 0),
    "compressed, cut off": matlab(wrap=lambda e: struct.pack("<II", 15, 20) + zlib.compress(e)[:20]),
    "compressed noise": matlab(wrap=lambda e: element(15, b"noise")),
    "compressed twice": matlab(wrap=lambda e: packed(element(15, zlib.compress(e)) * 2)),
    "half a gigabyte of zeros": matlab((2**29, 1), 2, bytes(2**29), 9, wrap=packed),
    "zeros that grow as double": matlab((2**22, 1), 2, bytes(2**22), 6, wrap=packed),
}


@pytest.mark.parametrize("kind", MATLAB)
def test_damaged_matlab_files(tmp_path, kind, monkeypatch):
    path = tmp_path / "a.mat"
    path.write_bytes(MATLAB[kind])
    monkeypatch.setattr("sclax.data._formats.LEAST", 2**24)
    refused(path, "damaged")


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
