"""The contract of `Anchors`, on every backend; the in-process AWS skips the first key after a marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.conftest import ON_STACK, new_scope_id
from tests.support.clock import FakeClock
from tests.support.fakes import MemoryAnchors
from unsay_core.adapters.anchor_file import AnchorFile, FileAnchors
from unsay_core.adapters.s3.anchors import S3Anchors

if TYPE_CHECKING:
    from unsay_core.application.ports import Anchors

HASHES = ["a" * 64, "b" * 64, "c" * 64]


@pytest.fixture(params=["memory", "file", "file in memory", ON_STACK])
def new_anchors(request: pytest.FixtureRequest) -> Callable[[], Anchors]:
    """Makes places for the anchors of scopes of which nothing is anchored."""
    if request.param.startswith("file"):
        path = request.getfixturevalue("tmp_path") / "anchors" if request.param == "file" else None
        file = AnchorFile(path, FakeClock())
        return lambda: FileAnchors(file, new_scope_id())
    if request.param == "memory":
        return lambda: MemoryAnchors(FakeClock())
    tagged = request.getfixturevalue("tagged")
    bucket = request.getfixturevalue("stack").outputs["AnchorsBucket"]

    def on_stack() -> Anchors:
        scope_id = new_scope_id()
        client = tagged("s3", scope_id)
        return S3Anchors(lambda: client, bucket, scope_id)

    return on_stack


@pytest.fixture
def anchors(new_anchors: Callable[[], Anchors]) -> Anchors:
    return new_anchors()


def said(found: Any) -> list[tuple[int, str]]:
    return [(anchor.seq, anchor.hash) for anchor in found]


def test_nothing_is_anchored_at_first(anchors: Anchors) -> None:
    assert said(anchors.since(1)) == []


def test_what_is_anchored_comes_back_in_order_from_a_place_on(anchors: Anchors) -> None:
    for seq, hash in ((30, HASHES[2]), (1, HASHES[0]), (4, HASHES[1])):
        anchors.put(seq, hash)
    assert said(anchors.since(1)) == [(1, HASHES[0]), (4, HASHES[1]), (30, HASHES[2])]
    assert said(anchors.since(4)) == [(4, HASHES[1]), (30, HASHES[2])]
    assert said(anchors.since(5)) == [(30, HASHES[2])]
    assert said(anchors.since(31)) == []


def test_anchoring_again_changes_nothing_not_even_the_time(anchors: Anchors) -> None:
    anchors.put(1, HASHES[0])
    before = list(anchors.since(1))
    anchors.put(1, HASHES[0])
    assert list(anchors.since(1)) == before


def test_a_place_anchored_with_two_hashes_comes_twice(anchors: Anchors) -> None:
    anchors.put(2, HASHES[0])
    anchors.put(2, HASHES[1])
    assert sorted(said(anchors.since(2))) == [(2, HASHES[0]), (2, HASHES[1])]


def test_each_says_where_it_is_and_since_when(anchors: Anchors) -> None:
    anchors.put(7, HASHES[0])
    (found,) = anchors.since(1)
    assert f"{7:012d}-{HASHES[0]}" in found.location
    assert found.at.tzinfo is not None


def test_scopes_have_anchors_of_their_own(new_anchors: Callable[[], Anchors]) -> None:
    own = new_anchors()
    other = new_anchors()
    own.put(1, HASHES[0])
    assert (said(own.since(1)), said(other.since(1))) == ([(1, HASHES[0])], [])
