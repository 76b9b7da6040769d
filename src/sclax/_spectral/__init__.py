"""Piecewise polynomials by least squares, slab after slab: digits where solutions are smooth piece by piece."""

from .family import Family as Family
from .family import Spanned as Spanned
from .march import March as March
from .march import Marched as Marched
from .method import Spectral as Spectral
from .system import Unsuited as Unsuited
from .tiles import Axis as Axis
from .tiles import Solved as Solved
from .tiles import Tile as Tile
