"""Each equation once, with its reference solution and the paper's settings as data."""

import lazy_loader

# As in `sclax/__init__.py`: the stub lists the names, and the first use of one imports it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
