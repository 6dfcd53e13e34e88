"""The access table: the policy of each root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.items import SCHEMA, from_attributes, to_attributes
from unsay_core.adapters.records import from_record, to_record
from unsay_core.extraction.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoPolicies:
    """See `Policies`. The client comes from a function: credentials of the table's role are renewed."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def of(self, root: str) -> Steering:
        """One strongly consistent read."""
        with translated("the access table"):
            answer = self._client().get_item(TableName=self._table, Key=_address(root), ConsistentRead=True)
        found = answer.get("Item")
        return from_record(Steering, from_attributes(found)) if found else Steering()

    def put(self, root: str, steering: Steering) -> None:
        """One write."""
        item = {**_address(root), **to_attributes({"schema": SCHEMA} | to_record(steering))}
        with translated("the access table"):
            self._client().put_item(TableName=self._table, Item=item)


def _address(root: str) -> dict[str, Any]:
    return {"pk": {"S": f"POLICY#{root}"}, "sk": {"S": "POLICY"}}
