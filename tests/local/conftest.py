"""A local cloud for the tests of this folder: one server with a sample app deployed, and clients for it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import httpx
import pytest
from botocore.config import Config

from local.deploy import deploy
from local.place import ACCOUNT, REGION, Place

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_APP = Path(__file__).with_name("sample_app")
CONFIG = Config(retries={"max_attempts": 1, "mode": "standard"}, s3={"addressing_style": "path"})


def until(condition, seconds=60.0):
    """What the condition returns once it is true; fails at the deadline."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} s: {condition}")
        time.sleep(0.02)
    return found


class Cloud:
    """A local cloud in a process of its own."""

    def __init__(self, state: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.place = Place(probe.getsockname()[1], state)
        self.process = None
        self._clients = {}

    def start(self, **environment):
        log = open(self.place.state.parent / "server.log", "ab")
        command = [sys.executable, "-m", "local", "serve"]
        command += ["--port", str(self.place.port), "--state", str(self.place.state)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **environment}
        )
        until(self.answers, 60)

    def answers(self):
        if self.process.poll() is not None:
            pytest.fail((self.place.state.parent / "server.log").read_text()[-3000:])
        try:
            return httpx.get(f"{self.place.url}/_local").status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        self.process.wait(30)

    def client(self, service, credentials=None):
        keys = credentials or {"AccessKeyId": "test", "SecretAccessKey": "test"}
        known = (service, keys["AccessKeyId"], keys["SecretAccessKey"])
        if known not in self._clients:
            self._clients[known] = self._new_client(service, keys)
        return self._clients[known]

    def _new_client(self, service, keys):
        return boto3.client(
            service,
            endpoint_url=self.place.url,
            region_name=REGION,
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys.get("SessionToken"),
            config=CONFIG,
        )

    def role(self, name, *statements, trust=None):
        """A role with these statements, assumable by anyone in the account."""
        principal = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
        trusted = {"Effect": "Allow", "Principal": principal, "Action": ["sts:AssumeRole", "sts:TagSession"]}
        iam = self.client("iam")
        policy = {"Version": "2012-10-17", "Statement": list(statements)}
        document = {"Version": "2012-10-17", "Statement": [trust or trusted]}
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(document))
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy))
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"

    def assume(self, role, tags=None, by=None, **more):
        """Credentials of a session of the role, with session tags."""
        pairs = [{"Key": key, "Value": value} for key, value in (tags or {}).items()]
        sts = self.client("sts", by)
        return sts.assume_role(RoleArn=role, RoleSessionName="test", Tags=pairs, **more)["Credentials"]

    def printed(self, function):
        """What a function has printed as JSON lines, in order."""
        logs = self.client("logs")
        try:
            events = logs.filter_log_events(logGroupName=f"/aws/lambda/{function}")["events"]
        except logs.exceptions.ResourceNotFoundException:
            return []  # it has not run yet
        lines = [event["message"].strip() for event in events]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def faults(self, **values):
        return httpx.put(f"{self.place.url}/_faults", json=values)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory):
    """One server for all the tests that do not stop it."""
    found = Cloud(tmp_path_factory.mktemp("cloud") / "state")
    found.start(AWS_ENDPOINT_URL="http://stale.invalid", AWS_PROFILE="stale", LEAKED="yes")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def new_cloud(tmp_path_factory):
    """Makes clouds a test may stop and start; whatever still runs is ended."""
    made = []

    def make():
        made.append(Cloud(tmp_path_factory.mktemp("own") / "state"))
        return made[-1]

    yield make
    for found in made:
        if found.process and found.process.poll() is None:
            found.stop(signal.SIGKILL)


@pytest.fixture(scope="session")
def app(cloud):
    """The outputs of the sample app, deployed on the shared server."""
    return deploy(cloud.place, SAMPLE_APP)


@pytest.fixture
def healthy(cloud):
    """Whatever a test breaks is healed after it."""
    yield cloud
    httpx.delete(f"{cloud.place.url}/_faults")
