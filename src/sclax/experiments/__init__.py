"""Experiments as values: the paper's tables and figures and a benchmark suite, ours beside the published numbers; and
many solves at once.

    import sclax as scl

    found = scl.experiments.reproduce("table1", scale="small", only=["convection-50"])
    print(found.tables["table1"].text())
"""

import lazy_loader

# As in `sclax/__init__.py`: the stub lists the names, and the first use of one imports it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
