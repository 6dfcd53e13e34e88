"""`make bench`: one table of the whole product; the same as JSON beside it, to compare runs.

`python -m tests.bench cpu calls` measures these sections alone.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")

from tests.bench.table import as_markdown
from tests.support.stack import ROOT

if TYPE_CHECKING:
    from tests.bench.table import Figure

SECTIONS = ("cold", "cpu", "calls", "embedded", "scale")  # modules of this package, each with `figures()`
OUTPUT = ROOT / "build" / "bench"


def main(names: list[str]) -> None:
    """Measure, show, keep."""
    found: list[Figure] = []
    for name in names or SECTIONS:
        print(f"measuring {name} …", file=sys.stderr)
        found.extend(import_module(f"tests.bench.{name}").figures())
    OUTPUT.parent.mkdir(exist_ok=True)
    run = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "figures": [figure.to_json() for figure in found],
    }
    OUTPUT.with_suffix(".json").write_text(json.dumps(run, indent=1) + "\n")
    OUTPUT.with_suffix(".md").write_text(as_markdown(found) + "\n")
    print(as_markdown(found))


if __name__ == "__main__":
    main(sys.argv[1:])
