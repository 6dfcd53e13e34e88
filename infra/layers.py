"""The code the λs run: one functions asset and two layers, built on any machine without Docker."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aws_cdk import IgnoreMode
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.freshness import ROOT

PLATFORM = "aarch64-manylinux2014"
PYTHON = "3.13"
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64
BUILD = ROOT / "build" / "layers"
BYTECODE = ["**/__pycache__/", "**/*.pyc"]


class Layers(Construct):
    """Our code and third-party code, apart so that each is uploaded only when it changes."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.core = self._layer(
            "Core",
            "unsay_core",
            lambda_.Code.from_asset(
                str(ROOT / "layers" / "core"), exclude=BYTECODE, ignore_mode=IgnoreMode.GIT
            ),
        )
        self.deps = self._layer("Deps", "third-party code, from uv.lock", deps_code())

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
    return lambda_.Code.from_asset(
        str(ROOT),
        ignore_mode=IgnoreMode.GIT,
        exclude=["/*", "!/functions/", "/functions/**", "!/functions/**/", "!/functions/**/*.py", "__pycache__/"],
    )


def deps_code() -> lambda_.Code:
    """The locked `layer` group for Lambda's own platform, rebuilt only when the lock changes it."""
    requirements = _locked_requirements()
    digest = hashlib.sha256(f"{PLATFORM}\n{PYTHON}\n{requirements}".encode()).hexdigest()
    folder = BUILD / f"deps-{digest[:16]}"
    if not folder.is_dir():
        _install(requirements, folder)
    return lambda_.Code.from_asset(str(folder), asset_hash=digest)


def _locked_requirements() -> str:
    export = ["export", "--frozen", "--only-group", "layer", "--no-emit-project", "--no-header", "--no-annotate"]
    return _uv(*export)


def _install(requirements: str, folder: Path) -> None:
    """Build beside the final folder and rename: an interrupted build leaves nothing that looks whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
        target = Path(scratch, "layer", "python")
        flags = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile-bytecode"]
        platform = ["--python-platform", PLATFORM, "--python-version", PYTHON]
        _uv("pip", "install", "-r", "-", "--target", str(target), *flags, *platform, stdin=requirements)
        # Console scripts name this machine's interpreter, and no λ runs them.
        shutil.rmtree(target / "bin", ignore_errors=True)
        target.parent.rename(folder)


def _uv(*arguments: str, stdin: str = "") -> str:
    # The CDK command line sets FORCE_COLOR=0, which uv takes as "colour on".
    command = [sys.executable, "-m", "uv", *arguments, "--quiet", "--color", "never"]
    done = subprocess.run(command, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"uv {arguments[0]} failed:\n{done.stderr}")
    return done.stdout
