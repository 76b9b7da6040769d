"""Callbacks that hand the records of a run to an experiment tracker, `callback=tracking.TensorBoard("logs")` say.

Each takes the package of the tracker, and none is needed for anything else.
"""

import os
from typing import Any

from ._base import require

NUMBERS = ("objective", "seconds", "evaluations")
GROUPS = ("values", "violations", "multipliers")


def numbers(record: dict[str, Any]) -> dict[str, float]:
    """A record of `solve(callback=...)` by flat names: `objective`, `violations/pde`, ….

    !!! example
        `solve(problem, callback=lambda record: print(scl.tracking.numbers(record)))`
    """
    groups = {f"{group}/{name}": value for group in GROUPS for name, value in record[group].items()}
    return {f"{record['by']}/{n}": float(v) for n, v in ({name: record[name] for name in NUMBERS} | groups).items()}


class TensorBoard:
    """Writes event files to a directory, by tensorboardX (extra `log`); `tensorboard --logdir logs` shows them.

    !!! example
        `solve(problem, callback=scl.tracking.TensorBoard("logs"))`
    """

    def __init__(self, directory: str | os.PathLike[str], **options: Any):
        self.writer: Any = require("tracking.TensorBoard", "tensorboardX", "log").SummaryWriter(
            str(directory), **options
        )

    def __call__(self, record: dict[str, Any]) -> None:
        for name, value in numbers(record).items():
            self.writer.add_scalar(name, value, record["step"])
        self.writer.flush()  # so that a run that is killed leaves what it had

    def close(self) -> None:
        self.writer.close()


class WandB:
    """Logs to a run of Weights & Biases (extra `wandb`): `run`, or a new one with the options of `wandb.init`.

    !!! example
        `solve(problem, callback=scl.tracking.WandB(project="heat", mode="offline"))`
    """

    def __init__(self, run: Any = None, **options: Any):
        self.run: Any = require("tracking.WandB", "wandb", "wandb").init(**options) if run is None else run
        # Polynomials and the network after them count steps from one: an axis of its own may go back.
        self.run.define_metric("*", step_metric="step")

    def __call__(self, record: dict[str, Any]) -> None:
        self.run.log({"step": record["step"], **numbers(record)})

    def close(self) -> None:
        self.run.finish()


class MLflow:
    """Logs to the active run of MLflow (extra `mlflow`), or to a new one with the options of `mlflow.start_run`.

    !!! example
        `solve(problem, callback=scl.tracking.MLflow(run_name="heat"))`
    """

    def __init__(self, **options: Any):
        self.mlflow: Any = require("tracking.MLflow", "mlflow", "mlflow")
        self.run: Any = self.mlflow.active_run() or self.mlflow.start_run(**options)

    def __call__(self, record: dict[str, Any]) -> None:
        self.mlflow.log_metrics(numbers(record), step=record["step"], run_id=self.run.info.run_id)

    def close(self) -> None:
        self.mlflow.end_run()
