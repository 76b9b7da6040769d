"""Each equation once, with its reference solution and the paper's settings as data."""

from ._allen_cahn import allen_cahn as allen_cahn
from ._burgers import burgers as burgers
from ._closed import heat as heat
from ._closed import klein_gordon as klein_gordon
from ._closed import poisson as poisson
from ._closed import wave as wave
from ._convection import convection as convection
from ._diffusion_sorption import diffusion_sorption as diffusion_sorption
from ._eikonal import eikonal as eikonal
from ._helmholtz import helmholtz as helmholtz
from ._kdv import kdv as kdv
from ._lid_driven_cavity import lid_driven_cavity as lid_driven_cavity
from ._navier_stokes import navier_stokes as navier_stokes
from ._reaction_diffusion import reaction_diffusion as reaction_diffusion
from ._registry import ENTRIES as ENTRIES
from ._registry import Entry as Entry
from ._registry import build as build
from ._registry import entry as entry
from ._registry import paper_settings as paper_settings
from ._rows import ROWS as ROWS
from ._rows import Row as Row
from ._settings import OperatorSettings as OperatorSettings
from ._settings import PaperSettings as PaperSettings
