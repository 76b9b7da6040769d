"""Files that are changed on purpose, and how they must be refused."""

import tracemalloc

import numpy as np
import pytest

from sclax import data


def changed(raw, at, new):
    return raw[:at] + new + raw[at + len(new) :]


def refused(path, *parts, by=data.read_arrays):
    """Refuses the file in 50 MB, in words that name it."""
    tracemalloc.start()
    with pytest.raises(ValueError) as caught:
        {name: np.asarray(array) for name, array in by(path).items()}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for part in (str(path), *parts):
        assert part in str(caught.value)
    assert peak < 5e7
