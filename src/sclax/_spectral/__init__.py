"""Piecewise polynomials by least squares, slab after slab: digits where solutions are smooth piece by piece."""

from .correction import Corrected as Corrected
from .correction import corrected as corrected
from .correction import work as work
from .family import Family as Family
from .family import Spanned as Spanned
from .jets import Along as Along
from .jets import linearised as linearised
from .jets import orders as orders
from .jets import seen as seen
from .march import March as March
from .march import Marched as Marched
from .method import Spectral as Spectral
from .system import Unsuited as Unsuited
from .tiles import Axis as Axis
from .tiles import Solved as Solved
from .tiles import Tile as Tile
