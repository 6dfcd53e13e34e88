"""Which generation of the index is read, and how far a rebuild is: an item each of the access table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.reindex import Reached

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

_KEY: Any = {"pk": {"S": "INDEX"}, "sk": {"S": "READ"}}
_REBUILD: Any = {"pk": {"S": "INDEX"}, "sk": {"S": "REBUILD"}}


class DynamoReadPointer:
    """See `ReadPointer`."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def current(self) -> int | None:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=_KEY, ConsistentRead=True)
        return int(answer["Item"]["generation"]["N"]) if "Item" in answer else None

    def turn(self, to: int, *, instead_of: int | None) -> None:
        """One conditional write."""
        guard: Any = {"ConditionExpression": "attribute_not_exists(pk)"}
        if instead_of is not None:
            guard = {
                "ConditionExpression": "generation = :old",
                "ExpressionAttributeValues": {":old": {"N": str(instead_of)}},
            }
        with translated("the access table"):
            self._client().put_item(
                TableName=self._table, Item={**_KEY, "generation": {"N": str(to)}}, **guard
            )


class DynamoBookmark:
    """See `Bookmark`."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def read(self) -> Reached | None:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=_REBUILD, ConsistentRead=True)
        if "Item" not in answer:
            return None
        item = answer["Item"]
        return Reached(item["scope"]["S"], item["memory"]["S"])

    def put(self, reached: Reached) -> None:
        """One write."""
        item = {**_REBUILD, "scope": {"S": reached.scope}, "memory": {"S": reached.memory_id}}
        with translated("the access table"):
            self._client().put_item(TableName=self._table, Item=item)

    def remove(self) -> None:
        """One delete."""
        with translated("the access table"):
            self._client().delete_item(TableName=self._table, Key=_REBUILD)
