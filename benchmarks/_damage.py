"""Ways in which files get damaged, and ways to harm a reader: bytes in, bytes out, by a random generator.

`ANYWHERE` knows nothing of formats. The others repair what would give the damage away (checksums, compression), so
that it reaches the parser behind.
"""

import hashlib
import io
import json
import os
import pickle
import struct
import warnings
import zipfile
import zlib

import numpy as np

# --- of any file ---------------------------------------------------------------------------------------------------


def _span(rng, raw, most=512):
    begin = int(rng.integers(len(raw) + 1))
    return begin, min(len(raw), begin + int(rng.integers(1, most)))


def truncated(rng, raw, other):
    return raw[: int(rng.integers(len(raw) + 1))]


def flipped(rng, raw, other):
    changed = bytearray(raw)
    for at in rng.integers(max(1, len(raw)), size=rng.integers(1, 9)):
        if at < len(raw):
            changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwritten(rng, raw, other):
    """A few bytes, by values that parsers stumble over."""
    begin, _ = _span(rng, raw)
    size = int(rng.choice([1, 2, 4, 8]))
    value = rng.choice([b"\x00", b"\xff", b"\x7f", b"\x80", b"\x01", bytes(rng.bytes(1))])
    return raw[:begin] + (bytes(value) * 8)[:size] + raw[begin + size :]


def zeroed(rng, raw, other):
    begin, end = _span(rng, raw)
    return raw[:begin] + bytes(end - begin) + raw[end:]


def randomized(rng, raw, other):
    begin, end = _span(rng, raw)
    return raw[:begin] + rng.bytes(end - begin) + raw[end:]


def spliced(rng, raw, other):
    begin = int(rng.integers(len(raw) + 1))
    return raw[:begin] + other[begin if rng.random() < 0.5 else int(rng.integers(len(other) + 1)) :]


def transplanted(rng, raw, other):
    begin, end = _span(rng, raw)
    return raw[:begin] + other[begin:end] + raw[end:]


def doubled(rng, raw, other):
    begin, end = _span(rng, raw)
    return raw[:end] + raw[begin:]


def removed(rng, raw, other):
    begin, end = _span(rng, raw)
    return raw[:begin] + raw[end:]


def appended(rng, raw, other):
    return raw + rng.bytes(int(rng.integers(1, 2000)))


ANYWHERE = (
    *(truncated, flipped, flipped, overwritten, overwritten, zeroed, randomized),
    *(spliced, transplanted, doubled, removed, appended),
)


def damaged(rng, raw, other):
    """By one of these ways, now and then by two."""
    for _ in range(1 + (rng.random() < 0.15)):
        raw = ANYWHERE[rng.integers(len(ANYWHERE))](rng, raw, other)
    return raw


# --- of zips -------------------------------------------------------------------------------------------------------


def _unpacked(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        kind = archive.infolist()[0].compress_type
        return {name: archive.read(name) for name in archive.namelist()}, kind


def _packed(contents, kind):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, raw in contents:
            archive.writestr(name, raw)
    return buffer.getvalue()


def inside_a_zip(change):
    """The damage done to the content of one entry, and the archive made whole around it."""

    def rebuilt(rng, raw, other):
        contents, kind = _unpacked(raw)
        name = list(contents)[rng.integers(len(contents))]
        return _packed({**contents, name: change(rng, contents[name], other)}.items(), kind)

    return rebuilt


def zip_fields(rng, raw, other):
    """A field of the headers: version, flags, method, sizes, checksum, lengths, name, offset; or names anew."""
    contents, kind = _unpacked(raw)
    names = list(contents)
    if rng.random() < 0.3:
        odd = [" ", "../up.npy", "/etc/passwd", names[0], "a" * 5000, "\ud7ff.npy", "x/data.pkl", "data.pkl", "b.npy"]
        pairs = [(odd[rng.integers(len(odd))] if rng.random() < 0.5 else n, c) for n, c in contents.items()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _packed(pairs, kind)
    signature, size = [(b"PK\x03\x04", 60), (b"PK\x01\x02", 90), (b"PK\x05\x06", 22)][rng.integers(3)]
    places = [i for i in range(len(raw)) if raw.startswith(signature, i)]
    if not places:
        return damaged(rng, raw, other)
    at = places[rng.integers(len(places))] + int(rng.integers(4, size))
    value = [b"\xff", b"\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", bytes(rng.bytes(1))][rng.integers(5)]
    return raw[:at] + value + raw[at + len(value) :]


def npy_header(rng, raw, other):
    """The text that describes an array, with something else in it."""
    odd = [
        *(b"(1000000, 1000000)", b"(-1,)", b"(4.0,)", b"(" * 500, b"(" + b"1, " * 80 + b")", b"(%d,)" % 10**25, b"3"),
        *(b"'|O'", b"'<f2'", b"'>f8'", b"'<V0'", b"'<U9999999'", b"[('a', '<f4')]", b"'<M8[s]'", b"'|b1'", b"None"),
        *(b"True", b"__import__('os').mkdir('canary')", b"'\\xff'", b"{", b"9" * 5000, b"-" * 5000 + b"1"),
    ]
    head = raw[:10]
    text = bytearray(raw[10:128])
    words = [w for w in (b"'<f4'", b"'<f8'", b"False", b"shape", b"descr") if w in text]
    shape = bytes(text[text.find(b"(") : text.find(b")") + 1])
    words += [shape] if shape else []
    if not words:
        return damaged(rng, raw, other)
    text = bytes(text).replace(words[rng.integers(len(words))], odd[rng.integers(len(odd))], 1).rstrip()
    text = text.ljust(117) + b"\n" if len(text) < 117 else text + b"\n"
    return head[:8] + struct.pack("<H", len(text)) + text + raw[128:]


# --- of pickles ----------------------------------------------------------------------------------------------------


class _Evil:
    def __reduce__(self):
        return os.mkdir, ("canary",)


STEPS = b"0123(.)]}tlsaeuRbQPjhqrKMJIVXSUTBC\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x80N"
EVIL = (
    pickle.dumps(_Evil(), 2)[2:-1],
    b"cos\nmkdir\n(X\x06\x00\x00\x00canarytR",
    b"cposix\nsystem\n(X\x0c\x00\x00\x00mkdir canarytR",
    b"(X\x06\x00\x00\x00canaryios\nmkdir\n",
    b"\x8c\x02os\x8c\x05mkdir\x93\x8c\x06canary\x85R",
    b"cbuiltins\neval\n(X\x1e\x00\x00\x00__import__('os').mkdir('canary')"[:-1] + b"tR",
    b"r\xff\xff\xff\x3f",
    b"\x8e\xff\xff\xff\xff\xff\x00\x00\x00",
    b"\x8b\xff\xff\xff\x7f",
    b"]q\x05(" + b"h\x05" * 50 + b"e",
    b"".join(b"](" + b"h" + bytes([i]) * 1 + (b"h" + bytes([i])) * 9 + b"eq" + bytes([i + 1]) for i in range(20, 60)),
    b")" + b"\x85" * 20_000,
    b"]" * 3000 + b"a" * 2999,
)


def pickle_steps(rng, raw, other):
    """Steps put in, left out, changed; or steps that would run something."""
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(2, max(3, len(raw))))
        step = EVIL[rng.integers(len(EVIL))] if rng.random() < 0.3 else bytes([STEPS[rng.integers(len(STEPS))]])
        raw = raw[:at] + step + raw[at + int(rng.integers(2)) :]
    # As often as not, what was put in is what is returned.
    return raw if rng.random() < 0.7 else raw[:2] + step + b"."


def in_the_pickle(rng, raw, other):
    contents, kind = _unpacked(raw)
    (name,) = [n for n in contents if n.endswith("data.pkl")]
    return _packed({**contents, name: pickle_steps(rng, contents[name], other)}.items(), kind)


def object_array(rng, raw, other):
    """An .npy entry of Python objects, one of which would run something."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Evil()], dtype=object), allow_pickle=True)
    contents, kind = _unpacked(raw)
    name = list(contents)[rng.integers(len(contents))]
    return _packed({**contents, name: buffer.getvalue()}.items(), kind)


# --- of MATLAB -----------------------------------------------------------------------------------------------------


def inside_matlab(rng, raw, other):
    """Damage in what is compressed, compressed again."""
    at, parts = 128, [raw[:128]]
    while at + 8 <= len(raw):
        kind, size = struct.unpack_from("<II", raw, at)
        data = raw[at + 8 : at + 8 + size]
        at += 8 + size
        if kind == 15 and rng.random() < 0.6:
            data = zlib.compress(damaged(rng, zlib.decompress(data), other))
        parts.append(struct.pack("<II", kind, len(data)) + data)
    return b"".join(parts)


def matlab_tags(rng, raw, other):
    """A tag or a dimension, overwritten: the structure stands at multiples of 4."""
    at = 128 + 4 * int(rng.integers((len(raw) - 128) // 4)) if rng.random() < 0.3 else 128 + 4 * int(rng.integers(20))
    value = rng.choice([0, 1, 5, 6, 7, 9, 14, 15, 0x10001, 0x40005, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(raw)])
    return raw[:at] + struct.pack("<I", int(value)) + raw[at + 4 :]


# --- of the library's own archives ---------------------------------------------------------------------------------

ODD = (
    None,
    True,
    -1,
    2**70,
    1e300,
    float("nan"),
    "",
    "MLP",
    "array0",
    [],
    {},
    [1, 2],
    {"value": 1},
    {"array": "array0"},
)


def _nodes(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _nodes(item, (*path, key))


def another_table(rng, raw, other):
    """A part of a JSON text replaced, left out, or nested deep."""
    table = json.loads(raw)
    *path, last = list(_nodes(table))[1:][rng.integers(sum(1 for _ in _nodes(table)) - 1)]
    inside = table
    for key in path:
        inside = inside[key]
    if rng.random() < 0.2:
        del inside[last]
    else:
        new = ODD[rng.integers(len(ODD))]
        for _ in range(int(rng.choice([0, 0, 0, 3, 400]))):
            new = [new]
        inside[last] = new
    return json.dumps(table).encode()


def resealed(rng, raw, other):
    """Other contents with checksums that fit: what a person could write on purpose."""
    contents, kind = _unpacked(raw)
    for _ in range(int(rng.integers(1, 3))):
        name = list(contents)[rng.integers(len(contents))] if rng.random() < 0.5 else "about.json"
        if name.endswith(".npy"):
            change = (npy_header, damaged)[rng.integers(2)]
            contents[name] = change(rng, contents[name], other)
        elif name == "about.json":
            contents[name] = another_table(rng, contents[name], other)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items() if name != "sha256.json"}
    return _packed({**contents, "sha256.json": json.dumps(sums).encode()}.items(), kind)
