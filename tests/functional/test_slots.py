"""Time in a slot is shared: what is interrupted goes on, and a successor may be still to come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.support.candidates import candidate
from tests.support.fakes import FakeService
from tests.support.http import Caller

LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."
FOR_A_YEAR = {"valid_from": "2024-01-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}
LATER = "2090-01-01T00:00:00Z"


def year(number: int) -> str:
    return f"{number}-06-01T00:00:00Z"


def interrupted(api: Caller, **fields: Any) -> tuple[str, str, str]:
    """Lisbon until Porto, Porto for a year, and Lisbon again."""
    before = api.remember(LISBON, key="home", valid_from="2020-01-01T00:00:00Z", **fields)["id"]
    porto = api.remember(PORTO, key="home", **FOR_A_YEAR)["id"]
    (after,) = (memory["id"] for memory in api.list(key="home")["items"] if memory["content"] == LISBON)
    return before, porto, after


def test_what_is_interrupted_goes_on_as_a_memory_of_its_own(api: Caller) -> None:
    fields = {"tags": ["t"], "data": {"n": 1}, "source": {"run_id": "run-1", "quote": "I live there."}}
    before, porto, after = (api.get(i).body for i in interrupted(api, **fields))
    assert (before["status"], before["superseded_by"]) == ("superseded", porto["id"])
    assert (before["valid_to"], porto["valid_to"]) == (porto["valid_from"], after["valid_from"])
    assert (after["status"], after["version"], after["valid_to"]) == ("active", 1, None)
    assert (after["supersedes"], after["derived_from"]) == ([before["id"]], [before["id"]])
    for name in ("content", "key", "tags", "data", "source", "trust", "kind", "importance"):
        assert after[name] == before[name], name
    assert porto["supersedes"] == [before["id"]]
    assert api.recalled() == [LISBON]
    assert api.events() == ["memory.remembered"] * 2


def test_what_goes_on_holds_its_time_in_the_slot(api: Caller) -> None:
    _, porto, after = interrupted(api)
    faro = api.remember(FARO, key="home", valid_from="2025-01-01T00:00:00Z")
    assert faro["supersedes"] == [after]
    assert api.get(porto)["status"] == "active"
    assert api.get(after)["status"] == "superseded"
    assert api.remember(LISBON, key="home", valid_from="2025-01-01T00:00:00Z").status == 201


@pytest.mark.parametrize("which", [0, 2])
def test_either_part_takes_the_other_along_and_leaves_the_interruption(api: Caller, which: int) -> None:
    parts = interrupted(api)
    assert api.forget(parts[which])["erased"] == 2
    assert [api.get(i).status for i in parts] == [404, 200, 404]
    assert api.listed(key="home") == [PORTO]


def test_the_interruption_goes_alone(api: Caller) -> None:
    before, porto, after = interrupted(api)
    assert api.forget(porto)["erased"] == 1
    assert [api.get(i).status for i in (before, porto, after)] == [200, 404, 200]
    assert api.recalled() == [LISBON]
    assert api.remember(LISBON).status == 201


def test_what_was_interrupted_twice_is_forgotten_whole(api: Caller) -> None:
    before, porto, after = interrupted(api)
    faro = api.remember(FARO, key="home", valid_from=year(2025), valid_to=year(2026))["id"]
    assert api.recalled("", valid_at=year(2027)) == [LISBON]
    assert api.forget(before)["erased"] == 3
    assert api.listed(key="home") == [FARO, PORTO]
    assert api.get(after).status == 404
    assert [api.get(i).status for i in (porto, faro)] == [200, 200]


def test_a_successor_of_what_goes_on_takes_the_whole_of_it_along(api: Caller) -> None:
    before, porto, after = interrupted(api)
    faro = api.correct(after, FARO)["id"]
    assert api.forget(faro)["erased"] == 3
    assert [api.get(i).status for i in (before, porto, after)] == [404, 200, 404]


def test_an_end_before_the_beginning_leaves_nothing_to_go_on(api: Caller) -> None:
    api.remember(LISBON, key="home", valid_to="2024-06-01T00:00:00Z")
    api.remember(PORTO, key="home", **FOR_A_YEAR)
    assert api.listed(key="home") == [PORTO]
    assert api.recalled("", valid_at=year(2023)) == [LISBON]


def test_what_begins_inside_the_interruption_goes_on_after_it(api: Caller) -> None:
    old = api.remember(LISBON, key="home", valid_from=year(2024))["id"]
    api.remember(PORTO, key="home", **FOR_A_YEAR)
    assert api.get(old)["status"] == "superseded"
    assert api.recalled("", valid_at=year(2024)) == [PORTO]
    assert api.recalled("", valid_at=year(2025)) == [LISBON]


def test_an_interruption_of_unknown_beginning_leaves_what_comes_after_it(api: Caller) -> None:
    api.remember(LISBON, key="home", valid_from="2020-01-01T00:00:00Z")
    api.remember(PORTO, key="home", valid_to="2025-01-01T00:00:00Z")
    assert api.recalled() == [LISBON]
    assert sorted(api.recalled("", valid_at=year(2024))) == [LISBON, PORTO]
    assert api.recalled("", valid_at=year(2025)) == [LISBON]


def test_doubt_goes_on_too(api: Caller) -> None:
    before = api.remember(LISBON, key="home", valid_from="2020-01-01T00:00:00Z")["id"]
    api.dispute(before)
    api.remember(PORTO, key="home", **FOR_A_YEAR)
    (after,) = api.list(key="home", trust="disputed")["items"]
    assert after["supersedes"] == [before]
    assert [waiting["id"] for waiting in api.reviews(state="disputed")["items"]] == [after["id"]]
    assert api.recalled() == []
    assert api.decide(after["id"]).status == 200
    assert api.recalled() == [LISBON]


def test_an_edit_and_an_approval_interrupt_as_a_write_does(api: Caller, service: FakeService) -> None:
    for key in ("edited", "approved"):
        api.remember(f"Long {key}.", key=key, valid_from="2020-01-01T00:00:00Z")
    api.edit(api.remember("Short edited.", **FOR_A_YEAR)["id"], key="edited")
    ends = {name: datetime.fromisoformat(text) for name, text in FOR_A_YEAR.items()}
    api.decide(candidate(service, "Short approved.", "for a test", key="approved", **ends).id)
    for key in ("edited", "approved"):
        assert sorted(api.listed(key=key)) == [f"Long {key}.", f"Short {key}."]
        assert api.recalled("", valid_at=year(2024), kinds=["semantic"]).count(f"Short {key}.") == 1


def test_a_change_to_come_leaves_today_as_it_is(api: Caller, service: FakeService) -> None:
    old = api.remember(LISBON, key="home")
    new = api.correct(old["id"], PORTO, valid_from="2030-01-01T00:00:00Z")
    assert new.status == 201
    now = api.get(old["id"])
    assert (now["status"], now["superseded_by"], now["version"]) == ("active", new["id"], 2)
    assert (now["valid_to"], now["invalidated_at"]) == (new["valid_from"], None)
    assert api.recalled() == [LISBON]
    assert sorted(api.listed(key="home")) == [LISBON, PORTO]
    service.clock.pass_(hours=24 * 365 * 5)
    then = api.get(old["id"])
    assert (then["status"], then["invalidated_at"]) == ("superseded", new["valid_from"])
    assert api.recalled() == api.listed(key="home") == [PORTO]
    assert api.listed(status="superseded") == [LISBON]
    assert api.statistics()["statuses"] == {"active": 1, "superseded": 1}
    assert api.edit(old["id"], version=2, tags=["t"]).code == "wrong_status"
    assert api.retract(old["id"], version=2).status == 200


def test_until_then_the_old_one_is_edited_doubted_and_corrected_as_ever(api: Caller) -> None:
    old = api.remember(LISBON, key="home")["id"]
    new = api.correct(old, PORTO, valid_from=LATER)["id"]
    assert api.edit(old, version=2, tags=["t"])["tags"] == ["t"]
    for end in (None, year(2091), year(2040)):
        refused = api.edit(old, version=3, valid_to=end)
        assert (refused.status, refused["errors"][0]["path"]) == (400, "valid_to")
    faro = api.correct(old, FARO, version=3)
    assert faro["valid_to"] == api.get(new)["valid_from"]
    assert api.recalled() == [FARO]
    assert api.recalled("", valid_at=year(2095)) == [PORTO]


def test_the_same_words_may_be_said_again_after_the_change(api: Caller, service: FakeService) -> None:
    old = api.remember(LISBON)["id"]
    api.correct(old, PORTO, valid_from="2030-01-01T00:00:00Z")
    assert api.remember(LISBON, source={"run_id": "r"})["id"] == old
    service.clock.pass_(hours=24 * 365 * 5)
    again = api.remember(LISBON)
    assert again.status == 201
    assert again["id"] != old
    assert sorted(api.recalled()) == [LISBON, PORTO]
    api.forget(old, tombstone="id")
    assert api.remember(LISBON, source={"run_id": "s"})["id"] == again["id"]


def test_a_successor_in_the_slot_may_be_still_to_come(api: Caller) -> None:
    old = api.remember(LISBON, key="home")["id"]
    assert api.remember(PORTO, key="home", valid_from=LATER)["supersedes"] == [old]
    assert api.recalled() == [LISBON]
    assert api.remember(FARO, key="home", valid_from=year(2095))["supersedes"] != [old]
    assert api.recalled() == [LISBON]
    assert api.recalled("", valid_at=year(2092)) == [PORTO]


def test_what_was_wrong_is_gone_at_once_whenever_the_right_one_begins(api: Caller) -> None:
    old = api.remember(LISBON)["id"]
    api.correct(old, PORTO, "wrong", valid_from=LATER)
    assert api.get(old)["status"] == "superseded"
    assert api.recalled() == []


def test_what_is_over_when_it_is_written_supersedes_nothing(api: Caller) -> None:
    old = api.remember(LISBON, key="home")["id"]
    late = api.remember(PORTO, key="home", expires_at="2020-01-01T00:00:00Z")
    assert (late.status, late["status"], late["supersedes"]) == (201, "expired", [])
    assert api.get(old)["status"] == "active"
    other = api.remember(FARO)["id"]
    edited = api.edit(other, key="home", expires_at="2020-01-01T00:00:00Z")
    assert (edited.status, edited["status"], edited["supersedes"]) == (200, "expired", [])
    assert api.listed(key="home") == [LISBON]
    assert api.remember(FARO, key="home")["supersedes"] == [old]
