"""The access table: requests by caller and minute, gone by TTL soon after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoTally:
    """See `Tally`. The client comes from a function: credentials of the table's role are renewed."""

    def __init__(self, client: Callable[[], DynamoDBClient], table: str) -> None:
        self._client = client
        self._table = table

    def add(self, root: str, name: str, amount: int, until: datetime) -> int:
        """One atomic update."""
        with translated("the access table"):
            answer = self._client().update_item(
                TableName=self._table,
                Key={"pk": {"S": f"RATE#{root}"}, "sk": {"S": name}},
                UpdateExpression="ADD #n :n SET #ttl = :ttl, #schema = :schema",
                ExpressionAttributeNames={"#n": "n", "#ttl": "ttl", "#schema": "schema"},
                ExpressionAttributeValues={
                    ":n": {"N": str(amount)},
                    ":ttl": {"N": str(int(until.timestamp()))},
                    ":schema": SCHEMA["schema"],
                },
                ReturnValues="UPDATED_NEW",
            )
        return int(answer["Attributes"]["n"]["N"])
