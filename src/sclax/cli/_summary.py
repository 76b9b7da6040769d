"""What a run has found, on the screen."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from .._result import AbstractSolution, Report


def summary(
    console: "Console", best: "AbstractSolution", checked: "Report", records: list[dict[str, Any]], directory: Path
) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, collapse_padding=True)  # which fits into 80 columns
    for column in ("seed", "relative L2", "objective", "constraint", "violation", "multiplier", "max |r|", "seconds"):
        table.add_column(column, justify="left" if column == "constraint" else "right")
    show = lambda value: "–" if value is None else f"{value:.3g}"
    for r in records:
        for i, constraint in enumerate(best.problem.constraints or ("–",)):
            first = (str(r["seed"]), show(r["relative_l2"]), show(r["objective"])) if i == 0 else ("", "", "")
            price = r["multipliers"].get(constraint)
            price = max(price, default=None) if isinstance(price, list) else price
            table.add_row(
                *first,
                constraint,
                show(r["violations"].get(constraint)),
                show(price),
                show(r["sup_residual"].get(constraint)),
                f"{r['seconds']:.1f}" if i == 0 else "",
            )
    console.print(table)
    for r in records:
        if "relative_l2_worst" in r:
            where = ", ".join(f"{name} = {value:.4g}" for name, value in r["worst_parameters"].items())
            console.print(
                f"seed {r['seed']}, over the family: median {show(r['relative_l2_median'])}, "
                f"worst {show(r['relative_l2_worst'])} at {where}",
                highlight=False,
            )
        if "train_errors" in r:
            parts = [f"{part} {show(r[f'{part}_errors']['mean'])}" for part in ("train", "validation", "test")]
            parts += [f"last state {show(r['relative_l2_last'])}"]
            parts += [f"{k.replace('_', ' ')} {show(r[k])}" for k in ("nearest_neighbour", "interpolation") if k in r]
            console.print(f"seed {r['seed']}, mean errors: {', '.join(parts)}", highlight=False)
    console.print(best.result.value, highlight=False, style="dim")
    console.print(checked.verdict.words, highlight=False, markup=False, style="bold")
    console.print(
        f"written to {directory}: report.html, solution.scl, record.json, history.npz, and figures",
        highlight=False,
        markup=False,
    )
