"""The examples run offline, as they are, and say what they say here."""

import re
import subprocess
import sys

import pytest

from tests.support.stack import ROOT

SAID = {
    "plain_loop": ["assistant: Noted.", "assistant: Sencha, as always?", "injected: 1"],
    "langgraph_graph": ["What is my cat called? -> My cat is called Tofu.", "receipts: 1"],
    "strands_agent": ["remembered: Alice lives in Lisbon.", "left: 0", "still left: 0"],
    "mcp_host": [
        "tools: correct, forget, get, history, list, recall, remember",
        "recalled: Alice drinks green tea.",
        "receipt: era",
        "again: Error executing tool remember: This was taken back before, and is not stored again.",
    ],
    "migrating": [
        "mem0: 2 read, 1 imported, refused: {'tombstoned': 1}",
        "strands-json: 2 read, 1 imported",
        "strands-files: 2 read, 1 imported",
        "langgraph: 2 read, 2 imported",
        "s3-agent-memory: 2 read, 1 imported",
        "jsonl: 2 read, 1 imported",
        "csv: 2 read, 1 imported",
        "markdown: 2 read, 1 imported",
    ],
    "many_writers": ["kept: 8 of 8", "too late:", "audit chain: whole"],
}


def test_every_example_is_tried_below_and_listed():
    there = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert there == SAID.keys()
    assert set(re.findall(r"\]\((\w+)\.py\)", (ROOT / "examples" / "README.md").read_text())) == there


@pytest.mark.parametrize("name", SAID)
def test_an_example_says_what_it_shows(name):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = iter(done.stdout.splitlines())
    for expected in SAID[name]:
        assert any(expected in line for line in lines), (expected, done.stdout)
