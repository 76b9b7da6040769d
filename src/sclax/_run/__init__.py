from .door import solve as solve
