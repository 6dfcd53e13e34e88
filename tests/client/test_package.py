"""What is installed: the wheel, its extras, and what an import brings along."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.stack import ROOT

UV = [sys.executable, "-m", "uv"]
HEAVY = "boto3 botocore aws_lambda_powertools numpy onnxruntime mcp langgraph strands httpx rich".split()


def after(program: str) -> set[str]:
    """The modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", told], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_an_import_brings_nothing_along_that_only_some_need() -> None:
    assert not set(HEAVY) & after("import unsay")
    assert "httpx" in after("import unsay; unsay.connect('https://x.example', token='t')"), "the control"


def test_a_store_is_opened_without_a_model_or_a_way_to_a_network() -> None:
    opened = after("import unsay; unsay.connect('memory://').scopes()")
    assert not set(HEAVY) & opened
    used = after("import unsay; unsay.connect('memory://').remember('x', scope='a')")
    assert {"numpy", "onnxruntime"} <= used, "the control"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*UV, "build", "--quiet", "--wheel", "--out-dir", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.deploy
def test_the_wheel_holds_the_client_the_core_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert roots == {"unsay", "unsay_core"}
    assert {
        "unsay/py.typed",
        "unsay_core/adapters/minilm/vocab.txt",
        "unsay_core/adapters/minilm/NOTICE",
    } <= {*names}
    assert not [name for name in names if name.endswith((".pyc", ".db"))]


FIRST = """
import unsay
with unsay.connect("memory://") as memory:
    memory.remember("Alice lives in Lisbon.", scope="acme/alice")
    found = memory.recall("Where does Alice live?", scope="acme/alice")
assert found.items[0].memory.content == "Alice lives in Lisbon."
assert ("lexical_only" in found.reasons) is {lexical}
"""
EXTRAS = {
    "": FIRST.format(lexical=True),
    "[local]": FIRST.format(lexical=False),
    "[aws]": "import unsay_core.admin.cli, unsay_core.bootstrap.aws",
    "[langgraph]": "import unsay.langgraph",
    "[strands]": "import unsay.strands",
    "[mcp]": "import unsay.mcp",
}


@pytest.mark.deploy
@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra or "base")
def test_each_extra_alone_works_in_an_environment_of_its_own(extra: str, wheel: Path, tmp_path: Path) -> None:
    """Wants the package index: what an extra brings is fetched as a user's installer would."""
    subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [*UV, "pip", "install", "--quiet", "--python", python, f"unsay{extra} @ {wheel.as_uri()}"]
    subprocess.run(install, check=True)
    subprocess.run([python, "-I", "-c", EXTRAS[extra]], check=True, cwd=tmp_path, env={})
    subprocess.run([python.with_name("unsay"), "--help"], check=True, cwd=tmp_path, capture_output=True)
