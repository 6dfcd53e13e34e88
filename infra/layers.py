"""The code the λs run: one functions asset and its layers, built on any machine without Docker."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bytecode import compiler
from infra.freshness import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.bytecode import Compiler

# What Lambda's arm64 Python runs, whatever machine builds it.
VERSION = "3.13"
PLATFORM = ["--python-platform", "aarch64-manylinux2014", "--python-version", VERSION]
LOCKED_WHEELS = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile-bytecode"]
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64
BUILD = ROOT / "build" / "layers"
CORE = ROOT / "layers" / "core" / "python" / "unsay_core"
CLIENT = ROOT / "client" / "unsay"
HANDLERS = ROOT / "functions"
# Beside third-party code in its layer: what it was made of, for whoever builds it for another machine.
REQUIREMENTS = "requirements.txt"
LAYER_AT, FUNCTION_AT = "/opt", "/var/task"  # where a λ has them


class Layers(Construct):
    """Our code and third-party code, apart so that each is uploaded only when it changes."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        if _compiler() is None:
            Annotations.of(self).add_info(
                f"There is no Python {VERSION} here: the layers hold no bytecode, and cold starts are slower."
            )
        self.core = self._layer("Core", "unsay_core", own_code("core", CORE, "python/unsay_core", LAYER_AT))
        self.deps = self._layer("Deps", "third-party code, from uv.lock", third_party("deps", _shared()))
        self.client = self._layer(
            "Client",
            "the client, with the tools of MCP",
            own_code("client", CLIENT, "python/unsay", LAYER_AT),
        )
        self.mcp = self._layer("Mcp", "third-party code for MCP, from uv.lock", third_party("mcp", _mcp()))

    def _layer(self, construct_id: str, description: str, code: lambda_.Code) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            description=f"unsay: {description}",
            code=code,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
        )


def functions_code() -> lambda_.Code:
    """Every handler as one asset: the zip holds `functions/**.py`, so a handler string is its import path."""
    return own_code("functions", HANDLERS, "functions", FUNCTION_AT)


def third_party(name: str, requirements: str) -> lambda_.Code:
    """Locked wheels for Lambda's own platform, rebuilt only when the lock changes them."""
    recipe = " ".join([*PLATFORM, *LOCKED_WHEELS, REQUIREMENTS, _bytecode()])
    digest = hashlib.sha256(f"{recipe}\n{requirements}".encode()).hexdigest()
    folder = BUILD / f"{name}-{digest[:16]}"
    if not folder.is_dir():
        install(requirements, folder)
    return lambda_.Code.from_asset(str(folder), asset_hash=digest)


def own_code(name: str, package: Path, place: str, runs_at: str) -> lambda_.Code:
    """A package of ours at its place in an asset, with bytecode where this machine can make it."""
    sources = sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    digest = hashlib.sha256(_bytecode().encode())
    for path in sources:
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    folder = BUILD / f"{name}-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        for older in BUILD.glob(f"{name}-*"):
            shutil.rmtree(older, ignore_errors=True)
        with _building(folder, runs_at) as asset:
            for path in sources:
                copy = asset / place / path.relative_to(package)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    return lambda_.Code.from_asset(str(folder))


def install(requirements: str, folder: Path) -> None:
    """Install what is locked, for Lambda's own platform.

    Raises `RuntimeError` with uv's own words when a requirement cannot be installed for that platform.
    """
    with _building(folder, LAYER_AT) as layer:
        target = layer / "python"
        into_target = ["pip", "install", "-r", "-", "--target", str(target)]
        _uv(*into_target, *PLATFORM, *LOCKED_WHEELS, stdin=requirements)
        # Console scripts name this machine's interpreter, and no λ runs them.
        shutil.rmtree(target / "bin", ignore_errors=True)
        (target / ".lock").unlink(missing_ok=True)
        (layer / REQUIREMENTS).write_text(requirements)


@contextmanager
def _building(folder: Path, runs_at: str) -> Iterator[Path]:
    """Build beside the final folder and rename: an interrupted build leaves nothing that looks whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
        layer = Path(scratch, "layer")
        yield layer
        if found := _compiler():
            found.compile(layer, runs_at)
        # Two builds may race: whoever comes second finds the same content in place.
        if not folder.is_dir():
            layer.rename(folder)


def _compiler() -> Compiler | None:
    return compiler(VERSION)


def _bytecode() -> str:
    """What an asset's bytecode depends on beside its sources."""
    found = _compiler()
    return f"bytecode of {found.version}" if found else "no bytecode"


def _shared() -> str:
    return _locked("layer")


def _mcp() -> str:
    """What MCP needs, less what is in the layer that every λ has."""
    names = [line.partition("==")[0] for line in _locked("layer", "--no-hashes").splitlines()]
    return _locked("layer-mcp", *chain.from_iterable(("--prune", name) for name in names))


def _locked(group: str, *options: str) -> str:
    plain = ["--no-emit-project", "--no-header", "--no-annotate"]
    return _uv("export", "--frozen", "--only-group", group, *plain, *options)


def _uv(*arguments: str, stdin: str = "") -> str:
    # The CDK command line sets FORCE_COLOR=0, which uv takes as "colour on".
    command = [sys.executable, "-m", "uv", *arguments, "--quiet", "--color", "never"]
    done = subprocess.run(command, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"uv {arguments[0]} failed:\n{done.stderr}")
    return done.stdout
