"""`GET /v1/memories`: pages in which what existed throughout appears exactly once."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller, quoted


def pages(
    api: Caller, scope: str = "acme/alice", between: Any = lambda: None, **parameters: Any
) -> list[str]:
    """The contents of every page, in order."""
    found: list[str] = []
    cursor = None
    for _ in range(1_000):
        answer = api.list(scope, **parameters, **({"cursor": cursor} if cursor else {}))
        assert answer.status == 200, answer.text
        found += [memory["content"] for memory in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            return found
        between()
    raise AssertionError("the pages have no end")


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 10, 100])
def test_every_memory_that_was_there_throughout_is_listed_once(api: Caller, limit: int, order: str) -> None:
    old = [f"old {number}" for number in range(137)]
    ids = [api.remember(text)["id"] for text in old]
    inserted = iter(range(10_000))

    def meanwhile() -> None:
        api.remember(f"new {next(inserted)}") if limit > 1 else None
        if ids:
            api.forget(ids.pop(70) if len(ids) > 70 else ids.pop(), tombstone="id") if limit == 10 else None

    found = [
        text for text in pages(api, between=meanwhile, limit=limit, order=order) if text.startswith("old")
    ]
    assert len(found) == len(set(found))
    if limit != 10:
        assert found == (old if order == "asc" else old[::-1])
    else:
        kept = {api.get(memory_id)["content"] for memory_id in ids}
        assert kept <= set(found)


def test_newest_first_unless_asked_otherwise(api: Caller) -> None:
    for text in ("one", "two", "three"):
        api.remember(text)
    assert api.listed() == ["three", "two", "one"]
    assert api.listed(order="asc") == ["one", "two", "three"]


def test_twenty_to_a_page_unless_asked_otherwise(api: Caller) -> None:
    for number in range(21):
        api.remember(f"{number}")
    assert len(api.listed()) == 20


@pytest.mark.parametrize("limit", ["0", "-1", "101", "1.5", "", "ten", "１", "1e1", " 1", "+1", "9" * 30])
def test_a_limit_out_of_range_is_refused_and_never_clamped(api: Caller, limit: str) -> None:
    answer = api.list(limit=limit)
    assert (answer.status, answer.code) == (400, "invalid_limit")
    assert api.list(limit=100).status == 200


def test_each_filter_narrows(api: Caller) -> None:
    api.remember("a", kind="episodic", tags=["x", "y"], key="slot", source={"run_id": "run:1"})
    api.remember("b", tags=["y"])
    wanted: dict[str, str] = {"kind": "episodic", "tag": "x", "key": "slot", "run_id": "run:1"}
    for name, value in wanted.items():
        assert api.listed(**{name: value}) == ["a"], name
    assert api.listed(tag="y") == ["b", "a"]
    assert api.listed(trust="asserted") == ["b", "a"]
    assert api.listed(trust="verified") == []


@pytest.mark.parametrize(
    "query",
    [
        "status=nonsense",
        "kind=nonsense",
        "key=UPPER",
        "trust=divine",
        "order=random",
        "run_id=a%20b",
        "unknown=1",
        "valid_at=2026-05-01T00:00:00",
        "valid_at=2026-05-01T00%3A00%3A00 00:00",
        "tag=a&tag=b",
        "tag=",
        "limit=1&limit=1",
        "scope=acme%2Fbob",
        "tag=%",
        "tag=%ff",
    ],
)
def test_a_query_string_that_is_not_valid_is_refused(api: Caller, query: str) -> None:
    answer = api.send("GET", "/v1/memories", query=f"scope=acme%2Falice&{query}")
    assert answer.status == 400
    assert api.list().status == 200


def test_a_plus_in_a_query_string_is_a_plus(api: Caller) -> None:
    api.remember("plus", tags=["a+b"])
    api.remember("space", tags=["a b"])
    assert [
        m["content"] for m in api.send("GET", "/v1/memories", query="scope=acme/alice&tag=a+b")["items"]
    ] == ["plus"]
    assert api.listed(tag="a b") == ["space"]
    at = "2026-05-01T12:00:00+02:00"
    assert api.send("GET", "/v1/memories", query=f"scope=acme/alice&valid_at={at}").status == 200


def cursor_of(api: Caller, scope: str = "acme/alice", **parameters: Any) -> str:
    """The cursor of a first page that is not the last."""
    for number in range(3):
        api.remember(f"{scope} {number}", scope)
    cursor = api.list(scope, limit=1, **parameters)["next_cursor"]
    assert cursor
    return str(cursor)


def test_a_cursor_is_good_for_its_own_listing_at_any_page_size(api: Caller) -> None:
    cursor = cursor_of(api)
    assert len(api.listed(cursor=cursor, limit=1)) == 1
    assert len(api.listed(cursor=cursor, limit=2)) == 2


@pytest.mark.parametrize(
    "other", [{"order": "asc"}, {"kind": "semantic"}, {"status": "superseded"}, {"tag": "x"}]
)
def test_a_cursor_of_another_query_is_refused(api: Caller, other: dict[str, str]) -> None:
    cursor = cursor_of(api)
    answer = api.list(cursor=cursor, **other)
    assert (answer.status, answer.code) == (400, "invalid_cursor")
    assert api.list(cursor=cursor).status == 200


def test_a_cursor_of_another_scope_is_refused(api: Caller) -> None:
    cursor = cursor_of(api, "acme/bob")
    answer = api.list("acme/alice", cursor=cursor)
    assert (answer.status, answer.code) == (400, "invalid_cursor")
    assert api.list("acme/bob", cursor=cursor).status == 200


def test_a_tampered_cursor_is_refused(api: Caller) -> None:
    cursor = cursor_of(api)
    sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    moved = base64.urlsafe_b64encode(sealed[:-1] + bytes([sealed[-1] ^ 1])).decode().rstrip("=")
    for bad in (
        moved,
        cursor[:-1],
        cursor + "A",
        "",
        "x",
        cursor.swapcase(),
        cursor + "=",
        "é",
        "\x00",
        "a" * 5_000,
    ):
        answer = api.send("GET", "/v1/memories", query=f"scope=acme/alice&cursor={quoted(bad)}")
        assert (answer.status, answer.code) == (400, "invalid_cursor"), bad


def test_rare_matches_end_with_null_and_nothing_else(api: Caller, service: FakeService) -> None:
    for number in range(250):
        api.remember(f"{number}", tags=["rare"] if number % 100 == 0 else [])
    assert pages(api, tag="rare", limit=1) == ["200", "100", "0"]
