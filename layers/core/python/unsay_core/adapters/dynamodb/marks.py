"""Which table this is: a mark within it that names it as no table is named that was restored from a backup.

The mark travels with the backup and goes on naming the table that the backup was made of. So a restored table
tells so itself, whatever it is called, until the check that follows a restore has marked it anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.dynamodb.access import SCHEMA
from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import UnavailableError
from unsay_core.settings import TABLE_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

_KEY: Any = {"pk": {"S": TABLE_MARK}, "sk": {"S": "ID"}}
_ID = "table"
GOOD_FOR = 300.0  # seconds; longer than nobody looks, and shorter than a table takes to be restored


class TableMarks:
    """The marks of some tables, looked at once a process and every few minutes.

    A refusal is not remembered: whoever was refused goes on as soon as the table has been checked.
    """

    def __init__(
        self,
        client: Callable[[], DynamoDBClient],
        tables: Sequence[str],
        monotonic: Callable[[], float],
        *,
        may_mark: bool = False,
    ) -> None:
        self._client = client
        self._tables = list(dict.fromkeys(tables))
        self._monotonic = monotonic
        self._may_mark = may_mark
        self._good_until = 0.0

    def check(self) -> None:
        """Raise `UnavailableError` for a table that another one's mark lies in.

        One without a mark is new: who may mark it does.
        """
        if self._monotonic() < self._good_until:
            return
        marked = self._marked()
        for table in self._tables:
            own = self._id_of(table)
            if table not in marked and self._may_mark:
                self._mark_new(table, own)
            elif marked.get(table, own) != own:
                raise UnavailableError("a table came from a backup and has not been checked yet")
        self._good_until = self._monotonic() + GOOD_FOR

    def mark(self) -> None:
        """Say of each table that it has been checked."""
        for table in self._tables:
            with translated():
                self._client().put_item(TableName=table, Item=self._item(self._id_of(table)))

    def forget(self) -> None:
        """Look anew with the next check."""
        self._good_until = 0.0

    def _marked(self) -> dict[str, str]:
        """The id in the mark of each table that has one."""
        asked: Any = {table: {"Keys": [_KEY], "ConsistentRead": True} for table in self._tables}
        with translated():
            answer = self._client().batch_get_item(RequestItems=asked)
        if answer.get("UnprocessedKeys"):
            raise UnavailableError("the ledger served only a part of a read")
        return {table: str(items[0][_ID]["S"]) for table, items in answer["Responses"].items() if items}

    def _id_of(self, table: str) -> str:
        """Its ARN and the time it was made at: a table under the same name, restored later, has another."""
        with translated():
            found = self._client().describe_table(TableName=table)["Table"]
        return f"{found['TableArn']} {found['CreationDateTime'].isoformat()}"

    def _mark_new(self, table: str, own: str) -> None:
        absent = "attribute_not_exists(pk)"
        try:
            with translated():
                self._client().put_item(TableName=table, Item=self._item(own), ConditionExpression=absent)
        except ConflictError:
            pass  # another process was first, and has read the same id

    def _item(self, own: str) -> dict[str, Any]:
        return {**_KEY, **SCHEMA, _ID: {"S": own}}
