"""Trusted classical solutions of differential equations: closed forms and solvers of measured accuracy.

Nothing here learns. Closed forms are functions of numpy or JAX arrays; solvers return xarray objects in
float64 whose attributes say how they were made.
"""

from ._support import Manufactured as Manufactured
from .allen_cahn import allen_cahn as allen_cahn
from .burgers import burgers as burgers
from .convection import convection as convection
from .diffusion_sorption import CONVERGED as CONVERGED
from .diffusion_sorption import PDEBENCH as PDEBENCH
from .diffusion_sorption import diffusion_sorption as diffusion_sorption
from .diffusion_sorption import diffusion_sorption_pdebench as diffusion_sorption_pdebench
from .gear import Gear as Gear
from .gear import gear as gear
from .heat import heat as heat
from .helmholtz import helmholtz as helmholtz
from .helmholtz import helmholtz_fem as helmholtz_fem
from .kdv import kdv as kdv
from .klein_gordon import klein_gordon as klein_gordon
from .lid_driven_cavity import lid_driven_cavity as lid_driven_cavity
from .navier_stokes import diagonal_forcing as diagonal_forcing
from .navier_stokes import navier_stokes as navier_stokes
from .poisson import poisson as poisson
from .reaction_diffusion import reaction_diffusion as reaction_diffusion
from .reaction_diffusion import reaction_diffusion_paper as reaction_diffusion_paper
from .wave import wave as wave
