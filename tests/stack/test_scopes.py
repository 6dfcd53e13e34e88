"""The scopes that were written to are known by name to who may read them, and to no log and no queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.stack import Stack, eventually, session_of

pytestmark = pytest.mark.stack

WRITTEN = ["listed-root/users/alice", "listed-root/users/bob", "listed-root", "listed-root-too/users/alice"]


@pytest.fixture(scope="module")
def written(stack: Stack) -> Iterator[httpx.Client]:
    """An admin who has written to each of them."""
    with stack.client() as client:
        for scope in WRITTEN:
            body = {"scope": scope, "content": f"a fact of {scope}"}
            assert client.post("/v1/memories", json=body).status_code == 201
        for scope in WRITTEN:
            eventually(lambda scope=scope: scope in listed(client), within=60)
        yield client


def listed(client: httpx.Client, **query: str) -> list[str]:
    answer = client.get("/v1/scopes", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def reader(stack: Stack, admin: httpx.Client, scope: str, *actions: str) -> httpx.Client:
    grants = [{"scope": scope, "actions": list(actions)}]
    made = admin.post("/v1/keys", json={"name": "reader", "kind": "agent", "grants": grants})
    assert made.status_code == 201, made.text
    return stack.client(made.json()["secret"])


def test_an_admin_of_everything_sees_every_root(written: httpx.Client) -> None:
    assert set(WRITTEN) <= set(listed(written))


def test_a_prefix_names_a_scope_and_what_is_below_it_and_no_look_alike(written: httpx.Client) -> None:
    assert listed(written, prefix="listed-root") == sorted(WRITTEN[:3])
    assert listed(written, prefix="listed-root/users") == sorted(WRITTEN[:2])
    assert listed(written, prefix="never-written") == []


@pytest.mark.parametrize(
    ("pattern", "seen"),
    [
        ("listed-root/users/alice", ["listed-root/users/alice"]),
        ("listed-root/*", sorted(WRITTEN[:2])),
        ("elsewhere/*", []),
    ],
)
def test_others_see_what_they_may_read_and_nothing_else(
    stack: Stack, written: httpx.Client, pattern: str, seen: list[str]
) -> None:
    with reader(stack, written, pattern, "read") as client:
        assert listed(client) == seen
        assert listed(client, prefix="listed-root-too") == []


def test_who_may_only_write_sees_no_scope(stack: Stack, written: httpx.Client) -> None:
    with reader(stack, written, "listed-root/*", "write") as client:
        assert listed(client) == []


def test_the_name_leaves_the_ledger_with_the_index_work_and_reaches_no_log(
    stack: Stack, written: httpx.Client
) -> None:
    for scope in WRITTEN:
        page = written.get("/v1/memories", params={"scope": scope}).json()
        for memory in page["items"]:
            where = f"/v1/memories/{memory['id']}"
            eventually(
                lambda where=where, scope=scope: (
                    written.get(where, params={"scope": scope}).json()["index"]["state"] == "indexed"
                ),
                within=90,
            )
    markers = [item for item in items(stack, "LedgerTable") if item["pk"]["S"].endswith("#P")]
    assert "listed-root" not in json.dumps(markers)
    assert "listed-root" in json.dumps(items(stack, "AccessTable"))
    for group in stack.aws("logs").describe_log_groups()["logGroups"]:
        pages = (
            stack.aws("logs").get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        )
        assert "listed-root" not in "".join(event["message"] for page in pages for event in page["events"])


def test_the_registrar_adds_a_name_and_can_do_nothing_else(stack: Stack) -> None:
    table = {"TableName": stack.outputs["AccessTable"]}
    registrar = stack.aws("dynamodb", **session_of(stack, "RegistrarRoleArn"))
    registrar.put_item(**table, Item={**item("SCOPES#registrar", "registrar/one"), "schema": {"N": "1"}})
    for refused in (
        lambda: registrar.put_item(**table, Item=item("KEYS", "key_1")),
        lambda: registrar.put_item(**table, Item=item("BOOTSTRAP", "BOOTSTRAP")),
        lambda: registrar.get_item(**table, Key=item("SCOPES#registrar", "registrar/one")),
        lambda: registrar.delete_item(**table, Key=item("SCOPES#registrar", "registrar/one")),
        lambda: registrar.scan(**table),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            refused()


def item(partition: str, sort: str) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def items(stack: Stack, table: str) -> list[dict[str, Any]]:
    pages = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs[table])
    return [item for page in pages for item in page["Items"]]
