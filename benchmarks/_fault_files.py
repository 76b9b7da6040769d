"""Damaged and hostile files, read one after the other by a process that may die of it; used by `benchmarks.faults`.

A format is a line of `FORMATS`: how a small file of it is written, how it is read, and how it is damaged besides the
ways that suit any file. What went wrong is kept in the campaign's directory, with a line in failures.txt.
"""

import contextlib
import hashlib
import json
import os
import re
import resource
import selectors
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import _damage as d

SECONDS, BYTES = 10.0, 10**9
OUTCOMES = ("tried", "refused", "same", "different", "crashed", "raw", "slow", "large", "executed")
FINE = ("refused", "same")


class Format(NamedTuple):
    """`own`: the library wrote it, and other numbers are an error as well. `beside`: the end of the name of a second
    file that belongs to it."""

    write: Callable
    read: Callable
    ways: tuple = ()
    own: bool = False
    beside: str = ""


# --- small files of every format -----------------------------------------------------------------------------------


def _burgers(seed):
    frames = np.random.default_rng(seed).normal(size=(3, 4, 8)).astype("f4")
    return {"input": frames[:, 0].copy(), "output": frames, "visc": np.array([[0.01]])}


def _dataset(seed):
    import xarray as xr

    arrays = _burgers(seed)
    return xr.Dataset(
        {"input": (("sample", "x"), arrays["input"]), "solution": (("sample", "t", "x"), arrays["output"])},
        {"sample": np.arange(3), "t": np.linspace(0, 1, 4), "x": np.arange(8) / 8},
        {"pde": "uₜ = 0", "seed": seed, "several": np.array([1.0, 2.0])},
    )


def _matlab(compress):
    def write(path, seed):
        import scipy.io

        scipy.io.savemat(path, _burgers(seed), appendmat=False, do_compression=compress)

    return write


def _matlab73(path, seed):
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in _burgers(seed).items():
            file.create_dataset(name, data=array.T).attrs["MATLAB_class"] = np.bytes_("single")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))


def _npz(save):
    def write(path, seed):
        with open(path, "wb") as file:
            save(file, **_burgers(seed))

    return write


def _pdebench(path, seed):
    import h5py

    with h5py.File(path, "w") as file:
        for i, frames in enumerate(_burgers(seed)["output"]):
            group = file.create_group(f"{i:04}")
            group.create_dataset("data", data=frames[..., None], compression="gzip")
            group["grid/x"], group["grid/t"] = np.arange(8) / 8, np.arange(4.0)
            group.attrs["config"] = "sim: {}"


def _torch(path, seed):
    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def sizes(values):
        return b"(" + b"".join(b"K" + bytes([v]) for v in values) + b"t"

    arrays = _burgers(seed)
    program = b"\x80\x02}q\x00("
    for key, (name, array) in enumerate(arrays.items()):
        kind = {"float32": "FloatStorage", "float64": "DoubleStorage"}[str(array.dtype)]
        program += text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage")
        program += f"ctorch\n{kind}\n".encode() + text(str(key)) + text("cpu") + b"K" + bytes([array.size]) + b"tQK\x00"
        program += sizes(array.shape) + sizes(s // array.itemsize for s in array.strides)
        program += b"\x89ccollections\nOrderedDict\n)RtR"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/data.pkl", program + b"u.")
        file.writestr("a/byteorder", b"little")
        for key, array in enumerate(arrays.values()):
            file.writestr(f"a/data/{key}", array.tobytes())


def _saved(path, seed):
    from sclax import data

    data.save(_dataset(seed), path)


def _foreign(path, seed):
    encoding = {"solution": {"zlib": True, "chunksizes": (1, 4, 8)}}
    _dataset(seed).to_netcdf(path, engine="h5netcdf", encoding=encoding)


def _recipe(seed):
    from sclax.data import _cache

    made = _dataset(seed)
    coords = {"t": made["t"].values, "x": made["x"].values}
    solve = lambda begin, end: _cache.Batch(made["input"].values, made["solution"].values, "none", 0.1)
    return _cache.Recipe("kept", {"seed": seed}, coords, 3, 3, solve)


def _kept(path, seed):
    from sclax.data import _cache

    _cache._store(path, _recipe(seed), None)


def _solution(path, seed):
    import optax

    import sclax as scl

    method = scl.PrimalDual(optax.adam(1e-2), optax.adam(1e-2))
    network = lambda domain, outputs, key: scl.nn.MLP(domain, outputs, width=4, depth=1, key=key)
    scl.solve(scl.zoo.convection(beta=2.0), network, method, seed=seed, steps=2, progress=False).save(path)


def _state(path, seed):
    """What a checkpoint holds, uncompressed."""
    from sclax._base import read_archive, write_archive

    _solution(path, seed)
    about, arrays = read_archive(path)
    write_archive(path, about, arrays, compress=False)


# --- how they are read ---------------------------------------------------------------------------------------------


def _arrays(path):
    """All that there is, by both doors."""
    from sclax import data

    found = {name: array.values for name, array in data.read_arrays(path).items()}
    opened = data.read(path)
    return found | {f"read {name}": v.values for name, v in opened.variables.items()}


def _opened(path):
    from sclax import data

    with data.open_dataset(path) as opened:
        return {str(n): v.values for n, v in opened.variables.items()} | {f"@{n}": v for n, v in opened.attrs.items()}


def _cached(path):
    from sclax.data import _cache

    opened, reason = _cache._cached(path, _recipe(0))
    if opened is None:
        raise ValueError(f"read: {str(path)!r} {reason}")
    with opened:
        return {str(n): v.values for n, v in opened.variables.items()}


def _loaded(path):
    """A solution as it is used: called, printed, and its history looked at."""
    import jax

    import sclax as scl

    found = scl.load(path)
    weights = {f"leaf{i}": np.asarray(a) for i, a in enumerate(jax.tree.leaves(found.model)) if hasattr(a, "shape")}
    return {
        **{f"history {name}": a for name, a in found.history.items()},
        **{f"multiplier {name}": a for name, a in found.multipliers.items()},
        **weights,
        "value": found(x=0.5, t=0.5),
        "words": repr(found),
        "more": repr([found.seed, found.result, found.tempered, found.unpriced, found.converged, found.failures]),
    }


def _archived(path):
    from sclax._base import read_archive

    about, arrays = read_archive(path, "solve")
    return {**arrays, "about": json.dumps(about)}


NPY = (d.inside_a_zip(d.npy_header), d.inside_a_zip(d.damaged), d.zip_fields, d.object_array)
FORMATS = {
    "matlab5": Format(_matlab(False), _arrays, (d.matlab_tags,)),
    "matlab5 compressed": Format(_matlab(True), _arrays, (d.inside_matlab,)),
    "matlab7.3": Format(_matlab73, _arrays),
    "npz": Format(_npz(np.savez), _arrays, NPY),
    "npz compressed": Format(_npz(np.savez_compressed), _arrays, NPY),
    "pdebench": Format(_pdebench, _arrays),
    "netcdf of others": Format(_foreign, _opened),
    "pt": Format(_torch, _arrays, (d.in_the_pickle, d.in_the_pickle, d.inside_a_zip(d.damaged), d.zip_fields)),
    "netcdf of save": Format(_saved, _opened, own=True),
    "cache": Format(_kept, _cached, own=True, beside=".sha256"),
    "solution": Format(_solution, _loaded, NPY, own=True),
    "state": Format(_state, _archived, NPY, own=True),
    # With checksums that fit it is another solution, or none.
    "solution, resealed": Format(_solution, _loaded, (d.resealed, d.resealed, d.resealed)),
}


# --- the process that reads ----------------------------------------------------------------------------------------


def _digest(found):
    whole = hashlib.sha256()
    for name, value in sorted(found.items()):
        value = np.asarray(value)
        raw = value.tobytes() if value.dtype.kind in "biufcmM" else repr(value.tolist()).encode()
        whole.update(f"{name} {value.shape} {value.dtype.str if value.dtype.kind in 'biufc' else ''}".encode() + raw)
    return whole.hexdigest()


def _status(key):
    return 1024 * int(re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def _judged(kind, path):
    # Where the peak cannot be reset, it is the peak of all files so far.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmHWM")
    try:
        answer = {"read": _digest(FORMATS[kind].read(path))}
    except (ValueError, OSError) as error:
        ours = re.match(r"\w+: ", str(error)) and path.name in str(error)
        answer = {"refused" if ours else "raw": f"{type(error).__name__}: {error}"}
    except BaseException as error:
        answer = {"raw": f"{type(error).__name__}: {error}"}
    return {**answer, "bytes": _status("VmHWM") - before}


def worker():
    """Answers lines of JSON on standard input, (format, path), by what became of reading it."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    _judged("npz", Path("nowhere"))  # imports
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + 4 * BYTES,) * 2)
    for line in sys.stdin:
        kind, path = json.loads(line)
        out.write(json.dumps(_judged(kind, Path(path))) + "\n")
        out.flush()


class Reader:
    """A worker, started again when it dies or is too slow."""

    def __init__(self, directory):
        self.directory, self.process = directory, None

    def ask(self, kind, path):
        began, started = time.monotonic(), self.process is None
        if self.process is None:
            words = [sys.executable, "-c", "from benchmarks._fault_files import worker; worker()"]
            places = [str(Path(__file__).parent.parent), *(p for p in sys.path if p)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "JAX_PLATFORMS": "cpu"}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(words, cwd=self.directory, env=environment, text=True, **pipes)
        self.process.stdin.write(json.dumps([kind, str(path)]) + "\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            ready = selector.select(SECONDS + 60 * started)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        code = self.process.poll() if not ready else self.process.wait()
        self.close()
        return {"crashed": f"exit code {code}"} if ready else {"slow": f"{time.monotonic() - began:.0f} s"}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


# --- the campaign --------------------------------------------------------------------------------------------------


def _outcome(answer, original, executed):
    if executed:
        return "executed", "something in the file was run"
    if answer["bytes"] > BYTES if "bytes" in answer else False:
        return "large", f"{answer['bytes'] / 1e9:.1f} GB"
    (outcome, why), *_ = answer.items()
    if outcome == "read":
        return ("same", "") if why == original else ("different", "other numbers came back")
    return outcome, why


def _originals(directory, formats):
    """Of every format two files of other numbers, as bytes, with what belongs to them."""
    found = {}
    for kind, how in formats.items():
        for seed in (0, 1):
            path = directory / f"original{seed}"
            how.write(path, seed)
            ends = ("", how.beside) if how.beside else ("",)
            found[kind, seed] = [path.with_name(path.name + end).read_bytes() for end in ends]
            if seed == 0:
                found[kind, "path"] = path.rename(directory / f"{kind.replace(' ', '_')}.original")
                if how.beside:
                    path.with_name(path.name + how.beside).rename(f"{found[kind, 'path']}{how.beside}")
    return found


def campaign(count: int, seed: int, directory: Path) -> dict:
    """Reads `count` files, the formats in turn; what became of them, by format. Failing files stay in `directory`."""
    rng = np.random.default_rng(seed)
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    originals, reader, failures = _originals(directory, FORMATS), Reader(directory), []
    whole = {kind: reader.ask(kind, originals[kind, "path"]) for kind in FORMATS}
    unreadable = [f"{kind}: {answer}" for kind, answer in whole.items() if "read" not in answer]
    if unreadable:
        raise RuntimeError(f"undamaged files are not read: {unreadable}")
    counts = {kind: dict.fromkeys(OUTCOMES, 0) for kind in FORMATS}
    canary, kinds = directory / "canary", list(FORMATS)
    undamaged = {raw for kind, seed in product(FORMATS, (0, 1)) for raw in originals[kind, seed]}
    try:
        for number in range(count):
            kind = kinds[number % len(kinds)]
            how, files = FORMATS[kind], list(originals[kind, 0])
            other = originals[kind if rng.random() < 0.7 else kinds[rng.integers(len(kinds))], 1][0]
            way = d.damaged if not how.ways or rng.random() < 0.5 else how.ways[rng.integers(len(how.ways))]
            which = int(rng.integers(len(files))) if rng.random() < 0.2 else 0
            # A splice may happen to be a whole file: that is no damage.
            while (changed := way(rng, files[which], other)) in undamaged:
                pass
            files[which] = changed
            path = directory / f"{number:06}-{kind.replace(' ', '_')}"
            places = [path, *([path.with_name(path.name + how.beside)] if how.beside else [])]
            for place, raw in zip(places, files, strict=True):
                place.write_bytes(raw)
            answer = reader.ask(kind, path)
            outcome, why = _outcome(answer, whole[kind]["read"], canary.exists())
            if canary.exists():
                canary.rmdir()
            counts[kind]["tried"] += 1
            counts[kind][outcome] += 1
            if outcome in FINE or (outcome == "different" and not how.own):
                for place in places:
                    place.unlink()
            else:
                failures.append(f"{path.name}: {outcome} ({why:.300}), by {getattr(way, '__name__', way)}")
    finally:
        reader.close()
        (directory / "failures.txt").write_text("\n".join(failures) + "\n")
    total = {name: sum(found[name] for found in counts.values()) for name in OUTCOMES}
    return {**total, "formats": counts, "lost": failures}
