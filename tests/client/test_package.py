"""What an import brings along."""

from __future__ import annotations

import subprocess
import sys

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
