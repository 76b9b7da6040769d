"""The command: parses arguments and calls the library.

Whatever imports JAX is imported where it is used, so that `sclax --help` and `sclax list` answer at once.
"""

import typer

from ._compare import compare_methods
from ._data import app as data_app
from ._list import list_problems
from ._new import new_problem
from ._report import report_runs
from ._reproduce import reproduce_tables
from ._solve import solve_problem
from ._sweep import sweep_problem
from ._view import view_run

app = typer.Typer(
    help="Solves differential equations by science-constrained learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(list_problems)
app.command("solve")(solve_problem)
app.command("report")(report_runs)
app.command("view")(view_run)
app.command("compare")(compare_methods)
app.command("sweep")(sweep_problem)
app.command("reproduce")(reproduce_tables)
app.command("new")(new_problem)
app.add_typer(data_app, name="data")
