"""What a root's policy keeps no longer goes by itself, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.extraction import Talk, drain
from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.sweeping import a_day_passes

LISBON, DOG = "I live in Lisbon.", "We have a dog."


def keep(api: Caller, **retention: int | None) -> Any:
    return api.send("PUT", "/v1/policy", {"retention": retention}, query="scope=acme")


def test_without_a_policy_everything_stays(service: FakeService, api: Caller) -> None:
    assert api.send("GET", "/v1/policy", query="scope=acme")["retention"] == {
        "memories_days": None,
        "messages_days": None,
    }
    api.remember(LISBON)
    Talk(api).say(DOG, flush=True)
    drain(service)
    a_day_passes(service, days=4_000)
    assert sorted(api.listed()) == sorted([LISBON, DOG])
    assert Talk(api).read()["messages"][0]["content"] == DOG


def test_memories_are_forgotten_after_so_many_days_and_may_be_said_anew(
    service: FakeService, api: Caller
) -> None:
    old = api.remember(LISBON)
    elsewhere = api.remember(LISBON, "other/alice")
    keep(api, memories_days=30)
    a_day_passes(service, days=20)
    young = api.remember(DOG)
    a_day_passes(service, days=9)
    assert sorted(api.listed()) == sorted([LISBON, DOG]), "not before their time"
    a_day_passes(service, days=2)
    assert api.listed() == [DOG]
    assert (api.get(old["id"]).status, api.get(young["id"]).status) == (404, 200)
    (receipt,) = api.send("GET", "/v1/erasures", query="scope=acme%2Falice")["items"]
    assert (receipt["reason"], receipt["erased"], receipt["state"]) == ("policy", 1, "complete")
    assert "sweeper" in {event["actor"] for event in api.audit()["items"]}
    assert api.remember(LISBON).status == 201, "nobody has taken it back"
    assert api.get(elsewhere["id"], "other/alice").status == 200, "another root's policy"
    receipts = len(api.send("GET", "/v1/erasures", query="scope=acme%2Falice")["items"])
    a_day_passes(service)
    assert len(api.send("GET", "/v1/erasures", query="scope=acme%2Falice")["items"]) == receipts, (
        "none is old"
    )
    assert api.verify()["ok"]


def test_messages_lose_their_words_and_what_was_made_of_them_stays(service: FakeService, api: Caller) -> None:
    talk = Talk(api)
    talk.say(LISBON, flush=True)
    drain(service)
    keep(api, messages_days=30)
    a_day_passes(service, days=29)
    later = Talk(api, "run-2")
    later.say([{"text": DOG}, {"toolUse": {"name": "x", "input": {"q": "a dog"}}}], flush=True)
    drain(service)
    assert talk.read()["messages"][0]["content"] == LISBON
    a_day_passes(service, days=2)
    (said,) = talk.read()["messages"]
    assert (said["content"], said["redacted"]) == ("[redacted]", ["expired"])
    assert later.read()["messages"][0]["content"][0] == {"text": DOG}, "it is young"
    assert sorted(api.listed()) == sorted([LISBON, DOG])
    home = next(m for m in api.list()["items"] if m["content"] == LISBON)
    assert (home["source"]["run_id"], home["source"]["quote"]) == ("run-1", LISBON)
    events = [event for event in api.audit()["items"] if event["event"] == "conversation.redacted"]
    assert [event["reason"] for event in events] == ["policy"]
    again = talk.send([{"seq": 1, "role": "user", "content": LISBON}])
    assert (again["accepted"], again["duplicates"]) == (0, 1), "it is known, and not learned again"
    length = api.verify()["length"]
    a_day_passes(service)
    assert api.verify()["length"] == length, "once is enough"
    a_day_passes(service, days=30)
    blank = later.read()["messages"][0]["content"]
    assert blank[0] == {"text": "[redacted]"} and "dog" not in str(blank)


def test_many_messages_are_blanked_a_page_at_a_time(service: FakeService, api: Caller) -> None:
    for run in ("run-1", "run-2"):
        talk = Talk(api, run)
        for start in range(0, 90, 45):
            talk.say(*(f"Word {n}." for n in range(start, start + 45)))
    drain(service)
    keep(api, messages_days=1)
    a_day_passes(service, days=3)
    for run in ("run-1", "run-2"):
        assert {m["content"] for m in Talk(api, run).read()["messages"]} == {"[redacted]"}
    assert "Word" not in service.dump()


@pytest.mark.parametrize("wrong", [{"memories_days": 0}, {"messages_days": "30"}, {"days": 3}])
def test_what_is_no_number_of_days_is_refused(api: Caller, wrong: dict[str, Any]) -> None:
    assert keep(api, **wrong).status == 400
