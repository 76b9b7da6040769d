"""Models: Equinox modules from one point to one value for each unknown. Any callable pytree works in their place."""

from ._embeddings import FourierFeatures as FourierFeatures
from ._embeddings import PeriodicEmbedding as PeriodicEmbedding
from ._embeddings import Rescale as Rescale
from ._hard import HardConstraint as HardConstraint
from ._mlp import MLP as MLP
from ._mlp import Dense as Dense
from ._store import describe as describe
from ._store import rebuild as rebuild

__all__ = ["MLP", "Dense", "FourierFeatures", "HardConstraint", "PeriodicEmbedding", "Rescale"]
