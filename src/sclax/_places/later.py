"""Places of a shape that depends on parameters, before a problem says what these are."""

from collections.abc import Callable
from typing import Any, NoReturn

import equinox as eqx
from jaxtyping import Array, Float

from .._base import Point, checks
from .box import Box
from .place import AbstractPlace
from .subdomains import found_in


class Later(AbstractPlace):
    """A place that will be `of(domain)` once the domain's parameters are known; until then it can be named, and no
    more."""

    own: Box
    of: Callable[[Box], AbstractPlace] = eqx.field(static=True)

    def within(self, domain: Box) -> AbstractPlace:
        assert self.own.shape is not None
        known = found_in(self.own.shape, domain.shape)
        if known is None:
            if not set(self.own.shape.parameters) <= set(domain.names):
                self._not_yet()
            known = self.own.shape
        return self.of(domain) if known is domain.shape else self.of(domain.around(known)).within(domain)

    def where(self, condition: Callable[..., Any]) -> "Later":  # pyright: ignore[reportIncompatibleMethodOverride]
        return Later(self.own, lambda domain: self.of(domain).where(condition))

    def __getitem__(self, name: str) -> "Later":
        return Later(self.own, lambda domain: domain.boundary[name])

    def _not_yet(self) -> NoReturn:
        assert self.own.shape is not None
        names = checks.listed(self.own.shape.parameters)
        raise ValueError(
            f"the shape depends on {names}, which a problem's `parameters` give: until then a part of it can be "
            "named in a condition, `on=...`, and no more."
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
