"""What is asked of a piecewise polynomial solution."""

from typing import ClassVar

import equinox as eqx

from .._base import call, checks


class Spectral(eqx.Module):
    """Polynomials on tiles, slab after slab along time, by Gauss-Newton steps on all laws at once:

        u = Σ_a c_a T_{a₁}(ẑ₁) ⋯ T_{a_d}(ẑ_d)  on each tile,   min over c of  Σ |law(u)|² + Σ |jump of u|².

    The paper's constraints hold together or not at all where a solution exists, so that no price is needed: multipliers
    are zero. A tile has more polynomials, or two halves where those would gain little, until the last coefficients are
    below `ambition` of the largest; slabs are as long as that allows, and join to the order that the equations need.
    For boxes of up to four dimensions and solutions that are smooth piece by piece: fronts, boundary layers, singular
    corners, long and chaotic evolution. Of a family with up to three parameters members are solved where the laws are
    failed most by combinations of the others, and all others are such combinations (`nn.Modes`). What `solve` tries
    first where neither model nor method is given.

    **Arguments:**

    - `ambition`: the size of the last coefficients, of the largest. Good values: 1e-10; 1e-6 where time is short.
    - `terms`: polynomials along a side of a tile, at most. Good values: 24.
    - `slab_terms`: polynomials along time. Good values: 12.

    !!! example
        `scl.solve(scl.zoo.burgers_front(), method=scl.Spectral(ambition=1e-6))`
    """

    fitted: ClassVar[bool] = True  # to all laws at once, without multipliers

    ambition: float = eqx.field(static=True, default=1e-10)
    terms: int = eqx.field(static=True, default=24)
    slab_terms: int = eqx.field(static=True, default=12)

    def __check_init__(self):
        checks.positive("Spectral", "ambition", self.ambition)
        checks.count("Spectral", "terms", self.terms, at_least=6)
        checks.count("Spectral", "slab_terms", self.slab_terms, at_least=6)

    def __repr__(self) -> str:
        return call(self)
