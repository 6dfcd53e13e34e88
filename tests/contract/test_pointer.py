"""The `ReadPointer` and `Bookmark` ports, on every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import MemoryBookmark, MemoryReadPointer
from unsay_core.adapters.dynamodb.bookmark import DynamoBookmark
from unsay_core.adapters.dynamodb.pointer import DynamoReadPointer
from unsay_core.application.ports import ConflictError
from unsay_core.application.reindex import Reached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.reading import ReadPointer
    from unsay_core.application.reindex import Bookmark


@pytest.fixture(params=["memory", "moto"])
def pointer(request: pytest.FixtureRequest) -> Iterator[ReadPointer]:
    if request.param == "memory":
        yield MemoryReadPointer()
        return
    client = request.getfixturevalue("moto_session").client("dynamodb")
    yield DynamoReadPointer(lambda: client, "access")
    client.delete_item(TableName="access", Key={"pk": {"S": "INDEX"}, "sk": {"S": "READ"}})


@pytest.fixture(params=["memory", "moto"])
def bookmark(request: pytest.FixtureRequest) -> Bookmark:
    if request.param == "memory":
        return MemoryBookmark()
    client = request.getfixturevalue("moto_session").client("dynamodb")
    return DynamoBookmark(lambda: client, "access")


def test_nobody_has_pointed_at_first(pointer: ReadPointer) -> None:
    assert pointer.current() is None


def test_it_turns_from_one_to_the_next(pointer: ReadPointer) -> None:
    pointer.turn(1, instead_of=None)
    pointer.turn(2, instead_of=1)
    assert pointer.current() == 2


def test_of_two_who_turn_it_from_the_same_place_one_is_refused(pointer: ReadPointer) -> None:
    pointer.turn(2, instead_of=None)
    with pytest.raises(ConflictError):
        pointer.turn(3, instead_of=None)
    with pytest.raises(ConflictError):
        pointer.turn(3, instead_of=1)
    assert pointer.current() == 2


def test_a_bookmark_holds_the_last_place_until_it_is_removed(bookmark: Bookmark) -> None:
    assert bookmark.read() is None
    for memory_id in ("mem_1", "mem_2"):
        bookmark.put(Reached("acme/ä b", memory_id))
    assert bookmark.read() == Reached("acme/ä b", "mem_2")
    for _ in range(2):
        bookmark.remove()
    assert bookmark.read() is None
