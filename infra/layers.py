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

# What Lambda's arm64 Python runs, whatever machine builds it.
PLATFORM = ["--python-platform", "aarch64-manylinux2014", "--python-version", "3.13"]
LOCKED_WHEELS = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile-bytecode"]
RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64
BUILD = ROOT / "build" / "layers"
BYTECODE = ["**/__pycache__/", "**/*.pyc"]
FUNCTIONS_ONLY = [
    "/*",
    "!/functions/",
    "/functions/**",
    "!/functions/**/",
    "!/functions/**/*.py",
    "__pycache__/",
]


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
        exclude=FUNCTIONS_ONLY,
    )


def deps_code() -> lambda_.Code:
    """The locked `layer` group for Lambda's own platform, rebuilt only when the lock changes it."""
    requirements = _locked_requirements()
    recipe = " ".join(PLATFORM + LOCKED_WHEELS)
    digest = hashlib.sha256(f"{recipe}\n{requirements}".encode()).hexdigest()
    folder = BUILD / f"deps-{digest[:16]}"
    if not folder.is_dir():
        install(requirements, folder)
    return lambda_.Code.from_asset(str(folder), asset_hash=digest)


def install(requirements: str, folder: Path) -> None:
    """Build beside the final folder and rename: an interrupted build leaves nothing that looks whole.

    Raises `RuntimeError` with uv's own words when a requirement cannot be installed for that platform.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
        target = Path(scratch, "layer", "python")
        into_target = ["pip", "install", "-r", "-", "--target", str(target)]
        _uv(*into_target, *PLATFORM, *LOCKED_WHEELS, stdin=requirements)
        # Console scripts name this machine's interpreter, and no λ runs them.
        shutil.rmtree(target / "bin", ignore_errors=True)
        (target / ".lock").unlink(missing_ok=True)
        # Two builds may race: whoever comes second finds the same content in place.
        if not folder.is_dir():
            target.parent.rename(folder)


def _locked_requirements() -> str:
    plain = ["--no-emit-project", "--no-header", "--no-annotate"]
    return _uv("export", "--frozen", "--only-group", "layer", *plain)


def _uv(*arguments: str, stdin: str = "") -> str:
    # The CDK command line sets FORCE_COLOR=0, which uv takes as "colour on".
    command = [sys.executable, "-m", "uv", *arguments, "--quiet", "--color", "never"]
    done = subprocess.run(command, input=stdin, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"uv {arguments[0]} failed:\n{done.stderr}")
    return done.stdout
