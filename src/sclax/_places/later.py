"""Places of a shape that depends on parameters, before a problem says what these are."""

from collections.abc import Callable
from typing import Any, NoReturn

import equinox as eqx
from jaxtyping import Array, Float

from .._base import Point, checks
from .box import Box
from .place import AbstractPlace


class Later(AbstractPlace):
    """A place that will be `of(domain)` once the domain's parameters are known; until then it can be named, and no
    more."""

    of: Callable[[Box], AbstractPlace] = eqx.field(static=True)
    parameters: tuple[str, ...] = eqx.field(static=True)

    def within(self, domain: Box) -> AbstractPlace:
        return self.of(domain)

    def where(self, condition: Callable[..., Any]) -> "Later":  # pyright: ignore[reportIncompatibleMethodOverride]
        return Later(lambda domain: self.of(domain).where(condition), self.parameters)

    def __getitem__(self, name: str) -> "Later":
        return Later(lambda domain: domain.boundary[name], self.parameters)

    def _not_yet(self) -> NoReturn:
        raise ValueError(
            f"the shape depends on {checks.listed(self.parameters)}, which a problem's `parameters` give: until then a "
            "part of it can be named in a condition, `on=...`, and no more."
        )

    @property
    def chart(self) -> Box:
        self._not_yet()

    @property
    def measure(self) -> float:
        self._not_yet()

    def embed(self, w: Float[Array, " k"]) -> Point:
        self._not_yet()

    def normal(self, w: Float[Array, " k"]) -> Point:
        self._not_yet()
