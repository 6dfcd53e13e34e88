"""Tries every break of `tests/breaks.toml`: the code is broken in a copy, and the promise's test has to fail.

    make breaks                       # all of them
    make breaks ONLY='a cut tail'     # those whose promise has these words

A test that cannot fail proves nothing; `tests/README.md` says of each promise which test holds it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("layers/core", "functions", "client", "local", "infra", "tests", "docs", "tools", "examples")
CORE = "layers/core/python/unsay_core"
BESIDE = ("pyproject.toml", "README.md", "app.py", "cdk.json", "Makefile")
FAILED = 1  # pytest's exit code when tests ran and one failed; a broken import is another
_ROW = re.compile(r"^\| (?P<promise>[^|]+?) \| (?P<tests>[^|]+?) \| (?P<words>[^|]+?) \|$", re.M)


@dataclass(frozen=True)
class Break:
    """One way to break a promise: a text of one file, and what stands there instead."""

    promise: str
    tests: tuple[str, ...]
    file: str
    old: str
    new: str

    def applies_to(self, root: Path) -> bool:
        """True if there is exactly one place for it."""
        return (root / self.file).read_text().count(self.old) == 1

    def turned(self, root: Path) -> bool:
        """Whether the tests fail while the code of a copy is broken."""
        broken = root / self.file
        whole = broken.read_text()
        broken.write_text(whole.replace(self.old, self.new))
        try:
            return _run(root, self.tests) == FAILED
        finally:
            broken.write_text(whole)


def promises() -> dict[str, str]:
    """Every promise of `tests/README.md`, and the words for its break."""
    return {row["promise"]: row["words"] for row in _ROW.finditer((ROOT / "tests/README.md").read_text())}


def breaks() -> Iterator[Break]:
    """Every break that is written down."""
    written = tomllib.loads((ROOT / "tests/breaks.toml").read_text())
    for promise, ways in written.items():
        for way in ways:
            tests = tuple(f"tests/{test}" for test in way["tests"])
            file = way["file"] if (ROOT / way["file"]).exists() else f"{CORE}/{way['file']}"
            yield Break(promise, tests, file, way["old"], way["new"])


def main() -> int:
    """Try them side by side, each on a copy of its own; returns how many were not seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="words of the promise")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    wanted = [found for found in breaks() if asked.only in found.promise]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.jobs):
            copies.put(_copy(Path(folder) / str(number)))
        seen = sum(pool.map(lambda way: _tried(way, copies), wanted))
    print(f"{seen} of {len(wanted)} breaks turned their test red")
    return len(wanted) - seen


def _tried(way: Break, copies: SimpleQueue[Path]) -> bool:
    """Try a break on a free copy, and say how it went."""
    copy = copies.get()
    try:
        seen = way.applies_to(copy) and way.turned(copy)
    finally:
        copies.put(copy)
    print("red  " if seen else "GREEN", way.promise, "" if seen else " ".join(way.tests), flush=True)
    return seen


def _copy(target: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in BESIDE:
        shutil.copy(ROOT / name, target / name)
    return target


def _run(root: Path, tests: tuple[str, ...]) -> int:
    path = os.pathsep.join(map(str, (root, root / "layers/core/python", root / "client")))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not stack and not deploy", *tests],
        cwd=root,
        env=environment,
        capture_output=True,
        check=False,
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(min(main(), 1))
