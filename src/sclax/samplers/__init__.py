"""Draws from an unnormalised density on a place, in any dimension.

A sampler is a value; what it remembers is its state. One iteration of a method is

    state, info = sampler.step(place, density, state, key)         points for the pass, under the current weights
    (the pass: losses at state.points, weighted by sampler.weights)
    state, info = sampler.observe(place, density, state, losses, key)   what the pass learned moves the points

so that samplers that reuse the losses of the pass (persistent chains, R3) pay nothing for them. `density` maps chart
points to ψ_α up to a factor; `info.evaluations` counts its evaluations.
"""

from ._base import AbstractSampler as AbstractSampler
from ._base import SamplerInfo as SamplerInfo
from ._base import SamplerState as SamplerState
from ._base import effective_sample_size as effective_sample_size
from ._baselines import R3 as R3
from ._baselines import RAD as RAD
from ._chains import Langevin as Langevin
from ._chains import MetropolisHastings as MetropolisHastings
from ._chains import PersistentChains as PersistentChains
from ._drawn import Drawn as Drawn
from ._points import Batches as Batches
from ._points import Fixed as Fixed
from ._points import Grid as Grid
from ._points import ImportanceWeights as ImportanceWeights
from ._points import Sobol as Sobol
from ._points import Uniform as Uniform
