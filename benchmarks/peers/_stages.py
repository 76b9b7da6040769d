"""Training seconds, and the error at shares of them; what measuring takes is left out."""

import time

SHARES = (1 / 8, 1 / 4, 1 / 2, 1.0)


class Stages:
    """A curve of errors. `error` is of what a package found: a function of points, or of nothing for parameters.

    A package that runs one step after another calls `tick` after each, by the clock on the wall. One that compiles, and
    tells training from compilation itself, calls `passed` with its own seconds.
    """

    def __init__(self, seconds, error):
        self.seconds, self.curve, self.trained = seconds, [], 0.0
        self.wall = None  # of the run whose error is the last, where others came before it
        self.limits = [share * seconds for share in SHARES]
        self._error, self._reached, self._since = error, 0, None

    @property
    def running(self):
        return self._since is not None

    def start(self):
        self._since = time.perf_counter()

    def stop(self):
        self.trained += time.perf_counter() - self._since
        self._since = None

    def tick(self, steps, found):
        """Whether the time is over, after that many steps."""
        self.stop()
        self.passed(self.trained, steps, found)
        self.start()
        return self.trained >= self.seconds

    def passed(self, seconds, steps, found, ended=False):
        """Measures where a share of the seconds has passed since the last time, or training came to its own end."""
        self.trained = seconds
        reached = sum(limit <= seconds for limit in self.limits)
        if reached > self._reached or (ended and not (self.curve and self.curve[-1]["steps"] == steps)):
            self.curve.append({"seconds": seconds, "steps": steps, "error": self._error(found)})
        self._reached = reached
