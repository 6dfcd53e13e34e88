"""The real CDK command line against the local cloud: bootstrap, deploy, deploy again, destroy.

The one path a user's account will see, run as a user runs it. λs are not called here: their layer is built
for Lambda's processor, which this machine may not have.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from infra.freshness import ROOT
from tests.infra.conftest import assert_same_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.deploy

STACK = "unsay-dev"
ACCOUNT, REGION = "000000000000", "us-east-1"
START_SECONDS = 30
COMMAND_SECONDS = 180
# What an account shows of a stack, service by service. A look that finds nothing while deployed is no look.
INVENTORY: dict[str, Callable[[Any], set[str]]] = {
    "dynamodb": lambda client: set(client.list_tables()["TableNames"]),
    "s3": lambda client: {each["Name"] for each in client.list_buckets()["Buckets"]},
    "lambda": lambda client: {each["FunctionName"] for each in client.list_functions()["Functions"]},
    "sqs": lambda client: set(client.list_queues().get("QueueUrls", [])),
    "iam": lambda client: {each["RoleName"] for each in client.list_roles(MaxItems=1000)["Roles"]},
    "logs": lambda client: {each["logGroupName"] for each in client.describe_log_groups()["logGroups"]},
    "secretsmanager": lambda client: {each["Name"] for each in client.list_secrets()["SecretList"]},
    "events": lambda client: {each["Name"] for each in client.list_event_buses()["EventBuses"]} - {"default"},
    "apigatewayv2": lambda client: {each["ApiId"] for each in client.get_apis()["Items"]},
    "cloudwatch": lambda client: {each["AlarmName"] for each in client.describe_alarms()["MetricAlarms"]},
    "bedrock-agent": lambda client: {
        each["knowledgeBaseId"] for each in client.list_knowledge_bases()["knowledgeBaseSummaries"]
    },
    "s3vectors": lambda client: {
        each["vectorBucketName"] for each in client.list_vector_buckets()["vectorBuckets"]
    },
}


class LocalCloud:
    """A running local cloud and the environment in which the command line finds it."""

    def __init__(self, port: int, home: Path) -> None:
        # The CDK puts the asset bucket's name into the host, which works with `localhost` but not an address.
        self.endpoint = f"http://localhost:{port}"
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))
        }
        self.environment = inherited | {
            # Its cache of access key → account would answer with the account of another cloud.
            "HOME": str(home),
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "NO_COLOR": "1",
        }

    def cdk(self, *arguments: str) -> str:
        """Run `npx cdk …`; returns everything it said, and fails with it."""
        done = subprocess.run(
            ["npx", "--no-install", "cdk", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def inventory(self) -> dict[str, set[str]]:
        return {service: look(self.client(service)) for service, look in INVENTORY.items()}


@pytest.fixture
def cloud(tmp_path) -> Iterator[LocalCloud]:
    assert (ROOT / "node_modules" / ".bin" / "cdk").exists(), "the CDK command line is missing: run `npm ci`"
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "local",
        "serve",
        "--port",
        str(port),
        "--state",
        str(tmp_path / "state"),
    ]
    home = tmp_path / "home"
    home.mkdir()
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_it_answers(port, server)
        yield LocalCloud(port, home)
    finally:
        server.terminate()
        server.wait(timeout=START_SECONDS)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_it_answers(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, "the local cloud ended before it answered"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=1).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"the local cloud did not answer within {START_SECONDS} s")


def test_the_command_line_deploys_finds_no_change_and_destroys_all_but_the_anchors(cloud, dev, tmp_path):
    cloud.cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", "")
    before = cloud.inventory()
    out = tmp_path / "cdk.out"
    app = f"{sys.executable} app.py"

    said = cloud.cdk("deploy", STACK, "--app", app, "--output", str(out), "--require-approval", "never")
    assert f"{STACK}.ApiUrl = http" in said
    assert_same_bytes(out, dev)
    deployed = cloud.inventory()
    for service, found in deployed.items():
        assert found > before[service], f"nothing of the stack is seen in {service}"

    said = cloud.cdk("deploy", STACK, "--app", str(out), "--require-approval", "never")
    assert f"{STACK} (no changes)" in said
    assert cloud.inventory() == deployed

    cloud.cdk("destroy", STACK, "--app", str(out), "--force")
    left = cloud.inventory()
    (anchors,) = left["s3"] - before["s3"]
    assert "anchors" in anchors
    assert left | {"s3": left["s3"] - {anchors}} == before
