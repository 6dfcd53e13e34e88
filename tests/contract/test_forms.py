"""Whatever is put into the access table says its form; what an earlier release put there comes to say it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.contract.conftest import TABLE_KEY
from unsay_core.adapters.dynamodb.counters import DynamoCounters
from unsay_core.adapters.dynamodb.forms import say_forms
from unsay_core.adapters.dynamodb.pointer import DynamoReadPointer
from unsay_core.adapters.dynamodb.rates import DynamoTally

TABLE = "forms"


@pytest.fixture
def client(moto_session: Any) -> Iterator[Any]:
    client = moto_session.client("dynamodb")
    client.create_table(TableName=TABLE, **TABLE_KEY)
    yield client
    client.delete_table(TableName=TABLE)


def stored(client: Any) -> dict[str, dict[str, Any]]:
    return {item["pk"]["S"]: item for item in client.scan(TableName=TABLE)["Items"]}


def test_counters_and_the_read_pointer_say_their_form(client: Any) -> None:
    counters = DynamoCounters(lambda: client, TABLE)
    assert (counters.add("acme/tokens/today", 7), counters.add("acme/tokens/today", 1)) == (7, 8)
    counters.clear("other/failures/model")
    DynamoTally(lambda: client, TABLE).add("acme", "key#1", 1, datetime.now(UTC))
    DynamoReadPointer(lambda: client, TABLE).turn(2, instead_of=None)
    found = stored(client)
    assert set(found) == {"METER#acme", "METER#other", "RATE#acme", "INDEX"}
    assert {pk for pk, item in found.items() if item.get("schema") != {"N": "1"}} == set()


def test_what_an_earlier_release_stored_comes_to_say_its_form_and_nothing_else_changes(client: Any) -> None:
    def put(partition: str, sort: str, **attributes: str) -> None:
        numbers = {name: {"N": value} for name, value in attributes.items()}
        client.put_item(TableName=TABLE, Item={"pk": {"S": partition}, "sk": {"S": sort}, **numbers})

    put("INDEX", "READ", generation="2")
    put("METER#acme", "tokens/yesterday", n="5")
    put("METER#new", "due/model", n="1", schema="2")
    put("RATE#acme", "key#1", n="1")
    before = stored(client)
    assert say_forms(lambda: client, TABLE, ["acme", "new", "nobody"]) == 2
    after = stored(client)
    changed = {pk for pk in before if before[pk] != after[pk]}
    assert changed == {"INDEX", "METER#acme"}
    assert all(after[pk] == before[pk] | {"schema": {"N": "1"}} for pk in changed)
    assert say_forms(lambda: client, TABLE, ["acme", "new", "nobody"]) == 0
    assert DynamoReadPointer(lambda: client, TABLE).current() == 2
    assert DynamoCounters(lambda: client, TABLE).read("acme/tokens/yesterday") == 5
