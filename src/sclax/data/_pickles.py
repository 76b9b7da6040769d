"""Pickles as a list of what they hold. A pickle is a program; here a machine follows it that can only build lists,
dictionaries and tuples, and call functions that it was given by name. It knows the steps that picklers write for those,
no others, and takes a limited number of them."""

import pickletools
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# A step takes some 3 µs. The tensors of a large network need a few thousand.
STEPS = 300_000
NAME_LENGTH = 200
CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
VALUES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}


class Refused(ValueError):
    """Something in the pickle is not needed to hold arrays."""


class Name:
    """What a name stands for: a function to call. A pickle holds names, and cannot look into them or change them."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., Any]):
        self.make = make


class Pending:
    """An object that a pickle makes in two steps: `build` gives its value of the state that comes second."""

    __slots__ = ("build", "value")

    def __init__(self, build: Callable[[Any], Any], value: Any = None):
        self.build, self.value = build, value


def short(value: Any) -> str:
    """As text, of a length and at a cost that do not depend on how the value is nested."""
    return reprlib.repr(value)[:80]


def dictionary(pairs: Iterable[Any] = ()) -> dict[str, Any]:
    return {_key(key): value for key, value in pairs}


def _key(key: Any) -> str:
    # Other keys are hashed, which for nested tuples may take for ever or overflow the stack.
    if type(key) not in (str, int) or len(text := str(key)) > NAME_LENGTH:
        raise Refused(f"a dictionary with the key {short(key)}, which is no name")
    return text


def load(raw: bytes, names: Mapping[tuple[str, str], Name], refer: Callable[[Any], Any]) -> Any:
    """What a pickle holds; `refer` gives what its persistent ids refer to. Refused, or any other exception, if not."""
    machine = _Machine(names, refer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pickletools decodes steps that are refused as well
        for count, (step, argument, _) in enumerate(pickletools.genops(raw)):
            if count == STEPS:
                raise Refused(f"it takes more than {STEPS} steps to build")
            machine.take(step.name, argument)
    (value,) = machine.stack
    return value


class _Machine:
    def __init__(self, names: Mapping[tuple[str, str], Name], refer: Callable[[Any], Any]):
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.names, self.refer = names, refer

    def take(self, step: str, argument: Any) -> None:
        if step in VALUES:
            self.stack.append(argument)
        elif step in CONSTANTS:
            self.stack.append(CONSTANTS[step]())
        elif step in TUPLES:
            self.stack.append(tuple(self._popped(TUPLES[step])))
        elif step in ("BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif step in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.stack[-1]
        elif step not in ("PROTO", "FRAME", "STOP"):
            method = getattr(self, f"_{step.lower()}", None)
            if method is None:
                raise Refused(f"the step {step} of its pickle is none that arrays need")
            method() if argument is None else method(argument)

    def _popped(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise Refused("a step of its pickle lacks what it works on")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _mark(self) -> None:
        self.marked.append(self.stack)
        self.stack = []

    def _since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    def _memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _tuple(self) -> None:
        items = self._since_mark()
        self.stack.append(tuple(items))

    def _append(self) -> None:
        self._extend(self._popped(1))

    def _appends(self) -> None:
        self._extend(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise Refused("it appends to something other than a list")
        self.stack[-1].extend(items)

    def _setitem(self) -> None:
        self._update(self._popped(2))

    def _setitems(self) -> None:
        self._update(self._since_mark())

    def _update(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not dict:
            raise Refused("it sets an item of something other than a dictionary")
        self.stack[-1].update(dictionary(zip(items[::2], items[1::2], strict=True)))

    def _global(self, name: str) -> None:
        self._named(*name.split(" ", 1))

    def _stack_global(self) -> None:
        self._named(*self._popped(2))

    def _named(self, *name: Any) -> None:
        if not all(isinstance(part, str) for part in name) or name not in self.names:
            asked = ".".join(part[:50] if isinstance(part, str) else short(part) for part in name)
            raise Refused(f"it asks for `{asked}`, which is no array")
        self.stack.append(self.names[name])

    def _reduce(self) -> None:
        function, arguments = self._popped(2)
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise Refused(f"it calls {short(function)}")
        self.stack.append(function.make(*arguments))

    def _build(self) -> None:
        (state,) = self._popped(1)
        made = self.stack[-1]
        if isinstance(made, Pending):
            made.value = made.build(state)
        elif type(made) is not dict:  # torch adds notes to the dictionaries of its modules: they are left out
            raise Refused(f"it changes {short(made)}")

    def _binpersid(self) -> None:
        self.stack.append(self.refer(*self._popped(1)))
