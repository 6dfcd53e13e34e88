"""`GET /v1/memories/{id}/history`: what a memory was, and what happened to it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.candidates import candidate
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, principal
from unsay_core.application.look_up import MOST_EVENTS
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action

LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."


def told(answer: Answer) -> list[str]:
    return [event["event"] for event in answer["events"]]


def states(answer: Answer) -> list[tuple[Any, ...]]:
    return [(v["version"], v["content"], v["status"]) for v in answer["versions"]]


def test_of_a_memory_that_was_left_alone(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.remember("Something else.")
    history = api.history(memory["id"])
    assert history["versions"] == [api.get(memory["id"]).body]
    assert told(history) == [Event.REMEMBERED]
    (event,) = history["events"]
    assert event == api.audit()["items"][0]


def test_of_a_memory_that_was_edited_and_corrected(api: Caller) -> None:
    first = api.remember(LISBON)
    api.edit(first["id"], content=PORTO)
    api.remember("Something in between.")
    second = api.correct(first["id"], FARO, version=2, note="Moved.")
    old, new = api.history(first["id"]), api.history(second["id"])
    assert states(old) == [(1, LISBON, "active"), (2, PORTO, "active"), (3, PORTO, "superseded")]
    assert told(old) == [Event.REMEMBERED, Event.EDITED, Event.CORRECTED]
    assert states(new) == [(1, FARO, "active")]
    assert told(new) == [Event.CORRECTED]
    correction = new["events"][0]
    assert old["events"][-1] == correction
    assert (correction["memory_id"], correction["related"]) == (second["id"], [first["id"]])
    assert (correction["reason"], bool(correction["note_digest"])) == ("changed", True)
    assert "Moved" not in old.text


def test_of_a_memory_that_went_through_everything(api: Caller, service: FakeService) -> None:
    memory = candidate(service, LISBON, key="home")
    api.decide(memory.id)
    api.remember(LISBON, key="home")
    api.edit(memory.id, version=3, tags=["a"])
    api.dispute(memory.id, version=4)
    api.decide(memory.id, version=5)
    api.remember(PORTO, key="home")
    api.retract(memory.id, version=7)
    history = api.history(memory.id)
    assert told(history) == [
        Event.INFERRED,
        Event.APPROVED,
        Event.CORROBORATED,
        Event.EDITED,
        Event.DISPUTED,
        Event.APPROVED,
        Event.REMEMBERED,
        Event.RETRACTED,
    ]
    assert [version["version"] for version in history["versions"]] == list(range(1, 9))
    assert [event["seq"] for event in history["events"]] == sorted(e["seq"] for e in history["events"])
    assert [v["status"] for v in history["versions"]] == [
        "candidate",
        *["active"] * 5,
        "superseded",
        "retracted",
    ]


def test_of_a_forgotten_memory_there_are_its_events_without_a_word(api: Caller) -> None:
    first = api.remember("canary one", tags=["canary"], source={"quote": "canary"})
    api.edit(first["id"], content="canary two")
    second = api.correct(first["id"], "canary three", version=2, note="canary")
    api.remember("The neighbour stays.")
    erasure = api.forget(second["id"], "consent_withdrawn")
    for memory, before in (
        (first, [Event.REMEMBERED, Event.EDITED, Event.CORRECTED]),
        (second, [Event.CORRECTED]),
    ):
        history = api.history(memory["id"])
        assert (history.status, history["versions"]) == (200, [])
        assert told(history) == [*before, Event.FORGOTTEN]
        assert "canary" not in history.text
        last = history["events"][-1]
        assert (last["reason"], last["erasure_id"]) == ("consent_withdrawn", erasure["id"])


def test_of_what_never_was_there_is_none(api: Caller) -> None:
    memory = api.remember(LISBON)
    for id_ in ("mem_01jabcdefghjkmnpqrstvwxyz0", "mem_1", "era_01jabcdefghjkmnpqrstvwxyz0"):
        assert api.history(id_).status == 404, id_
    assert api.history(memory["id"], "acme/bob").status == 404
    assert api.as_(principal("acme/bob")).history(memory["id"]).status == 403
    others = principal("acme/alice", *(set(Action) - {Action.READ}))
    assert api.as_(others).history(memory["id"]).status == 403


def test_a_memory_made_and_replaced_in_one_batch_has_its_own_thread(api: Caller) -> None:
    items = [{"content": f"Home {n}.", "key": "home"} for n in range(3)]
    results = api.batch(items)["results"]
    first, second, third = (api.history(result["memory"]["id"]) for result in results)
    assert [event["seq"] for event in first["events"]] == [1, 2]
    assert [event["seq"] for event in second["events"]] == [2, 3]
    assert [event["seq"] for event in third["events"]] == [3]
    assert [version["status"] for version in first["versions"]] == ["active", "superseded"]


def test_an_earlier_version_is_shown_as_it_stood_until_the_next(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON, ttl_seconds=60)
    api.edit(memory["id"], expires_at=None)
    api.edit(memory["id"], version=2, expires_at="2026-06-01T00:00:00Z")
    service.clock.pass_(days=365)
    history = api.history(memory["id"])
    assert [version["status"] for version in history["versions"]] == ["active", "active", "expired"]


def test_a_very_long_life_is_told_from_its_end(api: Caller) -> None:
    memory = api.remember("Version 1.")
    for number in range(1, MOST_EVENTS + 20):
        api.edit(memory["id"], version=number, content=f"Version {number + 1}.")
    history = api.history(memory["id"])
    assert len(history["events"]) == MOST_EVENTS
    assert history["versions"][-1]["content"] == f"Version {MOST_EVENTS + 20}."
    assert history["events"][-1]["version"] == MOST_EVENTS + 20


@pytest.mark.parametrize("query", ["", "scope=acme%2Falice&limit=1"])
def test_a_history_takes_a_scope_and_nothing_else(api: Caller, query: str) -> None:
    memory = api.remember(LISBON)
    assert api.send("GET", f"/v1/memories/{memory['id']}/history", query=query).status == 400
