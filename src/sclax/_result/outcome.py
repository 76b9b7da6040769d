"""How training ended."""

import enum


class RESULTS(enum.Enum):
    """How training ended; `.name` is short, `.value` a sentence.

    !!! example
        `solution.result is scl.RESULTS.converged`; `solution.result.name`
    """

    converged = "Every constraint held, and the objective was flat, or far below what the tolerances ask for."
    settled = "No further progress on a spare draw; the solution is the best state."
    steps_done = "All steps were made."
    time_up = "The time was up."
    interrupted = "It was interrupted; the solution is what was learned so far."
    nonfinite = (
        "A loss became NaN or infinite; the solution is the last good state. Lower the learning rate, "
        "or look for a division by zero in the residual."
    )

    def __str__(self) -> str:
        return self.value
