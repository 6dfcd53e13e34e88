"""The access table: counters of what extraction costs and how its model does, per root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoCounters:
    """See `Counters`. Its role may count, and see no key and no grant."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def read(self, name: str) -> int:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=_address(name), ConsistentRead=True)
        found = answer.get("Item")
        return int(found["n"]["N"]) if found else 0

    def add(self, name: str, amount: int) -> int:
        """One atomic update."""
        return self._update(name, "ADD #n :n SET #schema = :schema", amount)

    def clear(self, name: str) -> None:
        """One update."""
        self._update(name, "SET #n = :n, #schema = :schema", 0)

    def _update(self, name: str, expression: str, number: int) -> int:
        with translated("the access table"):
            answer = self._client().update_item(
                TableName=self._table,
                Key=_address(name),
                UpdateExpression=expression,
                ExpressionAttributeNames={"#n": "n", "#schema": "schema"},
                ExpressionAttributeValues={":n": {"N": str(number)}, ":schema": SCHEMA["schema"]},
                ReturnValues="UPDATED_NEW",
            )
        return int(answer["Attributes"]["n"]["N"])


def _address(name: str) -> dict[str, Any]:
    root, _, counter = name.partition("/")
    return {"pk": {"S": f"METER#{root}"}, "sk": {"S": counter}}
