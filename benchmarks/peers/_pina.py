"""How PINA is trained: its solver `PINN`, Adam at 1e-3, its default, then its callback `SwitchOptimizer` to L-BFGS
after half of the seconds, in single precision, as in its tutorials.

The callback forgets unknown parameters, so that inverse problems stay with Adam, at 5e-3, as in its tutorial of one.
"""

import logging
import random
import warnings

import numpy as np
import torch
import torch._dynamo  # which the first step would import
from lightning.pytorch.callbacks import Callback
from pina import LabelTensor, Trainer
from pina.callback import SwitchOptimizer
from pina.optim import TorchOptimizer
from pina.problem import InverseProblem
from pina.solver import PhysicsInformedSingleModelSolver


class Clock(Callback):
    def __init__(self, stages, found, later):
        self.stages, self.found, self.later, self.switched = stages, found, later, None

    def on_train_start(self, trainer, solver):
        self.stages.start()

    def on_train_batch_end(self, trainer, *_):
        if self.stages.tick(trainer.global_step, self.found):
            trainer.should_stop = True

    def on_train_epoch_start(self, trainer, solver):
        if self.later is not None and self.switched is None and self.stages.trained > self.stages.seconds / 2:
            self.switched = trainer.current_epoch
            SwitchOptimizer(self.later, max(1, self.switched)).on_train_epoch_start(trainer, solver)


def train(statement, seed, stages):
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, since its domains draw by it
    torch.manual_seed(seed)
    problem, model = statement.state(seed)
    inverse = isinstance(problem, InverseProblem)
    adam = TorchOptimizer(torch.optim.Adam, lr=5e-3 if inverse else 1e-3)
    later = None if inverse else TorchOptimizer(torch.optim.LBFGS, line_search_fn="strong_wolfe", history_size=100)
    solver = PhysicsInformedSingleModelSolver(problem, model, optimizer=adam)

    def found(points=None):
        if inverse:
            return {name: value.item() for name, value in solver.problem.unknown_parameters.items()}
        with torch.no_grad():
            inputs = torch.as_tensor(points, dtype=torch.get_default_dtype())
            return solver(LabelTensor(inputs, statement.COLUMNS)).extract("u").tensor.numpy()

    clock = Clock(stages, found, later)
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    Trainer(solver, max_epochs=-1, accelerator="cpu", callbacks=[clock], **off).train()
    return "Adam, 5e-3, float32" if inverse else f"{clock.switched} epochs of Adam, 1e-3, then L-BFGS, float32"
