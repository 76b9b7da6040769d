"""What a notebook shows, by executing one."""

import re

import pytest

CELLS = (
    """
import sclax as scl

problem = scl.Problem(
    domain=scl.Box(x=(-1, 1), y=(-1, 1)) - scl.Disk(x=0, y=0, radius=0.5, name="hole"),
    parameters={"kappa": 2.0},
    objective=scl.average(scl.Dirichlet(0.0)),
    constraints={"pde": scl.worst_case(lambda u_xx, u_yy, kappa: kappa * (u_xx + u_yy) + 1) <= 1e-3},
)
problem
""",
    """
import optax

method = scl.PrimalDual(primal=optax.adam(1e-3), dual=scl.DualAscent(1e-3))
solution = scl.solve(problem, lambda *a, key: scl.nn.MLP(*a, width=4, depth=1, key=key), method, steps=30)
solution
""",
    "scl.solve(scl.zoo.convection(beta=1), steps=None, seconds=30).check(points=1000)",
)


def plain(html):
    return re.sub(r"<[^>]*>", "", html)


@pytest.mark.filterwarnings("ignore")  # of the kernel's own
def test_a_notebook_shows_problem_progress_solution_and_report(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    problem, run, report = ([o for o in cell.outputs if "data" in o] for cell in notebook.cells)
    (shown,) = problem
    assert "κ" in plain(shown["data"]["text/html"])
    assert "<math" in shown["data"]["text/html"]
    assert shown["data"]["text/html"].count("M") >= 2  # the outline and the hole
    assert "<svg" in shown["data"]["text/html"]
    bar, solution = run
    assert "<progress" in bar["data"]["text/html"]
    assert "step 30" in plain(bar["data"]["text/html"])  # the last that it said stays
    assert "data:image/png" in solution["data"]["text/html"]
    assert "steps_done after 30 steps" in plain(solution["data"]["text/html"])
    bar, table = report
    assert "polynomials" in plain(bar["data"]["text/html"])
    assert "This is a solution" in plain(table["data"]["text/html"])
    assert table["data"]["text/html"].count("<tr>") == 4  # a head and three laws
    # Nothing went past the bar to the screen.
    assert not [o for cell in notebook.cells for o in cell.outputs if o.get("name") == "stderr"]
