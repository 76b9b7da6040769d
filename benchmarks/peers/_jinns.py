"""How jinns is trained: by its second-order optimisers, which it advises to try first, in double precision as in its
notebooks of these.

It has natural gradients and self-scaled Broyden steps, each with its line search. A statement names the one that was
ahead in runs of twelve seconds; unknown numbers need the latter, which moves them with the weights.

Its loop is one compiled program for a given number of iterations, so it runs in chunks, each as long as the seconds of
an iteration say, and its own account of the seconds after compilation is taken. A chunk goes on from the optimiser's
state.
"""

import contextlib
import io
import re

import jax
import jinns
import numpy as np
import optax

FIRST = 3  # iterations of the first chunk, which tells how long one takes
ENOUGH = 0.95  # of a share of the seconds: then no further chunk is compiled for the rest

jax.config.update("jax_enable_x64", True)


def natural_gradients():
    line_search = optax.scale_by_backtracking_linesearch(max_backtracking_steps=15)  # its default, without its words
    return {"optimizer": jinns.optimizers.vanilla_ngd(linesearch=line_search)}


def broyden_steps():
    def callback_value(params, batch, loss):
        return loss.evaluate(params, batch)[0]

    def callback_gradient(params, batch, loss):
        return loss.ponderate_and_sum_gradient(loss.values_and_grads(params, batch)[1])

    ours = {"value": "train_loss_value", "grad_pt": "grads", "batch": "batch", "loss": "loss"}
    named = {key: jinns.solver.GetJinnsVariableName(name) for key, name in ours.items()}
    functions = {"value_fn": callback_value, "grad_fn": callback_gradient}
    optimiser = jinns.optimizers.scale_by_SSBroyden_family()
    return {"optimizer": optimiser, "extra_optax_args_and_kwargs": {**named, **functions}}


def train(statement, seed, stages):
    params, data, loss, observed = statement.state(seed)
    unknown = getattr(statement, "UNKNOWN", ())
    choice = {"natural gradients": natural_gradients, "Broyden steps": broyden_steps}[statement.OPTIMISER]()
    state, steps, spent = None, 0, 0.0

    def found(points=None):
        if unknown:
            return {name: getattr(params.eq_params, name) for name in unknown}
        inputs = points[:, ::-1] if loss.u.eq_type == "PDENonStatio" else points  # time comes first
        return jax.vmap(lambda point: loss.u(point, params))(np.ascontiguousarray(inputs))

    for limit in stages.limits:
        n = done = 0
        while done == n and spent < ENOUGH * limit:
            n = max(1, round((limit - spent) * steps / spent)) if spent else FIRST
            words = {"data": data, "loss": loss, "obs_data": observed, "opt_state": state, **choice}
            with contextlib.redirect_stdout(io.StringIO()) as said:
                out = jinns.solve(n_iter=n, init_params=params, print_loss_every=n, verbose=True, **words)
            params, losses, data, loss, state, observed = (out[i] for i in (0, 1, 3, 4, 5, 8))
            spent += float(re.search(r"Training took\s+(\S+)", said.getvalue()).group(1))
            done = int(np.count_nonzero(losses))  # fewer after NaN, which ends its loop
            steps += done
        stages.passed(spent, steps, found, ended=True)
        if done < n:
            break
    return f"{statement.OPTIMISER}, float64"
