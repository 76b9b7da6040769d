"""Files that are damaged, or made to do harm: refused in words, at once, in little memory, and nothing of them runs."""

import io
import os
import struct
import tracemalloc
import zipfile
import zlib
from itertools import product

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from sclax import data
from sclax._base import Damaged, array, entries, regular
from sclax.data import _matlab

from .hostile import changed, refused
from .test_readers import START, archive, integer, tensor, text, write_npz

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
