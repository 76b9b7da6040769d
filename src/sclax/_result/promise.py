"""Problems that are built when somebody asks for them: those of files, whose data may take minutes to make."""

import threading
from collections.abc import Callable
from typing import Any


class Promise:
    """A problem that need not exist yet. `make` builds it; `words` say which one it is as long as it does not exist."""

    def __init__(self, make: Callable[[], Any], words: str = ""):
        self._make, self.words = make, words
        self._lock = threading.Lock()
        self._made: Any = None

    def __call__(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made, self.words = self._make(), ""
            return self._made


class Promised:
    """A field that holds a problem, or a promise of one, which is kept when the field is first read."""

    def __init__(self, name: str):
        self._name = f"_{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # a dataclass asks for a default, and there is none
            raise AttributeError(self._name)
        return vars(instance)[self._name]()

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value if isinstance(value, Promise) else Promise(lambda: value)
