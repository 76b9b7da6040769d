"""Models: Equinox modules from one point to one value for each unknown, and neural operators from the values of one
function on a grid to those of another. Any callable pytree works in their place."""

from ._chebyshev import Chebyshev as Chebyshev
from ._chebyshev import differentiation as differentiation
from ._embeddings import Corners as Corners
from ._embeddings import FourierFeatures as FourierFeatures
from ._embeddings import Holes as Holes
from ._embeddings import PeriodicEmbedding as PeriodicEmbedding
from ._embeddings import Rescale as Rescale
from ._hard import HardConstraint as HardConstraint
from ._hard import Plus as Plus
from ._learned import Learned as Learned
from ._learned import Number as Number
from ._learned import coefficient as coefficient
from ._learned import numbers_of as numbers_of
from ._mlp import MLP as MLP
from ._mlp import Dense as Dense
from ._mlp import Sized as Sized
from ._modes import Modes as Modes
from ._modes import member as member
from ._operators import FNO as FNO
from ._operators import DeepONet as DeepONet
from ._store import describe as describe
from ._store import rebuild as rebuild
from ._tiles import Tiles as Tiles

__all__ = [
    "FNO",
    "MLP",
    "Chebyshev",
    "DeepONet",
    "Dense",
    "FourierFeatures",
    "HardConstraint",
    "Learned",
    "Modes",
    "PeriodicEmbedding",
    "Plus",
    "Rescale",
    "Tiles",
]
