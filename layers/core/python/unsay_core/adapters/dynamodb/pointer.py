"""Which generation of the index is read: an item of the access table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

_KEY: Any = {"pk": {"S": "INDEX"}, "sk": {"S": "READ"}}


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
                TableName=self._table, Item={**_KEY, **SCHEMA, "generation": {"N": str(to)}}, **guard
            )
