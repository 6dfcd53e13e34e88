"""What the README shows is what happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stack import ROOT, Stack
from unsay_core.contracts.openapi import document

# Other tests speak of the same people; these here have a tenant of their own.
README = (ROOT / "README.md").read_text().replace("acme/users", "readme/users")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def blocks(language: str, holding: str = "") -> list[str]:
    found = [text for kind, text in BLOCKS if kind == language and holding in text]
    assert found, f"the README shows no {language} block with {holding!r}"
    return found


def test_every_make_target_it_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(blocks("sh")))) | {"up", "down", "help"}
    assert named >= {"demo", "synth", "check", "test"}
    for target in named:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) > 5
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_published_openapi_document_is_the_codes_own():
    assert json.loads((ROOT / "docs" / "openapi.json").read_text()) == json.loads(json.dumps(document()))


def test_continuous_integration_runs_the_test_command_of_the_readme():
    assert any("make test " in block for block in blocks("sh"))
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("exec make test")


def test_the_first_program_says_what_it_was_told(tmp_path: Path):
    (program,) = blocks("python", "sqlite:///")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Alice lives in Lisbon.\n"
    assert (tmp_path / "memory.db").exists()


@pytest.mark.stack
def test_the_curl_lines_and_the_python_run_as_shown(stack: Stack):
    environment = {"UNSAY_URL": stack.url, "UNSAY_TOKEN": stack.admin_key, "PATH": "/usr/bin:/bin"}
    remember, recall, key = (
        subprocess.run(
            ["/bin/sh", "-c", block], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for block in blocks("sh", "curl ")
    )
    assert json.loads(key)["secret"].startswith("unsay_")
    stored = json.loads(remember)
    assert (stored["content"], stored["key"]) == ("Alice lives in Lisbon.", "home_city")
    assert json.loads(recall)["items"][0]["memory"]["id"] == stored["id"]

    commands = "\n".join(blocks("sh", "unsay remember "))
    bin_folder = f"{Path(sys.executable).parent}:{environment['PATH']}"
    told = subprocess.run(
        ["/bin/sh", "-ec", commands],
        env=environment | {"PATH": bin_folder},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    carol, found, chain = map(json.loads, told)
    assert found["items"][0]["memory"]["id"] == carol["id"]
    assert chain["ok"] is True

    (program,) = blocks("python", "UNSAY_URL")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
