"""Conversations are kept once, whole or not at all, without what may not be kept."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal

import pytest

from tests.support.extraction import Talk, drain, ready
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from unsay_core.application.conversations import call_again, flush_quiet
from unsay_core.application.ledger import Area, ready_ref
from unsay_core.domain.scope import Action, Scope


@pytest.fixture
def talk(api: Caller) -> Talk:
    return Talk(api)


def message(seq: int, content: object = "I live in Lisbon.", role: str = "user", **fields: object) -> dict:
    return {"seq": seq, "role": role, "content": content, **fields}


def seqs(talk: Talk) -> list[int]:
    return [each["seq"] for each in talk.read()["messages"]]


def contents(talk: Talk) -> list[object]:
    return [each["content"] for each in talk.read()["messages"]]


def test_messages_are_kept_as_they_came(talk: Talk) -> None:
    blocks = [
        {"text": "I live in Lisbon."},
        {"toolResult": {"toolUseId": "t1", "content": [{"json": {"n": 1}}]}},
    ]
    at = "2026-04-01T10:00:00+02:00"
    answer = talk.send(
        [message(1, at=at, name="Alice"), message(2, "Noted.", "assistant"), message(5, blocks, "tool")]
    )
    assert (answer.status, answer["accepted"], answer["duplicates"], answer["high_water"]) == (202, 3, 0, 5)
    first, second, third = talk.read()["messages"]
    assert (first["role"], first["content"], first["name"]) == ("user", "I live in Lisbon.", "Alice")
    assert first["at"] == "2026-04-01T08:00:00.000000Z"
    assert (second["at"], second["redacted"]) == (None, [])
    assert (third["seq"], third["content"]) == (5, blocks)


def test_a_batch_that_grew_adds_what_is_new_and_counts_what_was_there(talk: Talk, api: Caller) -> None:
    talk.send([message(1), message(2, "Fine.", "assistant")])
    answer = talk.send([message(1), message(2, "Fine.", "assistant"), message(3, "We have a dog.")])
    assert (answer["accepted"], answer["duplicates"], answer["high_water"]) == (1, 2, 3)
    assert seqs(talk) == [1, 2, 3]
    again = talk.send([message(n, c) for n, c in ((1, "I live in Lisbon."), (3, "We have a dog."))])
    assert (again["accepted"], again["duplicates"]) == (0, 2)
    assert api.events() == ["conversation.recorded"] * 2


def test_gaps_and_disorder_are_no_trouble(talk: Talk) -> None:
    assert talk.send([message(90)])["high_water"] == 90
    assert talk.send([message(7), message(3)])["high_water"] == 90
    assert seqs(talk) == [3, 7, 90]


def test_another_text_under_a_number_is_refused_and_nothing_of_the_request_is_kept(talk: Talk) -> None:
    talk.send([message(1)])
    for other in (
        message(1, "I live in Porto."),
        message(1, role="assistant"),
        message(1, name="Bob"),
        message(1, [{"text": "I live in Lisbon."}]),
    ):
        refused = talk.send([message(2, "We have a dog."), other])
        assert (refused.status, refused.code, refused["seq"]) == (409, "seq_conflict", 1)
    assert seqs(talk) == [1]
    assert talk.send([message(2, "one"), message(2, "two")]).code == "seq_conflict"
    assert talk.send([message(2, "one"), message(2, "one")])["accepted"] == 1


def test_the_time_of_a_message_does_not_make_it_another(talk: Talk) -> None:
    talk.send([message(1, at="2026-04-01T10:00:00Z")])
    assert talk.send([message(1)])["duplicates"] == 1
    assert talk.read()["messages"][0]["at"] == "2026-04-01T10:00:00.000000Z"


def test_the_same_numbers_in_another_run_or_scope_are_other_messages(api: Caller) -> None:
    one, other, elsewhere = Talk(api), Talk(api, "run-2"), Talk(api, scope="acme/bob")
    one.say("I live in Lisbon.")
    other.say("We have a dog.")
    elsewhere.say("I live in Faro.")
    assert [contents(talk) for talk in (one, other, elsewhere)] == [
        ["I live in Lisbon."],
        ["We have a dog."],
        ["I live in Faro."],
    ]
    listed = api.send("GET", "/v1/conversations", query="scope=acme/alice")["items"]
    assert [(run["run_id"], run["message_count"]) for run in listed] == [("run-1", 1), ("run-2", 1)]


def test_runs_are_listed_page_by_page_each_once(api: Caller) -> None:
    names = ["a", "a-1", "a.b", "a:b", "A", "aa", "b", "z~"[:1], "0"]
    for name in names:
        Talk(api, name).say("I am here.", "We are here.", flush=True)
    found, cursor = [], ""
    while True:
        query = f"scope=acme/alice&limit=2{cursor}"
        page = api.send("GET", "/v1/conversations", query=query)
        found += [run["run_id"] for run in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(found) == sorted(set(names)) and len(found) == len(set(names))


def test_a_run_of_ten_thousand_messages_in_any_order_is_kept_and_read_whole(talk: Talk) -> None:
    numbers = list(range(1, 10_001))
    random.Random(7).shuffle(numbers)
    for at in range(0, len(numbers), 50):
        part = [message(n, f"turn {n}", ("user", "assistant")[n % 2]) for n in numbers[at : at + 50]]
        assert talk.send(part)["accepted"] == 50
    assert talk.send([message(77, "turn 77", "assistant")])["duplicates"] == 1
    found, cursor = [], ""
    while True:
        page = talk.read(limit=100, **({"cursor": cursor} if cursor else {}))
        found += [each["seq"] for each in page["messages"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == list(range(1, 10_001))
    run = talk.read(limit=1)
    assert (run["message_count"], run["high_water"]) == (10_000, 10_000)


@pytest.mark.parametrize(
    "bad",
    [
        {"seq": -1},
        {"seq": 2**53},
        {"seq": "1"},
        {"seq": True},
        {"role": "wizard"},
        {"content": ""},
        {"content": []},
        {"content": [{}]},
        {"content": [{"text": 1}]},
        {"content": 7},
        {"at": "yesterday"},
        {"name": ""},
        {"colour": "red"},
    ],
)
def test_what_is_no_message_is_refused(talk: Talk, bad: dict) -> None:
    refused = talk.send([message(1) | bad])
    assert refused.status == 400
    assert talk.read().status == 404


@pytest.mark.parametrize("run_id", ["", "a b", "ä", "a%23b", "x" * 129])
def test_what_is_no_name_of_a_run_is_refused(api: Caller, run_id: str) -> None:
    assert Talk(api, run_id).say("I am here.").status in (400, 404)


def test_a_conversation_needs_the_right_to_write_and_another_to_read(api: Caller) -> None:
    reader, writer = principal("acme/*", Action.READ), principal("acme/*", Action.WRITE)
    assert Talk(api.as_(reader)).say("I live in Lisbon.").status == 403
    assert Talk(api.as_(writer)).say("I live in Lisbon.").status == 202
    assert Talk(api.as_(writer)).read().status == 403
    assert Talk(api.as_(reader)).read().status == 200
    assert Talk(api.as_(principal("other/*"))).read().status == 403


# ---- when batches are due


def test_every_five_turns_of_the_user_make_a_batch(service: FakeService, talk: Talk) -> None:
    for turn in range(4):
        answer = talk.say(f"I have {turn} cats.")
        talk.say("Nice.", role="assistant")
        assert answer["extraction"]["state"] == "waiting"
    assert list(ready(service)) == []
    assert talk.say("I have 9 cats.")["extraction"] == {"state": "queued", "waiting": 0, "batches": ["1"]}
    (batch,) = talk.read()["batches"]
    assert (batch["from_seq"], batch["to_seq"], batch["state"]) == (1, 9, "queued")
    assert talk.read()["extracted_through"] is None
    drain(service)
    assert talk.read()["extracted_through"] == 9


def test_a_flush_hands_over_what_waits_and_again_nothing(service: FakeService, talk: Talk) -> None:
    talk.say("I have a cat.")
    assert talk.flush()["extraction"]["batches"] == ["1"]
    assert talk.flush()["extraction"]["batches"] == ["1"]
    drain(service)
    assert talk.flush()["extraction"] == {"state": "idle", "waiting": 0, "batches": []}
    assert Talk(talk.api, "unknown").flush().status == 404


def test_the_last_message_may_ask_for_the_flush(service: FakeService, talk: Talk) -> None:
    assert talk.say("I have a cat.", flush=True)["extraction"]["batches"] == ["1"]
    assert len(list(ready(service))) == 1


def test_a_late_message_is_extracted_too(service: FakeService, api: Caller, talk: Talk) -> None:
    talk.send([message(10, "I have a cat.")], flush=True)
    drain(service)
    talk.send([message(4, "We have a dog.")], flush=True)
    assert talk.read()["extracted_through"] is None
    drain(service)
    assert sorted(api.listed()) == ["I have a cat.", "We have a dog."]
    assert talk.read()["extracted_through"] == 10


def test_fifty_turns_at_once_are_cut_in_one_transaction(service: FakeService, talk: Talk) -> None:
    talk.api.send("PUT", "/v1/policy", {"cadence": {"user_turns": 1}}, query="scope=acme")
    answer = talk.say(*(f"I have {n} cats." for n in range(50)))
    assert (answer.status, answer["accepted"], answer["extraction"]["waiting"]) == (202, 50, 0)
    batches = talk.read()["batches"]
    assert [batch["from_seq"] for batch in batches] == sorted(batch["from_seq"] for batch in batches)
    assert sum(batch["to_seq"] - batch["from_seq"] + 1 for batch in batches) == 50
    drain(service)
    assert len(talk.api.listed(limit=100)) == 50


def test_long_messages_are_due_before_their_turns_are_up(talk: Talk) -> None:
    assert talk.say("word " * 7_000)["extraction"]["state"] == "queued"


def test_with_extraction_off_messages_are_kept_and_nothing_is_due(service: FakeService, talk: Talk) -> None:
    talk.api.send("PUT", "/v1/policy", {"extraction": "off"}, query="scope=acme")
    answer = talk.say(*(f"I have {n} cats." for n in range(9)), flush=True)
    assert answer["extraction"] == {"state": "off", "waiting": 0, "batches": []}
    assert list(ready(service)) == []
    assert len(contents(talk)) == 9


def test_a_marker_says_the_scope_and_leaves_with_the_batch(service: FakeService, talk: Talk) -> None:
    talk.say("I have a cat.", flush=True)
    (ledger,) = service.ledgers.values()
    (marker,) = ledger.page(Area.READY, limit=10)
    assert marker.scope == "acme/alice"  # type: ignore[union-attr]
    drain(service)
    assert ledger.page(Area.READY, limit=10) == []


# ---- what may not be kept

KEY = "AKIAIOSFODNN7EXAMPLE"


def test_a_credential_is_cut_out_and_the_rest_is_kept(service: FakeService, talk: Talk) -> None:
    tool = {"toolUse": {"input": {"password": "hunter2hunter2hunter2aa11", "city": "Lisbon"}}}
    talk.say(f"I live in Lisbon. My key is {KEY}, honestly.", [{"text": f"again {KEY}"}, tool])
    first, second = talk.read()["messages"]
    assert first["content"] == "I live in Lisbon. My key is [redacted], honestly."
    assert second["content"][0] == {"text": "again [redacted]"}
    assert second["content"][1]["toolUse"]["input"] == {"password": "[redacted]", "city": "Lisbon"}
    assert first["redacted"] == second["redacted"] == ["credential"]
    assert KEY not in service.dump() and "hunter2" not in service.dump()
    assert "Lisbon" in service.dump()
    assert talk.send([message(1, f"I live in Lisbon. My key is {KEY}, honestly.")])["duplicates"] == 1


def test_a_name_that_is_a_credential_is_not_kept(service: FakeService, talk: Talk) -> None:
    sent = [message(1, "hi", name=KEY), message(2, f"My key is {KEY}.", name="Alice")]
    talk.send(sent)
    first, second = talk.read()["messages"]
    assert (first["content"], first["name"], first["redacted"]) == ("hi", None, ["credential"])
    assert (second["name"], second["redacted"]) == ("Alice", ["credential"]), "what is none stays"
    assert KEY not in service.dump() and "Alice" in service.dump()
    assert talk.send(sent)["duplicates"] == 2


def test_a_name_goes_with_the_words_that_are_forgotten(service: FakeService, api: Caller, talk: Talk) -> None:
    said = "I live in Lisbon."
    talk.send([message(1, said, name=said), message(2, "It is nice.", name="Alice")], flush=True)
    drain(service)
    api.forget(api.list()["items"][0]["id"])
    assert [(m["content"], m["name"]) for m in talk.read()["messages"]] == [
        ("[redacted]", None),
        ("It is nice.", "Alice"),
    ]
    other = Talk(api, "again")
    other.send([message(1, said, name="Alice"), message(2, "Hello.", name=said)])
    assert [(m["content"], m["name"], m["redacted"]) for m in other.read()["messages"]] == [
        ("[redacted]", None, ["tombstone"]),
        ("Hello.", None, ["tombstone"]),
    ]


def test_what_was_taken_back_is_redacted_wherever_it_is_said_again(api: Caller) -> None:
    memory = api.remember("I live in Lisbon.").body
    api.forget(memory["id"])
    talk = Talk(api, "another-run")
    talk.say("Hello. i live  in LISBON!  I live in Porto.", "I live in Lisbon now.")
    assert contents(talk) == ["Hello. [redacted]  I live in Porto.", "I live in Lisbon now."]
    assert talk.read()["messages"][0]["redacted"] == ["tombstone"]
    (grave,) = [each for each in api.tombstones()["items"] if each["kind"] == "value"]
    assert grave["hits"] == 1
    assert [each["reason"] for each in api.audit(limit=100)["items"]][-1] == "redacted"
    answer = talk.send([message(1, "Hello. i live  in LISBON!  I live in Porto.")])
    assert answer["duplicates"] == 1


def test_what_is_said_anew_is_kept(service: FakeService, api: Caller) -> None:
    api.forget(api.remember("I live in Lisbon.")["id"])
    service.clock.pass_(hours=1)
    now = service.clock.now().isoformat()
    talk = Talk(api)
    talk.say("I live in Lisbon.", at=now)
    talk.say("I live in Lisbon.", at="2020-01-01T00:00:00Z")
    assert contents(talk) == ["I live in Lisbon.", "[redacted]"]


def test_what_is_dated_in_the_future_is_not_said_anew(service: FakeService, api: Caller) -> None:
    api.forget(api.remember("I live in Lisbon.")["id"])
    service.clock.pass_(hours=1)
    soon, late = (service.clock.now() + timedelta(minutes=m) for m in (4, 60))
    talk = Talk(api)
    talk.say("I live in Lisbon.", at=soon.isoformat())
    talk.say("I live in Lisbon.", at=late.isoformat())
    assert contents(talk) == ["I live in Lisbon.", "[redacted]"], "a clock may be ahead by minutes"


def test_the_evidence_of_what_is_forgotten_goes_with_it(
    service: FakeService, api: Caller, talk: Talk
) -> None:
    talk.say("Hello there. I live in Lisbon. We have a dog.", "It is nice there.", flush=True)
    drain(service)
    lisbon = next(m for m in api.list()["items"] if "Lisbon" in m["content"])
    assert "Lisbon" in service.dump()
    assert api.forget(lisbon["id"]).status == 202
    assert contents(talk) == ["Hello there. [redacted] We have a dog.", "It is nice there."]
    assert talk.read()["messages"][0]["redacted"] == ["forgotten"]
    service.knowledge_base.documents.clear()
    service.documents.clear()
    assert "Lisbon" not in service.dump()
    assert api.listed() == ["We have a dog."]
    other = Talk(api, "again")
    other.say("Hello there. I live in Lisbon. We have a dog.", flush=True)
    drain(service)
    assert contents(other) == ["Hello there. [redacted] We have a dog."]
    assert api.listed() == ["We have a dog."]
    assert "conversation.redacted" in api.events()
    assert api.verify()["ok"]


def test_an_id_alone_forgotten_takes_the_words_but_lets_them_be_said_again(
    service: FakeService, api: Caller, talk: Talk
) -> None:
    talk.say("I live in Lisbon.", flush=True)
    drain(service)
    (memory,) = api.list()["items"]
    api.forget(memory["id"], tombstone="id")
    assert contents(talk) == ["[redacted]"]
    other = Talk(api, "again")
    other.say("I live in Lisbon.", flush=True)
    drain(service)
    assert contents(other) == api.listed() == ["I live in Lisbon."]


# ---- the policy of a root


def test_a_policy_is_read_and_set_by_the_admins_of_the_root(api: Caller) -> None:
    default = api.send("GET", "/v1/policy", query="scope=acme")
    assert default.body == {
        "extraction": "auto",
        "secrets": "refuse",
        "cadence": {"user_turns": 5, "tokens": 8000, "idle_seconds": 1800},
        "instructions": {"keep": None, "never_keep": None},
        "budget": {"daily_tokens": None},
        "quotas": dict.fromkeys(("memories", "bytes", "messages_per_day", "requests_per_minute")),
        "consolidation": {
            "every_days": 7,
            "threshold": Decimal("0.85"),
            "cosine": Decimal("0.95"),
            "text": "longest",
        },
        "retention": {"memories_days": None, "messages_days": None},
    }
    wanted = {
        "extraction": "review",
        "secrets": "allow",
        "cadence": {"user_turns": 2, "tokens": 600, "idle_seconds": None},
        "instructions": {"keep": "food", "never_keep": "health"},
        "budget": {"daily_tokens": 1000},
        "quotas": {"memories": 9, "bytes": 9000, "messages_per_day": 90, "requests_per_minute": 60},
        "consolidation": {"every_days": None, "threshold": 1, "cosine": None, "text": "model"},
        "retention": {"memories_days": 365, "messages_days": 30},
    }
    assert api.send("PUT", "/v1/policy", wanted, query="scope=acme").body == wanted
    assert api.send("GET", "/v1/policy", query="scope=acme").body == wanted
    assert api.send("GET", "/v1/policy", query="scope=other").body == default.body
    assert api.send("GET", "/v1/policy", query="scope=acme/alice").status == 400
    for who, status in (
        (principal("acme/*", Action.ADMIN), 200),
        (principal("acme/alice", Action.ADMIN), 403),
        (principal("acme", Action.ADMIN), 403),
        (principal("acme/*", Action.WRITE), 403),
        (ADMIN, 200),
    ):
        assert api.as_(who).send("GET", "/v1/policy", query="scope=acme").status == status
        assert api.as_(who).send("PUT", "/v1/policy", wanted, query="scope=acme").status == status


@pytest.mark.parametrize(
    "bad",
    [
        {"extraction": "maybe"},
        {"cadence": {"user_turns": 0}},
        {"cadence": {"turns": 1}},
        {"instructions": {"keep": ""}},
        {"budget": {"daily_tokens": 0}},
        {"quotas": {"memories": 0}},
        {"quotas": {"bananas": 1}},
        {"colour": "red"},
    ],
)
def test_what_is_no_policy_is_refused(api: Caller, bad: dict) -> None:
    assert api.send("PUT", "/v1/policy", bad, query="scope=acme").status == 400


# ---- quiet conversations, and calls that were lost


def went_quiet(service: FakeService, talk: Talk) -> None:
    opened = service.open_scope(ADMIN, Scope.parse(talk.scope), Action.WRITE)
    flush_quiet(talk.run_id, opened, service.world)


def test_what_waits_is_handed_over_once_nobody_has_spoken_for_a_while(
    service: FakeService, talk: Talk
) -> None:
    talk.say(*(f"I have {n} cats." for n in range(3)))
    service.clock.sleep(1_799)
    went_quiet(service, talk)
    assert talk.read()["batches"] == []
    service.clock.sleep(1)
    went_quiet(service, talk)
    (batch,) = talk.read()["batches"]
    assert (batch["from_seq"], batch["to_seq"], talk.read()["waiting"]) == (1, 3, 0)
    service.clock.sleep(10_000)
    went_quiet(service, talk)
    assert len(talk.read()["batches"]) == 1, "nothing waits any more"


def test_whoever_speaks_puts_it_off(service: FakeService, talk: Talk) -> None:
    talk.say("I have a cat.")
    service.clock.sleep(1_000)
    talk.say("Hm.", role="assistant")
    service.clock.sleep(1_000)
    went_quiet(service, talk)
    assert talk.read()["batches"] == []
    service.clock.sleep(800)
    went_quiet(service, talk)
    assert len(talk.read()["batches"]) == 1


def test_a_root_says_how_long_quiet_is(service: FakeService, api: Caller, talk: Talk) -> None:
    for idle, after, batches in ((60, 60, 1), (None, 10**6, 1)):
        api.send(
            "PUT", "/v1/policy", {"cadence": {"idle_seconds": idle, "user_turns": 50}}, query="scope=acme"
        )
        talk.say(*("I have a cat." for _ in range(12)))
        service.clock.sleep(after)
        went_quiet(service, talk)
        assert len(talk.read()["batches"]) == batches
    assert talk.read()["waiting"] == 12
    assert api.send("GET", "/v1/policy", query="scope=acme")["cadence"]["idle_seconds"] is None
    for wrong in (0, 59, 10**9, "60", 1.5):
        refused = api.send("PUT", "/v1/policy", {"cadence": {"idle_seconds": wrong}}, query="scope=acme")
        assert refused.status == 400


def test_a_run_nobody_knows_has_nothing_to_hand_over(service: FakeService, talk: Talk) -> None:
    went_quiet(service, talk)
    assert talk.read().status == 404


def test_a_marker_is_written_anew_while_its_batch_waits(service: FakeService, talk: Talk) -> None:
    talk.say("I have a cat.", flush=True)
    opened = service.open_scope(ADMIN, Scope.parse(talk.scope), Action.WRITE)
    place = ready_ref(talk.run_id, 1)
    assert opened.ledger.read([place]).get(place).revision == 1
    call_again(talk.run_id, 1, opened, service.world)
    assert opened.ledger.read([place]).get(place).revision == 2
    drain(service)
    call_again(talk.run_id, 1, opened, service.world)
    assert opened.ledger.read([place]).get(place) is None


SECRET = "My key is AKIAIOSFODNN7EXAMPLE"


def test_credentials_are_let_in_where_the_roots_policy_says_so(service: FakeService, api: Caller) -> None:
    allowed, refused = Talk(api), Talk(api, scope="other/alice")
    api.send("PUT", "/v1/policy", {"secrets": "allow"}, query="scope=acme")
    for talk in (allowed, refused):
        talk.say(SECRET, flush=True)
    drain(service)
    assert (contents(allowed), contents(refused)) == ([SECRET], ["My key is [redacted]"])
    assert (api.listed(), api.listed("other/alice")) == ([SECRET], [])
    assert api.remember(f"{SECRET}, too.").status == 201
    assert api.remember(f"{SECRET}, too.", "other/alice").code == "secret_refused"
    assert api.send("PUT", "/v1/policy", {"secrets": "maybe"}, query="scope=acme").status == 400
    api.send("PUT", "/v1/policy", {}, query="scope=acme")
    assert api.remember(f"{SECRET}, again.").code == "secret_refused"
