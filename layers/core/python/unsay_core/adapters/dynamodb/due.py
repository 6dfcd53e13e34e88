"""What is due, over all scopes: the one query that names no scope, and sees keys and times alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.items import DUE_AT, DUE_SHARD, due_shard, ref_of_item
from unsay_core.application.due import SHARDS, STILL_FOR, Listing
from unsay_core.application.sweep import Due
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "due"
MARGIN = timedelta(minutes=1)  # by which the clocks of two λs may differ


class DynamoDueList:
    """See `DueList`; the client is the sweep λ's own, which may query this index and no table."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def until(self, now: datetime, *, limit: int) -> list[Due]:
        """One query per shard and list, the longest due first. The index lags a moment behind the table."""
        lists = (Listing.DUE, Listing.ERASURES)
        found = [due for listing in lists for due in self._list(listing, now, limit)]
        return sorted(found, key=lambda due: due.at)

    def candidates(self, now: datetime, *, limit: int) -> list[Due]:
        """Those that wait; `at` is since when."""
        return self._list(Listing.CANDIDATES, now, limit)

    def erasures(self, now: datetime, *, limit: int) -> list[Due]:
        """Those at work: each is due within the time that one may stand still."""
        return self._list(Listing.ERASURES, now + STILL_FOR + MARGIN, limit)

    def _list(self, listing: Listing, until: datetime, limit: int) -> list[Due]:
        shards = [due_shard(listing, number) for number in range(SHARDS)]
        return [due for shard in shards for due in self._shard(shard, until, limit)]

    def _shard(self, shard: str, until: datetime, limit: int) -> list[Due]:
        with translated():
            answer = self._client.query(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression="#shard = :shard AND #at <= :until",
                ExpressionAttributeNames={"#shard": DUE_SHARD, "#at": DUE_AT},
                ExpressionAttributeValues={":shard": {"S": shard}, ":until": {"S": rfc3339(until)}},
                Limit=limit,
            )
        return [_due(item) for item in answer["Items"]]


def _due(item: Mapping[str, Any]) -> Due:
    scope_id = item["pk"]["S"].rpartition("#")[0]
    ref = ref_of_item(item)
    return Due(scope_id, ref.area, ref.id, datetime.fromisoformat(item[DUE_AT]["S"]))
