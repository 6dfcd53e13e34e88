"""How far a command that walks all scopes is: an item of the access table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA
from unsay_core.application.reindex import Reached

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

REBUILD = "REBUILD"  # of documents and index


class DynamoBookmark:
    """See `Bookmark`; `name` is whose it is."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str, name: str = REBUILD) -> None:
        self._client = client
        self._table = table
        self._key: Any = {"pk": {"S": "INDEX"}, "sk": {"S": name}}

    def read(self) -> Reached | None:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=self._key, ConsistentRead=True)
        if "Item" not in answer:
            return None
        item = answer["Item"]
        return Reached(item["scope"]["S"], item["memory"]["S"])

    def put(self, reached: Reached) -> None:
        """One write."""
        item = {**self._key, **SCHEMA, "scope": {"S": reached.scope}, "memory": {"S": reached.memory_id}}
        with translated("the access table"):
            self._client().put_item(TableName=self._table, Item=item)

    def remove(self) -> None:
        """One delete."""
        with translated("the access table"):
            self._client().delete_item(TableName=self._table, Key=self._key)
