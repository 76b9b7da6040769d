"""Equal content has one digest, in any process and after any garbage collection; other content has another."""

import copy
import functools
import pickle
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sclax._base import digest


def adder(k):
    return lambda x: x + k


def nested(k):
    return lambda x: (lambda y: y * k)(x)


def countdown(n):
    return 0 if n == 0 else countdown(n - 1)


SAME = {
    "closure": lambda: adder(2.0),
    "nested code": lambda: nested(3),
    "optimiser": lambda: optax.adam(optax.exponential_decay(1e-3, 100, 0.9)),
    "partial": lambda: functools.partial(adder, 3.0),
    "array": lambda: {"a": np.arange(3.0), "b": (jnp.ones(2), None, "x")},
    "recursion": lambda: countdown,
    "activation": lambda: jnp.tanh,
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_equal_content_has_one_digest(make):
    assert len({digest(make()) for _ in range(50)}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (adder(2.0), adder(3.0)),
        (nested(2), nested(3)),
        (optax.adam(1e-3), optax.adam(1e-2)),
        (optax.adam(optax.exponential_decay(1e-3, 100, 0.9)), optax.adam(optax.exponential_decay(1e-3, 100, 0.8))),
        (functools.partial(adder, 2.0), functools.partial(adder, 3.0)),
        (lambda x, k=2: x, lambda x, k=3: x),
        (np.zeros(3), np.zeros(4)),
        (np.zeros(2, np.float32), np.zeros(2)),
        (1, 1.0),
        (jnp.tanh, jnp.sin),
        ((1, (2, 3)), ((1, 2), 3)),
    ],
)
def test_other_content_has_another_digest(one, other):
    assert digest(one) != digest(other)


SPEED = 3.0
SPEEDS = {"x": 3.0}


class Speed:
    unit = 1.0

    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        return self.value * x


OBJECT = Speed(3.0)
here = sys.modules[__name__]

NAMED = {
    "a number": (lambda x: SPEED * x, "SPEED", 4.0),
    "a number inside a comprehension": (lambda x: sum(SPEED * k for k in (x, x)), "SPEED", 4.0),
    "a table": (lambda x: SPEEDS["x"] * x, "SPEEDS", {"x": 4.0}),
    "an object": (lambda x: OBJECT.value * x, "OBJECT", Speed(4.0)),
    "a function that names it": (lambda x: doubled(x), "SPEED", 4.0),
    "an attribute of a module": (lambda x: here.SPEED * x, "SPEED", 4.0),
    "a class": (lambda x: Speed.unit * x, "Speed.unit", 2.0),
    "a method": (OBJECT, "Speed.__call__", lambda self, x: self.value + x),
}


def doubled(x):
    return 2 * SPEED * x


@pytest.mark.parametrize(("function", "name", "new"), NAMED.values(), ids=NAMED)
def test_what_a_function_names_is_part_of_it(function, name, new, monkeypatch):
    before = digest(function)
    assert digest(function) == before
    monkeypatch.setattr(f"{__name__}.{name}", new)
    assert digest(function) != before


def test_a_law_survives_being_copied():
    from sclax._base import Traced

    law = Traced(doubled, (np.float64(1.0),), "law")
    assert copy.deepcopy(law) == law
    assert pickle.loads(pickle.dumps(law))(1.0) == 6.0


def test_the_digest_is_the_same_in_another_process():
    code = "import optax; from sclax._base import digest; print(digest(optax.adam(1e-3), {'a': 1.5}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == digest(optax.adam(1e-3), {"a": 1.5})
