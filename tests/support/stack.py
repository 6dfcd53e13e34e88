"""A deployed stack on a local cloud, as tests start it, talk to it and break it."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import boto3
import httpx
import pytest

from local.deploy import CDK_OUT
from local.place import Place

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
_numbers = itertools.count(1)


def eventually(look: Callable[[], T], *, within: float = 60.0) -> T:
    """What `look` returns as soon as it is true; fails when it never was."""
    give_up = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > give_up:
            pytest.fail(f"did not come true within {within} s; last: {found!r}")
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class Stack:
    """A deployed stack: where it answers, the first admin's key, and how to break things on purpose."""

    url: str
    admin_key: str
    control_url: str
    endpoint_url: str
    state: Path
    pid: int

    def client(self, key: str | None = None) -> httpx.Client:
        """An HTTP client with a key, the admin's by default."""
        headers = {"Authorization": f"Bearer {key or self.admin_key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def aws(self, service: str, **credentials: str) -> Any:
        """A boto3 client of the local cloud, as its owner unless credentials are given."""
        owner = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name="us-east-1",
            **(credentials or owner),
        )

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The stack's outputs, as CloudFormation names them."""
        described = self.aws("cloudformation").describe_stacks(StackName="unsay-dev")
        return {o["OutputKey"]: o["OutputValue"] for o in described["Stacks"][0]["Outputs"]}

    @property
    def knowledge_base(self) -> dict[str, str]:
        """Which base and source the first generation of the index is, as the service's requests name them."""
        first = json.loads(self.outputs["IndexGenerations"])[0]
        return {"knowledgeBaseId": first["knowledge_base_id"], "dataSourceId": first["data_source_id"]}

    def faults(self, **wanted: Any) -> None:
        """Turn on faults of the local cloud."""
        httpx.put(self.control_url, json=wanted).raise_for_status()

    def no_faults(self) -> None:
        """Turn them all off."""
        httpx.delete(self.control_url).raise_for_status()


def start(place: Place, app: Path = CDK_OUT) -> Stack:
    """Bring a local cloud up as `make up` does, and read what it wrote for its clients."""
    environment = {**os.environ, "PORT": str(place.port), "STATE": str(place.state)}
    command = [sys.executable, "-m", "local", "up", "--app", str(app)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    local = json.loads(place.local_json.read_text())
    names = ("url", "admin_key", "control_url", "endpoint_url", "pid")
    return Stack(**{name: local[name] for name in names}, state=place.state)


def stop(place: Place) -> None:
    """Bring it down; its state stays."""
    subprocess.run(
        [sys.executable, "-m", "local", "down", "--port", str(place.port), "--state", str(place.state)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def session_of(stack: Stack, output: str, **tags: str) -> dict[str, str]:
    """Credentials with the policies of a deployed role, which itself trusts a λ alone.

    The role is named by its output, or by its ARN.
    """
    iam, deployed = stack.aws("iam"), stack.outputs.get(output, output).rpartition("/")[2]
    name = f"as-{deployed}-{next(_numbers)}"[-64:]
    anyone = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::000000000000:root"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
    trust = json.dumps({"Version": "2012-10-17", "Statement": [anyone]})
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)
    for policy in iam.list_role_policies(RoleName=deployed)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=deployed, PolicyName=policy)["PolicyDocument"]
        text = document if isinstance(document, str) else json.dumps(document)
        iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=text)
    given = stack.aws("sts").assume_role(
        RoleArn=f"arn:aws:iam::000000000000:role/{name}",
        RoleSessionName="test",
        Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
    )["Credentials"]
    return {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }
