"""A query is followed page by page to its end, and a store that repeats a page is not followed for ever."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import memory
from unsay_core.adapters.dynamodb.access import partition_items
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.application.ledger import Area
from unsay_core.domain.errors import UnavailableError

PLACE = Place("s1", "ledger", "record")


class Store:
    """A table whose every page has one item, and which repeats the page before where it is told to."""

    def __init__(self, items: list[dict[str, Any]], *, repeats: bool = False) -> None:
        self.items, self.repeats, self.asked = items, repeats, list[dict[str, Any]]()

    def query(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(dict(asked))
        begin = int(asked.get("ExclusiveStartKey", {"n": "0"})["n"])
        end = begin if self.repeats and begin == 2 else begin + 1
        more = {"LastEvaluatedKey": {"n": str(end)}} if end < len(self.items) else {}
        return {"Items": [self.items[begin]], **more}


def stored(number: int) -> list[dict[str, Any]]:
    return [PLACE.item(memory(each)) for each in range(number)]


def page(store: Any, limit: int) -> list[str]:
    return [entry.id for entry in DynamoLedger(store, PLACE).page(Area.MEMORY, limit=limit)]  # type: ignore[union-attr]


def test_every_page_is_read_once_up_to_the_limit() -> None:
    assert len(page(Store(stored(4)), 9)) == 4
    assert len(page(store := Store(stored(4)), 3)) == 3
    assert [asked["Limit"] for asked in store.asked] == [3, 2, 1]


def test_a_store_that_repeats_a_page_is_left_with_a_fault() -> None:
    store = Store(stored(9), repeats=True)
    with pytest.raises(UnavailableError, match="the ledger answers with the same page"):
        page(store, 9)
    assert len(store.asked) == 3
    names: Any = Store(stored(9), repeats=True)
    with pytest.raises(UnavailableError, match="the access table answers with the same page"):
        list(partition_items(lambda: names, "access", "ROOTS"))
    assert len(names.asked) == 3, "the control: what went before was read"
