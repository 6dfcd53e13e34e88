"""What says a forgotten value under another kind, key, time or in other capitals goes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.erasing import WAYS, Eraser
from tests.support.extraction import Talk, drain, fact, lines_of, said
from unsay_core.application.erase_twins import AT_ONCE, PAGE

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Caller

TEA, OTHER = "Bob drinks green tea.", "Bob drinks green tea at night."


def twins_of_tea(api: Caller) -> list[Any]:
    return [
        api.remember("bob drinks  GREEN tea")["id"],
        api.remember(TEA, key="drink")["id"],
        api.remember(TEA, kind="procedural")["id"],
        api.remember(TEA, valid_from="2020-01-01T00:00:00Z")["id"],
    ]


def contents(api: Caller) -> list[str]:
    return sorted(memory["content"] for memory in api.list()["items"])


@pytest.mark.usefixtures("most_buried")
@pytest.mark.parametrize("way", WAYS)
def test_whatever_says_a_forgotten_value_goes_too_and_is_named(
    api: Caller, eraser: Eraser, service: FakeService, way: str
) -> None:
    gone = api.remember(TEA)["id"]
    twins, other = twins_of_tea(api), api.remember(OTHER)["id"]
    assert len({gone, *twins}) == 5, "the control: they are no duplicates"
    receipt = eraser.finish(WAYS[way](eraser, gone))
    assert (receipt["state"], receipt["matched"], receipt["erased"]) == ("complete", 1, 5)
    assert {(each["id"], each["why"], each["outcome"]) for each in receipt["cascade"]} == {
        (twin, "same_value", "erased") for twin in twins
    }
    assert [memory["id"] for memory in api.list()["items"]] == [other]
    assert [api.forget(twin).code for twin in twins] == ["already_forgotten"] * 4
    assert "GREEN" not in service.dump()
    assert api.verify()["ok"]


def test_what_another_says_in_the_words_of_a_conversation_that_goes_stays(
    api: Caller, eraser: Eraser, service: FakeService
) -> None:
    talk = Talk(api)
    service.model.otherwise = lambda question: said(
        *(fact(line["n"], line["text"]) for line in lines_of(question))
    )
    talk.say(TEA, flush=True)
    drain(service)
    twin = api.remember(TEA, kind="procedural")["id"]
    assert len(contents(api)) == 2, "the control"
    receipt = eraser.finish(eraser.forget(run_id=talk.run_id))
    assert (receipt["state"], receipt["erased"]) == ("complete", 1)
    assert [memory["id"] for memory in api.list()["items"]] == [twin]


def test_where_only_an_id_is_buried_the_others_stay(api: Caller, eraser: Eraser) -> None:
    gone = api.remember(TEA)["id"]
    twins_of_tea(api)
    receipt = eraser.finish(api.forget(gone, tombstone="id"))
    assert (receipt["erased"], receipt["cascade"]) == (1, [])
    assert len(contents(api)) == 4


def test_a_record_of_the_same_words_stays(api: Caller, eraser: Eraser) -> None:
    gone = api.remember(TEA)["id"]
    api.remember(TEA, kind="item", key="drink")
    assert eraser.finish(api.forget(gone))["erased"] == 1
    assert api.listed(kind="item") == [TEA]


def test_twins_are_found_beyond_a_page_and_more_of_them_than_one_step_takes(
    api: Caller, eraser: Eraser
) -> None:
    gone = api.remember(TEA)["id"]
    for number in range(PAGE):
        api.remember(f"Bob has {number} cups.")
    many = AT_ONCE + 5
    for number in range(many):
        api.remember(TEA, valid_from=f"2020-01-{number + 1:02}T00:00:00Z")
    receipt = eraser.finish(api.forget(gone))
    assert (receipt["state"], receipt["erased"]) == ("complete", many + 1)
    assert not [memory for memory in api.list(limit=100)["items"] if "tea" in memory["content"]]


def test_what_is_written_anew_after_a_tombstone_is_lifted_meanwhile_stays(
    api: Caller, eraser: Eraser
) -> None:
    receipt = api.forget(api.remember(TEA)["id"])
    (grave,) = [g for g in api.tombstones()["items"] if g["kind"] == "value"]
    assert api.lift(grave["id"]).status in (200, 204)
    anew = api.remember(TEA)["id"]
    assert eraser.finish(receipt)["state"] == "complete"
    assert [memory["id"] for memory in api.list()["items"]] == [anew]
