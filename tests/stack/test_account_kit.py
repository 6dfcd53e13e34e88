"""The kit for a real account runs to its end on the deployed stack of the local cloud."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stack import ROOT, Stack

pytestmark = pytest.mark.stack


def kit(stack: Stack, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    owner = {"AWS_ENDPOINT_URL": stack.endpoint_url, "AWS_DEFAULT_REGION": "us-east-1"}
    owner |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    command = [sys.executable, "-m", "tests.aws", "--deployed", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name != "UNSAY_AWS"}
    return subprocess.run(
        command, cwd=ROOT, env=inherited | owner | environment, capture_output=True, text=True, check=False
    )


def test_the_kit_finds_the_scope_pair_and_the_deletion_as_promised(stack: Stack, tmp_path: Path):
    report = tmp_path / "report.md"
    given = ("--url", stack.url, "--key", stack.admin_key, "--report", str(report))
    done = kit(stack, *given, UNSAY_AWS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    page = report.read_text()
    for question in (
        "absent in the other scope",
        "retrievable under its scope's filter",
        "1. seconds from 202 to NOT_FOUND",
        "1. seconds more to unretrievable",
        "seconds more to a complete receipt",
        "the audit chain verifies, anchored",
    ):
        assert re.search(rf"^\| {re.escape(question)} \| .* \| yes \|$", page, re.MULTILINE), question
    assert "**no**" not in page
    for number in range(1, 7):
        assert f"| {number}. " in page, "each open question has an answer, even if it is that nobody answers"
    assert "cost of the run" in page


def test_the_kit_does_nothing_unless_it_is_meant(stack: Stack):
    done = kit(stack)
    assert (done.returncode, "spends money" in done.stderr) == (2, True)
