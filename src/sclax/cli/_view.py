"""`sclax view`."""

from pathlib import Path
from typing import Annotated

import typer

from ._saying import console_of, fail


def view_run(
    directory: Annotated[Path, typer.Argument(help="A run directory that `sclax solve` wrote.", metavar="DIR")],
    port: Annotated[int, typer.Option(help="Of the page on this machine; 0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Shows a run as a page on this machine, with a slider for each parameter of a family. Ctrl-C ends it."""
    from .. import zoo
    from .._base import keep_compiled
    from .._result import server

    try:
        file = directory / "solution.scl" if directory.is_dir() else directory
        keep_compiled()
        page = server(zoo.load(file), port)
    except (ValueError, ImportError, OSError) as error:
        raise fail(str(error)) from None
    console = console_of()
    console.print(f"http://127.0.0.1:{page.server_port}/ shows {file}; Ctrl-C ends it", highlight=False, markup=False)
    try:
        page.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        page.server_close()
