"""The ledger of one scope on DynamoDB, through a client that can reach no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.items import Place, entry_of_item
from unsay_core.adapters.dynamodb.pages import pages
from unsay_core.adapters.records import snapshot_of
from unsay_core.application.ledger import Absent, Check, Delete, Holds, Put
from unsay_core.application.ports import Snapshot
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from unsay_core.application.ledger import Area, Change, Entry, Expectation, Ref

READ_ROUNDS = 4  # of a batch of which DynamoDB served a part


class DynamoLedger:
    """See `Ledger`; `client` carries the credentials of the scope's tagged session."""

    def __init__(self, client: DynamoDBClient, place: Place) -> None:
        self._client = client
        self._place = place

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """One BatchGetItem over both tables, strongly consistent."""
        wanted = self._requests(refs)
        found: list[Any] = []
        for _ in range(READ_ROUNDS):
            with translated():
                answer = self._client.batch_get_item(RequestItems=wanted)
            for items in answer["Responses"].values():
                found += items
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return snapshot_of(found, entry_of_item)
        raise UnavailableError("the ledger served only a part of a read")

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> list[Entry]:
        """Queries until `limit` entries are found: one answer of DynamoDB ends at 1 MB."""
        found: list[Entry] = []
        query = self._query(area, after, limit, newest_first)
        for answer in pages(self._client.query, query):
            found.extend(map(entry_of_item, answer["Items"]))
            if len(found) >= limit:
                break
            query["Limit"] = limit - len(found)
        return found

    def commit(self, change: Change) -> None:
        """One TransactWriteItems; a lost race of any kind is a `ConflictError`."""
        with translated():
            self._client.transact_write_items(TransactItems=[self._action(part) for part in change])

    def _requests(self, refs: Sequence[Ref[Any]]) -> dict[str, Any]:
        keys: dict[str, list[Any]] = {}
        for ref in dict.fromkeys(refs):
            keys.setdefault(self._place.table(ref.area), []).append(self._place.key(ref))
        return {table: {"Keys": wanted, "ConsistentRead": True} for table, wanted in keys.items()}

    def _query(self, area: Area, after: str | None, limit: int, newest_first: bool) -> dict[str, Any]:
        names, values = {"#pk": "pk"}, {":pk": {"S": self._place.partition(area)}}
        condition = "#pk = :pk"
        if after is not None:
            condition += f" AND #sk {'<' if newest_first else '>'} :after"
            names["#sk"], values[":after"] = "sk", {"S": after}
        return {
            "TableName": self._place.table(area),
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "Limit": limit,
            "ScanIndexForward": not newest_first,
            "ConsistentRead": True,
        }

    def _action(self, part: Put | Delete | Check) -> Any:
        target = {"TableName": self._place.table(part.ref.area), **_condition(part.expect)}
        match part:
            case Put(entry):
                return {"Put": {"Item": self._place.item(entry), **target}}
            case Delete(ref):
                return {"Delete": {"Key": self._place.key(ref), **target}}
            case Check(ref):
                return {"ConditionCheck": {"Key": self._place.key(ref), **target}}


def _condition(expect: Expectation) -> dict[str, Any]:
    match expect:
        case Absent():
            return {
                "ConditionExpression": "attribute_not_exists(#pk)",
                "ExpressionAttributeNames": {"#pk": "pk"},
            }
        case Holds(field, value):
            return {
                "ConditionExpression": "#field = :value",
                "ExpressionAttributeNames": {"#field": field},
                "ExpressionAttributeValues": {":value": {"N": str(value)}},
            }
        case _:
            return {}
