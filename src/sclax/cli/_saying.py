"""What the command says: where, and how it refuses."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


def console_of(stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr)


def fail(message: str) -> typer.Exit:
    from rich.markup import escape

    console_of(stderr=True).print(f"[red]sclax:[/red] {escape(message)}", highlight=False)
    return typer.Exit(2)


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Says what went wrong with what was asked for, of several runs of each, in place of a traceback."""
    try:
        yield
    except (ValueError, TypeError, ImportError, OSError) as error:
        raise fail(str(error)) from None
    except ExceptionGroup as error:
        raise fail("\n".join([str(error), *(str(part) for part in error.exceptions)])) from None


def tell(tables: Iterable[str], folder: "Path", files: str) -> None:
    """Shows tables, and where everything was written."""
    console = console_of()
    for table in tables:
        console.print(table, highlight=False, markup=False, soft_wrap=True)
    console.print(f"written to {folder}: {files}", highlight=False, markup=False, soft_wrap=True)
