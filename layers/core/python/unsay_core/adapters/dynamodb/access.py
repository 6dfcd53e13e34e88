"""The access table: keys and delegations by id, and the names of scopes."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.pages import pages
from unsay_core.adapters.key_form import key_of, lasting
from unsay_core.application.access import DELEGATION
from unsay_core.application.ports import ConflictError
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Scope
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from unsay_core.application.access import ApiKey

KEYS = "KEYS"  # a partition
SCHEMA: Any = {"schema": {"N": "1"}}  # of an item here


class DynamoKeys:
    """See `Keys`. The client comes from a function: credentials of the table's role are renewed."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def find(self, key_id: str) -> ApiKey | None:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=_address(key_id), ConsistentRead=True)
        return _key(answer["Item"]) if "Item" in answer else None

    def add(self, key: ApiKey) -> None:
        """One conditional write."""
        with translated("the access table"):
            self._client().put_item(
                TableName=self._table,
                Item={**_address(key.id), **_attributes(key)},
                ConditionExpression="attribute_not_exists(pk)",
            )

    def page(self, *, after: str | None, limit: int) -> list[ApiKey]:
        """One query, or more where the keys are longer than a megabyte."""
        items = partition_items(self._client, self._table, KEYS, after=after, at_once=limit)
        return [_key(item) for item in islice(items, limit)]

    def revoke(self, key_id: str, by: str, at: datetime) -> None:
        """One conditional update."""
        self._set(
            key_id,
            {"revoked_at": rfc3339(at), "revoked_by": by},
            "attribute_exists(pk) AND attribute_not_exists(revoked_at)",
        )

    def note_use(self, key_id: str, day: str) -> None:
        """One conditional update."""
        with suppress(ConflictError):  # noted by another, or no key any more
            self._set(
                key_id,
                {"last_used": day},
                "attribute_exists(pk) AND (attribute_not_exists(last_used) OR last_used < :last_used)",
            )

    def _set(self, key_id: str, values: dict[str, str], condition: str) -> None:
        with translated("the access table"):
            self._client().update_item(
                TableName=self._table,
                Key=_address(key_id),
                UpdateExpression="SET " + ", ".join(f"{name} = :{name}" for name in values),
                ConditionExpression=condition,
                ExpressionAttributeValues={f":{name}": {"S": value} for name, value in values.items()},
            )

    @property
    def first(self) -> FirstKeys:
        """The same table, for a key that there may be only one of."""
        return FirstKeys(self._client, self._table)


class FirstKeys(DynamoKeys):
    """Keys of which the table takes one, ever: a marker that it was made goes into the transaction."""

    def add(self, key: ApiKey) -> None:
        """One transaction; raises `ConflictError` if the first key was made before."""
        absent = "attribute_not_exists(pk)"
        marker = {"pk": {"S": "BOOTSTRAP"}, "sk": {"S": "BOOTSTRAP"}, "key_id": {"S": key.id}, **SCHEMA}
        items: list[Any] = [marker, {**_address(key.id), **_attributes(key)}]
        puts: Any = [
            {"Put": {"TableName": self._table, "Item": item, "ConditionExpression": absent}} for item in items
        ]
        with translated("the access table"):
            self._client().transact_write_items(TransactItems=puts)


class DynamoRegistry:
    """See `Registry`. Whoever lists has the access table's role; who only adds, one that can do no more."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def add(self, scope: Scope) -> None:
        """Two writes, once for each scope."""
        for partition, name in (("ROOTS", scope.segments[0]), (_below(scope.segments[0]), scope.canonical)):
            with translated("the access table"):
                self._client().put_item(
                    TableName=self._table, Item={"pk": {"S": partition}, "sk": {"S": name}, **SCHEMA}
                )

    def roots(self) -> Iterator[str]:
        """One query for every megabyte of names."""
        return self._names("ROOTS")

    def below(self, root: str) -> Iterator[Scope]:
        """One query for every megabyte of names."""
        return map(Scope.parse, self._names(_below(root)))

    def _names(self, partition: str) -> Iterator[str]:
        return (item["sk"]["S"] for item in partition_items(self._client, self._table, partition))


def partition_items(
    connected: Callable[[], DynamoDBClient],
    table: str,
    partition: str,
    *,
    after: str | None = None,
    at_once: int = 1_000,
) -> Iterator[dict[str, Any]]:
    """The items of one partition in order, beyond one sort key: a query for each `at_once` or megabyte."""
    query: Any = {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        "ConsistentRead": True,
        "Limit": at_once,
    }
    if after is not None:
        query["KeyConditionExpression"] += " AND sk > :after"
        query["ExpressionAttributeValues"][":after"] = {"S": after}
    for answer in pages(lambda **asked: connected().query(**asked), query, "the access table"):
        yield from answer["Items"]


def _below(root: str) -> str:
    return f"SCOPES#{root}"


def _address(key_id: str) -> dict[str, Any]:
    """Keys lie in one partition, to be listed; a credential is looked up once a minute at the most."""
    if key_id.startswith(f"{DELEGATION}_"):
        return {"pk": {"S": f"DELEGATION#{key_id}"}, "sk": {"S": "DELEGATION"}}
    return {"pk": {"S": KEYS}, "sk": {"S": key_id}}


def _attributes(key: ApiKey) -> dict[str, Any]:
    """What never changes as one text; what does, when the key is used or revoked, beside it."""
    item = {"key": {"S": exact_json.dumps(lasting(key))}, **SCHEMA}
    if key.is_delegation and key.expires_at:
        item["ttl"] = {"N": str(int(key.expires_at.timestamp()))}
    return item


def _key(item: dict[str, Any]) -> ApiKey:
    changed = {name: _text(item, name) for name in ("revoked_at", "revoked_by", "last_used")}
    return key_of(json.loads(item["key"]["S"]), changed)


def _text(item: dict[str, Any], name: str) -> str:
    return str(item.get(name, {"S": ""})["S"])
