"""The wall, with our own checks off: what code names after a scope is open, IAM refuses if it is another's.

A cloud of its own, where builds that are broken on purpose are deployed one after the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.deploy import deploy
from local.place import Place
from tests.isolation.builds import LEAKY_BUILD, build, wall_build
from tests.isolation.probes import SCOPES, Neighbours, Reply, Request, evaluate
from tests.isolation.routes import Built, Route, routes
from tests.support.stack import ROOT, Stack, eventually, free_port, start, stop
from unsay_core.application.keys import Keyring

pytestmark = pytest.mark.stack

THEIRS, PLAIN = "wall/theirs", "wall/plain"
BOTH, BARE, ACCESS, ANCHORS, SEARCH, DOCUMENTS = (
    f"wall/{store}" for store in ("both", "bare", "access", "anchors", "search", "documents")
)
SECRET = "the heron stands on one leg"
DENIED = "AccessDenied"
# What these name lies in the access table.
OF_NO_SCOPE = {"/v1/policy", "/v1/scopes", "/v1/keys", "/v1/delegations"}
SCOPED = [route for route in routes() if route.places and route.path not in OF_NO_SCOPE]
MORE = {"remember_batch": {"items": [{"content": "word"}]}}


@dataclass
class Ward:
    """A deployed stack, and what the neighbour has in it."""

    stack: Stack
    place: Place
    scratch: Path
    client: httpx.Client
    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    cursor: str = ""

    def scope_id(self, scope: str) -> str:
        arn = self.stack.outputs["PepperSecretArn"]
        pepper = self.stack.aws("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
        return Keyring.from_pepper(pepper).scope_id(scope)

    def deploy(self, name: str, additions: dict[str, str]) -> None:
        deploy(self.place, build(self.scratch / name, additions))

    def send(self, built: Built) -> httpx.Response:
        body = None if built.body is None else json.dumps(built.body)
        headers = {"Content-Type": "application/json", "If-Match": '"1"'}
        target = f"{built.path}?{built.query}" if built.query else built.path
        return self.client.request(built.method, target, content=body, headers=headers)

    def fill(self, scope: str, content: str) -> None:
        """Something of each kind of thing, by the segment that its paths have before it."""

        def made(path: str, **body: Any) -> Any:
            answer = self.client.post(path, json={"scope": scope, **body})
            assert answer.status_code == 201, answer.text
            return answer.json()

        where = {"scope": scope}
        memory, gone = (
            made("/v1/memories", content=content),
            made("/v1/memories", content=f"{content} no more"),
        )
        reason = {"reason": "test"}
        erased = self.client.delete(f"/v1/memories/{gone['id']}", params=where | reason).json()
        graves = self.client.get("/v1/tombstones", params=where).json()["items"]
        job = self.client.post("/v1/consolidate", json={"scope": scope, "dry_run": True})
        assert job.status_code == 202, job.text
        self.ids[scope] = {
            "jobs": job.json()["id"],
            "memories": memory["id"],
            "reviews": memory["id"],
            "erasures": erased["id"],
            "tombstones": next(grave["id"] for grave in graves if grave["kind"] == "value"),
            "conversations": "run-1",
        }

    def is_settled(self, scope: str) -> bool:
        """True once the workers owe nothing of what was filled in: it would go astray."""
        where, ids = {"scope": scope}, self.ids[scope]
        memory = self.client.get(f"/v1/memories/{ids['memories']}", params=where).json()
        receipt = self.client.get(f"/v1/erasures/{ids['erasures']}", params=where).json()
        job = self.client.get(f"/v1/jobs/{ids['jobs']}", params=where).json()
        return (memory["index"]["state"], receipt["state"], job["state"]) == (
            "indexed",
            "complete",
            "complete",
        )

    def logged(self, function: str) -> str:
        logs = self.stack.aws("logs")
        groups = [g["logGroupName"] for g in logs.describe_log_groups()["logGroups"]]
        (group,) = (name for name in groups if f"Functions{function}" in name)
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return "\n".join(event["message"] for page in pages for event in page["events"])


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    subprocess.run([sys.executable, "-m", "infra.synth"], cwd=ROOT, check=True, capture_output=True)
    scratch = tmp_path_factory.mktemp("wall")
    place = Place(free_port(), scratch / "state")
    stack = start(place)
    with stack.client() as client:
        yield Ward(stack, place, scratch, client)
    stop(place)


# First, while the build is the real one.
def sending(ward: Ward, neighbours: int) -> tuple[Neighbours, Callable[[Request], Reply]]:
    keys: dict[str, str] = {}
    for number in range(neighbours):
        actions = ["read", "write", "forget", "review", "audit", "admin"]
        grants = [{"scope": SCOPES[number], "actions": actions}]
        body = {"name": f"n{number}", "kind": "human", "grants": grants}
        keys[f"key_{number}"] = ward.client.post("/v1/keys", json=body).json()["secret"]

    def send(request: Request) -> Reply:
        headers = {"Authorization": f"Bearer {keys[request.who.id]}", "Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in request.headers.items()}
        body = None if request.body is None else json.dumps(request.body)
        target = f"{request.path}?{request.query}" if request.query else request.path
        answer = ward.client.request(request.method, target, content=body, headers=headers)
        return Reply(answer.status_code, answer.text)

    return Neighbours(send, scopes=neighbours, memories=10), send


FEW, NEIGHBOURS = 96, 4  # each kind of probe once at the least


def test_the_evaluation_finds_nothing_in_the_deployed_build_and_all_leaks_in_a_leaky_one(cloud: Ward) -> None:
    found, _ = sending(cloud, NEIGHBOURS)
    found.fill()
    findings, tried = evaluate(found, FEW)
    assert findings == []
    assert len(tried) > 40
    cloud.deploy("leaky", LEAKY_BUILD)
    reported = {finding.probe for finding in evaluate(found, FEW)[0]}
    assert reported >= {
        "list theirs",
        "recall in theirs",
        "their audit",
        "scopes below theirs",
        "list with their cursor",
    }


@pytest.fixture(scope="module")
def ward(cloud: Ward) -> Ward:
    """Filled by the real build, then given to the one that has no checks."""
    cloud.deploy("real", {})
    cloud.fill(THEIRS, SECRET)
    cloud.fill(PLAIN, "the stork stands on two")
    for scope in (BOTH, BARE, ACCESS, ANCHORS, SEARCH):
        cloud.fill(scope, f"a stone of {scope}")
    page = cloud.client.get("/v1/audit", params={"scope": THEIRS, "limit": 1})
    cloud.cursor = page.json()["next_cursor"]
    eventually(lambda: all(map(cloud.is_settled, cloud.ids)), within=120)
    theirs = cloud.scope_id(THEIRS)
    led = {
        "ledger": {cloud.scope_id(BOTH): theirs},
        "record": {cloud.scope_id(BOTH): theirs},
        "bare": {cloud.scope_id(BARE): theirs},
        "access": {cloud.scope_id(ACCESS): theirs},
        "anchors": {cloud.scope_id(ANCHORS): theirs},
        "search": {cloud.scope_id(SEARCH): theirs},
        "documents": {cloud.scope_id(DOCUMENTS): theirs},
    }
    cloud.deploy("wall", wall_build(led))
    return cloud


@pytest.mark.parametrize("route", SCOPED, ids=repr)
def test_every_call_that_names_anothers_keys_ends_in_access_denied_and_the_same_call_at_home_does_not(
    ward: Ward, route: Route
) -> None:
    more = MORE.get(route.name, {})
    for scope in (BOTH, BARE, ACCESS):
        answer = ward.send(route.request(scope, ward.ids[THEIRS], **more))
        assert answer.status_code == 500, (scope, answer.text)
        assert DENIED in answer.json()["detail"], (scope, answer.text)
        assert SECRET not in answer.text
    at_home = ward.send(route.request(PLAIN, ward.ids[PLAIN], **more))
    assert at_home.status_code < 500, at_home.text
    assert at_home.status_code not in (401, 403), at_home.text


def test_anothers_anchors_are_denied_and_ones_own_are_not(ward: Ward) -> None:
    denied = ward.client.get("/v1/audit/verify", params={"scope": ANCHORS})
    assert (denied.status_code, DENIED in denied.json()["detail"]) == (500, True)
    assert ward.client.get("/v1/audit/verify", params={"scope": PLAIN}).json()["ok"] is True


def test_anothers_cursor_shows_ones_own_at_most(ward: Ward) -> None:
    query = {"limit": 1, "cursor": ward.cursor}
    believed = ward.client.get("/v1/audit", params={"scope": PLAIN, **query})
    assert believed.status_code == 200
    theirs = {
        e["seq"]: e["hash"] for e in ward.client.get("/v1/audit", params={"scope": THEIRS}).json()["items"]
    }
    (shown,) = believed.json()["items"]
    assert shown["hash"] != theirs[shown["seq"]]
    denied = ward.client.get("/v1/audit", params={"scope": BOTH, **query})
    assert (denied.status_code, DENIED in denied.json()["detail"]) == (500, True)


def test_hits_of_another_that_nobody_filters_or_checks_are_proposed_and_never_shown(ward: Ward) -> None:
    asked = {"scope": SEARCH, "query": SECRET, "limit": 50}
    answer = ward.client.post("/v1/recall", json=asked)
    assert answer.status_code == 200
    assert "heron" not in answer.text.replace(SECRET, "")
    assert ward.ids[THEIRS]["memories"] not in answer.text
    proposed = eventually(lambda: [line for line in ward.logged("Api").splitlines() if "PROPOSED" in line])
    assert any(ward.ids[THEIRS]["memories"] in line for line in proposed), "the knowledge base did propose it"
    at_home = ward.client.post("/v1/recall", json={**asked, "scope": THEIRS}).json()
    assert [item["memory"]["content"] for item in at_home["items"]][:1] == [SECRET]


def test_a_worker_that_names_anothers_documents_is_denied(ward: Ward) -> None:
    """Last: its record is tried again and again, and holds up those behind it."""
    s3, bucket = ward.stack.aws("s3"), ward.stack.outputs["DocumentsBucket"]
    prefix = f"{ward.scope_id(THEIRS)}/"

    def lying() -> list[str]:
        return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])]

    before = lying()
    assert before, "their own documents are there"
    made = ward.client.post("/v1/memories", json={"scope": DOCUMENTS, "content": "a stone"})
    assert made.status_code == 201
    eventually(lambda: '"code":"AccessDenied"' in ward.logged("Project"), within=60)
    assert lying() == before
