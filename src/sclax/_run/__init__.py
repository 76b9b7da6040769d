"""`solve`: compiled chunks in a plain host loop, driven by a controller that returns actions as values."""

from .controller import AbstractController as AbstractController
from .controller import Clock as Clock
from .controller import Go as Go
from .controller import Restart as Restart
from .controller import Stop as Stop
from .door import asked_for as asked_for
from .door import solve as solve
from .run import Run as Run
from .run import Task as Task
from .stage import Stage as Stage
