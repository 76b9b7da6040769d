"""Data sets of the paper's supervised experiments, made on the spot, and readers of files that people already have.

All have one layout: `input` (sample, x[, y]), the initial condition, and `solution` (sample, t, x[, y]).
"""

from ._files import open_dataset as open_dataset
from ._files import save as save
from ._generators import burgers as burgers
from ._generators import diffusion_sorption as diffusion_sorption
from ._generators import navier_stokes as navier_stokes
from ._plot import draw as draw
from ._plot import show as show
from ._random_fields import GaussianField as GaussianField
from ._readers import read as read
from ._readers import read_arrays as read_arrays
from ._readers import read_burgers as read_burgers
from ._readers import read_diffusion_sorption as read_diffusion_sorption
from ._readers import read_navier_stokes as read_navier_stokes
