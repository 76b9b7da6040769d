"""The user's cache: where it is, one process at a time in a place of it, and compiled code that outlives a process."""

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import platformdirs
from filelock import FileLock, Timeout

# Of compiled code, some 300 problems of it, after which JAX removes what was not used for longest. Not more, since with
# every entry that it adds JAX reads the times of all others, 50 µs each.
COMPILED_BYTES = 2**28
MAPS = Path("/proc/self/maps")
MANY = 20_000  # mappings of memory, of which Linux allows a process 65 530; compiled code takes dozens a function


def cache_directory() -> Path:
    """$XDG_CACHE_HOME/sclax where that is set, else the system's place for caches, ~/.cache/sclax on Linux."""
    found = platformdirs.user_cache_path("sclax", appauthor=False)
    # The standard says that a relative path there is to be ignored, which older platformdirs does not do.
    return found if found.is_absolute() else Path.home() / ".cache" / "sclax"


@contextlib.contextmanager
def alone(path: Path, waits: Callable[[], None]) -> Iterator[bool]:
    """A block that one process at a time enters for `path`; the others call `waits` and wait. Gives whether it is so:
    where no lock can be made, say in a directory that may only be read, the block runs without."""
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    held = True
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waits()
            lock.acquire()
    except (OSError, NotImplementedError):
        held = False
    try:
        yield held
    finally:
        # The file stays: were it removed, another process could hold a lock on it that no third one sees.
        lock.release()


def remains(path: Path) -> list[Path]:
    """What killed processes left of `replaced(path)`; to be removed by the one that is alone there."""
    return [p for p in path.parent.glob(f".{path.name}.*") if p.suffix != ".lock"]


def keep_compiled() -> None:
    """Has JAX keep compiled code in the cache, so that a second process need not compile it again.

    This is configuration of all of JAX, for a command to do and not for a library. A directory that the user named in
    JAX_COMPILATION_CACHE_DIR stays as it is, and where ours cannot be written JAX compiles as ever.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    # Versions of Python compress by different means, which JAX's names of the entries do not tell.
    directory = cache_directory() / "compiled" / str(sys.implementation.cache_tag)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / ".lockfile", timeout=1):  # the one that JAX takes
            _complete(directory)
    except (OSError, NotImplementedError):  # unchecked, JAX would warn of it at everything that it compiles
        return
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_compilation_cache_max_size", COMPILED_BYTES)
    # Nearly all of what `solve` compiles takes less than JAX's one second, and together many.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _complete(directory: Path) -> None:
    """Removes what a killed process left half written: JAX would warn of it at each use, and never replace it. An entry
    is whole once the time of its last use is beside it."""
    for entry in directory.glob("*-cache"):
        if not entry.with_name(f"{entry.name.removesuffix('cache')}atime").exists():
            entry.unlink(missing_ok=True)


def forget_compiled() -> None:
    """Lets go of compiled code before the system refuses memory for more of it, which would end the process: after many
    problems, of which each has code of its own."""
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MANY:
        jax.clear_caches()
        gc.collect()
