"""The table of packages and problems, lines of code, and the one record, which grows run by run."""

import ast
import io
import tokenize
from pathlib import Path

HERE = Path(__file__).parent
PEERS = {"deepxde": "DeepXDE", "jinns": "jinns", "pina": "PINA", "sclax": "sclax"}
PROBLEMS = {
    "burgers": "Burgers, ν = 0.01/π, from −sin πx",
    "convection": "convection, β = 30",
    "helmholtz": "Helmholtz (2, 3)",
    "l_shape": "Poisson, L-shape, f = 1",
    "lorenz": "Lorenz, three parameters from 25 noisy times",
}
REASONS = {}  # by problem and package: why it cannot be stated there, in words; such a pair has no file
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def statement(peer, problem):
    """The file that states a problem in a package."""
    return HERE / f"{peer}_{problem}.py"


def lines(text):
    """How many lines of a source have code on them: no blanks, no comments, no docstrings."""
    held = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            held.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(held)


def about(peer, problem):
    """What is known of a pair before it runs."""
    text = statement(peer, problem).read_text()
    return {"settings": " ".join(ast.get_docstring(ast.parse(text)).split()), "lines": lines(text)}


def joined(stored, problem, peer, entry):
    """The stored record with one pair more, or another one in its place; all others as they were."""
    runs = {name: dict(found) for name, found in (stored or {}).get("runs", {}).items()}
    runs.setdefault(problem, {})[peer] = {"problem": PROBLEMS[problem], "package": PEERS[peer], **entry}
    ordered = {name: {p: runs[name][p] for p in PEERS if p in runs[name]} for name in PROBLEMS if name in runs}
    return {**(stored or {}), "runs": ordered}


def summary(peer, problem, seconds, runs):
    """The entry of a pair: all of its seeds. The error is the mean; None where one has none, as by NaN."""
    errors = [run["error"] for run in runs]
    known = None not in errors
    return {
        **about(peer, problem),
        "budget": seconds,
        "error": sum(errors) / len(errors) if known else None,
        "error_max": max(errors) if known else None,
        "seconds": max(run["seconds"] for run in runs),
        "versions": runs[0]["versions"],
        "per_seed": [{key: value for key, value in run.items() if key != "versions"} for run in runs],
    }


def rows(record):
    """Texts of the table: problem, package, error, seconds, steps, lines; and what dashes mean."""
    found, dashes = [], []
    for entries in record["runs"].values():
        for entry in entries.values():
            if "reason" in entry:
                cells = ["–"] * 4
                dashes.append(f"{entry['package']}, {entry['problem']}: {entry['reason']}")
            else:
                steps = round(sum(run["steps"] for run in entry["per_seed"]) / len(entry["per_seed"]))
                error = "NaN" if entry["error"] is None else f"{entry['error']:.1e}"
                cells = [error, f"{entry['seconds']:.3g}", str(steps), str(entry["lines"])]
            found.append([entry["problem"], entry["package"], *cells])
    return found, dashes
