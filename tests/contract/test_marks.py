"""A table says which one it is: a new one is marked once, and one from a backup serves nobody unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from unsay_core.adapters.dynamodb.marks import GOOD_FOR, TableMarks
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import boto3

TABLES = ("marked-ledger", "marked-record")
KEY = {"pk": {"S": "TABLE"}, "sk": {"S": "ID"}}


class Marked:
    """Two tables, the processes that look at them, and what a restore does."""

    def __init__(self, client: Any) -> None:
        self.client, self.now, self.calls = client, 1_000.0, 0
        for table in TABLES:
            self.make(table)

    def make(self, table: str) -> None:
        keys = [("pk", "HASH"), ("sk", "RANGE")]
        self.client.create_table(
            TableName=table,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
            BillingMode="PAY_PER_REQUEST",
        )

    def restore(self, table: str) -> None:
        """Under the same name, with all that was in it."""
        items = self.client.scan(TableName=table)["Items"]
        self.client.delete_table(TableName=table)
        self.make(table)
        for item in items:
            self.client.put_item(TableName=table, Item=item)

    def process(self, *, may_mark: bool = False) -> TableMarks:
        return TableMarks(self._counted, TABLES, lambda: self.now, may_mark=may_mark)

    def _counted(self) -> Any:
        self.calls += 1
        return self.client


@pytest.fixture
def marked(moto_session: boto3.session.Session) -> Iterator[Marked]:
    client = moto_session.client("dynamodb")
    yield Marked(client)
    for table in TABLES:
        client.delete_table(TableName=table)


def test_new_tables_are_marked_by_who_may_and_believed_by_all(marked: Marked) -> None:
    marked.process().check()
    assert "Item" not in marked.client.get_item(TableName=TABLES[0], Key=KEY)
    marked.process(may_mark=True).check()
    first = [marked.client.get_item(TableName=table, Key=KEY)["Item"] for table in TABLES]
    for process in (marked.process(), marked.process(may_mark=True)):
        process.check()
    assert first == [marked.client.get_item(TableName=table, Key=KEY)["Item"] for table in TABLES]


@pytest.mark.parametrize("table", TABLES)
def test_a_restored_table_is_refused_by_everybody_until_it_was_checked(marked: Marked, table: str) -> None:
    marked.process(may_mark=True).check()
    marked.restore(table)
    processes = [marked.process(), marked.process(may_mark=True)]
    for process in processes * 2:
        with pytest.raises(UnavailableError):
            process.check()
    marked.process().mark()
    for process in processes:
        process.check()


def test_a_process_looks_once_and_again_after_a_while(marked: Marked) -> None:
    process = marked.process(may_mark=True)
    process.check()
    looked = marked.calls
    for _ in range(5):
        process.check()
    assert marked.calls == looked
    marked.restore(TABLES[0])
    marked.now += GOOD_FOR
    with pytest.raises(UnavailableError):
        process.check()


def test_what_came_from_a_snapshot_looks_anew(marked: Marked) -> None:
    process = marked.process(may_mark=True)
    process.check()
    marked.restore(TABLES[0])
    process.forget()
    with pytest.raises(UnavailableError):
        process.check()
