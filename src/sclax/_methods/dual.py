"""One step of the multipliers. All duals act element by element, so that one multiplier and one per sample are the
same code, and the projection onto λ ≥ 0 is always there."""

import abc
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree

from .._base import Scalar, checks, words
from .._problem import ByConstraint
from .primal import GENTLE

REACH, NEAR = 1000.0, 10.0  # times its tolerance: a value from which a constraint, or all samples, may come to hold
FITTED = 0.1  # of the first objective: conditions that hold in the main
ROOM = 10.0  # times the objective: what a constraint on values may count for on the way to its multiplier
AIM = 0.9  # of a tolerance: a value that other draws find below it too
NOTHING = 1e-6  # a multiplier in units that is none
HARMLESS = 0.01  # of the objective: what pressing a law beyond its tolerance may cost
IN_CONFLICT = 1e-4  # of the first objective: above it something may be in conflict with the laws

Rate = float | Callable[[Any], Any]
Entries = Float[Array, "..."]


class AbstractDual(eqx.Module):
    """Moves the multipliers of one constraint up its violations. One of your own defines `init` and `step`.

    !!! example
        `examples/extend.py` has one in ten lines.
    """

    @abc.abstractmethod
    def init(self, multipliers: Entries) -> PyTree:
        """The first state."""

    @abc.abstractmethod
    def step(self, multipliers: Entries, state: PyTree, violations: Entries) -> tuple[Entries, PyTree]:
        """New multipliers, before projection, and the new state."""

    def price(self, multipliers: Entries, state: PyTree, violations: Entries) -> Entries:
        """The factor of the constraint's gradient in the primal step: the multiplier itself, unless a penalty adds."""
        return multipliers

    def advance(
        self, multipliers: Entries, state: PyTree, violations: Entries, tolerances: Entries, objective: "Standing"
    ) -> tuple[Entries, PyTree]:
        """`step`, for duals that also look at the tolerances, in the units of the violations, and at the objective."""
        return self.step(multipliers, state, violations)

    def priced(self, multipliers: Entries, first: Scalar | float = 1.0) -> bool:
        """Whether final multipliers are prices: not where a bound, which may grow with the `first` objective, holds one
        back."""
        return True


class Standing(NamedTuple):
    """Where the objective stands: its value, and that of the network as it was built. Beside an inequality it may be
    an energy, which never comes near zero. A constraint `on_values`, with no derivative, has no trivial solutions: it
    may count for more than the objective, unless some law is `given_up`, which it might then contradict."""

    now: Scalar
    first: Scalar
    given_up: Bool[Array, ""]
    one_sided: bool = False
    on_values: bool = False

    @property
    def firm(self) -> Bool[Array, ""]:
        """Whether the constraint may outweigh the objective."""
        return jnp.logical_not(self.given_up) & self.on_values


def least_price(objective: Standing, tolerances: Entries) -> Entries:
    """The price with which laws are pressed that ask for none, in units in which their residuals were 1 at first: where
    nothing is in conflict they become better than was asked for. Where the objective stays, they count for a hundredth
    of it at their tolerances, so that one that binds nowhere costs nothing."""
    harmless = HARMLESS * objective.now / jnp.maximum(tolerances, jnp.finfo(tolerances.dtype).tiny)
    stays = objective.now > IN_CONFLICT * objective.first
    return jnp.where(stays, jnp.minimum(GENTLE, harmless), GENTLE) / tolerances.size


def _rate(rate: Rate, count: Any) -> Any:
    return rate(count) if callable(rate) else rate


class DualAscent(AbstractDual):
    """Projected gradient ascent, the paper's Algorithm 1:  λ ← [λ + η (value − ε)]₊.

    `rate` η is a number or an optax schedule. A step can be clipped,  η min(value − ε, `clip`),  and λ have a `cap`;
    a multiplier at its cap is no price, and `check` says so. Good values: rate 1e-4 beside Adam with 1e-3; beside
    `GaussNewton`, which scales residuals to size one, rate 0.3, clip 1 and cap 2.

    !!! example
        `PrimalDual(optax.adam(1e-3), DualAscent(1e-4))`, the paper's Algorithm 1
    """

    rate: Rate = eqx.field(static=True)
    clip: float = eqx.field(static=True, default=math.inf)
    cap: float = eqx.field(static=True, default=math.inf)

    def __check_init__(self):
        if not callable(self.rate):
            checks.positive("DualAscent", "rate", self.rate)
        for name, value in (("clip", self.clip), ("cap", self.cap)):
            if not value > 0:
                raise ValueError(f"DualAscent: `{name}` must be positive, got {value!r}.")

    def init(self, multipliers):
        return jnp.asarray(0, jnp.int32)

    def step(self, multipliers, state, violations):
        step = _rate(self.rate, state) * jnp.minimum(violations, self.clip)
        return jnp.minimum(multipliers + step, self.cap), state + 1

    def priced(self, multipliers, first=1.0):
        return bool(jnp.max(multipliers) < 0.999 * self.cap)


class MirrorAscent(AbstractDual):
    """Ascent by the ratio of value and tolerance, which settles wherever the tolerance lies:

        λ ← λ (value / ε)^`pace` + η min([value − ε]₊, `clip`),   η = `rate` times the first objective, if above 1.

    A violation that is a millionth of the constraint's size at the start moves plain ascent by a millionth; the ratio
    moves λ all the same, so that λ comes to rest where the constraint binds, and falls to zero where it does not. It
    aims at 0.9 ε, so that other draws find the constraint to hold too, and its exponent is between −`pace` and `pace`.

    λ stays below `cap` (times the first objective, if above 1), so that an equation which cannot hold does not outweigh
    all conditions: u = 0 solves many equations. It may exceed it where the tolerance is within reach (1000 times), the
    objective is below a tenth of its first value, and the constraint's share of the Lagrangian below the objective's.
    An inequality need not wait for the objective, which may be an energy; nor does a constraint on values, which no
    trivial function meets: it may count for ten times the objective, or for as much as that was at first.
    The primal step presses at least with a price of 0.01, less where that would cost an objective that stays: where
    nothing is in conflict, laws become better than was asked for.

    Good values beside `GaussNewton`, which scales residuals to size one: the defaults.

    !!! example
        `PrimalDual(GaussNewton(), MirrorAscent())`
    """

    rate: float = eqx.field(static=True, default=0.3)
    pace: float = eqx.field(static=True, default=0.1)
    clip: float = eqx.field(static=True, default=1.0)
    cap: float = eqx.field(static=True, default=2.0)

    def __check_init__(self):
        for name in ("rate", "pace", "clip", "cap"):
            checks.positive("MirrorAscent", name, getattr(self, name))

    def init(self, multipliers):
        return jnp.full_like(multipliers, GENTLE / multipliers.size)  # the least price

    def step(self, multipliers, state, violations):
        return multipliers + self.rate * jnp.minimum(violations, self.clip), state

    def advance(self, multipliers, state, violations, tolerances, objective):
        value, tiny = violations + tolerances, jnp.finfo(multipliers.dtype).tiny
        ratio = jnp.clip(jnp.log(jnp.maximum(value, tiny) / jnp.maximum(AIM * tolerances, tiny)), -1.0, 1.0)
        # What the primal step pressed with is where a multiplier that has to grow begins.
        base = jnp.where(violations > 0, jnp.maximum(multipliers, state), multipliers)
        # An objective that is large at first, data in units of a small noise say, takes prices as large to balance it;
        # all samples together weigh as much as one constraint.
        size = jnp.maximum(objective.first, 1.0) / multipliers.size
        new = base * jnp.exp(self.pace * ratio) + size * self.rate * jnp.clip(violations, 0.0, self.clip)
        reach = REACH if jnp.ndim(multipliers) == 0 else NEAR  # of samples one that is far off may be a wrong one
        fitted = objective.one_sided | objective.firm | (objective.now < FITTED * objective.first)
        near = jnp.all(value < reach * tolerances) | (objective.firm & (jnp.ndim(multipliers) == 0))
        firm = ROOM * jnp.maximum(objective.now, FITTED * objective.first)
        room = jnp.where(objective.firm, firm, objective.now)
        beyond = near & fitted & (base * value < room)
        # Samples that contradict each other: what one may press is to the most as its violation is to the worst. A
        # wrong measurement stands out then, and does not press its neighbours up to its own price.
        limit = jnp.maximum(jnp.max(violations), tolerances)
        most = size * self.cap * jnp.clip(jnp.maximum(violations, tolerances) / jnp.maximum(limit, tiny), 0.0, 1.0)
        # Below the cap only: above it all were within reach, and one draw that says otherwise is no reason to restart.
        falls = (jnp.ndim(multipliers) > 0) & (multipliers <= size * self.cap)
        held = jnp.where(falls, jnp.exp(-self.pace), 1.0) * multipliers
        new = jnp.where(beyond, new, jnp.minimum(new, jnp.maximum(most, held)))
        return jnp.where(new < NOTHING / multipliers.size, 0.0, new), least_price(objective, tolerances)

    def price(self, multipliers, state, violations):
        return jnp.maximum(multipliers, state)

    def priced(self, multipliers, first=1.0):
        cap = self.cap * jnp.maximum(first, 1.0) / multipliers.size
        return bool(jnp.all(jnp.abs(multipliers - cap) > 1e-3 * cap))


class NuPI(AbstractDual):
    """A PI controller on the multipliers (Sohrabi et al. 2024), which damps overshoot:

        ξ_t = ν ξ_{t−1} + (1 − ν) e_t,   λ ← [λ + η (k_i e_t + k_p (ξ_t − ξ_{t−1}))]₊,   ξ_{−1} = e_0.

    k_p = 0 is plain ascent. Good values: k_p between 1 and 20, ν between 0 and 0.9.

    !!! example
        `PrimalDual(optax.adam(1e-3), NuPI(1e-4, kp=5.0))`
    """

    rate: Rate = eqx.field(static=True)
    kp: float = eqx.field(static=True, default=5.0)
    ki: float = eqx.field(static=True, default=1.0)
    nu: float = eqx.field(static=True, default=0.9)

    def __check_init__(self):
        if not callable(self.rate):
            checks.positive("NuPI", "rate", self.rate)
        if not 0 <= self.nu < 1:
            raise ValueError(f"NuPI: `nu` must be in [0, 1), got {self.nu}.")
        for name, value in (("kp", self.kp), ("ki", self.ki)):
            if checks.number("NuPI", name, value) < 0:
                raise ValueError(f"NuPI: `{name}` must not be negative, got {value}.")

    def init(self, multipliers):
        return jnp.asarray(0, jnp.int32), jnp.zeros_like(multipliers)

    def step(self, multipliers, state, violations):
        count, smooth = state
        smooth = jnp.where(count == 0, violations, smooth)
        new = self.nu * smooth + (1 - self.nu) * violations
        change = self.ki * violations + self.kp * (new - smooth)
        return multipliers + _rate(self.rate, count) * change, (count + 1, new)


class AugmentedLagrangian(AbstractDual):
    """The method of multipliers:  the primal sees  1/(2c) ([λ + c (value − ε)]₊² − λ²),  and  λ ← [λ + η (value − ε)]₊.

    The penalty makes the Lagrangian convex around a solution without biasing it. η = c (the default, `rate=None`) is
    right when the primal is solved exactly between dual steps; use a small `rate` with one primal step each.

    !!! example
        `PrimalDual(optax.adam(1e-3), AugmentedLagrangian(penalty=10.0))`
    """

    penalty: float = eqx.field(static=True)
    rate: Rate | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        checks.positive("AugmentedLagrangian", "penalty", self.penalty)
        if self.rate is not None and not callable(self.rate):
            checks.positive("AugmentedLagrangian", "rate", self.rate)

    def init(self, multipliers):
        return jnp.asarray(0, jnp.int32)

    def step(self, multipliers, state, violations):
        rate = self.penalty if self.rate is None else _rate(self.rate, state)
        return multipliers + rate * violations, state + 1

    def price(self, multipliers, state, violations):
        return jax.nn.relu(multipliers + self.penalty * violations)


class OptaxDual(AbstractDual):
    """Any optax transformation, fed with the ascent direction: what `dual=optax.adam(1e-4)` means."""

    optimiser: optax.GradientTransformation

    def __repr__(self) -> str:
        return words(self.optimiser)

    def init(self, multipliers):
        return self.optimiser.init(multipliers)

    def step(self, multipliers, state, violations) -> tuple[Any, Any]:
        updates, state = self.optimiser.update(-violations, state, multipliers)
        return optax.apply_updates(multipliers, updates), state


Duals = dict[str, AbstractDual]


def as_duals(owner: str, dual: Any) -> AbstractDual | Duals:
    """A dual, or a dict of them by constraint; an optax transformation becomes one."""
    if isinstance(dual, Mapping):
        return {str(name): as_duals(owner, one) for name, one in dual.items()}  # pyright: ignore[reportReturnType]
    if isinstance(dual, AbstractDual):
        return dual
    if isinstance(dual, optax.GradientTransformation):
        return OptaxDual(dual)
    raise ValueError(
        f"{owner}: `dual` must be DualAscent(rate), NuPI(rate), AugmentedLagrangian(penalty), an optax "
        f"transformation, or a dict of these by constraint, got {dual!r}."
    )


def for_constraints(owner: str, dual: AbstractDual | Duals, constraints: tuple[str, ...]) -> Duals:
    """One dual for each constraint."""
    if isinstance(dual, AbstractDual):
        return dict.fromkeys(constraints, dual)
    for name in constraints:
        if name not in dual:
            raise ValueError(f"{owner}: `dual` has no entry for constraint `{name}`, only {checks.listed(dual)}.")
    for name in dual:
        if name not in constraints:
            raise ValueError(
                f"{owner}: `dual` names `{name}`; the constraints are {checks.listed(constraints)}."
                + checks.nearest(name, constraints)
            )
    return {name: dual[name] for name in constraints}


def init(duals: Duals, multipliers: ByConstraint) -> dict[str, PyTree]:
    return {name: duals[name].init(multipliers[name]) for name in duals}


def step(
    duals: Duals,
    multipliers: ByConstraint,
    state: dict[str, PyTree],
    violations: ByConstraint,
    units: ByConstraint,
    seen: Mapping[str, Bool[Array, "..."]],
    tolerances: ByConstraint,
    objective: Standing,
    one_sided: Collection[str | None] = (),
    on_values: Collection[str | None] = (),
) -> tuple[ByConstraint, dict[str, PyTree]]:
    """All multipliers one step up, projected onto λ ≥ 0. A dual sees violations in `units`, so that one rate fits all
    residuals; multipliers, which divide by them, stay in the user's units outside. Entries that were not `seen` stay
    as they are, and so does what the dual remembers of them."""
    new, states = {}, {}
    for name, dual in duals.items():
        unit, known = units[name], seen[name]
        scaled = (unit * multipliers[name], state[name], violations[name] / unit, tolerances[name] / unit)
        raw, after = dual.advance(*scaled, objective._replace(one_sided=name in one_sided, on_values=name in on_values))
        keep = lambda a, b, known=known: jnp.where(known, a, b) if jnp.shape(a) == known.shape else a
        new[name] = keep(jax.nn.relu(raw) / unit, multipliers[name])
        states[name] = jax.tree.map(keep, after, state[name])
    return new, states


def prices(
    duals: Duals, multipliers: ByConstraint, state: dict[str, PyTree], violations: ByConstraint, units: ByConstraint
) -> ByConstraint:
    scaled = lambda name: (units[name] * multipliers[name], state[name], violations[name] / units[name])
    return {name: duals[name].price(*scaled(name)) / units[name] for name in duals}
