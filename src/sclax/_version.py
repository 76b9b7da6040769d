"""The version of what is installed, in a file of its own since looking it up takes time."""

import importlib.metadata

__version__ = importlib.metadata.version("sclax")
