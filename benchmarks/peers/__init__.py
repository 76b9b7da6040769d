"""Packages that users would pick instead, on the same machine in the same run; see `__main__`."""
