"""What docs/identity.md shows is what happens, block by block, on the deployed stack."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.stack.test_identity import INVOKE, issuer, role_session  # noqa: F401 - a fixture
from tests.support.issuer import Issuer
from tests.support.stack import ROOT, Stack, eventually

TEXT = (ROOT / "docs" / "identity.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def blocks(language: str, holding: str) -> list[str]:
    found = [text for kind, text in BLOCKS if kind == language and holding in text]
    assert found, f"no {language} block with {holding!r}"
    return found


def test_the_context_it_shows_is_one_the_stack_takes() -> None:
    from infra.oidc import oidc_setting

    (deploy,) = blocks("text", "cdk deploy")
    shown = re.search(r"-c oidc='(.*)'", deploy)
    assert shown
    assert json.loads(oidc_setting(shown[1]))[0]["issuer"] == "https://login.example.com"


@pytest.mark.stack
def test_every_block_does_what_it_says(stack: Stack, issuer: Issuer) -> None:  # noqa: F811 - the fixture
    here = {"UNSAY_URL": stack.url, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    here |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    operator = {
        "AWS_ENDPOINT_URL": stack.endpoint_url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }

    def run(command: list[str], **environment: str) -> str:
        done = subprocess.run(
            command, env=here | environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shell(block: str, **environment: str) -> str:
        placed = block.replace("https://login.example.com", issuer.url).replace(
            "123456789012", "000000000000"
        )
        return run(["/bin/sh", "-ec", placed], **environment)

    for program in blocks("python", "UNSAY_TOKEN"):
        run([sys.executable, "-c", program], UNSAY_TOKEN=stack.admin_key)
    for block in blocks("sh", "unsay-admin bind"):
        shell(block, **operator)

    (with_token,) = blocks("sh", "Bearer $TOKEN")
    stored = json.loads(shell(with_token, TOKEN=issuer.token(time.time())))
    (whose,) = blocks("sh", "unsay-admin actor")
    assert stored["source"]["actor"] == shell(whose, **operator).strip()

    role = role_session(stack, "agents-shop", INVOKE)
    (with_signature,) = blocks("sh", "--aws-sigv4")
    credentials = {
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": role.access_key,
        "AWS_SECRET_ACCESS_KEY": role.secret_key,
        "AWS_SESSION_TOKEN": role.token,
    }
    eventually(
        lambda: (
            json.loads(shell(with_signature, **credentials)).get("content") == "Deliveries leave at noon."
        ),
        within=75,
    )
    (with_client,) = blocks("python", "AwsAuth")
    run([sys.executable, "-c", with_client], **credentials)
