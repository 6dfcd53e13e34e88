"""The distribution as somebody installs it: what is in it, and that each extra works alone.

Wants the package index, so it is a target of its own: `make package`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.stack import ROOT

UV = [sys.executable, "-m", "uv"]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*UV, "build", "--quiet", "--wheel", "--out-dir", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


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


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra or "base")
def test_each_extra_alone_works_in_an_environment_of_its_own(extra: str, wheel: Path, tmp_path: Path) -> None:
    subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [*UV, "pip", "install", "--quiet", "--python", python, f"unsay{extra} @ {wheel.as_uri()}"]
    subprocess.run(install, check=True)
    subprocess.run([python, "-I", "-c", EXTRAS[extra]], check=True, cwd=tmp_path, env={})
    subprocess.run([python.with_name("unsay"), "--help"], check=True, cwd=tmp_path, capture_output=True)


def test_the_first_success_of_the_readme_is_one_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^pip install (\S+)", README, re.MULTILINE)
    (program,) = re.findall(r"^```python\n(import unsay\n.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert command == "."
    subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([*UV, "pip", "install", "--quiet", "--python", python, wheel], check=True)
    told = subprocess.run(
        [python, "-I", "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True, env={}
    )
    assert told.stdout == "Alice lives in Lisbon.\n"
