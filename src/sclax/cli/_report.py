"""`sclax report`."""

from pathlib import Path
from typing import Annotated

import typer

from ._saying import console_of, fail


def report_runs(
    directories: Annotated[
        list[Path], typer.Argument(help="Run directories that `sclax solve` wrote.", metavar="DIR...")
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("comparison.html"),
) -> None:
    """Puts several runs side by side in one page, which needs no other file."""
    from .._result import side_by_side, write_page

    try:
        written = write_page(out, side_by_side(directories))
    except (ValueError, OSError) as error:
        raise fail(str(error)) from None
    console_of().print(f"written to {written}", highlight=False, markup=False)
