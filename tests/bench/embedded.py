"""A store of one's own: what a program waits for before its first call."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from tests.bench.table import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION = "A store of one's own"
RUNS = 7
_PROGRAM = """
import time
began = time.process_time()
import unsay
imported = time.process_time()
with unsay.connect({url!r}) as memory:
    opened = time.process_time()
with unsay.connect({url!r}) as memory:
    print(imported - began, opened - imported)
"""


def figures() -> Iterator[Figure]:
    """Processor time of a fresh process: the package, and the first opening with all that it imports."""
    with tempfile.TemporaryDirectory() as folder:
        program = _PROGRAM.format(url=f"sqlite:///{folder}/memory.db")
        runs = [_run(program) for _ in range(RUNS)]
    yield Figure(SECTION, "import unsay", 1_000 * min(imported for imported, _ in runs), "ms", 150)
    yield Figure(
        SECTION, "opening a file, the first time", 1_000 * min(opened for _, opened in runs), "ms", 300
    )


def _run(program: str) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported, opened = map(float, done.stdout.split())
    return imported, opened
