"""Primal steps, duals, and methods on top of the two."""

from .dual import AbstractDual as AbstractDual
from .dual import AugmentedLagrangian as AugmentedLagrangian
from .dual import DualAscent as DualAscent
from .dual import MirrorAscent as MirrorAscent
from .dual import NuPI as NuPI
from .eigenbasis import soap as soap
from .gauss_newton import GaussNewton as GaussNewton
from .method import AbstractMethod as AbstractMethod
from .method import Info as Info
from .method import Merit as Merit
from .method import State as State
from .method import finite as finite
from .penalty import Penalty as Penalty
from .primal import AbstractPrimal as AbstractPrimal
from .primal_dual import PrimalDual as PrimalDual
