"""Records of runs, committed under results/."""

import json
from pathlib import Path

from sclax.cli import versions as versions

RESULTS = Path(__file__).parent.parent / "results"


def write(name, record):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path
