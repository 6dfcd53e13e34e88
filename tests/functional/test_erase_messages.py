"""What a conversation says of what is forgotten goes from it, though no memory was made of it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.erasing import WAYS, Eraser
from tests.support.extraction import Talk
from tests.support.workers import index_all
from unsay_core.application.erase_messages import AT_ONCE, LOOKED_AT, PAGE
from unsay_core.application.ledger import Area

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Caller

LISBON, DOG = "Alice lives in Lisbon.", "Alice has a dog called Bruno."


@pytest.mark.usefixtures("most_buried")
@pytest.mark.parametrize("way", WAYS)
def test_what_is_said_of_it_in_any_conversation_is_redacted_and_nothing_else(
    api: Caller, service: FakeService, eraser: Eraser, way: str
) -> None:
    gone = api.remember(LISBON)["id"]
    api.remember(DOG)
    talk, other = Talk(api, "chat-1"), Talk(api, "chat-2")
    talk.say(f"Noted: all right.\n{LISBON.upper()}\nAnything else?", role="assistant")
    talk.say(f"Hello. {DOG}")
    other.say([{"text": LISBON}, {"toolUse": {"toolUseId": "t", "name": "n", "input": {"where": LISBON}}}])
    other.say("Lisbon is a town.")
    assert service.dump().count("isbon") + service.dump().count("ISBON") > 5, "the control"
    receipt = eraser.finish(WAYS[way](eraser, gone))
    assert (receipt["redacted"], receipt["state"]) == (2, "complete")
    said, hello = talk.read()["messages"]
    assert (said["content"], said["redacted"]) == (
        "Noted: all right.\n[redacted]\nAnything else?",
        ["tombstone"],
    )
    assert hello["content"] == f"Hello. {DOG}"
    blocks, town = other.read()["messages"]
    assert "isbon" not in str(blocks)
    assert town["content"] == "Lisbon is a town."
    assert service.dump().replace("Lisbon is a town.", "").count("isbon") == 0
    assert api.events().count("conversation.redacted") == 2, "one for each conversation"
    assert eraser.entry(receipt).buried == ()
    assert api.verify()["ok"]


def test_the_sentence_it_was_made_from_goes_from_other_conversations_too(api: Caller, eraser: Eraser) -> None:
    talk, other = Talk(api, "chat-1"), Talk(api, "chat-2")
    talk.say("Hi! I live in Lisbon, by the river. Bye.")
    other.say("Well: I know.\nI live in Lisbon, by the river.\nNo?", role="assistant")
    told = {"run_id": "chat-1", "message_seqs": [1], "quote": "I live in Lisbon"}
    gone = api.remember(LISBON, source=told)["id"]
    receipt = eraser.finish(api.forget(gone))
    assert receipt["redacted"] == 1
    assert talk.read()["messages"][0]["content"] == "Hi! [redacted] Bye."
    assert other.read()["messages"][0]["content"] == "Well: I know.\n[redacted]\nNo?"


@pytest.mark.usefixtures("most_buried")
def test_what_another_erasure_buried_is_not_its_to_redact(api: Caller, eraser: Eraser) -> None:
    """Of a conversation every message is buried: `Thanks.` elsewhere is nobody's memory."""
    other = Talk(api, "chat-2")
    other.say("Thanks.")
    Talk(api, "chat-1").say("Thanks.")
    gone = api.remember(LISBON, source={"run_id": "chat-1"})["id"]
    eraser.finish(eraser.forget(ids=[gone]))
    kept = other.read()["messages"][0]
    assert (kept["content"], kept["redacted"]) == ("Thanks.", [])


def test_a_conversation_that_goes_leaves_small_talk_elsewhere(api: Caller, eraser: Eraser) -> None:
    other = Talk(api, "chat-2")
    other.say("Thanks.", LISBON, role="assistant")
    Talk(api, "chat-1").say("Thanks.")
    api.remember(LISBON, source={"run_id": "chat-1"})
    eraser.finish(eraser.forget(run_id="chat-1"))
    assert [m["content"] for m in other.read()["messages"]] == ["Thanks.", "[redacted]"]


def test_what_may_be_said_anew_stays_said(api: Caller, eraser: Eraser) -> None:
    talk = Talk(api, "chat-1")
    talk.say(LISBON)
    receipt = eraser.finish(api.forget(api.remember(LISBON)["id"], tombstone="id"))
    assert (receipt["redacted"], talk.read()["messages"][0]["content"]) == (0, LISBON)
    lifted = api.remember(DOG)["id"]
    pending = api.forget(lifted)
    (grave,) = [g for g in api.tombstones()["items"] if g["kind"] == "value"]
    talk.say(DOG, at="2099-01-01T00:00:00Z")
    assert api.lift(grave["id"]).status == 200
    talk.say(DOG)
    assert eraser.finish(pending)["redacted"] == 0


@pytest.mark.usefixtures("most_buried")
@pytest.mark.parametrize("way", WAYS)
def test_another_memory_of_the_same_sentence_stays_and_quotes_it_no_more(
    api: Caller, service: FakeService, eraser: Eraser, way: str
) -> None:
    sentence = "I live in Lisbon with my dog Bruno."
    Talk(api, "chat-1").say(f"Hi! {sentence} Bye.")
    told = {"source": {"run_id": "chat-1", "message_seqs": [1], "quote": sentence}}
    gone = api.remember(LISBON, **told)["id"]
    other = api.remember(DOG, **told)["id"]
    api.remember(DOG, source={"run_id": "chat-2", "quote": "Bruno is my dog."})
    api.edit(other, tags=["dog"], version=2)
    index_all(service)
    documents = service.documents[eraser.scope_id].objects
    assert sentence in api.history(other).text and sentence in str(documents), "the control"
    pending = WAYS[way](eraser, gone)
    eraser.run(pending)
    assert eraser.entry(pending).waits_for == "index", "its document is written anew before the end"
    receipt = eraser.finish(pending)
    assert "isbon" not in str(documents)
    assert {"id": other, "why": "quoted", "outcome": "redacted"} in receipt["cascade"]
    assert "isbon" not in service.dump()
    kept = api.get(other)
    assert (kept["content"], kept["status"], kept["version"]) == (DOG, "active", 3)
    assert kept["source"]["quote"] == "[redacted]"
    assert "Bruno is my dog." in service.dump(), "what it quotes of another"
    assert len(api.history(other)["versions"]) == 3
    assert api.verify()["ok"]


def calls(eraser: Eraser, erasing: Any) -> dict[str, int]:
    """The calls of the ledger by name, and its pages of conversations, in the whole job."""
    counted = dict.fromkeys(("read", "page", "commit", "conversations"), 0)
    for name in ("read", "page", "commit"):
        real = getattr(eraser.ledger, name)

        def call(*args: Any, _name: str = name, _real: Any = real, **named: Any) -> Any:
            counted[_name] += 1
            counted["conversations"] += _name == "page" and args[0] is Area.CONVERSATION
            return _real(*args, **named)

        setattr(eraser.ledger, name, call)
    eraser.run(erasing)
    return counted


def test_many_messages_cost_a_page_each_hundred_and_none_cost_one_look(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    for_nothing = calls(eraser, api.forget(api.remember(DOG)["id"]))
    assert for_nothing["conversations"] == 1, "where nobody has said anything"
    gone = api.remember(LISBON)["id"]
    number = LOOKED_AT + PAGE
    for at in range(0, number, 50):
        Talk(api, f"chat-{at:04d}").say(*(f"I like tea {at + n} times." for n in range(50)))
    talk = Talk(api, "chat-z")
    talk.say(*[LISBON] * (AT_ONCE + 1))
    fresh = Eraser(service, api)
    pending = api.forget(gone)
    before = calls(fresh, pending)
    entries = len(fresh.ledger.page(Area.CONVERSATION, limit=10_000))
    assert before["conversations"] <= entries // 100 + 6
    assert before["commit"] <= for_nothing["commit"] + 4
    receipt = fresh.finish(pending)
    assert receipt["redacted"] == AT_ONCE + 1
    assert {m["content"] for m in talk.read()["messages"]} == {"[redacted]"}
