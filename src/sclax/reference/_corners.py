"""What the corners of a lid-driven cavity do to its stream function: terms rᵐ h(θ), which no polynomial follows."""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Chebyshev

QUARTER = (0.0, np.pi / 2)
# Every h is an entire function of the angle: its series ends at round-off well before this degree.
DEGREE = 18


def _fitted(h) -> Chebyshev:
    return Chebyshev.interpolate(h, DEGREE, QUARTER)


@dataclass(frozen=True)
class CornerTerm:
    """rᵐ h(θ) in polar coordinates of a corner; θ goes from 0 on the lid to π/2 on the wall."""

    power: int
    angular: Chebyshev

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """At distances x from the wall and y from the lid."""
        return np.hypot(x, y) ** self.power * self.angular(np.arctan2(y, x))

    def along_lid(self) -> "CornerTerm":
        """∂/∂x, of the same form."""
        m, h, slope = self.power, self.angular, self.angular.deriv()
        return CornerTerm(m - 1, _fitted(lambda a: m * h(a) * np.cos(a) - slope(a) * np.sin(a)))

    def along_wall(self) -> "CornerTerm":
        """∂/∂y, of the same form."""
        m, h, slope = self.power, self.angular, self.angular.deriv()
        return CornerTerm(m - 1, _fitted(lambda a: m * h(a) * np.sin(a) + slope(a) * np.cos(a)))


# The solutions of Δ²(rᵐ h) = 0 by m.
CREEPING = {
    1: (np.cos, np.sin, lambda a: a * np.cos(a), lambda a: a * np.sin(a)),
    2: (np.ones_like, lambda a: a, lambda a: np.cos(2 * a), lambda a: np.sin(2 * a)),
}


def _clamped(power: int, slope: float, particular: Chebyshev | None = None) -> CornerTerm:
    """rᵐ h(θ), `particular` plus creeping flow, at rest on the wall, zero on the lid and with h′(0) = slope there."""
    creeping = [_fitted(h) for h in CREEPING[power]]
    ends = np.array(QUARTER)
    at_ends = lambda h: np.concatenate([h(ends), h.deriv()(ends)])
    rest = Chebyshev([0.0], QUARTER) if particular is None else particular
    weights = np.linalg.solve(np.stack([at_ends(h) for h in creeping], 1), [0.0, 0.0, slope, 0.0] - at_ends(rest))
    return CornerTerm(power, sum((w * h for w, h in zip(weights, creeping, strict=True)), rest))


def _driven(source: Chebyshev) -> Chebyshev:
    """Some h with h⁗ + 4 h″ = source, which is Δ²(r² h) = source/r²."""
    angles = (1 - np.cos(np.pi * (np.arange(2 * DEGREE) + 0.5) / (2 * DEGREE))) * np.pi / 4
    basis = [Chebyshev.basis(k, QUARTER) for k in range(DEGREE + 1)]
    rows = np.stack([b.deriv(4)(angles) + 4 * b.deriv(2)(angles) for b in basis], axis=1)
    scale = np.maximum(np.abs(rows).max(axis=0), 1.0)
    return Chebyshev(np.linalg.lstsq(rows / scale, source(angles))[0] / scale, QUARTER)


def at_a_jump(reynolds: float) -> tuple[CornerTerm, ...]:
    """ψ of a lid of speed 1 that moves towards the corner: r h of creeping flow, and what inertia adds, Re r² h."""
    creeping = _clamped(1, -1.0)
    f = creeping.angular
    # u·∇ω of r f(θ), without its r⁻².
    vorticity = f.deriv(2) + f
    inertia = _fitted(lambda a: f.deriv()(a) * vorticity(a) + f(a) * vorticity.deriv()(a))
    return creeping, _clamped(2, 0.0, _driven(-reynolds * inertia))


def at_a_kink(speed: float) -> tuple[CornerTerm, ...]:
    """ψ of a lid whose speed grows from 0 at the corner as `speed` times the distance: r² h of creeping flow."""
    return (_clamped(2, -speed),)
