"""Trusted classical solutions of differential equations: closed forms and solvers of measured accuracy.

Nothing here learns. Closed forms are functions of numpy or JAX arrays; solvers return xarray objects in
float64 whose attributes say how they were made.
"""

from ._allen_cahn import allen_cahn as allen_cahn
from ._burgers import burgers as burgers
from ._burgers_sine import burgers_sine as burgers_sine
from ._convection import convection as convection
from ._diffusion_sorption import CONVERGED as CONVERGED
from ._diffusion_sorption import PDEBENCH as PDEBENCH
from ._diffusion_sorption import diffusion_sorption as diffusion_sorption
from ._diffusion_sorption import diffusion_sorption_pdebench as diffusion_sorption_pdebench
from ._four_disks import FOUR_CENTRES as FOUR_CENTRES
from ._four_disks import FOUR_RADIUS as FOUR_RADIUS
from ._four_disks import four_disks as four_disks
from ._gear import Gear as Gear
from ._gear import gear as gear
from ._heat import heat as heat
from ._helmholtz import helmholtz as helmholtz
from ._helmholtz import helmholtz_fem as helmholtz_fem
from ._kdv import kdv as kdv
from ._klein_gordon import klein_gordon as klein_gordon
from ._lid_driven_cavity import lid_driven_cavity as lid_driven_cavity
from ._lorenz import lorenz as lorenz
from ._navier_stokes import diagonal_forcing as diagonal_forcing
from ._navier_stokes import navier_stokes as navier_stokes
from ._plate_with_disks import PLATE_DISKS as PLATE_DISKS
from ._plate_with_disks import plate_with_disks as plate_with_disks
from ._poisson import poisson as poisson
from ._reaction_diffusion import reaction_diffusion as reaction_diffusion
from ._reaction_diffusion import reaction_diffusion_paper as reaction_diffusion_paper
from ._support import Manufactured as Manufactured
from ._support import periodic_grid as periodic_grid
from ._wave import wave as wave
