"""Files that are damaged, or made to do harm: refused in words, at once, in little memory, and nothing of them runs."""

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from sclax._base import Damaged, array, entries, regular

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
