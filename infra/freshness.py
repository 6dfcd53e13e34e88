"""Is the synthesized template current? Answered without importing the CDK, which alone takes seconds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
OUTDIR = ROOT / "cdk.out"
FILES = ("app.py", "cdk.json", "pyproject.toml", "uv.lock")
FOLDERS = ("infra", "functions", "layers/core/python", "client/unsay")


def configured_context() -> dict[str, Any]:
    """The context of `cdk.json`: the command line passes it on, a bare `python app.py` has to read it."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context


def inputs_digest() -> str:
    """One hash over every file the template is made from, names included."""
    digest = hashlib.sha256()
    for path in _inputs():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()


def is_fresh(outdir: Path = OUTDIR, stage: str = "dev") -> bool:
    """True when `outdir` holds the stack of that stage, made from the files as they are now."""
    stack = f"unsay-{stage}"
    whole = (outdir / f"{stack}.template.json").is_file() and _names_stack(outdir / "manifest.json", stack)
    stamp_file = _stamp_file(outdir, stage)
    return whole and stamp_file.is_file() and stamp_file.read_text() == inputs_digest()


def stamp(outdir: str, stage: str, inputs: str) -> None:
    """Record what a finished synthesis was made from; `inputs` is the digest taken before it began."""
    _stamp_file(Path(outdir), stage).write_text(inputs)


def _stamp_file(outdir: Path, stage: str) -> Path:
    return outdir / f"unsay-{stage}.inputs.sha256"


def _names_stack(manifest: Path, stack: str) -> bool:
    return manifest.is_file() and stack in json.loads(manifest.read_text())["artifacts"]


def _inputs() -> Iterator[Path]:
    yield from (ROOT / name for name in FILES)
    for folder in FOLDERS:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if _counts(path))


def _counts(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts
