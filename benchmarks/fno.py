"""One training step of the Fourier neural operator against the same network in PyTorch:  python -m benchmarks.fno

Burgers at `small`: the network, batch and loss of `scl.zoo.burgers_operator("small")`, forward and backward pass and
Adam, in float32 on all cores. PyTorch comes with the extra `bench`, and runs its network as its users write it: FFTs,
eager mode. Rounds alternate between both, so that what else the machine does hits both; the ratio is of medians.
"""

import argparse
import json
import time

import equinox as eqx
import jax
import numpy as np
import torch

import sclax as scl

from ._runner import write


class SpectralConvolution(torch.nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        scale = 1 / channels**2
        shape = (2 * modes[0] - 1, modes[1], channels, channels)
        self.weights = torch.nn.Parameter(scale * torch.rand(*shape, dtype=torch.cfloat))
        self.modes = modes

    def forward(self, values):  # [batch, channels, t, x]
        first, second = self.modes
        spectrum = torch.fft.rfft2(values)
        out = torch.zeros_like(spectrum)
        mix = lambda part, weights: torch.einsum("bixy,xyio->boxy", part, weights)
        out[:, :, :first, :second] = mix(spectrum[:, :, :first, :second], self.weights[:first])
        out[:, :, 1 - first :, :second] = mix(spectrum[:, :, 1 - first :, :second], self.weights[first:])
        return torch.fft.irfft2(out, s=values.shape[-2:])


class TorchFNO(torch.nn.Module):
    def __init__(self, modes, layers, hidden, projection):
        super().__init__()
        self.lift = torch.nn.Conv2d(3, hidden, 1)
        self.spectral = torch.nn.ModuleList(SpectralConvolution(hidden, modes) for _ in range(layers))
        self.pointwise = torch.nn.ModuleList(torch.nn.Conv2d(hidden, hidden, 1) for _ in range(layers))
        self.project = torch.nn.Sequential(
            torch.nn.Conv2d(hidden, projection, 1), torch.nn.GELU(approximate="tanh"), torch.nn.Conv2d(projection, 1, 1)
        )

    def forward(self, values):  # [batch, 1, t, x]
        frames, points = values.shape[-2:]
        t = (torch.arange(frames) / frames)[None, None, :, None].expand(len(values), 1, frames, points)
        x = (torch.arange(points) / points)[None, None, None, :].expand(len(values), 1, frames, points)
        values = self.lift(torch.cat([values, t, x], dim=1))
        for i, (spectral, pointwise) in enumerate(zip(self.spectral, self.pointwise, strict=True)):
            values = spectral(values) + pointwise(values)
            if i + 1 < len(self.spectral):
                values = torch.nn.functional.gelu(values, approximate="tanh")
        return self.project(values)


def torch_step(settings, inputs, outputs):
    """A function that makes one training step in PyTorch and waits for it."""
    model = TorchFNO((settings.modes, settings.modes), settings.layers, settings.hidden, settings.projection)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    a = torch.as_tensor(inputs)[:, None, None, :].expand(-1, 1, outputs.shape[1], -1).contiguous()
    u = torch.as_tensor(outputs)[:, None]

    def step():
        optimiser.zero_grad()
        difference = (model(a) - u).flatten(1)
        loss = (difference.norm(dim=1) / u.flatten(1).norm(dim=1)).mean()
        loss.backward()
        optimiser.step()
        return float(loss)

    return step


def sclax_step(row):
    """A function that makes one whole iteration of `solve`: batch, pass, weights and multipliers."""
    problem = row.method.prepare(row.problem).bare()
    key = jax.random.key(0)
    state = row.method.init(problem, row.model(problem.domain, 1, key), key)
    arrays, rest = eqx.partition(state, eqx.is_array)
    go = eqx.filter_jit(
        lambda arrays, key: eqx.filter(row.method.step(problem, eqx.combine(arrays, rest), key)[0], eqx.is_array)
    )
    holder = [arrays]

    def step():
        holder[0] = jax.block_until_ready(go(holder[0], key))

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="write results/fno.json")
    given = parser.parse_args()
    row = scl.zoo.ROWS["scl"](scl.zoo.entry("burgers_operator"), scale="small")
    settings, samples = row.model.settings, row.problem.train
    batch = slice(0, settings.batch)
    steps = {
        "sclax": sclax_step(row),
        "torch": torch_step(
            settings, np.asarray(samples.inputs[batch, ..., 0]), np.asarray(samples.outputs[batch, ..., 0])
        ),
    }
    times = {name: [] for name in steps}
    for step in steps.values():
        for _ in range(3):
            step()
    for _ in range(given.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    milliseconds = {name: 1e3 * float(np.median(found)) for name, found in times.items()}
    about = {
        "command": "python -m benchmarks.fno --json",
        "milliseconds": milliseconds,
        "ratio": milliseconds["sclax"] / milliseconds["torch"],
        "bar": 0.8,
        "threads": torch.get_num_threads(),
        "versions": {**scl.versions(), "torch": torch.__version__},
    }
    print(json.dumps(about, indent=1))
    if given.json:
        write("fno", about)


if __name__ == "__main__":
    main()
