"""LangGraph's own tests of its store, pointed at ours: the file as it is published, the store replaced.

It comes with the source distribution of the version that is tested. Wants the package index: `make package`.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.support.stack import ROOT

TOOLS = ("pytest-asyncio==1.5.0", "pytest-mock==3.17.0")
HOW_MANY = 117
# Each store of theirs is a scope of its own in memory, with the embedder that the test hands to it.
CONFTEST = """
import langgraph.store.memory

import unsay
from unsay.langgraph import UnsayStore


class Texts:
    name = "theirs"

    def __init__(self, embeddings):
        self.embed = lambda texts: embeddings.embed_documents(list(texts))


class Ours(UnsayStore):
    def __init__(self, *, index=None):
        self.index_config = index or {}
        self.embeddings = self.index_config.get("embed")
        memory = unsay.connect("memory://", embedder=Texts(self.embeddings) if self.embeddings else None)
        super().__init__(memory, scope="acme/alice", fields=self.index_config.get("fields") or ("$",))


langgraph.store.memory.InMemoryStore = Ours
"""


def test_langgraphs_own_tests_of_its_store_pass_on_ours(tmp_path: Path) -> None:
    version = importlib.metadata.version("langgraph-checkpoint")
    fetch = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", f"langgraph-checkpoint=={version}"]
    subprocess.run([sys.executable, "-m", "pip", *fetch], cwd=tmp_path, check=True)
    into = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        tmp_path / "tools",
    ]
    subprocess.run([*into, *TOOLS], check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as source:
        for name in ("__init__", "embed_test_utils", "test_store"):
            source.extract(f"langgraph_checkpoint-{version}/tests/{name}.py", tmp_path, filter="data")
    suite = tmp_path / f"langgraph_checkpoint-{version}"
    (suite / "conftest.py").write_text(CONFTEST)
    ours = (ROOT / "client", ROOT / "layers/core/python", tmp_path / "tools", suite)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "tests/test_store.py"],
        cwd=suite,
        env={"PYTHONPATH": ":".join(map(str, ours)), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{HOW_MANY} passed" in ran.stdout, ran.stdout + ran.stderr
    assert "failed" not in ran.stdout
