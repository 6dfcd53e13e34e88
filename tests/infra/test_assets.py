"""What is uploaded: only what runs, built for Lambda, and the same bytes every time."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from infra import freshness
from infra.bytecode import Compiler, compiler
from infra.layers import CORE, VERSION, install
from tests.infra.conftest import assert_same_bytes

AARCH64 = 183  # e_machine of an ELF header


RUNTIME_TAG = "cpython-313"  # of the bytecode that the λs' Python takes


def files(folder):
    """What an asset holds, without bytecode."""
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if path.suffix != ".pyc"}


def bytecode(folder):
    return {path.relative_to(folder) for path in folder.rglob("*.pyc")}


def test_the_functions_zip_holds_the_python_of_functions_and_nothing_else(dev):
    held = files(dev.asset("Functions/Api/Function/Code"))
    sources = {
        path.relative_to(freshness.ROOT)
        for path in (freshness.ROOT / "functions").rglob("*.py")
        if "__pycache__" not in path.parts
    }
    assert held == sources
    assert Path("functions/__init__.py") in held


@pytest.mark.parametrize("name", ["api", "mcp", "authorizer", "project", "index"])
def test_every_handler_is_in_the_zip(dev, name):
    assert (dev.asset("Functions/Api/Function/Code") / "functions" / name / "handler.py").is_file()


def test_the_core_layer_holds_our_package(dev):
    held = files(dev.asset("Functions/Layers/Core/Code"))
    assert Path("python/unsay_core/settings.py") in held
    assert {path.parts[:2] for path in held} == {("python", "unsay_core")}


def test_the_client_layer_holds_the_client(dev):
    held = files(dev.asset("Functions/Layers/Client/Code"))
    assert Path("python/unsay/mcp/server.py") in held
    assert {path.parts[:2] for path in held} == {("python", "unsay")}


@pytest.mark.parametrize(
    "asset", ["Api/Function/Code", *(f"Layers/{name}/Code" for name in ("Core", "Deps", "Client", "Mcp"))]
)
def test_whatever_is_imported_is_compiled_for_the_runtime_where_this_machine_can(dev, asset):
    """Or nothing of it is, and the synthesis says so."""
    folder = dev.asset(f"Functions/{asset}")
    said = "".join(path.read_text() for path in dev.folder.glob("*.json"))
    if compiler(VERSION) is None:
        assert bytecode(folder) == set()
        assert "the layers hold no bytecode" in said
        return
    compiled = {path.parent.parent / f"{path.name.partition('.')[0]}.py" for path in bytecode(folder)}
    modules = {path for path in files(folder) if path.suffix == ".py"}
    assert compiled <= modules
    assert len(compiled) > 0.99 * len(modules), "all but what does not compile"
    assert {path.suffixes[0] for path in bytecode(folder)} == {f".{RUNTIME_TAG}"}
    assert "the layers hold no bytecode" not in said


def test_bytecode_is_the_same_each_time_and_names_where_it_runs(tmp_path):
    made = Compiler(sys.executable, platform.python_version())
    for name in ("one", "other"):
        shutil.copytree(CORE, tmp_path / name / "core", ignore=shutil.ignore_patterns("__pycache__"))
        made.compile(tmp_path / name, "/opt")
    one, other = tmp_path / "one", tmp_path / "other"
    assert len(bytecode(one)) > 100
    assert bytecode(one) == bytecode(other)
    assert [path for path in bytecode(one) if (one / path).read_bytes() != (other / path).read_bytes()] == []
    code = (one / min(bytecode(one))).read_bytes()
    assert b"/opt/core" in code
    assert str(tmp_path).encode() not in code


def test_a_stand_in_that_runs_nothing_and_another_minor_version_make_no_bytecode(tmp_path, monkeypatch):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert compiler("3.99") is None
    mine = ".".join(platform.python_version_tuple()[:2])
    assert compiler(mine) == Compiler(sys.executable, platform.python_version())


@pytest.mark.parametrize(("name", "package"), [("Deps", "boto3"), ("Mcp", "mcp")])
def test_a_layer_of_third_party_code_is_built_for_lambdas_processor(dev, name, package):
    layer = dev.asset(f"Functions/Layers/{name}/Code")
    libraries = list(layer.rglob("*.so"))
    assert libraries
    assert {machine(path) for path in libraries} == {AARCH64}
    assert (layer / "python" / package / "__init__.py").is_file()


def test_the_layer_for_mcp_brings_nothing_that_every_function_has(dev):
    def distributions(name):
        layer = dev.asset(f"Functions/Layers/{name}/Code") / "python"
        return {path.name for path in layer.glob("*.dist-info")}

    assert distributions("Mcp")
    assert not distributions("Mcp") & distributions("Deps")


def test_what_the_function_of_mcp_unpacks_is_far_from_what_a_function_may(dev):
    assets = ["Functions/Api/Function/Code"]
    assets += [f"Functions/Layers/{name}/Code" for name in ("Core", "Deps", "Client", "Mcp")]
    unpacked = sum(
        path.stat().st_size for each in assets for path in dev.asset(each).rglob("*") if path.is_file()
    )
    assert 10_000_000 < unpacked < 200_000_000, "of 262,144,000"


def machine(library):
    return struct.unpack_from("<H", library.read_bytes()[:20], 18)[0]


@pytest.mark.parametrize("name", ["Deps", "Mcp"])
def test_a_layer_of_third_party_code_names_no_path_of_the_machine_that_built_it(dev, name):
    layer = dev.asset(f"Functions/Layers/{name}/Code") / "python"
    assert not (layer / "bin").exists()
    assert not list(layer.rglob("direct_url.json"))


def test_another_process_synthesizes_the_same_bytes(dev, tmp_path):
    environment = os.environ | {"CDK_OUTDIR": str(tmp_path), "PYTHONHASHSEED": "1"}
    subprocess.run(
        [sys.executable, "app.py"], cwd=freshness.ROOT, env=environment, check=True, capture_output=True
    )
    assert_same_bytes(tmp_path, dev)


def test_a_failed_build_leaves_no_layer_behind(tmp_path):
    folder = tmp_path / "layers" / "deps"
    with pytest.raises(RuntimeError, match="uv pip failed"):
        install("not-locked-by-a-hash==1.0\n", folder)
    assert list(folder.parent.iterdir()) == []
