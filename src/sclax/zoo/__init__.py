"""Each equation once, with its reference solution and the paper's settings as data."""

from ._convection import convection as convection
from ._registry import ENTRIES as ENTRIES
from ._registry import Entry as Entry
from ._registry import build as build
from ._registry import entry as entry
from ._registry import paper_settings as paper_settings
from ._rows import ROWS as ROWS
from ._rows import Row as Row
from ._settings import PaperSettings as PaperSettings

__all__ = ["PaperSettings", "convection", "paper_settings"]
