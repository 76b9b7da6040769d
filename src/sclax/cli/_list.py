"""`sclax list`."""

import os
import sys

from ._saying import console_of


def list_problems() -> None:
    """Lists the problems that `sclax solve` knows."""
    from rich.markup import escape

    from .. import zoo

    console, known = console_of(), {**zoo.ENTRIES, **zoo.OPERATORS}
    # A line each for other programs to read; on a screen, equations break where they fit in no line.
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else sys.maxsize
    column = max(map(len, known)) + 2
    beside = all(column + len(entry.equation) <= width for entry in known.values())
    for name, entry in known.items():
        text = f"{name:<{column}}" if beside else f"{name}\n    "
        equation = "\n    ".join(entry.lines(width - 4))
        console.print(f"[bold]{text}[/bold]{escape(equation)}", highlight=False, soft_wrap=True)
