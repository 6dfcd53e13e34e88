"""The access table: keys by id."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.items import from_attributes, to_attributes
from unsay_core.application.access import ApiKey
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Principal, Scope
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient


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

    @property
    def first(self) -> FirstKeys:
        """The same table, for a key that there may be only one of."""
        return FirstKeys(self._client, self._table)


class FirstKeys(DynamoKeys):
    """Keys of which the table takes one, ever: a marker that it was made goes into the transaction."""

    def add(self, key: ApiKey) -> None:
        """One transaction; raises `ConflictError` if the first key was made before."""
        absent = "attribute_not_exists(pk)"
        marker = {"pk": {"S": "BOOTSTRAP"}, "sk": {"S": "BOOTSTRAP"}, "key_id": {"S": key.id}}
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
                    TableName=self._table, Item={"pk": {"S": partition}, "sk": {"S": name}}
                )

    def roots(self) -> Iterator[str]:
        """One query for every megabyte of names."""
        return self._names("ROOTS")

    def below(self, root: str) -> Iterator[Scope]:
        """One query for every megabyte of names."""
        return map(Scope.parse, self._names(_below(root)))

    def _names(self, partition: str) -> Iterator[str]:
        query: Any = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": partition}},
        }
        while True:
            with translated("the access table"):
                answer = self._client().query(**query)
            yield from (item["sk"]["S"] for item in answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _below(root: str) -> str:
    return f"SCOPES#{root}"


def _address(key_id: str) -> dict[str, Any]:
    return {"pk": {"S": f"KEY#{key_id}"}, "sk": {"S": "KEY"}}


def _attributes(key: ApiKey) -> dict[str, Any]:
    return to_attributes(
        {
            "name": key.name,
            "digest": key.digest,
            "principal": exact_json.dumps(key.principal.to_json()),
            "created_at": rfc3339(key.created_at),
            "created_by": key.created_by,
            "schema": key.schema,
            **({"expires_at": rfc3339(key.expires_at)} if key.expires_at else {}),
        }
    )


def _key(item: dict[str, Any]) -> ApiKey:
    record = from_attributes(item)
    principal = Principal.from_json(json.loads(record["principal"]))
    expires_at = record.get("expires_at")
    return ApiKey(
        id=principal.id,
        name=record["name"],
        digest=record["digest"],
        principal=principal,
        created_at=datetime.fromisoformat(record["created_at"]),
        created_by=record["created_by"],
        expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
        schema=record["schema"],
    )
