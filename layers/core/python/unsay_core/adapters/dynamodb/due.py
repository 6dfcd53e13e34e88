"""What is due, over all scopes: the one query that names no scope, and sees keys and times alone."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.items import DUE_AT, DUE_SHARD, due_shard, ref_of_item
from unsay_core.application.due import SHARDS
from unsay_core.application.sweep import Due
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "due"


class DynamoDueList:
    """See `DueList`; the client is the sweep λ's own, which may query this index and no table."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def until(self, now: datetime, *, limit: int) -> list[Due]:
        """One query per shard, the longest due first. The index lags behind the table by a moment."""
        found = [due for shard in range(SHARDS) for due in self._shard(shard, now, limit)]
        return sorted(found, key=lambda due: due.at)

    def _shard(self, shard: int, now: datetime, limit: int) -> list[Due]:
        with translated():
            answer = self._client.query(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression="#shard = :shard AND #at <= :now",
                ExpressionAttributeNames={"#shard": DUE_SHARD, "#at": DUE_AT},
                ExpressionAttributeValues={":shard": {"S": due_shard(shard)}, ":now": {"S": rfc3339(now)}},
                Limit=limit,
            )
        return [_due(item) for item in answer["Items"]]


def _due(item: Mapping[str, Any]) -> Due:
    scope_id = item["pk"]["S"].rpartition("#")[0]
    ref = ref_of_item(item)
    return Due(scope_id, ref.area, ref.id, datetime.fromisoformat(item[DUE_AT]["S"]))
