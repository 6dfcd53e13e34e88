"""docs/extraction.md says what happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.support.stack import ROOT, Stack

PAGE = (ROOT / "docs" / "extraction.md").read_text().replace("acme", "extractiondocs")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
CODE = "\n".join(
    path.read_text()
    for path in (ROOT / "layers" / "core" / "python" / "unsay_core" / "application").glob("*.py")
)


def test_every_reason_it_names_is_one_of_the_codes() -> None:
    named = {
        name
        for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    named -= {"dropped", "review"}
    assert len(named) > 20
    for name in named:
        assert f'"{name}"' in CODE or name in ("tombstoned", "question"), name


@pytest.mark.stack
def test_the_examples_run_as_shown(stack: Stack) -> None:
    environment = {"UNSAY_URL": stack.url, "UNSAY_TOKEN": stack.admin_key, "PATH": "/usr/bin:/bin"}
    program = "\n".join(text for kind, text in BLOCKS if kind == "python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (command,) = (text for kind, text in BLOCKS if kind == "sh")
    shown = subprocess.run(
        ["/bin/sh", "-c", command], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(shown.stdout)["instructions"]["never_keep"] == "anything about health"
