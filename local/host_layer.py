"""The layers of third-party code for this machine: the same pins, with the wheels of the running Python.

Those in `cdk.out` hold wheels for Lambda's arm64, which do not load here.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from local.archive import zipped

ROOT = Path(__file__).resolve().parents[1]
_BUILD = ROOT / "build" / "host"
_RECIPE = 2
_REQUIREMENTS = "requirements.txt"  # in a layer of third-party code, beside the code: what it was made of


class LayerError(RuntimeError):
    """uv could not build the layer; the message is what it said."""


def host_tag() -> str:
    """What a native wheel depends on: the Python and the platform of this machine."""
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"


def is_third_party(source: Path) -> bool:
    """Whether an asset folder is a layer of installed distributions, and not our own code."""
    return (source / _REQUIREMENTS).is_file()


def host_layer(source: Path) -> bytes:
    """A layer's zip, built when its pins, the Python or this recipe has changed since the last build."""
    requirements = (source / _REQUIREMENTS).read_text()
    pins = hashlib.sha256(requirements.encode()).hexdigest()[:16]
    archive = _BUILD / f"deps-{pins}-{host_tag()}-{_RECIPE}.zip"
    if not archive.exists():
        _build(requirements, archive)
    return archive.read_bytes()


def _build(requirements: str, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        target = Path(scratch, "layer", "python")
        _uv(
            *("pip", "install", "-r", "-", "--no-deps", "--require-hashes", "--only-binary", ":all:"),
            *("--python", sys.executable, "--target", str(target)),
            stdin=requirements,
        )
        _compile(target)
        finished = Path(scratch, "layer.zip")
        finished.write_bytes(zipped(target.parent))
        finished.rename(archive)


def _compile(target: Path) -> None:
    """Compile once here instead of at the first cold start of every new state: two seconds of it.

    Unchecked: a zip keeps no times to check by, and nobody edits a layer.
    """
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(target)]
    subprocess.run(command, capture_output=True, check=False)  # what does not compile is never imported


def _uv(*arguments: str, stdin: str = "") -> str:
    command = [sys.executable, "-m", "uv", *arguments, "--quiet", "--color", "never"]
    done = subprocess.run(command, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerError(f"uv {arguments[0]} failed:\n{done.stderr}")
    return done.stdout
