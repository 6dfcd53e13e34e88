"""What was anchored of a chain: compared on the deployed stack, and out of everybody's reach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.stack import Stack, eventually, session_of
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import HEAD, Area, Delete, Head, Put, audit_ref
from unsay_core.domain.audit import AuditEntry, sealed

pytestmark = pytest.mark.stack


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


class Chain:
    """The audit chain of a scope as somebody with an administrator's rights can change it."""

    def __init__(self, stack: Stack, client: httpx.Client, scope: str) -> None:
        pepper = stack.aws("secretsmanager").get_secret_value(SecretId=stack.outputs["PepperSecretArn"])
        self.scope_id = Keyring.from_pepper(pepper["SecretString"]).scope_id(scope)
        place = Place(self.scope_id, stack.outputs["LedgerTable"], stack.outputs["RecordTable"])
        self.ledger = DynamoLedger(stack.aws("dynamodb"), place)
        self.bucket = {"Bucket": stack.outputs["AnchorsBucket"]}
        self.s3 = stack.aws("s3")
        self._client, self._scope = client, scope

    def verify(self) -> dict[str, Any]:
        answer = self._client.get("/v1/audit/verify", params={"scope": self._scope})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def anchored_up_to(self, seq: int) -> dict[str, Any]:
        """The verification as soon as an entry is anchored."""

        def look() -> dict[str, Any] | None:
            found = self.verify()
            return found if found["anchored"] and found["anchored"]["seq"] >= seq else None

        return eventually(look, within=60)

    def entries(self) -> list[AuditEntry]:
        return [each for each in self.ledger.page(Area.AUDIT, limit=1000) if isinstance(each, AuditEntry)]

    def forge_from(self, seq: int) -> None:
        """Make everything from an entry on anew, each bound to the one before, and the head to the last."""
        entries = self.entries()
        previous = entries[seq - 2].hash if seq > 1 else entries[0].prev
        for entry in entries[seq - 1 :]:
            forged = sealed(replace(entry, actor="key_somebody_else", prev=previous))
            self.ledger.commit((Put(forged),))
            previous = forged.hash
        self.end_at(len(entries), previous)

    def end_at(self, seq: int, hash: str) -> None:
        head = self.ledger.read([HEAD]).get(HEAD)
        assert isinstance(head, Head)
        self.ledger.commit((Put(replace(head, seq=seq, hash=hash)),))

    def cut_after(self, seq: int) -> None:
        entries = self.entries()
        self.ledger.commit(tuple(Delete(audit_ref(each.seq)) for each in entries[seq:]))
        self.end_at(seq, entries[seq - 1].hash)


@pytest.fixture
def chain(stack: Stack, client: httpx.Client, request: pytest.FixtureRequest) -> Chain:
    """Four entries, each anchored on its own."""
    scope = f"anchored/{request.node.name}"[:120]
    found = Chain(stack, client, scope)
    for number in range(1, 5):
        answer = client.post("/v1/memories", json={"scope": scope, "content": f"fact {number}"})
        assert answer.status_code == 201
        assert found.anchored_up_to(number)["ok"] is True
    return found


def test_a_head_is_anchored_and_verified_against(chain: Chain) -> None:
    found = chain.verify()
    head = found["head"]
    key = f"{chain.scope_id}/{4:012d}-{head['hash']}"
    assert (found["ok"], found["first_bad"], found["length"]) == (True, None, 4)
    assert found["anchored"]["seq"] == 4
    assert found["anchored"]["location"] == f"s3://{chain.bucket['Bucket']}/{key}"
    held = chain.s3.get_object_retention(**chain.bucket, Key=key)["Retention"]
    assert held["Mode"] == "GOVERNANCE"


@pytest.mark.parametrize(
    ("tamper", "first_bad"),
    [
        (lambda chain: chain.forge_from(3), 3),
        (lambda chain: chain.forge_from(1), 1),
        (lambda chain: chain.cut_after(2), 3),
    ],
    ids=["forged-from-3", "forged-whole", "cut-after-2"],
)
def test_a_chain_that_is_consistent_in_itself_but_not_what_was_anchored_is_found(
    chain: Chain, tamper: Callable[[Chain], None], first_bad: int
) -> None:
    assert chain.verify()["ok"] is True
    tamper(chain)
    found = chain.verify()
    assert (found["ok"], found["first_bad"]) == (False, first_bad)
    assert found["anchored"]["seq"] == 4


def test_two_hashes_at_one_place_are_a_fork(chain: Chain) -> None:
    chain.s3.put_object(**chain.bucket, Key=f"{chain.scope_id}/{2:012d}-{'0' * 64}", Body=b"")
    assert (chain.verify()["ok"], chain.verify()["first_bad"]) == (False, 2)


def test_an_anchor_that_is_hidden_or_written_again_says_what_it_said(chain: Chain) -> None:
    before = chain.verify()
    key = before["anchored"]["location"].rpartition("/")[2]
    chain.s3.delete_object(**chain.bucket, Key=f"{chain.scope_id}/{key}")
    assert chain.verify() == before
    chain.s3.put_object(**chain.bucket, Key=f"{chain.scope_id}/{key}", Body=b"written again")
    assert chain.verify() == before
    versions = chain.s3.list_object_versions(**chain.bucket, Prefix=f"{chain.scope_id}/{key}")["Versions"]
    with pytest.raises(ClientError, match="AccessDenied"):
        chain.s3.delete_object(
            **chain.bucket, Key=f"{chain.scope_id}/{key}", VersionId=versions[-1]["VersionId"]
        )


def test_while_the_anchors_cannot_be_reached_nothing_is_called_whole(
    chain: Chain, client: httpx.Client, faults: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    scope = {"scope": f"anchored/{request.node.name}"[:120]}
    faults(down=["s3"])
    answer = client.get("/v1/audit/verify", params=scope)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"]
    late = client.post("/v1/memories", json={**scope, "content": "anchored late"})
    assert late.status_code == 201
    faults(down=[])
    assert chain.anchored_up_to(5)["ok"] is True


def test_a_chain_of_which_nothing_is_anchored_is_verified_even_so(client: httpx.Client) -> None:
    found = client.get("/v1/audit/verify", params={"scope": "anchored/nothing"}).json()
    assert (found["ok"], found["length"], found["anchored"]) == (True, 0, None)


def test_a_changed_or_removed_entry_raises_an_alarm_by_the_time_it_is_streamed(
    stack: Stack, chain: Chain
) -> None:
    chain.forge_from(4)
    chain.ledger.commit((Delete(audit_ref(3)),))
    told = eventually(lambda: found if len(found := alarms(stack, chain.scope_id)) >= 2 else None, within=60)
    assert {(each["seq"], each["change"]) for each in told} == {
        ("000000000004", "MODIFY"),
        ("000000000003", "REMOVE"),
    }
    metrics = [each for each in printed(stack) if "AuditEntryChanged" in each]
    assert len(metrics) >= 2
    assert {each["service"] for each in metrics} == {"project"}


OTHER = "b" * 52


def test_the_projector_adds_anchors_of_its_scope_and_takes_none_back(stack: Stack, chain: Chain) -> None:
    key = f"{chain.scope_id}/{4:012d}-{chain.entries()[3].hash}"
    where = {**chain.bucket, "Key": key}
    versions = chain.s3.list_object_versions(**chain.bucket, Prefix=key)["Versions"]
    locked = {**where, "VersionId": versions[0]["VersionId"]}
    until = datetime.now(UTC) + timedelta(minutes=1)
    retention = {"Retention": {"Mode": "GOVERNANCE", "RetainUntilDate": until}}
    s3 = stack.aws("s3", **session_of(stack, "ProjectorRoleArn", scope=chain.scope_id))
    s3.put_object(**chain.bucket, Key=f"{chain.scope_id}/note", Body=b"")
    for refused in (
        lambda: s3.put_object(**chain.bucket, Key=f"{OTHER}/{1:012d}-{'0' * 64}", Body=b""),
        lambda: s3.delete_object(**where),
        lambda: s3.delete_object(**locked),
        lambda: s3.delete_object(**locked, BypassGovernanceRetention=True),
        lambda: s3.put_object_retention(**locked, **retention, BypassGovernanceRetention=True),
        lambda: s3.list_object_versions(**chain.bucket, Prefix=f"{chain.scope_id}/"),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            refused()
    assert chain.verify()["ok"] is True


def test_the_reader_lists_anchors_of_its_scope_and_of_no_other(stack: Stack, chain: Chain) -> None:
    s3 = stack.aws("s3", **session_of(stack, "ReaderRoleArn", scope=chain.scope_id))
    found = s3.list_object_versions(**chain.bucket, Prefix=f"{chain.scope_id}/")["Versions"]
    assert len(found) == 4
    for refused in (
        lambda: s3.list_object_versions(**chain.bucket),
        lambda: s3.list_object_versions(**chain.bucket, Prefix=f"{OTHER}/"),
        lambda: s3.list_object_versions(**chain.bucket, Prefix=chain.scope_id[:-1]),
        lambda: s3.put_object(**chain.bucket, Key=f"{chain.scope_id}/note", Body=b""),
        lambda: s3.delete_object(**chain.bucket, Key=found[0]["Key"]),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            refused()


def alarms(stack: Stack, scope_id: str) -> list[dict[str, Any]]:
    return [each for each in printed(stack) if each.get("scope_id") == scope_id and "change" in each]


def printed(stack: Stack) -> list[dict[str, Any]]:
    """What the project λ has printed as JSON."""
    resources = stack.aws("cloudformation").describe_stack_resources(StackName="unsay-dev")["StackResources"]
    (group,) = [
        each["PhysicalResourceId"]
        for each in resources
        if each["LogicalResourceId"].startswith("FunctionsProjectLog")
    ]
    found: list[dict[str, Any]] = []
    pages = stack.aws("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
    for event in (event for page in pages for event in page["events"]):
        line = event["message"].strip()
        if line.startswith("{"):
            found.append(json.loads(line))
    return found
