"""What the command says: where, and how it refuses."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


def console_of(stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr)


def fail(message: str) -> typer.Exit:
    from rich.markup import escape

    console_of(stderr=True).print(f"[red]sclax:[/red] {escape(message)}", highlight=False)
    return typer.Exit(2)
