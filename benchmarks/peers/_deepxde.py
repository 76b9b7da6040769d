"""How DeepXDE is trained: Adam, then L-BFGS, as in its examples, in double precision as it advises for L-BFGS.

Adam has the number of iterations of the example, or half of the seconds if these end first.
"""

import os

os.environ.setdefault("DDE_BACKEND", "pytorch")

import deepxde as dde
import torch._dynamo  # noqa: F401, which the first step would import
from deepxde.optimizers.config import LBFGS_options

BETWEEN = 50  # iterations of L-BFGS between looks at the clock; its memory is kept

dde.config.set_default_float("float64")


class Clock(dde.callbacks.Callback):
    def __init__(self, stages, found, share):
        super().__init__()
        self.stages, self.found, self.until = stages, found, share * stages.seconds

    def on_train_begin(self):
        if not self.stages.running:
            self.stages.start()

    def on_epoch_end(self):
        self.stages.tick(self.model.train_state.step, self.found)
        if self.stages.trained >= self.until:
            self.model.stop_training = True


def train(statement, seed, stages):
    dde.config.set_random_seed(seed)
    model, unknown = statement.state(seed)
    LBFGS_options["iter_per_step"], LBFGS_options["fun_per_step"] = BETWEEN, BETWEEN * 5 // 4
    numbers = lambda: {name: variable.item() for name, variable in unknown.items()}
    found = numbers if unknown else model.predict
    quiet, variables = {"verbose": 0, "display_every": 10**9}, list(unknown.values())
    model.compile("adam", lr=1e-3, external_trainable_variables=variables, verbose=0)
    model.train(iterations=statement.ADAM, callbacks=[Clock(stages, found, 0.5)], **quiet)
    adam = model.train_state.step
    model.compile("L-BFGS", external_trainable_variables=variables, verbose=0)
    model.train(callbacks=[Clock(stages, found, 1.0)], **quiet)
    stages.stop()
    stages.passed(stages.trained, model.train_state.step, found, ended=True)
    return f"{adam} iterations of Adam, 1e-3, then L-BFGS, float64"
