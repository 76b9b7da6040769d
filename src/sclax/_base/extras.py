"""Packages that only some of the library needs."""

import importlib.metadata
from types import ModuleType


def require(owner: str, module: str, extra: str) -> ModuleType:
    """An optional package, or an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{owner}: needs `{module}`, which is not installed: pip install 'sclax[{extra}]'."
        ) from error
