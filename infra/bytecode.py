"""Bytecode for what the λs import: without it each of their processes compiles it first.

It is made by a Python of the runtime's own minor version, which bytecode is good for and no other. A machine
that has none deploys the same code without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHICH = "import sys; print(sys.implementation.name, *sys.version_info[:4])"


@dataclass(frozen=True)
class Compiler:
    """An interpreter that makes bytecode; `version` with its patch level."""

    path: str
    version: str

    def compile(self, folder: Path, runs_at: str) -> None:
        """Compile every module below a folder that λs will have at `runs_at`: the same bytes each time.

        Unchecked: an archive keeps no times to check by, and nobody edits a layer. What does not compile is
        never imported. Traces name `runs_at`, and no path of this machine.
        """
        options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", runs_at]
        command = [self.path, "-m", "compileall", *options, str(folder)]
        # Sets of constants are written in the order of their hashes.
        subprocess.run(command, env={"PYTHONHASHSEED": "0"}, capture_output=True, check=False)  # noqa: S603


@cache
def compiler(version: str) -> Compiler | None:
    """The first Python of a minor version (`3.13`) that this machine has, or None."""
    found = map(_looked_at, _candidates(version))
    return next((each for each in found if each and each.version.startswith(f"{version}.")), None)


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    yield shutil.which(f"python{version}") or ""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))
    yield _managed_by_uv(version)


def _managed_by_uv(version: str) -> str:
    wanted = ["python", "find", "--managed-python", "--no-python-downloads", version]
    return _said([sys.executable, "-m", "uv", *wanted])


def _looked_at(path: str) -> Compiler | None:
    """None for what is not there, is a stand-in that runs nothing, or is no final release of CPython."""
    match _said([path, "-c", _WHICH]).split() if path else []:
        case ["cpython", *numbers, "final"]:
            return Compiler(path, ".".join(numbers))
    return None


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
